"""Weight sync: from the learner's mesh over all processes to each process's own devices, which sample.

Axes: P processes.
"""

from __future__ import annotations

import functools

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from tars_jax import InputError
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import MESH_AXES, SERVING_RULES, make_mesh, mesh_of, parameter_shardings
from tars_jax.training import processes

Devices = list[jax.Device]


def own_shape(shape: dict[str, int], devices: int) -> dict[str, int]:
    """The shape of a mesh of so many devices, on which weights lie as on the learner's mesh `shape`.

    As many ways over `tensor` and `expert`; the rest over `fsdp` where the learner splits over it, else over `data`.
    Raises InputError where one process has too few devices for that.
    """
    ways = shape["tensor"] * shape["expert"]
    if devices % ways:
        raise InputError(
            f"mesh.tensor times mesh.expert must divide the {devices} devices of a process, which samples on its own; "
            f"got {shape['tensor']} times {shape['expert']}"
        )
    rest = "fsdp" if shape["fsdp"] > 1 else "data"
    return {"tensor": shape["tensor"], "expert": shape["expert"], rest: devices // ways}


def to_local_devices(parameters: Parameters) -> Parameters:
    """Weights on the mesh of all processes to copies of them on this process's own devices; all processes call it.

    With one process they stay where they are.
    """
    mesh = mesh_of(parameters)
    if mesh is None or processes.count() == 1:
        return parameters
    every, own = _meshes(mesh)
    shardings = parameter_shardings(own, parameters, SERVING_RULES)

    def copied(leaf: jax.Array, sharding: NamedSharding) -> jax.Array:
        everywhere = jax.device_put(leaf, NamedSharding(every, sharding.spec))
        parts = {part.device: part.data for part in everywhere.addressable_shards}
        order = sharding.addressable_devices_indices_map(leaf.shape)
        return jax.make_array_from_single_device_arrays(leaf.shape, sharding, [parts[device] for device in order])

    return jax.tree.map(copied, parameters, shardings)


@functools.cache
def _meshes(mesh: Mesh) -> tuple[Mesh, Mesh]:
    """All devices as P meshes of one process's each, and that of this process."""
    of_process: dict[int, Devices] = {}
    for device in mesh.devices.flat:
        of_process.setdefault(device.process_index, []).append(device)
    shape = own_shape(dict(mesh.shape), mesh.size // len(of_process))
    own = [make_mesh(shape, of_process[number]) for number in sorted(of_process)]
    every = Mesh(np.stack([each.devices for each in own]), ("processes", *MESH_AXES))
    return every, own[processes.number()]
