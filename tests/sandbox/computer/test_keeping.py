"""Containers outlive a kill of their owner, with what runs in them, and end when no other one comes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ordinary_user import ROOT, USER
from tests.sandbox.computer.test_bubblewrap import start
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.multiprocess
SCRIPT = Path(__file__).with_name("kept_owner.py")


@pytest.fixture(params=["namespaces", "bubblewrap"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "namespaces" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (apt-get install bubblewrap)")
    return request.param


@pytest.fixture
def folder(kind: str) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="tars_jax-"))
    if kind == "bubblewrap" and os.geteuid() == 0:
        os.chown(place, USER, USER)
    yield place
    shutil.rmtree(place)


def run(kind: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    if kind == "bubblewrap":
        return start(folder, *arguments, script=SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-B", str(SCRIPT), str(folder / "c"), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def runs(nap: str) -> bool:
    """Whether a program of a computer does."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes())
        except OSError:
            continue
    return f"sleep\0{nap}\0".encode() in found


@pytest.mark.first(1)
def test_the_next_owner_goes_on_with_them(kind: str, folder: Path) -> None:
    nap = f"6{os.getpid()}"
    killed = run(kind, folder, "first", nap)
    assert killed.communicate(timeout=PATIENCE_S)[0] == "" and killed.returncode == -signal.SIGKILL
    place = Path(json.loads((folder / "c" / "kept.json").read_text())["run"])
    assert (folder / "c" / "kept.json").stat().st_mode & 0o777 == 0o600
    assert runs(nap) and place.exists()
    following = run(kind, folder, "next", nap)
    told = json.loads(following.communicate(timeout=PATIENCE_S)[0])
    assert following.returncode == 0
    more, ran = told["said"]
    assert more["output"].endswith("done\n") and more["exit_code"] == 0
    assert "/tmp\nplum\n" in ran["output"] and f"sleep {nap}" in ran["output"]
    assert told["value"] == "42" and told["origin"] == "files"
    before, adopted, copied = told["users"]
    assert before == adopted and (adopted != copied) == (kind == "namespaces")
    assert told["other"].startswith("container: it ended with -9")  # nobody kept it
    assert not runs(nap) and not place.exists() and not (folder / "c" / "kept.json").exists()


@pytest.mark.full
def test_without_a_next_owner_they_end(kind: str, folder: Path) -> None:
    """Here as their launcher was killed with it; the end of their time is tried over HTTP, test_service_kill.py."""
    nap = f"7{os.getpid()}"
    killed = run(kind, folder, "first", nap)
    assert killed.communicate(timeout=PATIENCE_S)[0] == ""
    place = Path(json.loads((folder / "c" / "kept.json").read_text())["run"])
    launcher = next(
        int(file.parent.name) for file in Path("/proc").glob("[0-9]*/cmdline")
        if str(place).encode() in (words := file.read_bytes()) and b"launcher" in words
    )  # fmt: skip
    os.kill(launcher, signal.SIGKILL)
    wait_until(lambda: not runs(nap))
    assert not runs(nap)
    following = run(kind, folder, "next", nap)  # which finds nothing, and says so
    assert following.communicate(timeout=PATIENCE_S)[0] == "" and following.returncode == 1
    assert not place.exists()
