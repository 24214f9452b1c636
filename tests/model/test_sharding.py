"""The same function on one device and on eight; eight take a process of their own: this file, run as a script."""

import dataclasses
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh, Mesh, PartitionSpec

from tars_jax import InputError
from tars_jax.inference.sampling_state import SamplingState
from tars_jax.inference.slot_moves import copy, put, put_block, take, take_block
from tars_jax.inference.slot_state import SlotState
from tars_jax.inference.slots import Prefill, make_slot_functions
from tars_jax.model.cache import ORDERS
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Inputs, Parameters, dummy_inputs, forward, init_parameters
from tars_jax.model.sharding import MESH_AXES, make_mesh, parameter_shardings
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.config import OptimizerConfig, PPOConfig
from tars_jax.training.minibatches import shard_batch
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Rows
from tars_jax.training.ppo import PPOBatch, make_policy_update
from tars_jax.training.state import TrainState, fresh_parameters, init_train_state
from tests.eight_devices import MODEL

MESHES = ({"data": 2, "expert": 2, "tensor": 2}, {"fsdp": 2, "expert": 4})
LONG = ({"data": 2, "tensor": 4}, {"tensor": 8})  # for two heads of a cache, whose length lies over `tensor` instead
LENGTH = 20


DENSE = dataclasses.replace(
    MODEL,
    experts=0,
    mlp_width=16,
    qkv_bias=True,
    vision=dataclasses.replace(MODEL.vision, gated=True, deepstack=(0,)),
)
MIXED = dataclasses.replace(MODEL, depth=3, dense_layers=(1,), mlp_width=16)


@pytest.mark.parametrize("model", [MODEL, DENSE, MIXED], ids=["experts", "dense", "mixed"])
def test_rules_cover_every_large_parameter(model: ModelConfig) -> None:
    """What no rule names stays whole on every device: only vectors and the vision's grid of positions may."""
    shapes = jax.eval_shape(lambda: init_parameters(model, jax.random.key(0)))
    mesh = make_mesh({}, jax.devices()[:1])
    whole = {
        jax.tree_util.keystr(path, simple=True, separator="/")
        for path, sharding in jax.tree_util.tree_leaves_with_path(parameter_shardings(mesh, shapes))
        if sharding.spec == PartitionSpec()
    }
    leaves = {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)
    }
    layers = [name for name in whole if name.startswith("decoder/layers")]
    assert all(leaves[name].ndim <= 2 for name in layers)  # [L, D]: norms
    assert {name for name in whole - set(layers) if leaves[name].ndim > 1} == {"vision/position"}


