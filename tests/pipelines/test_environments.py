"""Any environment from flags alone: its tasks, what windows they take, and a whole run."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.defaults import chosen, filled
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.windows import require_room
from tars_jax.tasks.library import playable_names
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
VAULT = "tars_jax.envs.examples.functions_vault:Vault"
GRID = "gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0"
TINY = (
    "value.max_updates=4", "value.batch_rows=8", "ppo.updates=1", "ppo.min_batch=8", "ppo.minibatch_rows=8",
    "task.evaluation_episodes=8", "browser.pages=4",
)  # fmt: skip


def config_of(*flags: str, environment: str = ECHO) -> Any:
    arguments = [f"--config.environment={environment}", *(f"--config.{flag}" for flag in flags)]
    config = load_config("train", arguments, root=ROOT, checked=False)
    return filled(config, {choice.field: choice.value for choice in chosen(config)[0]})


def test_no_two_sets_of_tasks_share_a_seed() -> None:
    tasks = EnvironmentTasks(config_of())
    stream = tasks.training(None)
    sets = [
        tasks.demonstrations(50), tasks.value_episodes(50), tasks.practice(50), tasks.held_out(50),
        [stream.task(index) for index in range(50)],
    ]  # fmt: skip
    seeds = [task.seed for some in sets for task in some]
    assert len(set(seeds)) == len(seeds) == 250
    assert all(task.max_steps == 4 and task.environment == ECHO for some in sets for task in some)


def test_of_several_options_each_is_a_kind_of_task() -> None:
    tasks = EnvironmentTasks(config_of('environment_options=[{"rounds": 1}, {"rounds": 3}]'))
    rounds = [task.options["rounds"] for task in tasks.held_out(10)]
    assert rounds == [1, 3] * 5
    assert {task.options["rounds"] for task in map(tasks.training(None).task, range(20))} == {1, 3}


def test_a_benchmark_or_several_environments_are_kinds_of_tasks_too() -> None:
    benchmark = EnvironmentTasks(config_of("task.max_steps=2", environment="lmgame"))
    assert {task.environment for task in benchmark.held_out(8)} == set(playable_names("lmgame"))
    both = EnvironmentTasks(config_of(environment=f"{ECHO}, {VAULT}"))
    stream = both.training(None)
    assert [task.environment for task in both.held_out(4)] == [ECHO, VAULT] * 2
    assert {stream.task(index).environment for index in range(20)} == {ECHO, VAULT}
    solved = [played(task, task.environment == ECHO) for task in both.held_out(60)]
    stream.update(solved)
    again = both.training(json.loads(json.dumps(stream.state())))
    assert [again.task(index) for index in range(20)] == [stream.task(index) for index in range(20)]
    with pytest.raises(InputError, match="must name each environment once; got 'lmgame/sokoban' twice"):
        EnvironmentTasks(config_of(environment="lmgame,lmgame/sokoban"))


def played(task: Task, success: bool) -> Trajectory:
    return Trajectory("", task.to_json(), (), (), Outcome.FINISHED, float(success), success=success)


@pytest.mark.browser
def test_tasks_of_a_benchmark_are_seen_at_their_own_sizes() -> None:
    flags = "engine.max_new_tokens=24", "agent.list_actions=False", "task.max_steps=2"
    spec = RunSpec(config_of(*flags, environment="miniwob/click-test,lmgame/sokoban"))
    assert [shape.screenshot for shape in spec.shapes] == [(210, 160), (96, 96)]
    assert "Click the button" in spec.shapes[0].instruction and spec.shapes[1].answer > 10
    require_room(spec.config, spec.writer, spec.shapes)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.full
def test_two_tasks_of_a_benchmark_are_trained_on(tmp_path: pathlib.Path) -> None:
    run = tmp_path / "run"
    names = "miniwob/click-test,miniwob/focus-text"
    small = (
        *TINY, "value.episodes=12", "agent.list_actions=False", "agent.thought=never", "engine.max_new_tokens=24",
        "task.max_steps=2",
    )  # fmt: skip
    flags = [f"--config.{flag}" for flag in small]
    assert main(["train", f"--config.environment={names}", f"--config.run={run}", *flags]) == 0
    played = [load_trajectory(path) for path in (run / "trajectories" / "after").glob("*.trajectory")]
    assert {episode.task["environment"] for episode in played} == set(names.split(","))
    assert all(episode.windows for episode in played)


@pytest.mark.parametrize(
    ("flags", "environment", "words"),
    [
        (("environment_options={",), ECHO, "config.environment_options must be JSON; got '{'"),
        (("environment_options=3",), ECHO, "must be a JSON object or a list of some; got '3'"),
        (('environment_options={"round": 1}',), ECHO, "an option must be one of rounds, typed; got 'round'"),
        (("seed=1",), "no_such_game", "no_such_game"),
        (("seed=1",), "tars_jax.envs.examples.text_echo:Nobody", "Nobody"),
    ],
)
def test_what_cannot_be_trained_on_is_a_sentence(flags: tuple[str, ...], environment: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        EnvironmentTasks(config_of(*flags, environment=environment))
    assert words in str(caught.value)


def test_what_tasks_look_like_is_seen_before_they_are_played() -> None:
    (echo,), (vault,) = RunSpec(config_of()).shapes, RunSpec(config_of(environment=VAULT)).shapes
    assert (echo.screenshot, echo.instruction, echo.varies) == (None, "Say the word.", False)
    assert vault.screenshot == (48, 48) and vault.space is not None
    assert [function.name for function in vault.space.functions] == ["open", "read"]


def test_windows_hold_texts_and_screenshots_at_the_size_that_the_policy_sees() -> None:
    spec = RunSpec(config_of("agent.list_actions=False", environment=VAULT))
    require_room(spec.config, spec.writer, spec.shapes)
    unit = spec.model.vision.patch * spec.model.vision.merge
    assert spec.writer.image_size(48, 48) == math.ceil(48 / unit) ** 2 and spec.config.packing.images_per_row == 1
    listed = RunSpec(config_of("agent.list_actions=True", environment=VAULT))
    assert listed.config.packing.row_length > spec.config.packing.row_length
    text = RunSpec(config_of())
    assert text.config.packing.images_per_row == 0 and text.config.packing.row_length >= 12 + 16


@pytest.mark.parametrize(
    ("environment", "words"),
    [(ECHO, r"tokens of an answer of the reference player of .*TextEcho; got 5"), (GRID, "shortest answer takes")],
)
def test_an_answer_that_is_too_long_is_said_before_anything_is_played(environment: str, words: str) -> None:
    spec = RunSpec(config_of("engine.max_new_tokens=5", environment=environment))
    with pytest.raises(InputError, match=r"engine\.max_new_tokens must be at least \d+, .*" + words):
        require_room(spec.config, spec.writer, spec.shapes)
        _ = spec.constraints


@pytest.mark.parametrize("most_calls", [1, 2])
def test_an_answer_holds_as_many_calls_as_it_may(most_calls: int) -> None:
    spec = RunSpec(config_of(f"agent.most_calls={most_calls}", "agent.thought=never", "engine.max_new_tokens=40"))
    constraints, tokens = spec.constraints, spec.writer.response("Action: say(word='red')\n\nsay(word='red')")
    assert constraints is not None
    state = int(constraints.start["text"])
    while tokens and state >= 0:
        state = int(constraints.next_state[state, constraints.token_class[tokens.pop(0)]])
    assert (state >= 0) == (most_calls == 2) and bool(tokens) == (most_calls == 1)


def test_a_reference_player_that_calls_what_there_is_not_is_said() -> None:
    with pytest.raises(InputError, match="reference player of .*TextEcho must call .*; got 'say'"):
        RunSpec(config_of('environment_options={"typed": true}'))


def test_who_has_text_alone_needs_room_for_it() -> None:
    with pytest.raises(InputError, match=r"agent\.max_observation_tokens must be 1 or more for .*TextEcho.*; got 0"):
        RunSpec(config_of("agent.max_observation_tokens=0"))


@pytest.mark.full  # test_flywheel.py, test_orm_judge.py and test_commands_start.py train on text, too
def test_a_text_environment_is_trained_from_flags_alone(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every stage, the reference player's among them; that PPO makes it better is shown by `--all`."""
    run = tmp_path / "run"
    small = (
        *TINY, "demonstrations.episodes=24", "supervised.updates=4", "supervised.batch_rows=8", "value.episodes=12",
        "agent.list_actions=False", "agent.max_observation_tokens=16", "engine.max_new_tokens=16",
    )  # fmt: skip
    flags = [f"--config.{flag}" for flag in small]
    assert main(["train", f"--config.environment={ECHO}", f"--config.run={run}", *flags]) == 0
    result = json.loads((run / "result.json").read_text())
    assert result["episodes"] == 8 and {"return_before", "return_after", "score_after"} <= result.keys()
    assert (run / "report.html").exists() and (run / "policy").is_dir()
    assert "mean return" in capsys.readouterr().out
