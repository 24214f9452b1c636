"""A loop that the TPU compiler has compiled, by hand; runs itself as a script, for libtpu prints on its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tars_jax.training.planning.chips import compiler_installed

LAYERS, ROWS, WIDTH = 5, 1024, 512


@pytest.mark.multiprocess
@pytest.mark.skipif(not compiler_installed(), reason="libtpu is not installed: pip install 'jax[tpu]==0.10.2'")
def test_a_loop_counts_as_often_as_it_runs() -> None:
    """Each layer gathers [512, 512] of bf16 over 4 chips and multiplies a chip's 256 rows of 512 by it."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["flops"] == LAYERS * 2 * (ROWS // 4) * WIDTH * WIDTH
    assert found["collectives"] == [["all-gather", LAYERS, LAYERS * WIDTH * WIDTH * 2]]
    assert found["unknown_loops"] == 0


def main() -> None:
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    from tars_jax.model.sharding import make_mesh
    from tars_jax.training.planning.chips import load_slice
    from tars_jax.training.planning.collectives import find_collectives
    from tars_jax.training.planning.hlo import parse
    from tars_jax.training.planning.operations import count_flops

    mesh = make_mesh({"fsdp": 4}, list(load_slice("v5e:2x2").devices))

    def layer(x: jax.Array, kernel: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(x @ jax.lax.all_gather(kernel, "fsdp", axis=0, tiled=True)), None

    def network(x: jax.Array, kernels: jax.Array) -> jax.Array:
        return jax.lax.scan(layer, x, kernels)[0]

    rows, parts = PartitionSpec("fsdp", None), PartitionSpec(None, "fsdp", None)
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.bfloat16, sharding=NamedSharding(mesh, rows))
    kernels = jax.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), jnp.bfloat16, sharding=NamedSharding(mesh, parts))
    mapped = jax.shard_map(network, mesh=mesh, in_specs=(rows, parts), out_specs=rows, check_vma=False)
    program = parse(str(jax.jit(mapped).lower(x, kernels).compile().as_text()))
    collectives = [[each.kind, each.runs, each.payload * each.runs] for each in find_collectives(program, 4)]
    found = {"flops": count_flops(program), "collectives": collectives, "unknown_loops": program.unknown_loops}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
