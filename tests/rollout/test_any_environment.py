"""Environments that are no pages, and what bad ones do to a run: nothing but cost their own episodes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import ATTEMPTS, Rollouts
from tars_jax.rollout.players import Player, PrivilegedEnvironment, random_player, reference_player
from tars_jax.trajectory import Outcome, Trajectory

TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, 1, max_observation_tokens=32)
HERE = "tests.rollout.test_any_environment:"
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
VAULT = "tars_jax.envs.examples.functions_vault:Vault"
GRID = "gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0"


class Bad:
    """Does what its option says at its second step."""

    time_limit = 0.5

    def __init__(self, way: str) -> None:
        self._way, self._steps = way, 0

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("tools", functions=(Function("go"),))

    @property
    def instruction(self) -> str:
        return "Go."

    def reset(self, task: Task) -> Observation:
        self._steps = 0
        return Observation(text="begun")

    def step(self, actions: Sequence[Any]) -> Any:
        self._steps += 1
        if self._steps < 2:
            return Transition(Observation(text="on"), 1.0)
        match self._way:
            case "raises":
                raise KeyError("gone")
            case "hangs":
                time.sleep(3)
            case "nothing to see":
                return Transition(Observation())
            case "NaN":
                return Transition(Observation(text="on"), float("nan"))
            case "no picture":
                return Transition(Observation(b"not a picture"))
        return Transition(Observation(text="over"), 1.0, terminated=True, success=True)

    def close(self) -> None:
        pass


class _Says:
    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        written = tuple(WRITER.response(text))
        return Sampled(written, (0.0,) * len(written), (-1,) * len(written))


def saying(*texts: str) -> Player:
    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield _Says(*texts)

    return session


def tasks_of(environment: str, count: int, **options: Any) -> list[Task]:
    return [Task(f"t{seed}", environment, seed, options, 6) for seed in range(count)]


def play(tasks: Sequence[Task], player: Player, folder: Path, workers: int = 2) -> list[Trajectory]:
    with Rollouts(None, WRITER, AgentConfig(), workers) as rollouts:
        return rollouts.play(tasks, player, folder)


@pytest.mark.parametrize(
    ("way", "kind"),
    [("raises", "exception"), ("hangs", "timeout"), ("nothing to see", "observation"), ("NaN", "reward"),
     ("no picture", "observation")],
)  # fmt: skip
def test_a_bad_environment_costs_its_own_episode(way: str, kind: str, tmp_path: Path) -> None:
    """Retried, then masked, never a reward; the next task's environment is another."""
    tasks = [*tasks_of(HERE + "Bad", 1, way=way), *tasks_of(HERE + "Bad", 2, way="well")]
    played = play(tasks, saying("Action: go()"), tmp_path, workers=1)
    assert [(each.outcome, each.reward, each.success) for each in played] == [(Outcome.FINISHED, 2.0, True)] * 2
    assert {path.name for path in tmp_path.glob("*.trajectory")} >= {"00000001.trajectory", "00000002.trajectory"}
    from tars_jax.trajectory.files import load_trajectory

    failed = load_trajectory(tmp_path / "00000000.trajectory")
    failures = failed.metadata["infrastructure_failures"]
    assert (failed.outcome, failed.reward, failed.success) == (Outcome.FAILED, 0.0, None)
    assert len(failures) == ATTEMPTS and all(failure.startswith(f"{kind}:") for failure in failures)


def test_one_pool_plays_environments_of_several_kinds(tmp_path: Path) -> None:
    shown = {"action_names": ["up", "right", "down", "left"], "render_mode": "rgb_array"}
    tasks = [*tasks_of(ECHO, 4), *tasks_of(VAULT, 4), *tasks_of(GRID, 4, **shown)]
    played = play(tasks, random_player(WRITER, "text"), tmp_path)
    assert len(played) == 12 and all(step.valid for each in played for step in each.steps)
    assert {each.task["environment"] for each in played} == {ECHO, VAULT, GRID}
    texts = [step.text for each in played[:4] for step in each.steps]
    assert all(text.startswith("word: ") for text in texts)
    assert not any(step.screenshot for each in played[:4] for step in each.steps)
    assert all(step.screenshot for each in played[8:] for step in each.steps)
    assert all(type(each.success) is bool for each in played)


@pytest.mark.parametrize("environment", [ECHO, VAULT])
def test_reference_players_of_any_environment_win(environment: str, tmp_path: Path) -> None:
    played = play(tasks_of(environment, 6), reference_player(WRITER, "text", 1.0), tmp_path)
    assert [each.success for each in played] == [True] * 6


def test_unknown_functions_and_bad_arguments_are_read_in_the_next_observation(tmp_path: Path) -> None:
    player = saying("Action: fly()", "Action: say(word='red')", "Action: say(word='purple')", "Action: say(word='red')")
    (played,) = play(tasks_of(ECHO, 1, rounds=4), player, tmp_path)
    first, _, third, *_ = played.steps
    assert not first.valid and "a function must be one of" in played.steps[1].text
    assert not third.valid and "purple" in played.steps[3].text and "word" in played.steps[3].text
