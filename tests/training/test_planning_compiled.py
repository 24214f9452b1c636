"""What the TPU compiler makes of a loop and of an engine's turn; runs as a script, for libtpu prints on its own."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_jax.training.planning.chips import compiler_installed

LAYERS, ROWS, WIDTH = 5, 1024, 512
CHIPS, SLOTS, DECODE_WIDTH, EXPERTS, EXPERT_WIDTH = 4, 128, 256, 8, 512
DEEP = 17  # layers: more than an engine holds apart


pytestmark = [
    pytest.mark.full,
    pytest.mark.multiprocess,
    pytest.mark.skipif(not compiler_installed(), reason="libtpu is not installed: pip install 'jax[tpu]==0.10.2'"),
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_a_loop_counts_as_often_as_it_runs(found: dict[str, Any]) -> None:
    """Each layer gathers [512, 512] of bf16 over 4 chips and multiplies a chip's 256 rows of 512 by it."""
    assert found["flops"] == LAYERS * 2 * (ROWS // 4) * WIDTH * WIDTH
    assert found["collectives"] == [["all-gather", LAYERS, LAYERS * WIDTH * WIDTH * 2]]
    assert found["unknown_loops"] == 0


def test_a_decode_step_sends_tokens_and_no_kernels(found: dict[str, Any]) -> None:
    """Also of a model whose learner has kernels travel. A token goes to 2 experts at most."""
    kernel = EXPERTS * DECODE_WIDTH * EXPERT_WIDTH * 2
    tokens = SLOTS * 2 * DECODE_WIDTH * 2
    assert 0 < found["largest_sent"] <= tokens < kernel / 10


def test_a_decode_step_writes_a_long_cache_where_it_lies(found: dict[str, Any]) -> None:
    """All else that it needs is less than a layer's keys. With execution.cache=products it is half of the cache."""
    assert found["beside_cache"] < 1 / (2 * DEEP)


def test_new_tokens_are_read_a_few_at_a_time(found: dict[str, Any]) -> None:
    """512 of them by each slot: with the scores of all of them at once it is half of the cache."""
    assert found["beside_reading"] < 1 / 4


def test_the_keys_of_a_slot_are_written_by_its_own_chip(found: dict[str, Any]) -> None:
    """Kernels are gathered, as in the learner; nothing else that is sent is as large as one slot's new keys."""
    assert 0 < found["reading_sent"] < 512 * 4 * 128 * 2


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
    (beside, _), (reading, sent) = beside_cache(), beside_cache(new_tokens=512)
    answer = {"largest_sent": largest_sent(), "beside_cache": beside, "beside_reading": reading, "reading_sent": sent}
    print(json.dumps({**found, **answer}))


def turn(slots: int, length: int, new_tokens: int = 0, **sizes: Any) -> tuple[Any, Any]:
    """A decode step, or the reading of new tokens, compiled, experts on four chips; and the shapes of the cache."""
    import jax

    from tars_jax.inference.ahead_of_time import lower_decode, lower_prefill
    from tars_jax.model.execution import Execution
    from tars_jax.model.presets import preset
    from tars_jax.model.sharding import make_mesh
    from tars_jax.training.planning.chips import load_slice

    execution = Execution(attention="dense", experts="ragged", expert_communication="weight_gather", cache="rows")
    model = dataclasses.replace(
        preset("nano", vocabulary=1024),
        width=DECODE_WIDTH,
        head_dim=128,
        rope_sections=(24, 20, 20),
        experts=EXPERTS,
        expert_width=EXPERT_WIDTH,
        dtype="bfloat16",
        execution=execution,
        **sizes,
    )
    mesh = make_mesh({"expert": CHIPS}, list(load_slice("v5e:2x2").devices))
    with jax.set_mesh(mesh):
        if new_tokens:
            lowered, _, state = lower_prefill(model, slots, length, new_tokens, mesh)
        else:
            lowered, _, state = lower_decode(model, slots, length, mesh)
        return lowered.compile(), state.cache


def largest_sent() -> int:
    """Bytes of the largest collective of a decode step."""
    compiled, _ = turn(SLOTS, 128, depth=1)
    return largest(compiled)


def largest(compiled: Any, *, but: str = "") -> int:
    """Bytes of the largest collective, `but` one kind."""
    from tars_jax.training.planning.collectives import find_collectives
    from tars_jax.training.planning.hlo import parse

    found = find_collectives(parse(str(compiled.as_text()), 1), CHIPS)
    return int(max(each.payload for each in found if each.kind != but))


def beside_cache(new_tokens: int = 0) -> tuple[float, int]:
    """What a decode step or a reading needs beside its arguments, over the size of its cache: layers in one group. And
    the bytes of its largest collective that gathers nothing.
    """
    from tars_jax.training.planning.programs import bytes_per_chip

    compiled, cache = turn(16, 32_768, new_tokens, depth=DEEP, query_heads=8, kv_heads=4)
    beside = float(compiled.memory_analysis().temp_size_in_bytes / bytes_per_chip(cache))
    return beside, largest(compiled, but="all-gather")


if __name__ == "__main__":
    main()
