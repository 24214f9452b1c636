"""Batches that hold parts by weights: which parts there are, their tasks, and a whole run."""

from __future__ import annotations

import collections
import json
import pathlib
import shutil
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task
from tars_jax.envs.examples.text_echo import TextEcho
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.cycle_tasks import CycleTasks
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.games import Games
from tars_jax.pipelines.job_checks import check
from tars_jax.pipelines.mixture import part_names
from tars_jax.pipelines.task_sources import load_task_source
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.players import random_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
VAULT = "tars_jax.envs.examples.functions_vault:Vault"
GAME = "maze_path_of_light"
ROUNDS = 'environment_options=[{"rounds": 1}, {"rounds": 3}]'


def config_of(*flags: str, environment: str = ECHO, experiment: str = "train") -> Any:
    arguments = [f"--config.environment={environment}", *(f"--config.{flag}" for flag in flags)]
    return load_config(experiment, arguments, root=ROOT)


def names_of(provider: Any) -> tuple[str, ...]:
    return tuple(provider.mixture.names)


def test_parts_are_environments_as_written_times_their_options() -> None:
    both = EnvironmentTasks(config_of("mixture.weights=2,1", ROUNDS))
    assert both.mixture is not None and names_of(both) == ("TextEcho.rounds1", "TextEcho.rounds3")
    assert both.mixture.weights == {"TextEcho.rounds1": 2, "TextEcho.rounds3": 1}
    several = EnvironmentTasks(config_of("mixture.weights=1,1,1", environment=f"lmgame,{ECHO},{GAME}"))
    assert names_of(several) == ("lmgame", "TextEcho", GAME) and len(several.kinds) > 3
    assert EnvironmentTasks(config_of(ROUNDS)).mixture is None
    with pytest.raises(InputError, match="one for each of TextEcho.1, TextEcho.2, "):
        EnvironmentTasks(config_of("mixture.weights=1,1", 'environment_options=[{}, {"rounds": 1}, {"rounds": 3}]'))
    interfaces = [{"interface": "gui", "level": 1}, {"interface": "sdk", "level": 1}]
    assert part_names([("browsing", each) for each in interfaces]) == ["browsing.gui", "browsing.sdk"]
    assert part_names([("a:Same", {}), ("b:Same", {})]) == ["a:Same", "b:Same"]
    assert part_names([("browsing", {"x": "a/b"}), ("browsing", {"x": "a b"})]) == ["browsing.1", "browsing.2"]


def test_options_may_be_those_of_one_of_several_environments() -> None:
    options = [
        {"environment": ECHO, "rounds": 1},
        {"environment": ECHO, "rounds": 3},
        {"environment": GAME, "distance": [1, 2]},
    ]
    flags = (f"environment_options={json.dumps(options)}", "mixture.weights=1,1,2")
    tasks = EnvironmentTasks(config_of(*flags, environment=f"{ECHO},{GAME}"))
    assert [kind.environment for kind in tasks.kinds] == [ECHO, ECHO, GAME]
    assert names_of(tasks) == ("TextEcho.rounds1", "TextEcho.rounds3", GAME)
    assert [task.options for task in tasks.held_out(3)] == [{"rounds": 1}, {"rounds": 3}, {"distance": [1, 2]}]
    with pytest.raises(InputError, match=f"environment_options must have some for {GAME}, or some that name no"):
        EnvironmentTasks(config_of(f"environment_options={json.dumps(options[:2])}", environment=f"{ECHO},{GAME}"))


