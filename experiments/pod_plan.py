"""Compiles a preset's updates and its engine's turns for a TPU slice, and writes down what they would cost there."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import jax
import ml_collections
from jax.sharding import Mesh

from configs.pod_plan import PROGRAMS, get_config
from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.inference.ahead_of_time import lower_decode, lower_prefill
from tars_jax.inference.slot_state import SlotState
from tars_jax.launcher import LAUNCHER
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import count_parameters, parameter_shapes
from tars_jax.model.presets import preset
from tars_jax.model.sharding import MESH_AXES, make_mesh
from tars_jax.pipelines.config import flatten
from tars_jax.training.config import OptimizerConfig, PPOConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.planning.chips import Slice, load_slice
from tars_jax.training.planning.compiled import compile_program
from tars_jax.training.planning.model_flops import decode_flops, prefill_flops, update_flops
from tars_jax.training.planning.plan import ProgramPlan, plan_program
from tars_jax.training.planning.programs import (
    BatchShape,
    bytes_per_chip,
    data_ways,
    lower_policy_update,
    lower_value_update,
)
from tars_jax.training.planning.report import PodPlan, as_json, as_markdown, verdict, with_plan
from tars_jax.training.planning.roofline import Assumptions
from tars_jax.training.progress import Progress, working
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.training.state import TrainState, abstract_state
from tars_jax.training.value import value_model

LARGE_SLICE, MESH_SIDE = 64, 8  # chips from which on the axes that are not given have this size
KERNEL_HEADS = 128  # the kernels of attention and experts take heads, and widths, that are multiples of it
ALWAYS = ("preset", "topology")  # fields that a plan's command names even if they are the default's


def run(config: Any, run_directory: RunDirectory) -> None:
    slice_ = load_slice(config.topology)
    # A program from the cache of compilations has no text to read.
    jax.config.update("jax_enable_compilation_cache", False)
    # Kernels carry the lines that they were called from: a comment would have them compiled anew.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    plan = make_plan(config, slice_)
    write_json(run_directory.path / "plan.json", as_json(plan))
    path = run_directory.path / "plan.md"
    write_atomic(path, as_markdown(plan).encode())
    if config.page:
        page = pathlib.Path(config.page)
        write_atomic(page, with_plan(page.read_text(encoding="utf-8") if page.exists() else "", plan).encode())
    print(verdict(plan))
    print(path)


def make_plan(asked: Any, slice_: Slice) -> PodPlan:
    config = fitted(asked, len(slice_.devices))
    model = planned_model(config)
    training = mesh_on(slice_, config.mesh.to_dict(), "mesh")
    decoding = mesh_on(slice_, config.decode.mesh.to_dict(), "decode.mesh")
    batch = BatchShape(
        config.batch.rows or data_ways(training),
        config.batch.row_length,
        config.batch.images_per_row,
        (config.batch.image_height, config.batch.image_width),
    )
    slots = config.decode.slots or 8 * data_ways(decoding)
    cache_length = config.decode.cache_length
    new_tokens = min(config.decode.new_tokens, cache_length)
    optimizer = make_optimizer(OptimizerConfig(1e-6, algorithm=config.optimizer))
    assumptions = Assumptions(config.matmul_efficiency)
    store = pathlib.Path(config.compiled) if config.compiled else None
    sizes = {
        **_sizes("policy", abstract_state(model, optimizer, training)),
        **_sizes("value", abstract_state(value_model(model), optimizer, training)),
    }

    def policy() -> jax.stages.Lowered:
        return lower_policy_update(model, optimizer, PPOConfig(), batch, training)

    def value() -> jax.stages.Lowered:
        return lower_value_update(model, optimizer, batch, training)

    def of_engine(lowered: jax.stages.Lowered, parameters: Any, state: SlotState) -> jax.stages.Lowered:
        sizes["decode parameters"] = bytes_per_chip(parameters)
        sizes["decode cache"] = bytes_per_chip(state.cache)
        return lowered

    def decode() -> jax.stages.Lowered:
        return of_engine(*lower_decode(model, slots, cache_length, decoding))

    def prefill() -> jax.stages.Lowered:
        return of_engine(*lower_prefill(model, slots, cache_length, new_tokens, decoding))

    def update(model: ModelConfig) -> float:
        return update_flops(model, batch.rows, batch.row_length, batch.images, batch.image_size)

    # The policy's head goes through as many pieces of a row as have sampled tokens: planned are all of them.
    pieces = -(-batch.row_length // model.execution.head_chunk)
    work: Mapping[str, tuple[Callable[[], jax.stages.Lowered], Any, float, int, int]] = {
        "policy update": (policy, training, update(model), batch.tokens, pieces),
        "value update": (value, training, update(value_model(model)), batch.tokens, 1),
        "decode step": (decode, decoding, decode_flops(model, slots, cache_length), slots, 1),
        "prefill": (prefill, decoding, prefill_flops(model, slots, cache_length, new_tokens), slots * new_tokens, 1),
    }
    programs: list[ProgramPlan] = []
    progress = Progress("plan", len(config.programs), "programs", min_seconds=0)
    for name in PROGRAMS:
        if name not in config.programs:
            continue
        lower, mesh, useful, tokens, rounds = work[name]
        with jax.set_mesh(mesh), working(f"{name}, lowered and compiled"):
            compiled = compile_program(lower(), config.topology, store)
        progress.update(len(programs) + 1, **{name: f"compiled in {compiled.seconds:.0f} s"})
        programs.append(
            plan_program(name, compiled, mesh, slice_, assumptions, useful_flops=useful, tokens=tokens, rounds=rounds)
        )

    total, active = count_parameters(model)
    shapes = parameter_shapes(model)
    return PodPlan(
        command(asked),
        config.preset,
        config.topology,
        slice_,
        total,
        active,
        sum(leaf.size for leaf in jax.tree.leaves(shapes["vision"])),
        {"training": dict(training.shape), "decoding": dict(decoding.shape)},
        {
            "minibatch": f"{batch.rows} windows of {batch.row_length} tokens, each with {batch.images_per_row} images "
            f"of {batch.image_size[1]}x{batch.image_size[0]} pixels",
            "decoding": f"{slots} slots of {cache_length} tokens; prefill: {new_tokens} new ones in each",
            "precision": f"parameters and moments in float32, activations and cache in {config.dtype}",
            "optimizer": config.optimizer,
        },
        sizes,
        programs,
        assumptions,
    )


def command(config: Any) -> str:
    """What gives this plan again: preset, topology, and every other field that decides it and is not the default's."""
    default, values = flatten(get_config()), flatten(config)
    places = ("run", "compiled")
    others = (name for name in values if values[name] != default[name] and name not in (*places, *ALWAYS))
    flags = (
        f"--config.{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in ((name, values[name]) for name in (*ALWAYS, *others))
    )
    return shlex.join([LAUNCHER, "pod_plan", *flags])


