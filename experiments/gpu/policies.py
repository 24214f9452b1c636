"""The real PPO update and the engine's real decode steps, of a whole policy."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

from experiments.gpu.batches import packed_batch
from experiments.gpu.entries import Entry
from experiments.gpu.layers import Row
from experiments.gpu.sizes import Shapes, model, shapes
from experiments.gpu.timing import Patience, compiled, measure
from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.slot_state import SlotState
from tars_jax.inference.slots import make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters, count_parameters, init_parameters
from tars_jax.model.quantization import quantize
from tars_jax.training.config import OptimizerConfig, PPOConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.planning.model_bytes import decode_bytes
from tars_jax.training.planning.model_flops import decode_flops, packed_update_flops
from tars_jax.training.ppo import make_policy_update
from tars_jax.training.state import TrainState

UNBOUNDED = 1 << 30  # tokens of an answer
NEVER = -1  # a token that is not sampled: no answer stops


def measure_update(config: Any, entry: Entry, patience: Patience) -> Row:
    """One minibatch: forward, backward, clipped norm, AdamW; parameters and moments in float32."""
    execution = Execution(
        remat=entry.remat,
        attention=entry.attention,
        experts=entry.experts or "auto",
        head_chunk=config["update"]["head_chunk"],
    )
    policy, size = dataclasses.replace(model(config, entry.model), execution=execution), shapes(config)
    batch, windows, sampled = packed_batch(policy, size, config["seed"])
    optimizer = make_optimizer(OptimizerConfig(1e-6))

    def fresh() -> TrainState:
        parameters = init_parameters(policy, jax.random.key(config["seed"]))
        return TrainState(parameters, optimizer.init(parameters), jnp.int32(0))

    here = SingleDeviceSharding(jax.local_devices()[0])
    expected = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), jax.eval_shape(fresh)
    )
    update = make_policy_update(policy, optimizer, PPOConfig())
    program, row = compiled(lambda: update.lower(expected, batch))
    state, batch = jax.jit(fresh)(), jax.device_put(batch)
    metrics: dict[str, jax.Array] = {}

    def step() -> Any:
        nonlocal state, metrics
        state, metrics = program(state, batch)
        return state.step, metrics

    timing = measure(step, patience)
    if not all(bool(jnp.isfinite(metrics[name])) for name in ("policy_loss", "gradient_norm")):
        raise InputError(f"the update is not finite: { ({name: float(value) for name, value in metrics.items()}) }")
    image = (size.image_height, size.image_width)
    total, active = count_parameters(policy)
    return {
        **row,
        "seconds": dataclasses.asdict(timing),
        "resolved": f"{execution.attention_backend} {policy.experts_backend if policy.experts else ''}".strip(),
        "flops": packed_update_flops(policy, windows, sampled, size.rows * size.images_per_row, image),
        "tokens": sum(windows),
        "sampled": sampled,
        "parameters": total,
        "active_parameters": active,
        "peak_bytes": _peak_bytes(),
    }


def measure_decode(config: Any, entry: Entry, patience: Patience) -> Row:
    """`chunk` steps of all slots, each with `context` tokens in its cache before them."""
    policy, size = model(config, entry.model), shapes(config)
    quantized = entry.weights == "w4a8"
    groups = EngineConfig(layers=entry.layers).groups(policy)
    parameters = jax.jit(lambda key: grouped_layers(_weights(policy, key, quantized=quantized), groups))(
        jax.random.key(config["seed"])
    )
    decode: Any = make_slot_functions(
        policy, stop=NEVER, chunk=size.chunk, base_seed=config["seed"], quantized=quantized
    ).decode
    state = jax.jit(lambda: _filled(policy, size, groups))()
    everybody = jnp.arange(size.slots, dtype=jnp.int32)
    program, row = compiled(lambda: decode.lower(parameters, state, everybody))

    def run() -> Any:
        nonlocal state
        state, drawn = program(parameters, dataclasses.replace(state, **_lengths(size)), everybody)
        return drawn

    timing = measure(run, patience)
    seen = size.context + size.chunk // 2
    return {
        **row,
        "seconds": dataclasses.asdict(timing),
        "tokens": size.slots * size.chunk,
        "steps": size.chunk,
        "flops": size.chunk * decode_flops(policy, size.slots, seen),
        "bytes": size.chunk * decode_bytes(policy, parameters, size.slots, seen),
        "peak_bytes": _peak_bytes(),
    }


def _weights(policy: ModelConfig, key: jax.Array, *, quantized: bool) -> Parameters:
    parameters = jax.tree.map(lambda leaf: leaf.astype(policy.dtype), init_parameters(policy, key))
    return quantize(policy, parameters) if quantized else parameters


def _filled(policy: ModelConfig, size: Shapes, groups: tuple[int, ...]) -> SlotState:
    """All slots in the middle of an answer; a cache of random numbers, which take longer than zeros."""
    state = SlotState.empty(policy, size.slots, size.cache_length, groups=groups)
    leaves, tree = jax.tree.flatten(state.cache)
    random = [jax.random.normal(jax.random.key(seed), leaf.shape, policy.dtype) for seed, leaf in enumerate(leaves)]
    sampling = dataclasses.replace(state.sampling, seed=jnp.arange(size.slots, dtype=jnp.uint32))
    return dataclasses.replace(state, cache=jax.tree.unflatten(tree, random), sampling=sampling, **_lengths(size))


def _lengths(size: Shapes) -> dict[str, Any]:
    def full(value: int) -> jax.Array:
        return jnp.full(size.slots, value, jnp.int32)

    return {"length": full(size.context), "position": full(size.context), "budget": full(UNBOUNDED)}


def _peak_bytes() -> float:
    """Of the device since the process began; 0 where it does not say."""
    return float((jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0))
