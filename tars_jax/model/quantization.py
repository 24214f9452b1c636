"""W4A8: the policy with int4 weights and int8 activations, for decoding.

A kernel W [.., D, F] becomes integers q and a scale s for each output channel (and layer, and expert):

    q = round(W / s),   s = max_D |W| / 7.5,   x W  ~  s_x s (q_x q)

and what it is multiplied with becomes int8 with a scale for each token, as it is computed. All else stays as it was:
norms, biases, the embedding, what `KEPT` names, and products of two activations (attention, the mixture of experts).
The arithmetic is qwix's, which replaces `jax.numpy.einsum` and `jax.lax.dot_general` while the model is traced; so one
`Policy` serves both. Quantized parameters are plain trees in which {"int4": q, "scale": s} stands for a kernel.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from tars_jax import InputError
from tars_jax.model.cache import Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, CacheAddress, Inputs, Output, Parameters, Policy, PolicyVision, dummy_inputs
from tars_jax.model.sharding import leaf_name, mesh_of, parameter_shardings

# Parameters that stay in floating point. configs/quantize.py says what it costs to quantize the others.
KEPT = (r"/router$",)
EXTRA = "quantization"


def _qwix() -> Any:
    try:
        import qwix
    except ImportError as error:
        raise InputError(f"W4A8 needs qwix, which is not installed; pip install 'tars_jax[{EXTRA}]'.") from error
    return qwix


def quantize(config: ModelConfig, parameters: Parameters, kept: Sequence[str] = KEPT) -> Parameters:
    """The same tree with int4 kernels; `kept` are patterns of paths that stay. Parameters without a kernel stay, too.

    Raises InputError where qwix is not installed.
    """
    qwix = _qwix()
    kernels = {path: kernel for path, kernel in _kernels(config).items() if not any(re.search(p, path) for p in kept)}

    def leaf(path: tuple[Any, ...], value: jax.Array) -> Any:
        kernel = kernels.get(leaf_name(path))
        if kernel is None:
            return value
        channels = [axis for axis, size in enumerate(kernel.array.scale.shape) if size == value.shape[axis]]
        quantized = qwix.quantize(value, jnp.int4, channelwise_axes=channels, scale_dtype=jnp.float32)
        return {"int4": quantized.qvalue, "scale": quantized.scale}

    return jax.tree_util.tree_map_with_path(leaf, parameters)


def quantize_on_mesh(config: ModelConfig, parameters: Parameters) -> Parameters:
    """`quantize` jitted: integers and scales lie as their kernels do, and none is whole on the way."""
    quantized: Parameters = _quantizer(config, mesh_of(parameters))(parameters)
    return quantized


@functools.cache
def _quantizer(config: ModelConfig, mesh: Mesh | None) -> Any:
    run = functools.partial(quantize, config)
    if mesh is None:
        return jax.jit(run)

    def laid_out(parameters: Parameters) -> Parameters:
        quantized = run(parameters)
        shardings = parameter_shardings(mesh, quantized)
        placed: Parameters = jax.lax.with_sharding_constraint(quantized, shardings)
        return placed

    return jax.jit(laid_out)


def dequantize(parameters: Parameters) -> Parameters:
    """Floating point again: what the quantized kernels stand for."""
    return jax.tree.map(
        lambda leaf: leaf["int4"].astype(jnp.float32) * leaf["scale"] if _is_kernel(leaf) else leaf,
        parameters,
        is_leaf=_is_kernel,
    )


def is_quantized(parameters: Parameters) -> bool:
    return any(map(_is_kernel, jax.tree.leaves(parameters, is_leaf=_is_kernel)))


def quantized_forward(
    config: ModelConfig,
    parameters: Parameters,
    inputs: Inputs,
    cache: Caches | None = None,
    address: CacheAddress | None = None,
) -> Output:
    """`tars_jax.model.policy.forward` on what `quantize` returned. Raises InputError where qwix is not installed."""
    output: Any = _apply(Policy(_plain(config)), parameters, inputs, cache, address)
    return output


def encode_images_quantized(config: ModelConfig, parameters: Parameters, images: Array) -> jax.Array:
    """`tars_jax.model.policy.encode_images` of what `quantize` returned.

    Raises InputError where qwix is not installed.
    """
    encoded: Any = _apply(PolicyVision(_plain(config)), {"vision": parameters["vision"]}, images)
    return encoded


def _plain(config: ModelConfig) -> ModelConfig:
    """The policy with jax's own products, which qwix replaces."""
    return dataclasses.replace(config, execution=dataclasses.replace(config.execution, products="plain"))


def _apply(module: nn.Module, parameters: Parameters, *arguments: Any) -> Any:
    qwix = _qwix()

    def leaf(value: Any) -> Any:
        return qwix.QArray(value["int4"], value["scale"]) if _is_kernel(value) else value

    marked = jax.tree.map(leaf, parameters, is_leaf=_is_kernel)
    return qwix.quantize_model(module, _provider()).apply({"params": marked}, *arguments)


