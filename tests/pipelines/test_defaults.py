"""What a config leaves open follows from what its environment is, and stays with the run."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Transition
from tars_jax.pipelines.config import flatten, load_config
from tars_jax.pipelines.defaults import Choice, chosen
from tars_jax.training.run_directory import RunDirectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAY = {"type": "object", "properties": {"word": {"enum": ["up", "down"]}}, "required": ["word"]}


class Long:
    """Thirty steps of twelve words each."""

    instruction = "Go on."
    action_space = ActionSpace("tools", functions=(Function("say", "Says.", SAY),))
    max_steps = 30

    def reset(self, task: Any) -> Observation:
        self.steps = 0
        return Observation(text="begin")

    def step(self, actions: Any) -> Transition:
        self.steps += 1
        return Transition(Observation(text="on and on " * 4), 1.0, terminated=self.steps == 30)

    def close(self) -> None:
        pass


class Shown(Long):
    """The same with a reference player."""

    @staticmethod
    def reference_player(state: Any, rng: Any, skill: float) -> Any:
        from tars_jax.tasks.games.moves import Move

        return Move("I go up.", "say", {"word": "up"})

    def reset(self, task: Any) -> Observation:
        self.steps = 0
        return Observation(text="begin", info={"state": {}})

    def step(self, actions: Any) -> Transition:
        self.steps += 1
        return Transition(Observation(text="on", info={"state": {}}), 1.0, terminated=self.steps == 30)


class Longer(Long):
    """An episode may be long, and each step earns something."""

    max_steps = 300


class Rare(Long):
    """Every tenth seed earns something, at the end; an episode of thirty steps."""

    def reset(self, task: Any) -> Observation:
        self.earns = task.seed % 20 == 0
        return super().reset(task)

    def step(self, actions: Any) -> Transition:
        transition = super().step(actions)
        return Transition(transition.observation, float(transition.terminated and self.earns), transition.terminated)


class Wordy(Long):
    """Of more text than a window should hold twice."""

    def reset(self, task: Any) -> Observation:
        super().reset(task)
        return Observation(text="many words " * 800)


def brief(observation: Observation, rng: Any, skill: float) -> Any:
    """A player of one's own."""
    from tars_jax.tasks.games.moves import Move

    return Move("I go up, and up, and up again.", "say", {"word": "up"})


class Even(Long):
    """Shows two digits, whatever is done."""

    def reset(self, task: Any) -> Observation:
        super().reset(task)
        return Observation(text="07")

    def step(self, actions: Any) -> Transition:
        return dataclasses.replace(super().step(actions), observation=Observation(text=f"{self.steps:02d}"))


class Fragile(Long):
    """Takes no call that chance makes up."""

    def step(self, actions: Any) -> Transition:
        raise KeyError("word")


def values_of(environment: str, *flags: str) -> dict[str, Choice]:
    arguments = [f"--config.environment={__name__}:{environment}", *(f"--config.{flag}" for flag in flags)]
    return {choice.field: choice for choice in chosen(load_config("train", arguments, root=ROOT, checked=False))[0]}


def test_every_open_field_gets_a_value_and_a_reason() -> None:
    config = load_config("train", [f"--config.environment={__name__}:Long"], root=ROOT, checked=False)
    found, shapes = chosen(config)
    open_fields = [field for field, value in flatten(config.to_dict()).items() if value is None]
    assert sorted(choice.field for choice in found) == sorted(open_fields) and len(open_fields) > 10
    assert all(choice.reason for choice in found) and shapes is not None and shapes[0].seen.steps == 30


def test_from_random_weights_nothing_is_thought_and_budgets_follow_from_an_episode() -> None:
    long = values_of("Long")
    assert long["task.max_steps"].value == 30
    assert long["agent.thought"].value == "never" and long["agent.list_actions"].value is False
    assert long["demonstrations.episodes"].value == 0
    # 1,024 steps of thirty each are 34 episodes; a multiple of 8.
    assert long["ppo.min_batch"].value == 32 and "30 steps" in long["ppo.min_batch"].reason
    assert long["agent.max_observation_tokens"].value >= 12
    assert values_of("Long", "ppo.group_size=32")["ppo.min_batch"].value == 32  # whole groups
    assert long["ppo.batch_steps"].value == 1024
    given = values_of("Long", "ppo.min_batch=40")["ppo.batch_steps"]
    assert given.value == 0 and "however long" in given.reason


def test_a_window_holds_a_short_episode_whole() -> None:
    kept = {limit: values_of("Long", f"task.max_steps={limit}")["agent.max_steps"] for limit in (1, 2, 8, 9)}
    assert {limit: choice.value for limit, choice in kept.items()} == {1: 0, 2: 1, 8: 7, 9: 0}
    assert kept[2].reason == "an episode has at most 2 steps: all are seen"
    assert kept[9].reason.startswith("an episode has at most 9 steps, too many to see all: where earlier ones must be")
    wordy = values_of("Wordy", "task.max_steps=2")["agent.max_steps"]
    assert wordy.value == 0 and "at most 2 steps, of up to 1" in wordy.reason


