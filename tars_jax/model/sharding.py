"""The whole sharding strategy in tables.

A parameter's path says its logical axes, a logical axis says its mesh axis. One device is the mesh (1, 1, 1, 1).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.experimental import mesh_utils
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from tars_jax import InputError

MESH_AXES = ("data", "fsdp", "expert", "tensor")

# Logical axis -> mesh axes.
Rules = Mapping[str | None, str | tuple[str, ...] | None]
AXIS_RULES: Rules = {
    None: None,
    "batch": ("data", "fsdp", "expert"),
    "sequence": "tensor",
    "embed": ("fsdp", "expert"),
    "expert_embed": "fsdp",  # of a kernel that lies over `expert` already
    "projected": ("fsdp", "expert", "tensor"),  # what the vision encoder makes of patches, and hands to the decoder
    "heads": "tensor",
    "mlp": "tensor",
    "expert": "expert",
    "vocabulary": "tensor",
    "layers": None,
    "cached": None,
}

# Widths of kernels and embeddings, and the length of a live cache: they take what other axes leave.
SPARE = ("embed", "expert_embed", "cached")

# Where an engine holds its parameters. A decode step reads every dense kernel for a few tokens: what a learner splits
# over `expert`, to hold it once, would be gathered anew for each token.
SERVING_RULES: Rules = {**AXIS_RULES, "embed": "fsdp", "projected": ("fsdp", "tensor")}

# Path of a parameter -> its logical axes; the first match counts, everything else is whole on every device.
PARAMETER_RULES: tuple[tuple[str, tuple[str | None, ...]], ...] = (
    (r"^embed/embedding$", ("vocabulary", "embed")),
    (r"layers/attention/(query|key|value)/kernel$", ("layers", "embed", "heads", None)),
    (r"layers/attention/out/kernel$", ("layers", "heads", None, "embed")),
    (r"layers/attention/(query|key|value)/bias$", ("layers", "heads", None)),
    (r"layers/mlp/(gate|up)/kernel$", ("layers", "embed", "mlp")),
    (r"layers/mlp/down/kernel$", ("layers", "mlp", "embed")),
    (r"layers/experts/router$", ("layers", "embed", None)),
    (r"layers/experts/(gate|up)$", ("layers", "expert", "expert_embed", "mlp")),
    (r"layers/experts/down$", ("layers", "expert", "mlp", "expert_embed")),
    (r"^vocabulary_head/kernel$", ("embed", "vocabulary")),
    (r"^vision/block_\d+/(qkv|mlp_in|mlp_gate|mlp_up)/kernel$", ("embed", "mlp")),
    (r"^vision/block_\d+/(attention_out|mlp_out)/kernel$", ("mlp", "embed")),
    (r"^vision/(patch_embed|merge_in|merge_out|deepstack_\d+_in|deepstack_\d+_out)/kernel$", (None, "projected")),
)


def make_mesh(shape: Mapping[str, int], devices: list[jax.Device] | None = None) -> Mesh:
    """A mesh over all devices; axes that `shape` leaves out are 1. Raises InputError when the product does not fit."""
    if unknown := set(shape) - set(MESH_AXES):
        raise InputError(f"an axis of mesh must be one of {', '.join(MESH_AXES)}; got {sorted(unknown)[0]!r}")
    sizes = tuple(shape.get(axis, 1) for axis in MESH_AXES)
    if any(type(size) is not int or size < 1 for size in sizes):
        raise InputError(f"each axis of mesh must be 1 device or more; got {dict(zip(MESH_AXES, sizes, strict=True))}")
    available = jax.device_count() if devices is None else len(devices)
    if math.prod(sizes) != available:
        raise InputError(
            f"{' * '.join(f'mesh.{axis}' for axis in MESH_AXES)} must be {available}, the number of devices; got "
            f"{' * '.join(map(str, sizes))}"
        )
    # A mesh axis may take a part of a side of the grid, so that e.g. two neighbors share a row of a batch.
    placed = mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True)
    return Mesh(placed, MESH_AXES, axis_types=(AxisType.Auto,) * len(MESH_AXES))


def _axes(path: str) -> tuple[str | None, ...]:
    """The logical axes of a parameter; integers and scales of a quantized kernel have those of the kernel.

    Groups of layers lie as all layers in one do.
    """
    path = re.sub(r"layers_\d+/", "layers/", re.sub("/(int4|scale)$", "", path))
    return next((axes for pattern, axes in PARAMETER_RULES if re.search(pattern, path)), ())


def leaf_name(path: tuple[Any, ...]) -> str:
    """A leaf's path in a tree, as the tables of the project write it: decoder/layers/experts/gate."""
    return jax.tree_util.keystr(path, simple=True, separator="/")


