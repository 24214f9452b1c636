"""A harness in a job of `train`: what follows from what its program asks, what is refused before, and a whole run."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.defaults import chosen, filled
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.trajectory.files import load_trajectory

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = (
    "demonstrations.episodes=8", "supervised.updates=2", "supervised.batch_rows=4", "ppo.updates=1", "ppo.min_batch=6",
    "ppo.minibatch_rows=4", "task.evaluation_episodes=5", "browser.pages=5",
)  # fmt: skip
GROUPS = ("ppo.advantages=group", "ppo.group_size=2")
VALUES = ("value.episodes=10", "value.max_episodes=10", "value.max_updates=2", "value.batch_rows=4")


def config_of(*flags: str, **options: Any) -> Any:
    config = load_config("train", ["--config=harness_words"], root=ROOT, checked=False)
    own = json.loads(config.environment_options)
    text = json.dumps({**own, **options})
    arguments = ["--config=harness_words", f"--config.environment_options={text}"]
    return load_config("train", [*arguments, *(f"--config.{flag}" for flag in flags)], root=ROOT, checked=False)


def test_windows_have_room_for_what_the_program_asks() -> None:
    found, shapes = chosen(config_of())
    assert shapes is not None and shapes[0].asked is not None and shapes[0].asked.turns == 2
    values = {choice.field: choice.value for choice in found}
    assert values["agent.grammar"] == "plain" and values["agent.constrained"] is False
    spec = RunSpec(filled(config_of(), values), shapes)
    assert spec.config.engine.max_length == spec.config.packing.row_length >= shapes[0].asked.tokens + 2 * 8
    assert spec.constraints is None


@pytest.mark.parametrize(
    ("flags", "options", "message"),
    [
        ((), {"command": ["no-such-program"]}, "must play an episode before it is trained on; .* could not be started"),
        ((), {"command": "echo hi"}, "had no answer of the policy .*its last words: hi"),
        ((), {"reference": "tars_jax.envs.examples.harness.words:nobody"}, "'nobody' must be an attribute of"),
        ((), {"reference": "tars_jax.envs.examples.harness.words:ask"}, "must take messages, rng and skill"),
        (("agent.constrained=True",), {}, "agent.constrained must be False with harness"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_played(flags: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        found, shapes = chosen(config := config_of(*flags, **options))
        RunSpec(filled(config, {choice.field: choice.value for choice in found}), shapes)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", [GROUPS, pytest.param(VALUES, marks=pytest.mark.full)])
def test_a_run_learns_from_exactly_what_was_sampled(baseline: tuple[str, ...], tmp_path: pathlib.Path) -> None:
    """From demonstrations to the report."""
    flags = [*TINY, *baseline, f"run={tmp_path / 'run'}"]
    assert main(["train", "--config=harness_words", *(f"--config.{flag}" for flag in flags)]) == 0
    shown, played = (
        [load_trajectory(file) for file in sorted((tmp_path / "run" / "trajectories" / stage).glob("*.trajectory"))]
        for stage in ("demonstrations", "ppo")
    )
    assert len(shown) == 8 and len(played) >= 6
    assert all((window.log_probs == 0).all() for each in shown for window in each.windows)
    for each in played:
        assert each.reward in (0.0, 0.5, 1.0) and each.success == (each.reward == 1) and len(each.steps) == 2
        assert each.metadata["recorded"] == {"windows": len(each.windows), "answers": 2, "not_learned": 0}
        assert all((window.log_probs[window.action_mask] < 0).all() for window in each.windows)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["episodes"] == 5 and result["training_episodes"] == 6
    assert (tmp_path / "run" / "report.html").exists()
