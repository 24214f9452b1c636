"""What docs/prompts.md shows works as shown: its records, its reward functions, its options, its dialog."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.checkout import ROOT
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import PrivilegedEnvironment
from tars_jax.trajectory import Trajectory

PAGE = (ROOT / "docs" / "prompts.md").read_text("utf-8")
WRITER = PromptWriter(load_tokenizer(), 1, max_observation_tokens=32)
SAID = ("7", "8", "8 or more")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the page's files, which is the current one and on the path, as with PYTHONPATH=."""
    (tmp_path / "sums.jsonl").write_text(blocks("json")[0])
    (tmp_path / "mine.py").write_text("\n\n".join(blocks("python")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # of another test's folder
    yield tmp_path
    sys.modules.pop("mine", None)


def options() -> dict[str, Any]:
    command = next(line for line in PAGE.splitlines() if line.startswith("./launch/local.sh train"))
    flags = dict(word.split("=", 1) for word in shlex.split(command) if word.startswith("--"))
    assert flags["--config.environment"] == "prompts" and len(flags) == 2
    found: dict[str, Any] = json.loads(flags["--config.environment_options"])
    return found


class Says:
    def __init__(self, member: int) -> None:
        self._member = member

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        written = tuple(WRITER.response(SAID[self._member]))
        return Sampled(written, (0.0,) * len(written), (-1,) * len(written))


@contextlib.asynccontextmanager
async def player(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
    yield Says(privileged.member)


def play(folder: Path, chosen: dict[str, Any], max_steps: int = 1) -> list[Trajectory]:
    with Rollouts(None, WRITER, AgentConfig("plain"), 2) as rollouts:
        return rollouts.play([Task("t", "prompts", 0, chosen, max_steps)], player, folder / "played", samples=3)


def test_the_rewards_of_the_page(here: Path) -> None:
    played = play(here, options())
    right = {"3 + 4 =": "7", "2 + 6 =": "8"}[played[0].metadata["instruction"]]
    assert [each.success for each in played] == [said == right for said in SAID]
    parts = [each.metadata["rewards"] for each in played]
    assert [part["short"] for part in parts] == pytest.approx([0.95, 0.95, 0.55])
    assert [part["rarest"] for part in parts] == [1.0] * 3
    weighed = [part["exact"] + 0.2 * part["short"] + 0.1 * part["rarest"] for part in parts]
    assert [each.reward for each in played] == pytest.approx(weighed)


def test_the_dialog_of_the_page(here: Path) -> None:
    played = play(here, {**options(), "env_response": "mine:tries_again", "max_turns": 3}, max_steps=3)
    assert [len(each.steps) for each in played] == [1 if each.success else 3 for each in played]
    assert sum(bool(each.success) for each in played) == 1
    assert all(step.text == "No. Once more." for each in played for step in each.steps[1:])
