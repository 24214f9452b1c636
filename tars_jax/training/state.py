"""Parameters and their optimiser."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import flax.struct
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.sharding import parameter_shardings

Batch = TypeVar("Batch")
Metrics = dict[str, jax.Array]


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

    def __post_init__(self) -> None:
        if 0 < self.decay <= self.warmup:
            raise InputError(f"optimiser.decay got {self.decay}; it takes 0 or more than the {self.warmup} of warmup")


def make_optimiser(config: OptimiserConfig) -> optax.GradientTransformation:
    """AdamW with warm-up and a clipped global norm; only matrices decay."""
    first = config.learning_rate / (config.warmup + 1)  # not 0, which would waste an update
    if config.decay:
        schedule = optax.warmup_cosine_decay_schedule(
            first, config.learning_rate, config.warmup, config.decay, 0.05 * config.learning_rate
        )
    else:
        schedule = optax.linear_schedule(first, config.learning_rate, config.warmup)
    return optax.chain(
        optax.clip_by_global_norm(config.clip_norm),
        optax.adamw(
            schedule,
            b2=config.beta2,
            weight_decay=config.weight_decay,
            mask=lambda tree: jax.tree.map(lambda leaf: leaf.ndim > 1, tree),
        ),
    )


def only_value_head(optimiser: optax.GradientTransformation) -> optax.GradientTransformation:
    """Leaves everything but the value head as it is: a shared trunk is the policy's while values are pretrained."""

    def trunk(parameters: Parameters) -> Parameters:
        return {
            name: jax.tree.map(lambda _, name=name: name != "scalar_head", tree) for name, tree in parameters.items()
        }

    return optax.chain(optimiser, optax.masked(optax.set_to_zero(), trunk))


def fresh_parameters(model: ModelConfig, key: jax.Array, mesh: Mesh) -> Parameters:
    """Initial parameters straight into their shardings: nothing is ever whole on one device."""
    shapes = jax.eval_shape(lambda: init_parameters(model, key))
    return jax.jit(lambda: init_parameters(model, key), out_shardings=parameter_shardings(mesh, shapes))()


def start(parameters: Parameters, optimiser: optax.GradientTransformation) -> TrainState:
    """A state at step 0; the optimiser's moments take the parameters' shardings. The parameters are copied."""
    shardings = jax.tree.map(lambda leaf: leaf.sharding, parameters)
    parameters = jax.device_put(jax.tree.map(jnp.copy, parameters), shardings)
    first = jax.tree.leaves(shardings)[0]
    whole = NamedSharding(first.mesh, PartitionSpec()) if isinstance(first, NamedSharding) else first
    # Moments are zeros and depend on nothing: the compiler would leave them whole on the first device.
    moments = optax.tree_utils.tree_map_params(
        optimiser,
        lambda _, sharding: sharding,
        jax.eval_shape(optimiser.init, parameters),
        shardings,
        transform_non_params=lambda _: whole,
    )
    optimiser_state = jax.jit(optimiser.init, out_shardings=moments)(parameters)
    return TrainState(parameters, optimiser_state, jax.device_put(jnp.int32(0), whole))


def apply_gradients(
    state: TrainState, gradients: Parameters, optimiser: optax.GradientTransformation
) -> tuple[TrainState, jax.Array]:
    """One step of the optimiser; also returns the global norm of the gradients."""
    updates, optimiser_state = optimiser.update(gradients, state.optimiser, state.parameters)
    parameters: Any = optax.apply_updates(state.parameters, updates)
    return TrainState(parameters, optimiser_state, state.step + 1), optax.global_norm(gradients)


def jit_update(
    update: Callable[[TrainState, Batch], tuple[TrainState, Metrics]],
) -> Callable[[TrainState, Batch], tuple[TrainState, Metrics]]:
    """`jax.jit` for updates: the state is donated, and the new one has the shardings of the old one.

    The compiler left to itself chooses other shardings for some of the outputs; they could then not take the place of
    what was donated, and the next update would be compiled once more.
    """

    @functools.cache
    def jitted(structure: jax.tree_util.PyTreeDef, shardings: tuple[Sharding, ...]) -> Any:
        return jax.jit(update, donate_argnums=0, out_shardings=(structure.unflatten(shardings), None))

    def call(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        leaves, structure = jax.tree.flatten(state)
        return jitted(structure, tuple(leaf.sharding for leaf in leaves))(state, batch)

    return call


def value_parameters(policy: Parameters, fresh: Parameters) -> Parameters:
    """A value model from a policy: the backbone copied, the head fresh."""
    return {name: jax.tree.map(jnp.copy, policy.get(name, leaf)) for name, leaf in fresh.items()}