def pack(parameters: Parameters) -> Parameters:
    """For disk: two integers a byte along the last axis (uint8, the lower half first), the rest as it is."""

    def packed(leaf: Any) -> Any:
        if not _is_kernel(leaf):
            return leaf
        values = jnp.asarray(leaf["int4"], jnp.int8)
        values = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, values.shape[-1] % 2)]).view(jnp.uint8) & 15
        return {"int4": values[..., 0::2] | values[..., 1::2] << 4, "scale": leaf["scale"]}

    return jax.tree.map(packed, parameters, is_leaf=_is_kernel)


def unpack(parameters: Parameters) -> Parameters:
    """Inverse of `pack`. The last axis is one of output channels, so the scale knows its length."""

    def unpacked(leaf: Any) -> Any:
        if not _is_kernel(leaf):
            return leaf
        halves = jnp.stack([leaf["int4"] & 15, leaf["int4"] >> 4], axis=-1)
        values = halves.reshape(*halves.shape[:-2], -1)[..., : leaf["scale"].shape[-1]]
        return {"int4": ((values ^ 8).astype(jnp.int8) - 8).astype(jnp.int4), "scale": leaf["scale"]}

    return jax.tree.map(unpacked, parameters, is_leaf=_is_kernel)


def weight_errors(parameters: Parameters, quantized: Parameters) -> dict[str, float]:
    """|W - W'| / |W| of each quantized kernel, by path; path[layer] where layers are stacked."""
    again = dict(jax.tree_util.tree_leaves_with_path(dequantize(quantized)))
    kernels = {leaf_name(path) for path, leaf in _leaves(quantized) if _is_kernel(leaf)}
    errors = {}
    for path, exact in jax.tree_util.tree_leaves_with_path(parameters):
        if (name := leaf_name(path)) in kernels:
            stacked = name.startswith("decoder/layers")
            layers = zip(exact, again[path], strict=True) if stacked else [(exact, again[path])]
            for layer, (old, new) in enumerate(layers):
                shown = f"{name}[{layer}]" if stacked else name
                size = float(jnp.linalg.norm(old))
                errors[shown] = float(jnp.linalg.norm(old - new)) / size if size else 0.0  # zeros stay zeros
    return errors


@functools.cache
def _kernels(config: ModelConfig) -> dict[str, Any]:
    """Weights of a policy that qwix would quantize: path -> its mark for the weight, with the shapes of integers and
    scales.

    But for a tied embedding: it is a weight of the head, and is read by the tokens' numbers, as no integers can be.
    """
    qwix = _qwix()
    rules = [
        # The position grid of the vision encoder is read by a product of three, which qwix does not know.
        qwix.QuantizationRule(module_path=r".*vision.*", op_names=("einsum",)),
        qwix.QuantizationRule(weight_qtype=jnp.int4, act_qtype=jnp.int8),
    ]
    model = qwix.quantize_model(Policy(_plain(config)), qwix.PtqProvider(rules))
    tree = jax.eval_shape(lambda: model.init(jax.random.key(0), dummy_inputs(config)))["params"]
    leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_marked)
    marked = {leaf_name(path): leaf for path, leaf in leaves if _is_marked(leaf)}
    return {name: leaf for name, leaf in marked.items() if not name.startswith("embed/")}


@functools.cache
def _provider() -> Any:
    """Tells qwix to quantize whatever meets an int4 kernel, and nothing else."""
    qwix = _qwix()

    def int8(activations: jax.Array, contracted: Sequence[int]) -> Any:
        channels = [axis for axis in range(activations.ndim) if axis not in contracted]
        return qwix.quantize(activations, jnp.int8, channelwise_axes=channels)

    def dot_general(self: Any, lhs: Any, rhs: Any, dimension_numbers: Any, *args: Any, **kwargs: Any) -> jax.Array:
        if not isinstance(rhs, qwix.QArray):
            return jax.lax.dot_general(lhs, rhs, dimension_numbers, *args, **kwargs)
        product: jax.Array = qwix.dot_general(int8(lhs, dimension_numbers[0][0]), rhs, dimension_numbers)
        return product.astype(lhs.dtype)  # scales are float32

    def einsum(self: Any, equation: str, *operands: Any, **kwargs: Any) -> jax.Array:
        if not isinstance(operands[-1], qwix.QArray):
            return jnp.einsum(equation, *operands, **kwargs)
        first, output = equation.split(",")[0], equation.split("->")[1]
        contracted = [axis for axis, name in enumerate(first) if name not in output]
        product: jax.Array = qwix.einsum(equation, int8(operands[0], contracted), operands[1])
        return product.astype(operands[0].dtype)

    def nn_param(self: Any, module: nn.Module, name: str, *args: Any, **kwargs: Any) -> Any:
        kernel: Any = module.get_variable("params", name)
        return kernel if isinstance(kernel, qwix.QArray) else module.param(name, *args, **kwargs)

    ours = {"dot_general": dot_general, "einsum": einsum, "nn_param": nn_param}
    provider = type("Provider", (qwix.PtqProvider,), ours)
    return provider([qwix.QuantizationRule(weight_qtype=jnp.int4, act_qtype=jnp.int8)])


def _is_kernel(leaf: Any) -> bool:
    return isinstance(leaf, dict) and set(leaf) == {"int4", "scale"}


def _is_marked(leaf: Any) -> bool:
    return hasattr(leaf, "how")


def _leaves(tree: Any) -> Any:
    return jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_kernel)
