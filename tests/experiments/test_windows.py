"""What a window of the agent takes is known before anything is played."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import ROOT, main
from tars_jax import InputError
from tars_jax.pipelines import run_context
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.windows import fill_recorded_sizes, longest_windows, require_room
from tars_jax.tasks.games.catalog import game_names
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory


def bench(experiment: str, *flags: str) -> RunSpec:
    arguments = [f"--config.{flag}" for flag in flags]
    return RunSpec(load_config(experiment, arguments, root=ROOT, checked=False))


@pytest.mark.parametrize(
    ("flags", "needs"),
    [
        (["agent.max_steps=4"], "5 steps of 203 tokens with agent.max_steps=4"),
        (["agent.max_steps=1"], "packing.images_per_row must be at least 2; got 1"),
        (["engine.max_length=40"], "engine.max_length must be at least 47; got 40"),
        (["engine.length_buckets=8,16"], "engine.length_buckets must be at least 23; got 16"),
        (["task.game=infinity_loop"], "packing.row_length must be at least 55; got 48"),
    ],
)
def test_a_window_that_does_not_fit_is_said_before_anything_is_played(
    flags: list[str],
    needs: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing is to be opened")

    monkeypatch.setattr(run_context, "Engine", never)
    run = tmp_path / "run"
    assert main(["quickstart", f"--config.run={run}", *(f"--config.{flag}" for flag in flags)]) == 2
    error = capsys.readouterr().err
    assert needs in error and error.count("\n") == 1
    assert not run.exists()


@pytest.mark.parametrize("experiment", ["quickstart", "games", "merge_games", "supervised", "continual_pretraining"])
def test_what_an_experiment_does_by_itself_fits(experiment: str) -> None:
    spec = bench(experiment)
    require_room(spec.config, spec.writer, spec.shapes)


def test_stages_take_what_the_windows_of_their_games_take() -> None:
    mazes = bench("supervised").config
    assert (mazes.packing.row_length, mazes.engine.max_new_tokens) == (48, 24)
    games = bench("supervised", "games=maze_path_of_light,infinity_loop", "levels=1,2").config
    assert (games.packing.row_length, games.engine.max_length, games.engine.length_buckets) == (64, 64, (32, 64))
    for flags in (["agent.grammar=tool"], ["agent.max_steps=3", "agent.min_steps=1"]):
        several = bench("supervised", f"games={','.join(game_names())}", *flags)
        require_room(several.config, several.writer, several.shapes)


def test_windows_end_with_the_episode() -> None:
    short = bench("quickstart", "agent.max_steps=9", "task.max_steps=2")
    (window,) = longest_windows(short.config, short.writer, short.shapes)
    assert window.steps == 2


def recorded(tokens: int, answer: int) -> Trajectory:
    mask = np.arange(tokens) >= tokens - answer
    column = np.zeros(tokens, np.int32)
    window = ContextWindow(column, mask, np.zeros(tokens, np.float32), column - 1, column, (0,))
    return Trajectory("0", {}, (window,), (), Outcome.FINISHED, 1.0)


def test_recorded_episodes_get_room_or_are_refused() -> None:
    config = load_config("supervised", [], root=ROOT, checked=False)
    spec = bench("supervised")
    held = fill_recorded_sizes(config, spec.writer, spec.shapes, [recorded(70, 10), recorded(50, 40)])
    assert (held.packing.row_length, held.engine.max_new_tokens) == (80, 40)
    given = load_config("supervised", ["--config.packing.row_length=64"], root=ROOT, checked=False)
    with pytest.raises(InputError, match=r"packing.row_length must be at least 80 .* got 64"):
        fill_recorded_sizes(given, spec.writer, spec.shapes, [recorded(70, 10)])