def parameter_shardings(mesh: Mesh | AbstractMesh, shapes: Any, rules: Rules = AXIS_RULES) -> Any:
    """A sharding for each leaf of a tree of shapes.

    What the dimension that a mesh axis is meant for cannot take, since the axis does not divide it, its width takes; a
    leaf is whole over an axis that divides neither.
    """

    def leaf(path: tuple[Any, ...], shape: jax.ShapeDtypeStruct) -> NamedSharding:
        return NamedSharding(mesh, _spec(mesh, shape.shape, _axes(leaf_name(path)), rules))

    return jax.tree_util.tree_map_with_path(leaf, shapes)


def constrain(x: jax.Array, *axes: str | None) -> jax.Array:
    """An activation laid out by the rules on the mesh of `jax.set_mesh`; without one, `x` as it is."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or mesh.size == 1:
        return x
    return jax.lax.with_sharding_constraint(x, _spec(mesh, x.shape, axes))


def mapped(
    function: Callable[..., jax.Array],
    arguments: Sequence[tuple[str | None, ...]],
    result: tuple[str | None, ...],
    counted: str | None = None,
) -> Callable[..., jax.Array]:
    """`function` on each device's own part, for kernels that the compiler cannot split: logical axes in and out.

    Without `jax.set_mesh` it is `function` itself. A logical axis lies over as many of its mesh axes, from the first
    on, as divide it in all the arguments. Where the first argument's axis `counted` is divided, `function` is told by
    the keyword `first` which of its indices the device's part begins with.
    """

    def call(*arrays: jax.Array) -> jax.Array:
        mesh = jax.sharding.get_abstract_mesh()
        if mesh.empty or mesh.size == 1:
            return function(*arrays)
        sizes: dict[str | None, int] = {}
        for array, axes in zip(arrays, arguments, strict=True):
            for size, axis in zip(array.shape, axes, strict=True):
                sizes[axis] = math.gcd(size, sizes.get(axis, 0))

        def spec(axes: tuple[str | None, ...]) -> PartitionSpec:
            return _spec(mesh, tuple(sizes[axis] for axis in axes), axes)

        inside = tuple(spec(axes) for axes in arguments)
        place = arguments[0].index(counted) if counted else 0
        over = inside[0][place] if counted else None

        def part(*arrays: jax.Array) -> jax.Array:
            if over is None:
                return function(*arrays)
            return function(*arrays, first=jax.lax.axis_index(over) * arrays[0].shape[place])

        return jax.shard_map(part, in_specs=inside, out_specs=spec(result), check_vma=False)(*arrays)

    return call


def array_sharding(mesh: Mesh, shape: tuple[int, ...], *axes: str | None) -> NamedSharding:
    """Sharding by the rules of an array with this shape and these logical axes."""
    return NamedSharding(mesh, _spec(mesh, shape, axes))


def mesh_of(tree: Any) -> Mesh | None:
    """The mesh that a tree of arrays lies on, or of shapes that say so; None on a device without one."""
    sharding = getattr(jax.tree.leaves(tree)[0], "sharding", None)
    mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
    return mesh if isinstance(mesh, Mesh) else None


def batch_sharding(mesh: Mesh, batch_axis: int = 0) -> NamedSharding:
    """Rows of a batch over the data axes."""
    return NamedSharding(mesh, PartitionSpec(*[None] * batch_axis, AXIS_RULES["batch"]))


def _spec(
    mesh: Mesh | AbstractMesh, shape: tuple[int, ...], axes: tuple[str | None, ...], rules: Rules = AXIS_RULES
) -> PartitionSpec:
    """An axis lies over as many of its mesh axes, from the first on, as divide it. What is left of those of a
    parameter, whose heads it does not divide for instance, goes to its width, and of a live cache's to its length, so
    that neither is whole.
    """

    def fitting(size: int, axis: str | None) -> tuple[str, ...]:
        names = _names(axis, rules)
        while names and size % _product(mesh, names):
            names = names[:-1]
        return names

    taken = [fitting(size, axis) for size, axis in zip(shape, axes, strict=False)]
    for place in (place for place, axis in enumerate(axes) if axis in SPARE):
        for name in (name for axis in axes for name in _names(axis, rules)):
            wider = (*taken[place], name)
            if name not in itertools.chain(*taken) and shape[place] % _product(mesh, wider) == 0:
                taken[place] = wider
    return PartitionSpec(*(names[0] if len(names) == 1 else names or None for names in taken))


def _names(axis: str | None, rules: Rules = AXIS_RULES) -> tuple[str, ...]:
    """The mesh axes of a logical axis."""
    rule = rules[axis]
    return () if rule is None else (rule,) if isinstance(rule, str) else rule


def _product(mesh: Mesh | AbstractMesh, names: tuple[str, ...]) -> int:
    return math.prod(mesh.shape[name] for name in names)
