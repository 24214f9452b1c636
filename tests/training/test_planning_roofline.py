"""Wires, seconds and utilization of small slices, by hand."""

import dataclasses

import numpy as np
import pytest
from jax.sharding import Mesh

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import count_parameters
from tars_jax.training.planning.chips import CHIPS, Chip, Slice, parse_topology
from tars_jax.training.planning.collectives import Collective, Wires, replica_group, seconds, wires
from tars_jax.training.planning.compiled import out_of_memory
from tars_jax.training.planning.model_flops import (
    decode_flops,
    human,
    image_flops,
    matrix_parameters,
    prefill_flops,
    update_flops,
)
from tars_jax.training.planning.roofline import Assumptions, CollectiveSum, mesh_axes, roofline, sum_collectives

CHIP = Chip("toy", peak_flops=100.0, hbm_bytes=1000.0, hbm_bandwidth=10.0, link_bandwidth=2.0, ring_multiple=4)


@dataclasses.dataclass(frozen=True)
class Device:
    """What the planning reads of a device."""

    id: int
    coords: tuple[int, ...]
    process_index: int = 0
    platform: str = "tpu"
    device_kind: str = "toy"


def slice_of(*sides: int) -> tuple[Slice, np.ndarray]:
    """A slice of toy chips, and the places of its devices in the grid's own order, last side fastest."""
    places = np.array(list(np.ndindex(*sides)))
    devices = tuple(Device(number, (*map(int, at), 0)) for number, at in enumerate(places))
    return Slice(CHIP, sides, devices), places


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("replica_groups={{0,2},{1,3}}, x", (0, 2)),
        ("replica_groups=[2,4]<=[8], x", (0, 1, 2, 3)),
        ("replica_groups=[4,2]<=[2,4]T(1,0), x", (0, 4)),
        ("replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_1'}, x", (0, 1, 2, 3)),
        ("replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_0'}, x", (0, 4)),
        ("replica_groups=mesh['a'=2,'b'=2,'c'=2] {'a','c'}, x", (0, 1, 4, 5)),
        ("replica_groups=mesh['a'=8] {'a':(2)2}, x", (0, 2)),
        ("source_target_pairs={{3,0},{0,1}}", (3, 0)),
        ("replica_groups=mesh['a'=1,'b'=2,'c'=4], device_ids=([4,2]T(1,0)) {'b'}, x", (0, 1)),
        ("replica_groups=mesh['a'=1,'b'=2,'c'=4], device_ids=([4,2]T(1,0)) {'c'}, x", (0, 2, 4, 6)),
        ("replica_groups={}, x", tuple(range(8))),
    ],
)
def test_groups_in_every_form_of_the_text(text: str, group: tuple[int, ...]) -> None:
    assert replica_group(text, 8) == group


def test_groups_of_an_unknown_form_are_not_taken_for_all_chips() -> None:
    with pytest.raises(ValueError, match="not known here"):
        replica_group("replica_groups=mesh['a'=8], device_ids=somehow {'a'}, x", 8)


def test_wires_of_groups() -> None:
    """A side of 4 closes to a ring of toy chips, a side of 2 does not; chips two apart share their wires."""
    slice_, places = slice_of(4, 2)
    assert wires((0, 2, 4, 6), places, slice_) == Wires((4,), (4.0,))
    assert wires((0, 1), places, slice_) == Wires((2,), (2.0,))
    assert wires(range(8), places, slice_) == Wires((4, 2), (4.0, 2.0))
    assert wires((0, 2), places, slice_) == Wires((2,), (2.0,))
    assert wires((0, 4), places, slice_) == Wires((2,), (1.0,))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("all-gather", 120 * 3 / 4 / 4),  # three quarters of 120 bytes enter by two wires of 2 bytes/s
        ("reduce-scatter", 120 * 3 / 4 / 4),
        ("all-reduce", 2 * 120 * 3 / 4 / 4),
        ("all-to-all", 120 * 4 / (4 * 4)),  # 4 chips of 120 bytes, half across two cuts: 120 bytes a cut, by 2 wires
        ("collective-permute", 120 / 4),
    ],
)
def test_seconds_on_a_ring_of_four(kind: str, expected: float) -> None:
    assert seconds(kind, 120, 4, Wires((4,), (4.0,))) == pytest.approx(expected)


def test_two_directions_share_a_gather_and_the_longer_bounds_an_exchange() -> None:
    on = Wires((4, 2), (4.0, 2.0))
    assert seconds("all-gather", 120, 8, on) == pytest.approx(120 * 7 / 8 / 6)
    assert seconds("all-to-all", 120, 8, on) == pytest.approx(max(120 * 4 / 16, 120 * 2 / 8))


