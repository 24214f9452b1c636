"""Parameters and their optimiser."""

from __future__ import annotations

import dataclasses
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.sharding import parameter_shardings


@flax.struct.dataclass
class TrainState:
    """What an update reads and writes; donated to it."""

    parameters: Parameters
    optimiser: optax.OptState
    step: jax.Array  # scalar int32: updates made


@dataclasses.dataclass(frozen=True)
class OptimiserConfig:
    learning_rate: float
    warmup: int = 10  # updates
    decay: int = 0  # updates until a cosine reaches 5% of the rate; 0 keeps it constant
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    beta2: float = 0.99


def make_optimiser(config: OptimiserConfig) -> optax.GradientTransformation:
    """AdamW with warm-up and a clipped global norm; only matrices decay."""
    if config.decay:
        schedule = optax.warmup_cosine_decay_schedule(
            0.0, config.learning_rate, config.warmup, config.decay, 0.05 * config.learning_rate
        )
    else:
        schedule = optax.linear_schedule(0.0, config.learning_rate, config.warmup)
    return optax.chain(
        optax.clip_by_global_norm(config.clip_norm),
        optax.adamw(
            schedule,
            b2=config.beta2,
            weight_decay=config.weight_decay,
            mask=lambda tree: jax.tree.map(lambda leaf: leaf.ndim > 1, tree),
        ),
    )


def fresh_parameters(model: ModelConfig, key: jax.Array, mesh: Mesh) -> Parameters:
    """Initial parameters straight into their shardings: nothing is ever whole on one device."""
    shapes = jax.eval_shape(lambda: init_parameters(model, key))
    return jax.jit(lambda: init_parameters(model, key), out_shardings=parameter_shardings(mesh, shapes))()


def start(parameters: Parameters, optimiser: optax.GradientTransformation) -> TrainState:
    """A state at step 0; the optimiser's moments take the parameters' shardings. The parameters are copied."""
    parameters = jax.tree.map(jnp.copy, parameters)
    return TrainState(parameters, jax.jit(optimiser.init)(parameters), jnp.int32(0))


def apply_gradients(
    state: TrainState, gradients: Parameters, optimiser: optax.GradientTransformation
) -> tuple[TrainState, jax.Array]:
    """One step of the optimiser; also returns the global norm of the gradients."""
    updates, optimiser_state = optimiser.update(gradients, state.optimiser, state.parameters)
    parameters: Any = optax.apply_updates(state.parameters, updates)
    return TrainState(parameters, optimiser_state, state.step + 1), optax.global_norm(gradients)


def value_parameters(policy: Parameters, fresh: Parameters) -> Parameters:
    """A value model from a policy: the backbone copied, the head fresh."""
    return {name: jax.tree.map(jnp.copy, policy.get(name, leaf)) for name, leaf in fresh.items()}
