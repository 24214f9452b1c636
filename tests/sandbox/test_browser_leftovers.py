"""Nothing stays: no process and no file of a run is left, however the process that owned it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tars_jax.sandbox.browser.processes import is_alive
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]

OWNER = """
import asyncio, multiprocessing, os, signal, sys, time
from pathlib import Path
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, Site

async def main(folder, ending):
    async with BrowserManager(BrowserConfig(browsers=2)) as manager:
        pages = [await manager.open_page(Site(Path(folder))) for _ in range(3)]
        if ending == "forked":
            multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,)).start()
        print(manager.run.folder, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        if ending == "hung":
            asyncio.ensure_future(pages[0].evaluate("(() => { while (true); })()"))
            await asyncio.sleep(0.5)
        if ending in ("returns", "hung"):
            return
        if ending == "exits":
            os._exit(3)
        await pages[0].evaluate("new Promise(() => {})")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
asyncio.run(main(*sys.argv[1:]))
"""


def children(pid: int) -> set[int]:
    """All living descendants of a process."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, waiting = set(), [pid]
    while waiting:
        waiting += (below := parents.get(waiting.pop(), []))
        found |= set(below)
    return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "index.html").write_text("page")
    yield tmp_path


@pytest.mark.parametrize(
    "ending",
    [
        "returns",
        "hung",
        *(pytest.param(each, marks=pytest.mark.full) for each in ("exits", "interrupted")),
        "killed",
        "forked",
    ],
)
@pytest.mark.first(2)
def test_nothing_is_left(site: Path, ending: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(site), ending],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert owner.stdin is not None and owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    started = children(owner.pid)
    assert len(started) > 12 and folder.is_dir()
    sibling = {pid for pid in started if ending == "forked" and _is_fork(pid)}
    owner.stdin.write("\n")
    owner.stdin.flush()
    if ending == "interrupted":  # as a terminal does it: the whole foreground group hears it
        os.killpg(owner.pid, signal.SIGINT)
    elif ending in ("killed", "forked"):
        os.kill(owner.pid, signal.SIGKILL)
    owner.wait(PATIENCE_S)
    wait_until(lambda: not (folder.exists() or any(is_alive(pid) for pid in started - sibling)))
    left = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in started - sibling if is_alive(pid)}
    for pid in sibling:
        os.kill(pid, signal.SIGKILL)
    assert not left and not folder.exists()
    _, errors = owner.communicate(timeout=PATIENCE_S)
    if ending == "interrupted":
        assert (
            owner.returncode != 0 and errors.strip().endswith("KeyboardInterrupt") and "never retrieved" not in errors
        )
    if ending == "returns":
        assert (owner.returncode, errors) == (0, "")


def _is_fork(pid: int) -> bool:
    return b"BrowserManager(" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