@pytest.mark.parametrize("model", [MODEL, DENSE, MIXED], ids=["experts", "dense", "mixed"])
@pytest.mark.parametrize("axis", ["fsdp", "expert", "tensor"])
@pytest.mark.first(3)
def test_what_heads_and_experts_do_not_divide_the_width_does(model: ModelConfig, axis: str) -> None:
    """Eight devices in one axis, for 4 and 2 heads, 8 and 6 experts, and an odd vocabulary."""
    uneven = dataclasses.replace(model, vocabulary=35, experts=6 if model.experts else 0)
    mesh = AbstractMesh(tuple(8 if name == axis else 1 for name in MESH_AXES), MESH_AXES)
    for odd in (model, uneven):
        shapes = jax.eval_shape(lambda odd=odd: init_parameters(odd, jax.random.key(0)))
        shardings = parameter_shardings(mesh, shapes)
        for (path, leaf), sharding in zip(
            jax.tree_util.tree_leaves_with_path(shapes), jax.tree.leaves(shardings), strict=True
        ):
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            if name.endswith(("kernel", "embedding", "gate", "up", "down")):
                assert sharding.shard_shape(leaf.shape) != leaf.shape, name


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"data": 3}, r"mesh.data \* .* must be 1, the number of devices; got 3 \* 1"),
        ({"data": -1, "fsdp": -1}, r"each axis of mesh must be 1 device or more; got .*'data': -1, 'fsdp': -1"),
        ({"model": 1}, "an axis of mesh must be one of data, fsdp, expert, tensor; got 'model'"),
    ],
)
def test_impossible_meshes(shape: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_mesh(shape, jax.devices()[:1])


def test_dummy_inputs_touch_every_parameter() -> None:
    def run(key: jax.Array) -> Any:
        parameters = init_parameters(MODEL, key)
        inputs = dummy_inputs(MODEL)
        return forward(MODEL, parameters, inputs).logits, parameters

    logits, parameters = jax.eval_shape(run, jax.random.key(0))
    assert logits.shape == (1, 2, 32)
    assert {"embed", "vision", "decoder", "vocabulary_head"} == set(parameters)


@pytest.mark.multiprocess
@pytest.mark.timeout(900)
def test_eight_devices_compute_what_one_does(on_eight_devices: Callable[..., list[str]]) -> None:
    """What the second mesh and those of long caches compute, and the update, are for --all; test_processes.py trains on
    the axes of the second."""
    assert on_eight_devices(__file__) == ["forward 0", "decode 0", "move 0", "checkpoint", "drops"]


@pytest.mark.full
@pytest.mark.multiprocess
def test_eight_devices_decode_on_every_mesh_as_one_does(on_eight_devices: Callable[..., list[str]]) -> None:
    same = [f"{what} {number}" for number in range(len(MESHES)) for what in ("forward", "update", "decode", "move")]
    long = [f"{what} over the length {number}" for number in range(len(LONG)) for what in ("decode", "move")]
    assert on_eight_devices(__file__, "all") == [*same, *long, "checkpoint", "drops"]


# What the other process does


def batch() -> PPOBatch:
    rng = np.random.default_rng(0)
    rows = 8  # of more tokens than go through all experts at once
    tokens = rng.integers(6, 32, (rows, LENGTH)).astype(np.int32)
    image_tokens = np.full((rows, LENGTH), -1, np.int32)
    image_tokens[:, 1:8] = np.arange(7)  # four of a square image, three of a wide one
    inputs = Inputs(
        tokens=tokens,
        positions=np.broadcast_to(np.arange(LENGTH, dtype=np.int32), (3, rows, LENGTH)),
        segments=np.where(np.arange(LENGTH) < 18, 1, 0).astype(np.int32) * np.ones((rows, 1), np.int32),
        images=tuple(rng.integers(0, 256, (rows, 1, *size, 3), np.uint8) for size in ((8, 8), (4, 12))),
        image_tokens=image_tokens,
    )
    mask = np.tile((np.arange(LENGTH) > 8) & (np.arange(LENGTH) < 18), (rows, 1))
    old = np.where(mask, rng.normal(-3.5, 0.1, mask.shape), 0).astype(np.float32)
    advantages = np.where(mask, rng.normal(size=mask.shape), 0).astype(np.float32)
    zeros = np.zeros_like(old)
    return PPOBatch(Rows(inputs, mask, old, np.zeros_like(tokens)), old, advantages, mask & False, zeros, zeros)


def check_shards(tree: Any, mesh: Mesh) -> None:
    """Nothing that is large is whole on one device, and experts lie over all axes that their rules name."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        shard = leaf.addressable_shards[0].data.size
        if "experts/" in name and "router" not in name:
            assert leaf.size == shard * mesh.shape["expert"] * mesh.shape["fsdp"] * mesh.shape["tensor"], name
        elif leaf.size > 256:
            assert shard < leaf.size, name


def fresh(mesh: Mesh) -> Parameters:
    """Initial parameters; on several devices no program holds the experts of a layer whole, not even on the way."""
    parameters = fresh_parameters(MODEL, jax.random.key(0), mesh)
    if mesh.size > 1:
        check_shards(parameters, mesh)
        shardings = jax.tree.map(lambda leaf: leaf.sharding, parameters)
        init = jax.jit(lambda: init_parameters(MODEL, jax.random.key(0)), out_shardings=shardings)
        program = init.lower().compile().as_text()
        assert program and not re.search(r"(f32|u32)\[(2,)?8,(16,24|24,16)\]", program)
    return parameters


def logits(mesh: Mesh, parameters: Parameters) -> jax.Array:
    run = jax.jit(lambda parameters, inputs: forward(MODEL, parameters, inputs).logits)
    return run(parameters, shard_batch(parameters, batch()).rows.inputs)


def update(mesh: Mesh, parameters: Parameters) -> tuple[TrainState, dict[str, float]]:
    """Two PPO updates."""
    optimizer = make_optimizer(OptimizerConfig(1e-2, warmup=0))
    step = make_policy_update(MODEL, optimizer, PPOConfig(entropy_bonus=0.1, clip_high=5.0, clip_low=0.9))
    data = batch()
    first, _ = step(init_train_state(parameters, optimizer), data)
    second, metrics = step(first, data)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(first))  # the shardings have not changed
    return second, {name: float(value) for name, value in metrics.items()}


def decode(mesh: Mesh, parameters: Parameters, model: ModelConfig = MODEL) -> list[np.ndarray]:
    """Eight answers after prompts with an image: tokens and log-probabilities, first and later ones."""
    inputs, slots = batch().rows.inputs, 8
    whole = SlotState.empty(model, slots, 32, mesh)
    if mesh.size > 1:
        keys = whole.cache[0].keys
        assert keys.addressable_shards[0].data.size * mesh.size == keys.size
    full = np.full(slots, LENGTH, np.int32)
    extension = Prefill(
        slots=np.arange(slots, dtype=np.int32),
        inputs=dataclasses.replace(inputs, segments=np.ones_like(inputs.segments)),
        write_at=np.tile(np.arange(LENGTH, dtype=np.int32), (slots, 1)),
        last=full - 1,
        length=full,
        position=full,
        budget=np.full(slots, 6, np.int32),
        sampling=dataclasses.replace(SamplingState.fresh(slots), seed=np.arange(slots, dtype=np.uint32)),
    )
    functions = make_slot_functions(model, stop=3, chunk=6, base_seed=0)
    state, first = functions.prefill(parameters, whole, extension, None)
    assert whole.cache[0].keys.is_deleted()
    last, rest = functions.decode(parameters, state, np.arange(slots, dtype=np.int32), None)
    before, after = state.cache[0].keys, last.cache[0].keys
    assert before.is_deleted() and after.sharding == before.sharding
    return [np.asarray(column) for drawn in (first, rest) for column in (drawn.tokens, drawn.log_probs)]


def move(mesh: Mesh) -> None:
    """A slot to another device's slot, to the host and back; a device sees no more of the others than that slot."""
    state = SlotState.empty(MODEL, 8, 32, mesh)
    filled = [
        jax.device_put(np.random.default_rng(seed).standard_normal(leaf.shape, np.float32), leaf.sharding)
        for seed, leaf in enumerate(jax.tree.leaves(state.cache))
    ]
    state = dataclasses.replace(state, cache=jax.tree.unflatten(jax.tree.structure(state.cache), filled))
    before = [np.asarray(leaf) for leaf in filled]
    slot = np.int32(0)
    blocks = take(state, 6, 30)
    for program in (
        copy.lower(state, slot, slot),
        take_block.lower(state.cache, slot, slot, 16),
        put_block.lower(state, blocks[0], slot, slot),
    ):
        assert "all-gather" not in str(program.compile().as_text())
    state = put(copy(state, 6, 1), 3, blocks, 30)
    for now, then in zip(jax.tree.leaves(state.cache), before, strict=True):
        np.testing.assert_array_equal(now, then[:, [0, 6, 2, 6, 4, 5, 6, 7]])


def close(expected: Any, got: Any, atol: float) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=atol), expected, got)


