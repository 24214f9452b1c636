"""The list of environments."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import gymnasium
import pytest

import tars_jax.tasks.miniwob.catalog as catalog
from tars_jax.envs import environment_id, environment_names
from tars_jax.envs.__main__ import main
from tars_jax.envs.registration import IDS

ROOT = pathlib.Path(__file__).resolve().parents[2]


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[list[str]]:
    main(list(words))
    return [re.split("  +", line) for line in capsys.readouterr().out.splitlines()]


def test_every_environment_is_registered_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = listed(capsys)
    assert head == ["id", "kind", "needs"]
    pages, others = [environment_id(name) for name in environment_names()], [*IDS.values()]
    assert [row[0] for row in rows][: len(pages) + len(others)] == pages + others
    assert len({row[0] for row in rows}) == len(rows) > 135
    assert all(row[0] in gymnasium.registry for row in rows)
    assert ["TarsJax/MazePathOfLight-v0", "game", "Chromium, any size"] in rows
    assert ["TarsJax/MiniWoB-flight.AA-v0", "MiniWoB++", "Chromium, 375x667"] in rows
    some = listed(capsys, "miniwob", "dialog")[1:]
    assert [row[0] for row in some] == ["TarsJax/MiniWoB-click-dialog-v0", "TarsJax/MiniWoB-click-dialog-2-v0"]
    assert listed(capsys, "computer")[1:] == [["TarsJax/Computer-v0", "environment", "root or bubblewrap"]]


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(catalog.importlib.util, "find_spec", lambda name: None)
    catalog.load_miniwob.cache_clear()
    ((_, kind, needs),) = listed(capsys, "MiniWoB-click-test-v0")[1:]
    assert kind == "MiniWoB++"
    assert needs.startswith("MiniWoB++ needs the extra tars_jax[miniwob]")


def test_a_word_that_none_has_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["miniwob", "chess"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("No environment has miniwob and chess in its id or kind")


@pytest.mark.multiprocess
def test_a_reader_that_has_enough_ends_the_list() -> None:
    """As `python -m tars_jax.envs | head` does."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tars_jax.envs | true"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