def test_each_part_has_tasks_and_a_curriculum_of_its_own_that_resumes() -> None:
    """A collection beside a single environment: within it, kinds are picked by how uncertain they are."""
    tasks = EnvironmentTasks(config_of("mixture.weights=1,1", environment=f"lmgame,{ECHO}"))
    stream = tasks.training(None)
    drawn = [stream.task(index) for index in range(120)]
    assert {task.environment for task in drawn[1::2]} == {ECHO}
    names = collections.Counter(task.environment for task in drawn[::2])
    assert len(names) == len(tasks.kinds) - 1 and ECHO not in names
    assert len({task.id for task in drawn}) == len({task.seed for task in drawn}) == 120
    first = min(names)
    done = [ended(task, task.environment != first) for task in drawn[::2] for _ in range(8)]
    metrics = stream.update([*done, *(ended(task, False) for task in drawn[1::2])])
    assert metrics["TextEcho/return"] == 0 < metrics["lmgame/return"] < 1 and 0 < metrics["return"] < 1
    again = tasks.training(json.loads(json.dumps(stream.state())))
    later = [again.task(index) for index in range(120, 240)]
    assert later == [stream.task(index) for index in range(120, 240)]
    assert {task.environment for task in later[1::2]} == {ECHO}
    for sets in (tasks.held_out(40), tasks.demonstrations(40), tasks.value_episodes(40)):
        assert collections.Counter(task.environment == ECHO for task in sets) == {True: 20, False: 20}


def ended(task: Task, success: bool) -> Trajectory:
    return Trajectory("", task.to_json(), (), (), Outcome.FINISHED, float(success), success=success)


def test_games_are_parts_too() -> None:
    flags = ["--config.games=lmgame,infinity_loop", "--config.levels=1,2", "--config.mixture.weights=1,3"]
    games = Games(load_config("games", flags, root=ROOT, checked=False))
    assert names_of(games) == ("lmgame", "infinity_loop")
    stream = games.training(None)
    drawn = [stream.task(index) for index in range(60)]
    assert {task.environment for task in drawn[1::2]} == {"infinity_loop"} and len({task.seed for task in drawn}) == 60
    assert {task.environment for task in drawn[::2]} == set(games.names) - {"infinity_loop"}
    won = [ended(task, True) for task in drawn[1::2]]
    assert {"return", "infinity_loop/return", "infinity_loop_success"} <= stream.update(won).keys()
    again = games.training(json.loads(json.dumps(stream.state())))
    assert [again.task(index) for index in range(40)] == [stream.task(index) for index in range(40)]