def main(whole: bool) -> None:
    """`whole`: trains and decodes on every mesh, else decodes on the first."""
    one = make_mesh({}, jax.devices()[:1])
    parameters = fresh(one)
    whole_logits, answers = logits(one, parameters), decode(one, parameters)
    updated = update(one, parameters) if whole else None
    meshes, states = [make_mesh(shape) for shape in MESHES], []
    for number, mesh in enumerate(meshes):
        with jax.set_mesh(mesh):
            sharded = fresh(mesh)
            close(parameters, sharded, 1e-6)
            if whole or number == 0:
                close(whole_logits, logits(mesh, sharded), 1e-5)
                print("forward", number)
            if updated is not None:
                whole_state, whole_metrics = updated
                state, metrics = update(mesh, sharded)
                for name, value in whole_metrics.items():
                    np.testing.assert_allclose(metrics[name], value, rtol=1e-3, atol=1e-6, err_msg=name)
                adam = state.optimizer[1][0]
                for tree in (state.parameters, adam.mu, adam.nu):
                    check_shards(tree, mesh)
                close(whole_state.optimizer[1][0].mu, adam.mu, 1e-4)
                print("update", number)
            else:
                state = init_train_state(sharded, make_optimizer(OptimizerConfig(1e-2, warmup=0)))
            states.append(state)
            if whole or number == 0:
                close(answers, decode(mesh, sharded), 1e-4)
                print("decode", number)
                move(mesh)
                print("move", number)

    for number, (shape, order) in enumerate(zip(LONG, ORDERS, strict=True)) if whole else ():
        mesh = make_mesh(shape)
        with jax.set_mesh(mesh):
            lying = dataclasses.replace(MODEL, execution=Execution(cache=order))
            close(answers, decode(mesh, fresh(mesh), lying), 1e-4)
            print("decode over the length", number)
            move(mesh)
            print("move over the length", number)

    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder))
        checkpoints.save(2, states[0], {})
        restored, _ = checkpoints.restore(2, states[1])
        close(states[0], restored, 0)
        check_shards(restored.parameters, meshes[1])
        assert all(a.sharding == b.sharding for a, b in zip(*map(jax.tree.leaves, (states[1], restored)), strict=True))
    print("checkpoint")

    with jax.set_mesh(meshes[1]):
        tight = dataclasses.replace(MODEL, execution=Execution(capacity=0.5))
        sharded = fresh(meshes[1])
        inputs = shard_batch(sharded, batch()).rows.inputs
        output = jax.jit(lambda parameters, inputs: forward(tight, parameters, inputs))(sharded, inputs)
    # There is room for half of an even routing, so that at least about half is dropped. Only what was is missing.
    dropped = np.asarray(output.routers.dropped)
    assert ((dropped > 0.4) & (dropped < 0.9)).all()
    assert updated is None or updated[1]["dropped_assignments"] == 0
    assert np.isfinite(output.logits).all()
    print("drops")


if __name__ == "__main__":
    main(sys.argv[1:] == ["all"])
