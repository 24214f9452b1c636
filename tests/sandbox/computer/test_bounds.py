"""What a program inside says or does costs this process a bounded piece of work."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.control_groups import ControlGroup, Hierarchy
from tars_jax.sandbox.computer.processes import processes_below
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.concurrency import for_each, run_every
from tars_jax.sandbox.failures import QuotaExceeded
from tars_jax.sandbox.service.computers.quotas import check_fits, require
from tars_jax.sandbox.shell import prompt
from tests.waiting import PATIENCE_S

# Texts of 240,000 characters, which took up to minutes: quadratic work. The kernel ends who takes 20 s of processor.
CLEANING = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from tars_jax.sandbox.shell.text import cleaned
for piece in ("\\r", "a\\b", "\\x1b[", "\\x1b]0;", "\\x1b[0;0", "\\n", "\\x18", "a\\r", "\\x1b[K"):
    cleaned(piece * (240_000 // len(piece)))
    cleaned(piece * (240_000 // len(piece)) + "\\n")
print("done")
"""
DEEP = 200
# By shells, as each begins anew: a fork costs as many pages as it has ancestors that are forks of each other.
NESTED = 'if [ "$1" -gt 1 ]; then sh -c "$0" "$0" $(($1 - 1)); else echo there; sleep 600; fi; true'


def test_text_of_a_terminal_takes_linear_work() -> None:
    ran = subprocess.run([sys.executable, "-c", CLEANING], capture_output=True, text=True, timeout=10 * PATIENCE_S)
    assert ran.stdout == "done\n", ran


def test_a_prompt_with_a_number_of_any_length_is_none() -> None:
    forged = b"\x1esecret:%s:1:1:0:/\x1e\x1e" % (b"9" * 5000)
    assert prompt.pattern("secret").search(forged) is None
    assert prompt.pattern("secret").search(b"\x1esecret:12:1:1:0:/\x1e\x1e") is not None


def test_processes_in_each_other_as_deep_as_they_may_be() -> None:
    """More of them than this process may have calls in each other."""
    command = ["sh", "-c", NESTED, NESTED, str(DEEP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as nested:
        most = sys.getrecursionlimit()
        try:
            assert nested.stdout is not None and nested.stdout.readline() == b"there\n"
            sys.setrecursionlimit(len(inspect.stack(0)) + DEEP // 2)
            found = processes_below(nested.pid)
        finally:
            sys.setrecursionlimit(most)
            os.killpg(nested.pid, 9)
        assert len(found) == DEEP  # with the last one's `sleep`, and without the first


def test_loops_go_on(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def collect(name: str) -> None:
        if name == "bad":
            raise RecursionError
        seen.append(name)

    async def work() -> None:
        await for_each(["bad", "good"], collect, lambda name: f"session {name}")
        if len(seen) == 1:
            raise OSError("of all")

    async def live() -> None:
        loop = asyncio.create_task(run_every(0, work, "the collector"))
        while len(seen) < 3:
            await asyncio.sleep(0)
        loop.cancel()

    with caplog.at_level(logging.ERROR):
        asyncio.run(live())
    assert "session bad" in caplog.text and "the collector failed" in caplog.text


def test_owners_have_a_share_of_the_machine() -> None:
    spec = ContainerSpec(memory_mib=1000, disk_mib=100, processes=10)
    require("ann", {"memory_mib": 3000}, [spec], spec, 2)
    with pytest.raises(QuotaExceeded, match="ann has memory_mib of 1000 leased, of 2999, and asks for 2000"):
        require("ann", {"memory_mib": 2999}, [spec], spec, 2)
    with pytest.raises(QuotaExceeded, match="disk_mib of 0 leased, of 0"):
        require("ann", {"disk_mib": 0, "processes": None}, [], spec)
    has = {"memory_mib": 1000, "disk_mib": 100, "processes": 10}
    check_fits(spec, has)
    with pytest.raises(InputError, match="processes must be at most 9, which this machine has; got 10"):
        check_fits(spec, {**has, "processes": 9})


@pytest.mark.parametrize("version", [1, 2])
def test_buffers_of_sockets_count_as_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Version 1 where it is told to; version 2 does so by itself, and is not asked for what it does not have."""
    from tars_jax.sandbox.computer import control_groups

    parent = tmp_path / "memory"
    parent.mkdir()
    made = Hierarchy(version, frozenset(("memory",)), parent)
    monkeypatch.setattr(control_groups, "hierarchies", lambda: (made,))
    folder, buffers = parent / f"{control_groups.PREFIX}one", "memory.kmem.tcp.limit_in_bytes"
    make = Path.mkdir

    def with_files(path: Path) -> None:  # as the kernel makes a group
        make(path)
        if version == 1:
            (path / buffers).touch()

    monkeypatch.setattr(Path, "mkdir", with_files)
    ControlGroup("one", ContainerSpec(memory_mib=64))
    limit = "memory.limit_in_bytes" if version == 1 else "memory.max"
    assert (folder / limit).read_text() == str(64 << 20)
    assert (folder / buffers).exists() == (version == 1)
    if version == 1:
        assert (folder / buffers).read_text() == str(64 << 20)
