"""The same function on one device and on eight; eight take a process of their own: this file, run as a script."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from tars_jax import InputError
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Inputs, Parameters, dummy_inputs, forward, init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.sharding import batch_sharding, make_mesh, parameter_shardings
from tars_jax.training.optimisers import OptimiserConfig, make_optimiser
from tars_jax.training.packing import Rows
from tars_jax.training.state import TrainState, fresh_parameters, start
from tars_jax.training.supervised import make_supervised_update

MODEL = dataclasses.replace(
    preset("nano", vocabulary=32),
    width=16,
    query_heads=4,
    kv_heads=2,
    head_dim=8,
    rope_sections=(2, 1, 1),
    experts=8,
    expert_width=16,
    vision=VisionConfig(patch=4, merge=1, grid=2, width=16, depth=1, heads=2, mlp_width=16),
)
MESHES = ({"data": 2, "fsdp": 2, "tensor": 2}, {"expert": 8})


DENSE = dataclasses.replace(
    MODEL,
    experts=0,
    mlp_width=16,
    qkv_bias=True,
    vision=dataclasses.replace(MODEL.vision, gated=True, deepstack=(0,)),
)


@pytest.mark.parametrize("model", [MODEL, DENSE], ids=["experts", "dense"])
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
    layers = [name for name in whole if "/layers/" in name]
    assert all(leaves[name].ndim <= 2 for name in layers)  # [L, D]: norms
    assert {name for name in whole - set(layers) if leaves[name].ndim > 1} == {"vision/position"}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"data": 3}, r"mesh: .*'data': 3.* needs 3 devices, there are 1"),
        ({"model": 1}, "mesh: unknown axis 'model'; it takes data, fsdp, expert, tensor"),
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
def test_eight_devices_compute_what_one_does() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    root = Path(__file__).parents[2]
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, __file__], env=environment, cwd=root, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["same"] * 3


# What the other process does


def batch() -> Rows:
    rng = np.random.default_rng(0)
    rows, length = 8, 20  # more tokens than go through all experts at once
    tokens = rng.integers(6, 32, (rows, length)).astype(np.int32)
    image_tokens = np.full((rows, length), -1, np.int32)
    image_tokens[:, 1:5] = np.arange(4)
    inputs = Inputs(
        tokens=tokens,
        positions=np.broadcast_to(np.arange(length, dtype=np.int32), (3, rows, length)),
        segments=np.where(np.arange(length) < 18, 1, 0).astype(np.int32) * np.ones((rows, 1), np.int32),
        images=rng.integers(0, 256, (rows, 1, 8, 8, 3), np.uint8),
        image_tokens=image_tokens,
    )
    mask = np.tile((np.arange(length) > 8) & (np.arange(length) < 18), (rows, 1))
    return Rows(inputs, mask, np.zeros((rows, length), np.float32), np.zeros((rows, length), np.int32))


def placed(rows: Rows, mesh: Mesh) -> Rows:
    """Rows over the data axes, as a learner places them; positions carry their batch axis second."""
    shardings = jax.tree.map(lambda _: batch_sharding(mesh), rows)
    inputs = dataclasses.replace(shardings.inputs, positions=batch_sharding(mesh, batch_axis=1))
    return jax.device_put(rows, dataclasses.replace(shardings, inputs=inputs))


def run(mesh: Mesh) -> tuple[Parameters, jax.Array]:
    """Fresh parameters and their logits."""
    parameters = fresh_parameters(MODEL, jax.random.key(0), mesh)
    logits = jax.jit(lambda parameters, inputs: forward(MODEL, parameters, inputs).logits)
    return parameters, logits(parameters, placed(batch(), mesh).inputs)


def update(mesh: Mesh, parameters: Parameters) -> tuple[TrainState, dict[str, Any]]:
    optimiser = make_optimiser(OptimiserConfig(1e-2, warmup=0))
    step = make_supervised_update(MODEL, optimiser, balance=0.01)
    rows = placed(batch(), mesh)
    first, _ = step(start(parameters, optimiser), rows)
    second, metrics = step(first, rows)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(first))  # the shardings have not changed
    return second, jax.tree.map(float, metrics)


def check_shards(tree: Any, shape: dict[str, int]) -> None:
    """Experts lie on all devices that their axes name, and nothing else that is large is whole on one."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        shard = leaf.addressable_shards[0].data.size
        if "experts/" in name and "router" not in name:
            assert leaf.size == shard * (8 if "expert" in shape else 4), name
        elif leaf.size > 256 and "expert" not in shape:
            assert shard < leaf.size, name


def main() -> None:
    one = make_mesh({}, jax.devices()[:1])
    parameters, logits = run(one)
    for shape in reversed(MESHES):
        mesh = make_mesh(shape)
        sharded, sharded_logits = run(mesh)
        check_shards(sharded, shape)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), parameters, sharded)
        np.testing.assert_allclose(logits, sharded_logits, atol=1e-5)
        print("same")

    _, expected = update(one, parameters)
    state, metrics = update(mesh, sharded)
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-3, err_msg=name)
    adam = state.optimiser[1][0]
    for tree in (state.parameters, adam.mu, adam.nu):
        check_shards(tree, MESHES[0])
    print("same")


if __name__ == "__main__":
    main()