def _sizes(name: str, state: TrainState) -> dict[str, float]:
    return {
        f"{name} parameters": bytes_per_chip(state.parameters),
        f"{name} optimizer": bytes_per_chip(state.optimizer),
    }


def fitted(config: Any, chips: int) -> ml_collections.ConfigDict:
    """With what is not given as the slice and the model take it."""
    fitted = config.copy_and_resolve_references()
    large, has_kernels = chips >= LARGE_SLICE, preset(config.preset).head_dim % KERNEL_HEADS == 0
    usual = {
        "mesh.fsdp": (-1, MESH_SIDE if large else 0),
        "mesh.expert": (0, 0 if large or config.mesh.fsdp != -1 else 1),
        "decode.mesh.expert": (-1, MESH_SIDE if large else 1),
        "decode.mesh.tensor": (-1, MESH_SIDE if large else 1),
        "batch.row_length": (0, 32_768 if has_kernels else 1024),
        "batch.image_height": (0, 704 if has_kernels else 96),
        "batch.image_width": (0, 1280 if has_kernels else 96),
        "execution.attention": ("", "splash" if has_kernels else "dense"),
        "execution.experts": ("", "megablox" if has_kernels else "ragged"),
    }
    with fitted.unlocked():
        for field, (unset, value) in usual.items():
            section, _, name = field.rpartition(".")
            node = functools.reduce(lambda each, part: each[part], section.split("."), fitted)
            node[name] = value if node[name] == unset else node[name]
        fitted.decode.cache_length = fitted.decode.cache_length or fitted.batch.row_length
    return fitted


def planned_model(config: Any) -> ModelConfig:
    model = preset(config.preset)
    execution = Execution(**config.execution.to_dict())
    return dataclasses.replace(model, depth=config.depth or model.depth, dtype=config.dtype, execution=execution)


def mesh_on(slice_: Slice, sizes: Mapping[str, int], field: str) -> Mesh:
    """The mesh, laid on the grid so that the chips of an axis are neighbors. Raises InputError."""
    shape = filled(sizes, len(slice_.devices), field)
    try:
        return make_mesh(shape, list(slice_.devices))
    except NotImplementedError as error:
        raise InputError(
            f"config.{field} must be products of sides of the topology, {'x'.join(map(str, slice_.sides))}; got {shape}"
        ) from error


def filled(mesh: Mapping[str, int], devices: int, field: str) -> dict[str, int]:
    """A mesh whose one axis of size 0 takes the devices that the others leave. Raises InputError."""
    sizes = {axis: mesh[axis] for axis in MESH_AXES}
    free = [axis for axis, size in sizes.items() if size == 0]
    taken = 1
    for size in sizes.values():
        taken *= size or 1
    if len(free) > 1 or min(sizes.values()) < 0 or (free and devices % taken):
        raise InputError(
            f"config.{field} must be sizes whose product is {devices}, the chips of the topology, and 0 for at most "
            f"one axis that takes what the others leave; got {sizes}"
        )
    return {axis: size or devices // taken for axis, size in sizes.items()}
