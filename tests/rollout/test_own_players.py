"""Players of one's own, by name, as demonstrators of any environment."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import own_player
from tars_jax.tasks.games.moves import Move
from tars_jax.trajectory import Outcome, Trajectory

WRITER = PromptWriter(load_tokenizer(), 1, max_observation_tokens=16)
HERE = "tests.rollout.test_own_players:"
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"


def reads(observation: Observation, rng: random.Random, skill: float) -> Move:
    """Says what it reads, with no look at the environment's state."""
    return Move("I read it", "say", {"word": observation.text.removeprefix("word: ")})


class Remembers:
    """Right but for the turns before the one that its task names."""

    def __init__(self, task: Task) -> None:
        self._turn, self._task = 0, task

    async def __call__(self, observation: Observation, rng: random.Random, skill: float) -> Move:
        self._turn += 1
        word = observation.info["state"]["word"] if self._turn > self._task.seed else "red"
        return Move(f"turn {self._turn}", "say", {"word": word})


def says_nothing(observation: Observation, rng: random.Random, skill: float) -> Any:
    return "red"


def flies(observation: Observation, rng: random.Random, skill: float) -> Move:
    return Move("", "fly", {})


def goes(observation: Observation, rng: random.Random, skill: float) -> Move:
    return Move("", "go", {})


def play(name: str, folder: Path, *seeds: int) -> list[Trajectory]:
    tasks = [Task(f"t{seed}", ECHO, seed, {}, 4) for seed in seeds]
    with Rollouts(None, WRITER, AgentConfig(), 2) as rollouts:
        return rollouts.play(tasks, own_player(name, WRITER, "text", 1.0), folder)


def test_a_function_that_reads_what_a_policy_reads(tmp_path: Path) -> None:
    played = play(f"{HERE}reads", tmp_path, 0, 1, 2, 3)
    assert [each.success for each in played] == [True] * 4
    assert {step.thought for each in played for step in each.steps} == {"I read it"}
    assert all((window.versions == -1).all() for each in played for window in each.windows)  # no policy's tokens


def test_a_class_is_made_for_each_episode(tmp_path: Path) -> None:
    played = play(f"{HERE}Remembers", tmp_path, 0, 0)
    assert [[step.thought for step in each.steps] for each in played] == [["turn 1", "turn 2"]] * 2
    assert [each.success for each in played] == [True, True]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("says_nothing", "player .*says_nothing must return a Move; got str"),
        ("flies", "'fly'"),
        ("read", "'read' must be an attribute of .*; it has 'reads'"),
        ("ECHO", "must be a function or a class; got an object of type str"),
    ],
)
def test_who_is_no_player(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, BaseExceptionGroup)) as caught:
        play(HERE + name, tmp_path, 0)
    assert caught.group_contains(InputError, match=words) if isinstance(caught.value, BaseExceptionGroup) else True
    if isinstance(caught.value, InputError):
        assert caught.match(words)


def test_an_environment_without_a_reference_player_can_be_shown() -> None:
    from tests.pipelines.test_environments import config_of

    walled = "tests.rollout.test_any_environment:Bad"
    way = 'environment_options={"way": "well"}'
    assert not EnvironmentTasks(config_of(way, environment=walled)).has_reference
    assert EnvironmentTasks(config_of(way, f"demonstrations.player={HERE}goes", environment=walled)).has_reference
    with pytest.raises(InputError, match="player .*:reads of .*:Bad must call what can be called; .*got 'say'"):
        config_of(way, f"demonstrations.player={HERE}reads", environment=walled)


def test_players_of_gymnasium_environments(tmp_path: Path) -> None:
    """Every taxi arrives, by a shortest way: at most 4 and 4 streets over each of two ways, twice stopping and around
    walls; 20 are earned at the end, and each step before costs 1. The car's fuel costs less than a tenth of the 100."""
    place = "tars_jax.envs.examples.gymnasium_players"
    with Rollouts(None, WRITER, AgentConfig(), 2) as rollouts:
        for id, player, most in (("Taxi-v4", "taxi", 20), ("MountainCarContinuous-v0", "mountain_car", 999)):
            tasks = [Task(f"{player}{seed}", f"gymnasium:{id}", seed, {}, most) for seed in range(3)]
            played = rollouts.play(tasks, own_player(f"{place}:{player}", WRITER, "text", 1.0), tmp_path / player)
            assert all(each.outcome is Outcome.FINISHED for each in played)
            if player == "taxi":
                assert [each.reward for each in played] == [21 - len(each.steps) for each in played]
            else:
                assert all(each.reward > 90 and each.success for each in played)