def test_a_flywheels_file_has_its_places_as_parts(tmp_path: pathlib.Path) -> None:
    """Also in later cycles, whose tasks are others of the same part."""
    places = {ECHO: 6, VAULT: 3}
    lines = [Task(f"{name[-4:]}{seed}", name, 2 * seed, {}, 3).to_json() for name, count in places.items()
             for seed in range(count)]  # fmt: skip
    file = tmp_path / "tasks.jsonl"
    held_out = [{**Task("held", ECHO, 99, {}, 3).to_json(), "split": "eval"}]
    file.write_text(
        "".join(json.dumps(line) + "\n" for line in [{**line, "split": "train"} for line in lines] + held_out)
    )
    flags = (f"tasks={file}", "environment_options={}")
    config = config_of("mixture.weights=1,2", *flags, environment=f"{ECHO},{VAULT}", experiment="flywheel")
    source = load_task_source(str(file), config)
    assert names_of(source) == (VAULT, ECHO)
    for provider in (source, CycleTasks(source, 1, [], 0), CycleTasks(source, 2, [], 0)):
        stream = provider.training(None)
        drawn = [stream.task(index) for index in range(24)]
        assert [task.environment for task in drawn] == [VAULT, ECHO] * 12
        assert len({task.id for task in drawn}) == 9
    with pytest.raises(
        InputError, match=r"mixture\.weights must be 2 numbers, one for each of .*Vault, .*Echo; got \(1.0,"
    ):
        load_task_source(str(file), config_of("mixture.weights=1,1,1", *flags, experiment="flywheel"))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("mixture.weights=1,0",), "mixture.weights must be nothing, or a number from 0.001 to 1000 for each part"),
        (
            ("mixture.weights=1",),
            "mixture.weights must be 2 numbers, one for each of TextEcho.rounds1, TextEcho.rounds3;",
        ),
        (("mixture.weights=9,1", "ppo.min_batch=8"), "of 8 groups, which leaves less than one to TextEcho.rounds3"),
        (("mixture.weights=1,1", "ppo.min_batch=16", "ppo.group_size=16"), "of 1 group, which leaves less than one"),
        (("ppo.value_models=part",), "ppo.value_models must be shared without mixture.weights; got part"),
        (("ppo.normalize_over=part",), "ppo.normalize_over must be batch without mixture.weights; got part"),
        (("mixture.weights=1,1", "ppo.value_models=part", "model.shared_value=True"), "with model.shared_value, which"),
        (
            ("mixture.weights=1,1", "ppo.value_models=part", "ppo.advantages=group", "ppo.group_size=2"),
            "ppo.value_models must be shared with ppo.advantages=group, which has no value model; got part",
        ),
        (
            ("mixture.weights=1,1", "ppo.normalize_over=part", "ppo.normalize_advantages=False"),
            "ppo.normalize_over must be batch where advantages are not whitened; got part",
        ),
    ],
)
def test_impossible_mixtures_are_a_sentence(flags: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError) as caught:
        config = config_of(ROUNDS, *flags)
        check(config)
        EnvironmentTasks(config)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        (ECHO, "[{}, {}]"), (ECHO, '[{}, {"typed": false}]'), (ECHO, '[{"rounds": 1}, {"rounds": 1, "typed": false}]'),
        (GAME, '[{}, {"level": 1}]'), ("computer", '[{"task": "find_word"}, {"task": "find_word", "mcp": []}]'),
    ],
)  # fmt: skip
def test_options_that_are_alike_are_no_two_parts(environment: str, options: str) -> None:
    """Also where one of them spells out what it is without it."""
    with pytest.raises(InputError, match=r"environment_options must be different ones with mixture\.weights"):
        EnvironmentTasks(config_of("mixture.weights=1,1", f"environment_options={options}", environment=environment))


class Away(TextEcho):
    """Does not begin where its file is not."""

    def __init__(self, file: str = "") -> None:
        super().__init__(rounds=1)
        self._file = pathlib.Path(file)

    async def reset(self, task: Task) -> Observation:
        if not self._file.exists():
            raise OSError("no server answers")
        return await super().reset(task)


def test_an_environment_that_does_not_start_holds_up_no_other(tmp_path: pathlib.Path) -> None:
    """Nor does it end the run; once it starts, it is there again."""
    server, told, version = tmp_path / "server", list[str](), [0]
    options = [{"rounds": 1, "environment": ECHO}, {"file": str(server), "environment": f"{__name__}:Away"}]
    flags = (f"environment_options={json.dumps(options)}", "mixture.weights=1,1")
    tasks = EnvironmentTasks(config_of(*flags, environment=f"{ECHO},{__name__}:Away"))
    assert tasks.mixture is not None
    pool = MixedPool(tmp_path / "pool", PoolConfig(8, 1), None, tasks.mixture.weights, told.append)
    stream, writer = tasks.training(None), PromptWriter(load_tokenizer(), 1, max_observation_tokens=32)
    made: list[list[int]] = []
    with (
        Rollouts(None, writer, AgentConfig(), 2) as rollouts,
        rollouts.streaming(pool, stream.task, random_player(writer, "text"), lambda: version[0]) as running,
    ):
        while (not made or made[-1] != [4, 4]) and version[0] < 200:
            pool.wait(1)
            assert not running.done()
            if (batch := pool.take()) is not None:
                made.append(np.bincount(tasks.mixture.parts_of(batch), minlength=2).tolist())
                version[0] += 1
            if made == [[8, 0]] * 3:
                server.touch()
    assert made[:3] == [[8, 0]] * 3 and made[-1] == [4, 4]
    away, back = told
    assert away.startswith("Away is away, as 8 of its episodes in a row were lost, the last one: exception: ")
    assert "no server answers" in away and away.endswith("a batch holds TextEcho 100%, Away 0%")
    assert back == "Away is back; a batch holds TextEcho 50%, Away 50%"


