"""Programs of tests as another, ordinary user, where the tests are root's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
USER = 1234


@contextmanager
def own_folder() -> Iterator[Path]:
    """Where an ordinary user may write, as pytest's own folders are root's alone."""
    place = Path(tempfile.mkdtemp(prefix="tars_jax-"))
    if os.geteuid() == 0:
        os.chown(place, USER, USER)
    yield place
    shutil.rmtree(place)


def start(words: Sequence[str], **variables: str) -> subprocess.Popen[str]:
    """A Python as this user, or, for root, as another, with a Python that everybody may run."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment: Mapping[str, str] = {
        "PATH": os.environ["PATH"], "PYTHONPATH": ":".join([str(ROOT), *packages]), **variables,
    }  # fmt: skip
    user = None if os.geteuid() else USER
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-B", "-c", "import tars_jax.sandbox.computer.isolation"]
        try:
            tried = subprocess.run(command, env=environment, user=user, group=user, cwd="/", capture_output=True)
        except PermissionError:
            continue
        if tried.returncode == 0:
            return subprocess.Popen(
                [python, "-B", *words], env=environment, user=user, group=user,
                extra_groups=None if user is None else [], cwd="/", stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
    pytest.skip("an ordinary user has no Python here that could import the package")