def test_collectives_are_summed_by_kind_and_mesh_axes() -> None:
    slice_, _ = slice_of(4, 2)
    mesh = Mesh(np.array(slice_.devices, object).reshape(1, 4, 2, 1), ("data", "fsdp", "expert", "tensor"))
    assert mesh_axes((0, 2, 4, 6), mesh) == ("fsdp",)
    assert mesh_axes((0, 1), mesh) == ("expert",)
    gather, exchange = Collective("all-gather", (0, 2, 4, 6), 120, 5), Collective("all-to-all", (0, 1), 16, 10)
    assert sum_collectives([gather, exchange, gather], mesh, slice_) == (
        CollectiveSum("all-gather", ("fsdp",), 4, 10, 1200, 10 * 22.5),
        CollectiveSum("all-to-all", ("expert",), 2, 10, 160, 10 * 16 * 2 / (4 * 2)),
    )


def test_roofline() -> None:
    """80 s of compute at half of the peak, 5 s of memory, 82 s if they take turns, 20 s of wires; 8 chips could do 800
    FLOP a second."""
    slice_, _ = slice_of(4, 2)
    collectives = [CollectiveSum("all-gather", ("fsdp",), 4, 1, 0, 20.0)]
    found = roofline(4000.0, 50.0, 82.0, collectives, 16_000.0, slice_, Assumptions(matmul_efficiency=0.5))
    assert (found.compute, found.memory, found.busy, found.wires) == (80, 5, 82, 20)
    assert (found.overlapped, found.serial) == (80, 102)
    assert found.utilization_overlapped == pytest.approx(16_000 / 64_000)
    assert found.utilization == pytest.approx(16_000 / 81_600)


def test_topologies() -> None:
    assert parse_topology("v5p:8x8x8") == (CHIPS["v5p"], (8, 8, 8))
    assert parse_topology("v6e:2x4") == (CHIPS["v6e"], (2, 4))


@pytest.mark.parametrize("text", ["v5p", "v5p:8", "v9:2x2", "v5e:2x2x", "v5e-4", ""])
def test_no_topologies(text: str) -> None:
    with pytest.raises(InputError, match=r"config\.topology must be CHIP:AxB or"):
        parse_topology(text)


def test_the_compilers_sentence_on_memory() -> None:
    message = (
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 20G.\nmore"
    )
    assert out_of_memory(message) == "Ran out of memory in memory space hbm. Used 20G."
    assert out_of_memory("INVALID_ARGUMENT: x") is None


def test_useful_operations_of_the_tiny_model(tiny_model: ModelConfig) -> None:
    """width 16, 2 layers, 2 query heads and 1 of keys of 8, 2 of 4 experts of 16, 32 tokens; vision of width 8, one
    block with an MLP of 16, patches of 4x4x3, 2x2 merged.
    """
    layer = 16 * 2 * 8 + 2 * 16 * 8 + 2 * 8 * 16 + 16 * 4 + 2 * 3 * 16 * 16
    decoder = 2 * layer + 16 * 32
    patch = 48 * 8 + 8 * 24 + 8 * 8 + 2 * 8 * 16
    merged = 32 * 32 + 32 * 16
    assert matrix_parameters(tiny_model) == (decoder, patch, merged)
    # An image of 8x16 is 2 tokens of 4 patches; each patch sees all 8, in 2 products of width 8.
    image = 2 * (8 * patch + 2 * merged) + 2 * 2 * 8 * 8 * 8
    assert image_flops(tiny_model, 8, 16) == image
    # Token t of 10 sees t + 1: 55 pairs a row, 2 layers, 2 products, 2 heads of 8.
    rows = 3 * 10 * 2 * decoder + 3 * 55 * 2 * 2 * 2 * 2 * 8
    assert update_flops(tiny_model, 3, 10, 4, (8, 16)) == 3 * (rows + 4 * image)
    assert decode_flops(tiny_model, 5, 100) == 5 * (2 * decoder + 100 * 2 * 2 * 2 * 2 * 8)
    # The last 3 tokens of 100 see 98, 99 and 100; the head reads the last alone.
    read = 3 * 2 * 2 * layer + 2 * 16 * 32 + (98 + 99 + 100) * 2 * 2 * 2 * 2 * 8
    assert prefill_flops(tiny_model, 5, 100, 3) == 5 * read


def test_matrices_are_nearly_all_active_parameters(tiny_model: ModelConfig) -> None:
    """The rest are the embedding, norms, biases and positions of the vision."""
    _, active = count_parameters(tiny_model)
    assert sum(matrix_parameters(tiny_model)) < active < sum(matrix_parameters(tiny_model)) + 32 * 16 + 500


def test_numbers_for_people() -> None:
    assert [human(number) for number in (0, 999, 2.3e11, 23_456, 1e21)] == ["0", "999", "230 G", "23.5 k", "1e+03 E"]


def test_published_numbers_agree_with_the_grid() -> None:
    """Links times both directions give the chip's published sum: 400, 1200 and 800 GB/s."""
    assert {name: chip.link_bandwidth * (12 if name == "v5p" else 8) for name, chip in CHIPS.items()} == {
        "v5e": 400e9,
        "v5p": 1200e9,
        "v6e": 800e9,
    }
