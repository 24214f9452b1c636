"""Judges of one's own and the embedded one: by name, around an episode, and where they fail."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.store.verdicts import own_verdict
from tars_jax.environment import Task, Verification
from tars_jax.judges import Judge, Judgement, load_judge, reference_answer
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.files import load_trajectory
from tests.environments.questions import CAPITALS, country

HERE = "tests.judges.test_judges:"
QUESTIONS = "tests.environments.questions:Capitals"
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
WRITER = PromptWriter(load_tokenizer(), 1, max_observation_tokens=16)


def task_of(seed: int, environment: str = ECHO, **verification: Any) -> Task:
    return Task(f"t{seed}", environment, seed, {}, 4, verification=Verification(**verification))


def half(trajectory: Trajectory, task: Task) -> tuple[float, bool | None]:
    """Half of what the environment gave."""
    return trajectory.reward / 2, task.seed == 1


async def later(trajectory: Trajectory, task: Task) -> Judgement:
    await asyncio.sleep(0)
    return Judgement(3.0)


class Strict:
    time_limit = 7.0

    def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        return Judgement(-1.0, False)


def away(trajectory: Trajectory, task: Task) -> Judgement:
    raise ConnectionError("nobody there")


def nothing(trajectory: Trajectory, task: Task) -> Any:
    return float("nan"), True


NO_JUDGE = 5


def play(tasks: list[Task], folder: Path, judge: Judge | None, skill: float = 1.0) -> list[Trajectory]:
    player = reference_player(WRITER, "text", skill)
    with Rollouts(None, WRITER, AgentConfig(), 2, judge=judge) as rollouts:
        return rollouts.play(tasks, player, folder)


def test_what_a_judge_says_is_the_episodes_reward_and_success(tmp_path: Path) -> None:
    first, second = play([task_of(0), task_of(1)], tmp_path, load_judge(f"{HERE}half"))
    assert (first.reward, first.success, second.success) == (1.0, False, True)
    assert [step.reward for step in first.steps] == [0.0, 1.0]  # all of it at the end
    assert first.metadata["environment_reward"] == 2.0 and first.metadata["judge"] == f"{HERE}half"
    assert load_trajectory(tmp_path / "00000000.trajectory").success is False


def test_coroutines_classes_and_a_threshold(tmp_path: Path) -> None:
    tasks = [task_of(0), task_of(1, threshold=2.5)]
    assert [(each.reward, each.success) for each in play(tasks, tmp_path / "a", load_judge(f"{HERE}later"))] == [
        (3.0, None),
        (3.0, True),
    ]
    strict = load_judge(f"{HERE}Strict")
    assert strict.time_limit == 7.0
    assert [each.reward for each in play(tasks, tmp_path / "b", strict)] == [-1.0, -1.0]


class Graded:
    def __init__(self, least: float = 1.0) -> None:
        self._least = least

    def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        return Judgement(trajectory.reward, trajectory.reward >= self._least)


def test_a_verdict_has_its_judges_version(tmp_path: Path) -> None:
    """Other options are another version, the same ones in any order the same; who has none has none."""
    mild, strict = (load_judge(f"{HERE}Graded", {"least": least}) for least in (1.0, 9.0))
    (said,) = own_verdict(*play([task_of(0)], tmp_path / "a", strict))
    assert (said.value, said.kind, said.name, said.version) == (False, "judge", f"{HERE}Graded", strict.version)
    assert strict.version and strict.version != mild.version
    assert load_judge(f"{HERE}Graded", {"least": 9.0}).version == strict.version
    (plain,) = play([task_of(0)], tmp_path / "b", load_judge(f"{HERE}Graded"))
    assert "judge_version" not in plain.metadata and own_verdict(plain)[0].version == ""


def test_the_reference_answer_is_the_environments_to_say(tmp_path: Path) -> None:
    tasks = [dataclasses.replace(task_of(seed, QUESTIONS), verification=known(seed)) for seed in range(4)]
    played = play(tasks, tmp_path, None, skill=0.0)  # everybody says Tokyo
    assert [each.success for each in played] == [False, True, False, True]
    assert [each.reward for each in played] == [0.0, 1.0, 0.0, 1.0]


def known(seed: int) -> Verification:
    return Verification("judge", CAPITALS[country(task_of(seed))])


def test_tasks_of_a_run_have_what_the_environment_says() -> None:
    from tests.pipelines.test_environments import config_of

    plain = EnvironmentTasks(config_of(environment=QUESTIONS)).held_out(6)
    assert [task.verification for task in plain] == [known(task.seed) for task in plain]
    bounded = EnvironmentTasks(config_of("task.success_threshold=0.5", environment=QUESTIONS)).held_out(1)
    assert bounded[0].verification == dataclasses.replace(known(bounded[0].seed), threshold=0.5)


def test_the_environments_own_verdict_is_the_control_of_a_reward_model(tmp_path: Path) -> None:
    judge = load_judge("environment")
    solved, failed = task_of(0), task_of(1)
    (first,) = play([solved], tmp_path / "a", judge, skill=1.0)
    assert (first.reward, first.success, first.metadata["environment_reward"]) == (1.0, True, 2.0)
    assert [step.reward for step in first.steps] == [0.0, 1.0]
    silent = dataclasses.replace(judge, pause=0.0)
    assert play([dataclasses.replace(failed, environment=QUESTIONS)], tmp_path / "b", silent) == []
    (lost,) = [load_trajectory(file) for file in (tmp_path / "b").glob("*.trajectory")]
    assert "says nothing of success" in lost.metadata["infrastructure_failures"][0]


def test_a_judge_that_is_away_is_no_reward_of_zero(tmp_path: Path) -> None:
    judge = dataclasses.replace(load_judge(f"{HERE}away"), pause=0.0)
    assert play([task_of(0)], tmp_path, judge) == []
    failed = load_trajectory(tmp_path / "00000000.trajectory")
    assert failed.outcome is Outcome.FAILED and failed.success is None
    assert "judge:" in failed.metadata["infrastructure_failures"][0]
    told = failed.metadata["infrastructure_failures"][0]
    assert "ConnectionError: nobody there (tests" in told and told.endswith("the last of 3 times")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{HERE}NO_JUDGE", "must be a function or a class; got an object of type int"),
        (f"{HERE}hallf", "'hallf' must be an attribute of .*; it has 'half'"),
        (
            "refrence",
            "judge must be one of environment, .*package.module:attribute.*; got 'refrence'.*mean 'reference'",
        ),
    ],
)
def test_names_that_are_no_judge(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_judge(name)


def test_what_is_no_judgement_and_who_has_no_judge(tmp_path: Path) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        play([task_of(0)], tmp_path / "a", load_judge(f"{HERE}nothing"))
    assert caught.group_contains(InputError, match=r"must return a finite reward, .*; got \(nan, True\)")
    with pytest.raises(BaseExceptionGroup) as caught:
        play([task_of(0, by="judge")], tmp_path / "b", None)
    assert caught.group_contains(InputError, match=r"task.judge must name a judge for .*TextEcho")


def test_an_episode_without_an_answer() -> None:
    step = Step(b"", "", "", "wait()", None, 0.0, 0, True, {})
    episode = Trajectory("e", {}, (), (step, dataclasses.replace(step, action="")), Outcome.TRUNCATED, 0.0)
    assert reference_answer(episode, task_of(0, by="judge", reference="x")) == (0.0, False)
