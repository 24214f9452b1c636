"""Containers for a user who is not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (apt-get install bubblewrap)"),
]
ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("as_ordinary_user.py")
USER = 1234


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where an ordinary user may write, as pytest's own folders are root's alone."""
    place = Path(tempfile.mkdtemp(prefix="tars_jax-"))
    if os.geteuid() == 0:
        os.chown(place, USER, USER)
    yield place
    shutil.rmtree(place)


def start(folder: Path, *arguments: str, script: Path = SCRIPT) -> subprocess.Popen[str]:
    """The script as this user, or, for root, as another, with a Python that everybody may run."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join([str(ROOT), *packages])}
    user = None if os.geteuid() else USER
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-B", "-c", "import tars_jax.sandbox.computer.isolation"]
        try:
            tried = subprocess.run(command, env=environment, user=user, group=user, cwd="/", capture_output=True)
        except PermissionError:
            continue
        if tried.returncode == 0:
            return subprocess.Popen(
                [python, "-B", str(script), str(folder / "c"), *arguments], env=environment, user=user, group=user,
                extra_groups=None if user is None else [], cwd="/", stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
    pytest.skip("an ordinary user has no Python here that could import the package")


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("end", ["close", "kill -9"])
@pytest.mark.first(1)
def test_an_ordinary_user_has_containers_of_which_nothing_stays(folder: Path, end: str) -> None:
    process = start(folder, *(["wait"] if end == "kill -9" else []))
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
        assert line.strip().isdigit(), "see its traceback above"
        if end == "close":
            assert process.wait(PATIENCE_S) == 0
        else:
            assert is_there(int(line))
            process.kill()
            process.wait()
    wait_until(lambda: not (is_there(int(line)) or list((folder / "c").glob("run-*"))))
    assert not is_there(int(line))
    assert [path.name for path in (folder / "c").iterdir()] == ["lock"]
