"""The reward model's stages with an engine that says what it is told: its scores become probabilities."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest

from experiments.__main__ import main
from experiments.reward_model import calibration_result, calibration_table
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.evaluation.calibration_error import calibration_error, error_by_chance
from tars_jax.inference.sampling import Sampled
from tars_jax.judges.calibration import Calibration, read_calibration
from tars_jax.pipelines import run_context
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tests.experiments.test_stages import TOKENIZER, Saying, stop_learning, weights

__all__ = ["weights"]
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
ONE, ZERO = (TOKENIZER.encode(digit)[0] for digit in "10")
SIZES = ("packing.row_length=96", "packing.images_per_row=1", "engine.max_length=96", "engine.length_buckets=96,")
FEW = ("annotated.verdicts=4", "annotated.updates=1", "annotated.batch_rows=4", "ppo.updates=1", "ppo.min_batch=4")


class Doubting(Saying):
    """Finds success by .9 where nobody said blue, and by .3 elsewhere."""

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[Self]:
        yield self

    async def respond(self, tokens: Any, images: Any, *, restart: bool, sampling: Any = None) -> Sampled:
        share = 0.3 if "'blue'" in TOKENIZER.decode(tokens) else 0.9
        said = tuple(TOKENIZER.encode(f"Action: finished(content='{int(share > 0.5)}')<|end|>"))
        assert sampling is None or sampling.top_logprobs == 20
        beside = ((ONE, math.log(share)), (ZERO, math.log(1 - share)))
        return Sampled(said, (-0.5,) * len(said), (self.version,) * len(said), likeliest=(beside,) * len(said))


@pytest.mark.slow
def test_its_scores_are_fitted_on_half_of_the_held_out_levels(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = PromptWriter(TOKENIZER, 1, max_observation_tokens=16)
    with Rollouts(None, writer, AgentConfig(), 2) as rollouts:
        tasks = [Task(f"t{seed}", ECHO, seed, {}, 4) for seed in range(120)]
        rollouts.play(tasks, reference_player(writer, "text", 0.5), tmp_path / "played")
    stop_learning(monkeypatch)
    monkeypatch.setattr(run_context, "Engine", Doubting)
    given = [f"--config.{each}" for each in (*SIZES, *FEW, "held_out=0.7", f"model.preset={weights}")]
    command = [
        "reward_model",
        *given,
        f"--config.trajectories={tmp_path / 'played'},",
        f"--config.run={tmp_path / 'orm'}",
    ]
    assert main(command) == 0
    result = json.loads((tmp_path / "orm" / "result.json").read_text())
    found = result["calibration"]
    assert found["fitted_on"] == found["reported_on"] == result["held_out"] // 2 == 42
    # Two scores: the map goes through the shares of success that both have on the fitted half, near Platt's targets.
    calibration = read_calibration(tmp_path / "orm" / "policy")
    assert calibration == Calibration(found["slope"], found["intercept"]) != Calibration()
    assert found["calibrated"]["scored"] == 42 and found["calibrated"]["brier"] < found["scores"]["brier"]
    assert found["at_half"]["unreadable"] == 0
    assert any(found["best_threshold"] == pytest.approx(calibration(score)) for score in (0.3, 0.9))


def test_what_a_map_is_worth_on_the_other_half() -> None:
    """The identity on four trajectories, one of them unreadable: .9 and .2 right, .6 wrong."""
    fitted = [(0.9, True), (0.4, True), (0.1, False)]
    reported = [(0.9, True), (0.6, False), (0.2, False), (None, True)]
    found = calibration_result(Calibration(), fitted, reported)
    assert found["best_threshold"] == 0.4 and found["reported_on"] == 4
    said = [0.9, 0.6, 0.2], [True, False, False]
    assert found["scores"] == found["calibrated"]
    assert found["scores"].items() >= calibration_error(*said)._asdict().items()
    assert found["scores"]["error_by_chance"] == error_by_chance(said[0])
    assert [(each["scored"], each["solved"]) for each in found["scores"]["bins"]] == [(1, 0), (1, 0), (1, 1)]
    assert found["scores"]["ranking"]["value"] == 1 and found["brier_difference"] == (0, 0, 0)
    rows = calibration_table(found).rows
    assert len(rows) == 6 and rows[2][:3] == ("scores, 0.8 to 1.0", 1, "0.900")
    half = found["at_half"]
    assert (half["true_positives"], half["false_positives"], half["unreadable"]) == (1, 1, 1)
    assert half["recall"] == 0.5 and found["at_best_threshold"]["false_positives"] == 1
    unread = calibration_result(Calibration(), [(None, True)], [(None, True)])
    assert unread["best_threshold"] is unread["brier_difference"] is None and calibration_table(unread).rows == []


def test_a_better_map_has_a_lower_brier_score() -> None:
    """Odds of .8 are 4: half the slope makes them 2, and 2/3 is nearer to the 6 of 10 that are solved."""
    reported = [(0.8, number < 6) for number in range(10)]
    found = calibration_result(Calibration(0.5, 0.0), reported, reported)
    assert found["calibrated"]["brier"] == pytest.approx(0.24 + (2 / 3 - 0.6) ** 2)
    assert found["scores"]["brier"] == pytest.approx(0.24 + 0.04)
    assert found["brier_difference"].value == pytest.approx((2 / 3 - 0.6) ** 2 - 0.04)