def test_the_reason_of_a_limit_is_true() -> None:
    def limit(name: str) -> Choice:
        config = load_config("train", [f"--config.environment=gymnasium:{name}"], root=ROOT, checked=False)
        return next(choice for choice in chosen(config)[0] if choice.field == "task.max_steps")

    assert (limit("FrozenLake-v1").value, limit("FrozenLake-v1").reason) == (100, "the environment's own limit")
    assert limit("Blackjack-v1").reason == "the environment has no limit of its own"


def test_rewards_along_a_long_way_are_discounted_and_made_small() -> None:
    long, longer = values_of("Long"), values_of("Longer")
    assert long["reward.scale"].value == longer["reward.scale"].value == 0.1  # thirty steps of 1
    assert "earn 30" in long["reward.scale"].reason
    assert long["ppo.gamma"].value == 1 and "at most 30 steps" in long["ppo.gamma"].reason
    assert longer["ppo.gamma"].value == 0.99 and longer["ppo.gamma"].reason.endswith("100 steps of 1 decision")
    free = values_of("Longer", "agent.constrained=False")["ppo.gamma"]
    tokens = int(free.reason.split()[-2])
    assert tokens > 5 and free.value == pytest.approx(1 - 1 / (100 * tokens), abs=1e-6)
    assert values_of("Longer", "ppo.advantages=turn", "agent.constrained=False")["ppo.gamma"].value == 0.99


def test_a_batch_holds_episodes_that_earn_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred by chance ten earn something: three of these take thirty episodes, fewer than 1,024 steps give."""
    monkeypatch.setattr("tars_jax.pipelines.probing.SECONDS_BY_CHANCE", 120.0)
    rare = values_of("Rare")
    assert rare["ppo.gamma"].value == 1 and rare["reward.scale"].value == 1
    assert rare["ppo.min_batch"].value == 32 and "30 steps" in rare["ppo.min_batch"].reason
    nothing = values_of("Rare", "task.max_steps=29")  # thirty are never reached
    assert nothing["ppo.min_batch"].value == 192 and "none earned something" in nothing["ppo.min_batch"].reason
    assert nothing["task.evaluation_episodes"].value == 400  # what few earn shows in many


def test_texts_of_one_length_need_no_more_room() -> None:
    """Two digits are two tokens, and two more are left."""
    even = values_of("Even")["agent.max_observation_tokens"]
    assert even.value == 4 and even.reason == "each text that was seen has 2 tokens"
    long = values_of("Long")["agent.max_observation_tokens"]
    assert long.reason.startswith("the longest") and long.value >= 12 * 1.5


def test_a_player_of_ones_own_is_looked_at() -> None:
    shown = values_of("Long", f"demonstrations.player={__name__}:brief")
    assert shown["demonstrations.episodes"].value == 136 and "30 steps" in shown["demonstrations.episodes"].reason
    said = values_of("Shown")["engine.max_new_tokens"].value
    assert shown["engine.max_new_tokens"].value >= said >= 40


def test_who_is_shown_how_thinks_as_it_is_shown() -> None:
    shown = values_of("Shown")
    assert shown["agent.thought"].value == "optional" and shown["demonstrations.episodes"].value > 0
    assert shown["ppo.entropy_bonus"].value == 0
    assert shown["ppo.batch_steps"].value == 1024 and shown["ppo.learning_rate"].value == 3e-4


def test_what_is_given_is_not_chosen() -> None:
    assert "ppo.updates" not in values_of("Long", "ppo.updates=3", "task.max_steps=4")
    assert values_of("Long", "task.max_steps=4")["ppo.min_batch"].value == 192  # 1,024 / 4 is more than is taken


def test_an_environment_that_chance_breaks_is_known_by_its_beginning() -> None:
    assert values_of("Fragile")["ppo.min_batch"].value == 192


def test_a_run_keeps_what_was_chosen(tmp_path: pathlib.Path) -> None:
    """A resumed run has it from its config.json, however it is asked for; a field that was given must be the same."""
    asked = {"a": None, "b": {"c": None, "d": 1}}
    with RunDirectory.create(tmp_path / "run", asked, "train") as run:
        run.choose({"a": 5, "b": {"c": "never", "d": 1}})
    with RunDirectory.create(tmp_path / "run", asked, "train") as run:
        assert run.resumed and run.config == {"a": 5, "b": {"c": "never", "d": 1}, "run": ""}
    with pytest.raises(InputError, match="a must be 5"):
        RunDirectory.create(tmp_path / "run", {**asked, "a": 6}, "train")


def test_auto_is_a_word_of_the_command_line(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    config = load_config("train", ["--config.ppo.updates=7"], root=ROOT, checked=False)
    file.write_text(json.dumps({"experiment": "train", "config": config.to_dict()}))
    again = load_config("train", [f"--config={file}", "--config.ppo.updates=auto"], root=ROOT, checked=False)
    assert config.ppo.updates == 7 and again.ppo.updates is None and again.ppo.min_batch is None
    with pytest.raises(InputError, match=r"config.ppo.updates must be a whole number, for example 1; got 'many'"):
        load_config("train", ["--config.ppo.updates=many"], root=ROOT, checked=False)
    assert main(["train", "--help"]) == 0
    assert "--config.ppo.updates=auto" in capsys.readouterr().out
