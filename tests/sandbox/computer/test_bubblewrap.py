"""Containers for a user who is not root."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ordinary_user
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (apt-get install bubblewrap)"),
]
SCRIPT = Path(__file__).with_name("as_ordinary_user.py")


@pytest.fixture
def folder() -> Iterator[Path]:
    with ordinary_user.own_folder() as place:
        yield place


def start(folder: Path, *arguments: str, script: Path = SCRIPT) -> subprocess.Popen[str]:
    return ordinary_user.start([str(script), str(folder / "c"), *arguments])


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
