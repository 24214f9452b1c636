"""What containers cost: start, stop, fork by files, pause; many in a row with nothing left.

    PYTHONPATH=. python tests/benchmarks/containers.py [--kind namespaces] [--starts 30] [--row 200] [--change-mib 200]

As root for `namespaces`. A start ends when the program of the container runs. The change of files that a snapshot
copies is one file of random bytes beside 2,000 small ones; a fork begins from that snapshot.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tars_jax.sandbox.computer.container import Isolation
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec

T = TypeVar("T")
SLEEP = ["/bin/sleep", "600"]
SPEC = ContainerSpec(disk_mib=1024)


def counted() -> dict[str, int]:
    """What containers take of this machine."""
    groups = [path for path in Path("/sys/fs/cgroup").rglob("tars_jax-*") if path.is_dir()]
    loops = [file for file in Path("/sys/block").glob("loop*/loop/backing_file") if "/run-" in file.read_text()]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if "/run-" in line]
    namespaces = set()
    for path in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            namespaces.add(os.readlink(path))
        except OSError:
            continue
    return {"groups": len(groups), "loops": len(loops), "mounts": len(mounts), "pid namespaces": len(namespaces)}


def shown(name: str, taken_ms: Sequence[float]) -> None:
    ordered = sorted(taken_ms)
    most = ordered[int(0.9 * (len(ordered) - 1))]
    print(f"{name:<28}{statistics.median(ordered):>9.1f}{ordered[0]:>9.1f}{most:>9.1f}", flush=True)


async def timed(work: Coroutine[Any, Any, T], into: list[float]) -> T:
    begin = time.perf_counter()
    result = await work
    into.append(1000 * (time.perf_counter() - begin))
    return result


async def measure(isolation: Isolation, starts: int, row: int, change_mib: int) -> None:
    print(f"{isolation.name:<28}{'ms':>9}{'least':>9}{'9 of 10':>9}")
    times: dict[str, list[float]] = {name: [] for name in ("start", "pause", "resume", "close", "fork from it")}
    for _ in range(starts):
        container = await timed(isolation.launch(SPEC, SLEEP), times["start"])
        await timed(container.pause(), times["pause"])
        await timed(container.resume(), times["resume"])
        await timed(container.close(), times["close"])
    for name in ("start", "pause", "resume", "close"):
        shown(name, times[name])
    fill = f"mkdir many; for i in $(seq 2000); do echo $i > many/$i; done; head -c {change_mib}M /dev/urandom > big"
    parent = await isolation.launch(SPEC, ["/bin/sh", "-c", f"{fill}; echo > $TARS_JAX_RUN/done; sleep 600"])
    while not parent.host_path(f"{parent.run_folder}/done").exists():
        await asyncio.sleep(0.05)
    begin = time.perf_counter()
    snapshot = await parent.snapshot("changed")
    print(f"snapshot of {snapshot.bytes >> 20} MiB{1000 * (time.perf_counter() - begin):>20.1f}")
    for _ in range(starts):
        child = await timed(isolation.launch(SPEC, SLEEP, snapshot), times["fork from it"])
        await child.close()
    shown("fork from it", times["fork from it"])
    memory = parent.memory_bytes()
    await parent.close()
    before = counted()
    begin = time.perf_counter()
    for _ in range(row):
        await (await isolation.launch(SPEC, SLEEP)).close()
    taken_s = time.perf_counter() - begin
    print(f"{row} in a row: {1000 * taken_s / row:.1f} ms each; before {before}, after {counted()}; memory {memory}")


async def main(kind: str, starts: int, row: int, change_mib: int) -> None:
    with tempfile.TemporaryDirectory(prefix="tars_jax-containers-") as folder:
        isolation = await open_isolation(Path(folder), kind)
        try:
            await measure(isolation, starts, row, change_mib)
        finally:
            await isolation.close()
        print(f"in the end: {counted()}, files: {sorted(path.name for path in Path(folder).iterdir())}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="auto")
    parser.add_argument("--starts", type=int, default=30)
    parser.add_argument("--row", type=int, default=200)
    parser.add_argument("--change-mib", type=int, default=200)
    arguments = parser.parse_args(sys.argv[1:])
    asyncio.run(main(arguments.kind, arguments.starts, arguments.row, arguments.change_mib))
