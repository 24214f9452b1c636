"""Quotas: the share of this machine that the computers of one owner may be given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import QuotaExceeded
from tars_jax.sandbox.service.config import COUNTED

Quotas = Mapping[str, int | None]  # by names of COUNTED; None: what the machine has, for each computer


def machine(folder: Path) -> dict[str, int]:
    """Sizes of this machine, with its computers' files in a folder: no computer may be given more."""
    disk = os.statvfs(folder)
    return {
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "disk_mib": disk.f_blocks * disk.f_frsize >> 20,
        "processes": int(Path("/proc/sys/kernel/pid_max").read_text()),
    }


def check_fits(spec: ContainerSpec, has: Mapping[str, int]) -> None:
    """Raises InputError for a computer that this machine could not have alone."""
    for name in COUNTED:
        if getattr(spec, name) > has[name]:
            raise InputError(f"{name} must be at most {has[name]}, which this machine has; got {getattr(spec, name)}")


def require(owner: str, quotas: Quotas, others: Iterable[ContainerSpec], spec: ContainerSpec, count: int = 1) -> None:
    """Raises QuotaExceeded where `count` more computers are too much beside the owner's others."""
    others = list(others)
    for name in COUNTED:
        most, more = quotas.get(name), count * getattr(spec, name)
        used = sum(getattr(other, name) for other in others)
        if most is not None and used + more > most:
            words = f"{owner} has {name} of {used} leased, of {most}, and asks for {more}; release a session first"
            raise QuotaExceeded(words, own=True)
