"""Parameters and their optimizer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import flax.struct
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters, parameter_shapes
from tars_jax.model.sharding import parameter_shardings
from tars_jax.training.minibatches import shard_batch

Batch = TypeVar("Batch")
Metrics = dict[str, jax.Array]


@flax.struct.dataclass
class TrainState:
    """The training state, which an update reads and writes; donated to it."""

    parameters: Parameters
    optimizer: optax.OptState
    step: jax.Array  # scalar int32: updates made


def fresh_parameters(model: ModelConfig, key: jax.Array, mesh: Mesh) -> Parameters:
    """Initial parameters straight into their shardings: nothing is ever whole on one device."""
    shardings = jax.tree.map(lambda leaf: leaf.sharding, abstract_parameters(model, mesh))
    # The key is an argument: with it in the program, each seed would be compiled anew.
    parameters: Parameters = jax.jit(lambda key: init_parameters(model, key), out_shardings=shardings)(key)
    return parameters


def abstract_parameters(model: ModelConfig, mesh: Mesh) -> Parameters:
    """The shapes and shardings of `fresh_parameters`, without the arrays: for what is loaded from files."""
    shapes = parameter_shapes(model)
    return jax.tree.map(placed, shapes, parameter_shardings(mesh, shapes))


def init_train_state(parameters: Parameters, optimizer: optax.GradientTransformation) -> TrainState:
    """A state at step 0; the optimizer's moments take the parameters' shardings. The parameters are copied."""
    shardings = jax.tree.map(lambda leaf: leaf.sharding, parameters)
    parameters = jax.device_put(copy_parameters(parameters), shardings)
    first = jax.tree.leaves(shardings)[0]
    whole = NamedSharding(first.mesh, PartitionSpec()) if isinstance(first, NamedSharding) else first
    # Moments are zeros and depend on nothing: the compiler would leave them whole on the first device.
    moments = _like_parameters(jax.eval_shape(optimizer.init, parameters), parameters, whole)
    optimizer_state = jax.jit(optimizer.init, out_shardings=moments)(parameters)
    return TrainState(parameters, optimizer_state, jax.device_put(jnp.int32(0), whole))


@jax.jit
def copy_parameters(parameters: Parameters) -> Parameters:
    """Copies, made by one program: leaf by leaf, each shape would be compiled by itself."""
    return jax.tree.map(jnp.copy, parameters)


def _like_parameters(state: Any, parameters: Parameters, otherwise: Sharding) -> Any:
    """Shardings for an optimizer's state: a moment stands at a path that ends with its parameter's."""
    known = {path: leaf for path, leaf in jax.tree_util.tree_leaves_with_path(parameters)}

    def leaf(path: tuple[Any, ...], shape: jax.ShapeDtypeStruct) -> Sharding:
        endings = (known.get(path[start:]) for start in range(len(path)))
        parameter = next((each for each in endings if each is not None), None)
        return parameter.sharding if parameter is not None and parameter.shape == shape.shape else otherwise

    return jax.tree_util.tree_map_with_path(leaf, state)


def apply_gradients(
    state: TrainState, gradients: Parameters, optimizer: optax.GradientTransformation
) -> tuple[TrainState, jax.Array]:
    """One step of the optimizer; also returns the global norm of the gradients."""
    updates, optimizer_state = optimizer.update(gradients, state.optimizer, state.parameters)
    parameters: Any = optax.apply_updates(state.parameters, updates)
    return TrainState(parameters, optimizer_state, state.step + 1), optax.global_norm(gradients)


def gradient_step(
    loss_fn: Callable[[Parameters, Batch], tuple[jax.Array, Metrics]],
    optimizer: optax.GradientTransformation,
    norm_name: str = "gradient_norm",
) -> Callable[[TrainState, Batch], tuple[TrainState, Metrics]]:
    """(state, batch) to (state, metrics): the loss's and the global norm of its gradients. Pure, to be traced."""

    def update(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        (_, metrics), gradients = jax.value_and_grad(loss_fn, has_aux=True)(state.parameters, batch)
        state, norm = apply_gradients(state, gradients, optimizer)
        return state, {**metrics, norm_name: norm}

    return update


class Update(Generic[Batch]):
    """`jax.jit` for updates: the state is donated, and the new one has the shardings of the old one.

    The compiler left to itself chooses other shardings for some of the outputs; they could then not take the place of
    what was donated, and the next update would be compiled once more.
    """

    def __init__(self, update: Callable[[TrainState, Batch], tuple[TrainState, Metrics]]) -> None:
        @functools.cache
        def jitted(structure: jax.tree_util.PyTreeDef, shardings: tuple[Sharding, ...]) -> Any:
            return jax.jit(update, donate_argnums=0, out_shardings=(structure.unflatten(shardings), None))

        self._jitted = jitted

    def __call__(self, state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        return self._for(state)(state, shard_batch(state.parameters, batch))

    def lower(self, state: TrainState, batch: Batch) -> jax.stages.Lowered:
        """The update for these shapes and shardings, not yet compiled; arrays or `jax.ShapeDtypeStruct`."""
        return self._for(state).lower(state, batch)

    def _for(self, state: TrainState) -> Any:
        leaves, structure = jax.tree.flatten(state)
        return self._jitted(structure, tuple(leaf.sharding for leaf in leaves))


def abstract_state(model: ModelConfig, optimizer: optax.GradientTransformation, mesh: Mesh) -> TrainState:
    """The shapes and shardings of `init_train_state(fresh_parameters(...), ...)`, without the arrays."""
    parameters = abstract_parameters(model, mesh)
    whole = NamedSharding(mesh, PartitionSpec())
    moments = jax.eval_shape(optimizer.init, parameters)
    step: Any = jax.ShapeDtypeStruct((), jnp.int32, sharding=whole)
    return TrainState(parameters, jax.tree.map(placed, moments, _like_parameters(moments, parameters, whole)), step)


def placed(shape: jax.ShapeDtypeStruct, sharding: Sharding) -> jax.ShapeDtypeStruct:
    """A shape with its sharding."""
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)


def value_parameters(policy: Parameters, fresh: Parameters) -> Parameters:
    """A value model from a policy: the backbone copied, the head fresh."""
    return copy_parameters({name: policy.get(name, leaf) for name, leaf in fresh.items()})
