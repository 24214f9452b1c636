"""TPU chips: their peak rates, and how a slice of them is wired.

Source: docs.cloud.google.com/tpu/docs/{v5e,v5p,v6e}, tables "Specification" (read 2026-11-21). They give the
interconnect of a chip as the sum over its links and both directions: 4 links on a v5e and a v6e, 6 on a v5p. So a link
carries in one direction 400 / 8, 1200 / 12 and 800 / 8 GB/s.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
from typing import Any

import jax

from tars_jax import InputError

GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Chip:
    """Published numbers of one chip."""

    name: str
    peak_flops: float  # bf16 FLOP/s
    hbm_bytes: float
    hbm_bandwidth: float  # bytes/s
    link_bandwidth: float  # bytes/s of one link in one direction
    ring_multiple: int  # a side of the slice closes to a ring when it is a multiple of this


CHIPS = {
    "v5e": Chip("v5e", 197e12, 16 * GIB, 819e9, 50e9, 16),
    "v5p": Chip("v5p", 459e12, 95 * GIB, 2765e9, 100e9, 4),
    "v6e": Chip("v6e", 918e12, 32 * GIB, 1638e9, 100e9, 16),
}


@dataclasses.dataclass(frozen=True)
class Slice:
    """Chips in a grid; devices know their place in it."""

    chip: Chip
    sides: tuple[int, ...]
    devices: tuple[Any, ...]  # jax devices that compile and never run


def parse_topology(text: str) -> tuple[Chip, tuple[int, ...]]:
    """'v5p:8x8x8' to the chip and the sides of the grid; raises InputError for anything else."""
    found = re.fullmatch(r"(\w+):(\d+(?:x\d+)+)", text)
    if found is None or found.group(1) not in CHIPS:
        raise InputError(
            f"config.topology must be CHIP:AxB or CHIP:AxBxC with a chip of {', '.join(CHIPS)}, "
            f"such as v5p:8x8x8; got {text!r}"
        )
    return CHIPS[found.group(1)], tuple(map(int, found.group(2).split("x")))


def compiler_installed() -> bool:
    return importlib.util.find_spec("libtpu") is not None


def load_slice(text: str) -> Slice:
    """The devices of a topology, from the TPU compiler alone: no TPU is needed.

    Raises InputError for an impossible topology and when the compiler is not installed.
    """
    chip, sides = parse_topology(text)
    if not compiler_installed():
        raise InputError(
            "config.topology needs the TPU compiler (libtpu), which is not installed: "
            "it comes with the extra tars_jax[pod], here: .venv/bin/pip install 'jax[tpu]==0.10.2'."
        )
    # Without these, libtpu asks the cloud which machine it is on, takes a lock, and jax looks for a TPU.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
    jax.config.update("jax_platforms", "cpu")
    from jax.experimental import topologies

    try:
        devices = topologies.get_topology_desc(platform="tpu", topology_name=text).devices
    except jax.errors.JaxRuntimeError as error:
        raise InputError(f"config.topology must be one that the TPU compiler knows; got {text!r}: {error}") from error
    return Slice(chip, sides, tuple(devices))