@pytest.mark.browser
def test_a_text_environment_and_a_game_share_batches(tmp_path: pathlib.Path) -> None:
    """In a real Chromium, by a player that does anything."""
    tasks = EnvironmentTasks(config_of("mixture.weights=3,1", "task.max_steps=2", environment=f"{ECHO},{GAME}"))
    writer = PromptWriter(load_tokenizer(), lambda height, width: 1, max_observation_tokens=32)
    assert tasks.mixture is not None
    pool = MixedPool(tmp_path, PoolConfig(8, 0, 2), None, tasks.mixture.weights)
    stream = tasks.training(None)
    with (
        Rollouts(BrowserConfig(browsers=1), writer, AgentConfig(), 2) as rollouts,
        rollouts.streaming(pool, stream.task, random_player(writer, "text"), lambda: 0) as running,
    ):
        while not pool.wait(1) and not running.done():
            pass
    batch = pool.take()
    assert batch is not None
    assert collections.Counter(each.task["environment"] for each in batch) == {ECHO: 6, GAME: 2}
    assert tasks.mixture.parts_of(batch).tolist() == [0] * 6 + [1] * 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A run of the first command that docs/commands.md shows for mixtures, at its smallest."""
    run = tmp_path_factory.mktemp("mixture") / "run"
    small = (
        ROUNDS, "mixture.weights=2,1", "ppo.value_models=part", "ppo.normalize_over=part", "value.max_updates=2",
        "value.batch_rows=8", "ppo.updates=2", "ppo.min_batch=12", "ppo.minibatch_rows=8", "task.evaluation_episodes=8",
        "browser.pages=4", "demonstrations.episodes=0", "value.episodes=12", "agent.list_actions=False",
        "agent.max_observation_tokens=16", "engine.max_new_tokens=16",
    )  # fmt: skip
    flags = [f"--config.{flag}" for flag in (f"environment={ECHO}", *small)]
    assert main(["train", f"--config.run={run}", *flags]) == 0
    return run


@pytest.mark.slow
def test_a_mixture_is_trained_on_with_a_value_model_for_each_part(trained: pathlib.Path) -> None:
    """Batches, metrics, weights and the table are those of parts."""
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    updates = [row["values"] for row in rows if row["stage"] == "ppo"]
    assert len(updates) == 2
    for name, weight in (("TextEcho.rounds1", 2 / 3), ("TextEcho.rounds3", 1 / 3)):
        told = ("success", "return", "entropy", "think_tokens", "episode_steps", "value_correlation", "staleness")
        assert all({f"{name}/{metric}" for metric in told} <= values.keys() for values in updates)
        assert [values[f"{name}/weight"] for values in updates] == pytest.approx([weight] * 2)
        assert any(row["stage"] == f"value {name}" for row in rows)
    parts = json.loads((trained / "result.json").read_text())["parts"]
    assert set(parts) == {"TextEcho.rounds1", "TextEcho.rounds3"}
    played = [load_trajectory(path) for path in sorted((trained / "trajectories" / "after").glob("*.trajectory"))]
    assert [each.task["options"]["rounds"] for each in played] == [1, 3] * 4
    assert "Each part while PPO trains" in (trained / "report.html").read_text()
    digests = json.loads((trained / "updates.json").read_text())["digests"]
    assert len(digests) == 3 and len({each["value"] for each in digests}) == 3


@pytest.mark.slow
@pytest.mark.full
def test_a_mixtures_updates_can_be_made_again(
    trained: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also the last one, which a process made that has resumed."""
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    assert main(["train", f"--config={run / 'config.json'}", f"--config.run={run}", "--config.ppo.updates=3"]) == 0
    assert main(["replay", str(run), f"--config.run={tmp_path / 'again'}"]) == 0
    assert "All 3 updates gave the recorded weights, bit for bit." in capsys.readouterr().out
