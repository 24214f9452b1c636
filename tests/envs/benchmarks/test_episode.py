"""A benchmark's task as an environment: one verdict at the end, whoever ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import PrivilegedEnvironment
from tars_jax.tasks.benchmarks.catalog import read_benchmark
from tars_jax.tasks.splits import EVAL, TRAIN
from tars_jax.trajectory import Outcome, Trajectory
from tests.envs.benchmarks.counting import COUNTING, write_tasks

NAME = COUNTING.name


class Says:
    """A policy of fixed answers; the last one is repeated."""

    def __init__(self, writer: PromptWriter, answers: Sequence[str]) -> None:
        self._writer, self._answers = writer, list(answers)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        written = tuple(self._writer.codec.encode(answer))
        return Sampled(written, (0.0,) * len(written), (0,) * len(written))


def played(tasks: Path, answers: Sequence[str], **options: Any) -> Trajectory:
    """One episode of the word plum."""
    given = {"tasks": str(tasks), **options}
    task = Task("plum", NAME, 0, {**given, "task": "plum"}, 4)
    writer = PromptWriter(load_tokenizer(), 1, max_observation_tokens=200)

    async def play() -> Trajectory:
        environment: CheckedEnvironment = load_environment(NAME, given).checked(EnvironmentResources())
        first = await environment.reset(task)
        seen = PrivilegedEnvironment(environment, first, environment.action_space)
        space, asked = environment.action_space, environment.instruction
        episode = await play_episode(
            seen, first, Says(writer, answers), writer, AgentConfig(), id="1", task=task, instruction=asked, space=space
        )
        await environment.close()
        return episode

    return asyncio.run(play())


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_tasks(tmp_path / "words.jsonl")


@pytest.mark.parametrize(
    ("answers", "ended_by", "outcome"),
    [
        (["Action: say(number=4)", "Action: finished(content='')"], "agent", Outcome.FINISHED),
        (["Action: say(number=4)"], "steps", Outcome.TRUNCATED),
        (["Action: say(number=4)", "what?"], "loop", Outcome.REJECTED),
    ],
)
def test_the_verdict_comes_whoever_ends_the_episode(
    tasks: Path, answers: list[str], ended_by: str, outcome: Outcome
) -> None:
    episode = played(tasks, answers)
    final = episode.metadata["final"]["benchmark"]
    assert (episode.outcome, episode.reward, episode.success) == (outcome, 1.0, True)
    assert (final["ended_by"], final["score"], final["details"]) == (ended_by, 1.0, {"said": 4})


def test_a_time_limit_ends_an_episode(tasks: Path) -> None:
    episode = played(tasks, ["Action: say(number=3)"], time_limit=1e-9)
    assert (len(episode.steps), episode.reward, episode.success) == (1, 0.0, False)
    assert episode.metadata["final"]["benchmark"]["ended_by"] == "time"


def test_a_scorer_that_fails_is_no_score(tasks: Path, tmp_path: Path) -> None:
    broken = write_tasks(tmp_path / "broken.jsonl", tmp_path / "not there")
    with pytest.raises(EnvironmentFailure, match="not installed") as error:
        played(broken, ["Action: finished(content='')"], broken="plum")
    assert error.value.kind == "verifier"


def test_sides_share_no_task(tasks: Path) -> None:
    found = read_benchmark(NAME, str(tasks))
    drawn = {
        split: {found.of(Task("t", NAME, found.seed(split, index, 3), {}, 1)).id for index in range(found.count(split))}
        for split in (TRAIN, EVAL)
    }
    assert drawn == {TRAIN: {"plum", "fig", "banana", "cherry"}, EVAL: {"apricot"}}
    assert found.left_out == {"kiwi": "kiwi.txt is missing"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "option tasks must be the path of its tasks; got None"),
        ({"tasks": "/no/such/file.jsonl"}, "/no/such/file.jsonl"),
        ({"names": ["pear"]}, "names must be ids of tasks in .*, such as plum, fig, banana ...; got 'pear'"),
        ({"names": ["kiwi"]}, "can be played here; got none; the first: kiwi.txt is missing"),
        ({"names": "plum"}, "option names must be a list of ids of tasks; got 'plum'"),
        ({"time_limit": -1}, "option time_limit must be seconds, 0 or more; got -1"),
        ({"colour": "red"}, "an option must be one of broken, time_limit; got 'colour'"),
    ],
)
def test_options_that_cannot_be(tasks: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_environment(NAME, {"tasks": str(tasks), **options} if options else {}).make(EnvironmentResources())
