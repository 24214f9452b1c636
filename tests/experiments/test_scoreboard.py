"""The bench and the scoreboard, with agents whose success is their learning rate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from configs import ablations as ablations_config
from configs import scoreboard as scoreboard_config
from configs import scoreboard_small
from experiments import ablations, scoreboard
from tars_jax import InputError
from tars_jax.pipelines.config import flatten
from tars_jax.pipelines.on_device import Pretrained
from tars_jax.pipelines.trends import TRENDS, bench
from tars_jax.pipelines.trends.algorithms import T17_FALSE_NEGATIVE, false_positive
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.generalization import effects
from tars_jax.pipelines.trends.verdicts import Test as Claim
from tars_jax.pipelines.trends.verdicts import rise
from tars_jax.training.run_directory import RunDirectory

made: list[tuple[str, Any]] = []


class Agent:
    """In the place of `OnDevice`: success rises to ten times the learning rate, a little more for later seeds."""

    steps = 6

    def __init__(self, config: Any) -> None:
        self.config = flatten(config)

    def supervised(self, seeds: Sequence[int]) -> Any:
        made.append(("start", tuple(seeds)))
        return {"layer": {"kernel": np.asarray(seeds, np.float32)}}

    def pretrain_value(self, start: Any, seeds: Sequence[int]) -> Pretrained:
        made.append(("value", tuple(seeds)))
        curves = {"heldout_loss": np.zeros((len(seeds), 2))}
        return Pretrained((start,), curves, np.zeros(len(seeds)), np.ones(len(seeds)))

    def train(self, start: Any, value: Pretrained | None, seeds: Sequence[int]) -> Any:
        made.append(("train" if value else "without", tuple(seeds)))
        end = 10 * self.config["ppo.learning_rate"] + 0.001 * np.arange(len(seeds))
        return {"success": end[:, None] * np.linspace(0, 1, 5), "reward": end[:, None] * np.linspace(0, 1, 5)}, start


@pytest.fixture(autouse=True)
def agents(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(bench, "OnDevice", Agent)


def bench_in(folder: Path) -> Bench:
    config = scoreboard_config.get_config()
    return scoreboard.bench_of(config, folder, say=lambda line: None)


def test_what_was_trained_is_read_back_and_never_of_other_settings(tmp_path: Path) -> None:
    first = bench_in(tmp_path).train("checklist")
    assert [name for name, _ in made] == ["start", "value", "train"]
    again = bench_in(tmp_path).train("checklist")
    assert len(made) == 3
    np.testing.assert_array_equal(first.curves["success"], again.curves["success"])
    np.testing.assert_array_equal(again.policy["layer"]["kernel"], np.arange(5))
    bench_in(tmp_path).train("checklist", {"ppo.learning_rate": 0.02})
    bench_in(tmp_path).train("checklist", pretrained=False)
    assert [name for name, _ in made[3:]] == ["train", "without"]


def test_agents_of_one_interface_begin_as_the_hybrid_one(tmp_path: Path) -> None:
    own = bench_in(tmp_path)
    for game in ("encyclopedia", "encyclopedia_gui", "encyclopedia_sdk"):
        own.train(game)
    assert [name for name, _ in made] == ["start", *["value", "train"] * 3]
    own.value("encyclopedia")
    own.value("encyclopedia", settings={"ppo.learning_rate": 0.5})
    assert len(made) == 7
    own.value("encyclopedia", settings={"ppo.value_models": "part"})
    assert [name for name, _ in made[7:]] == ["value"]


def test_the_search_takes_what_ends_best_on_seeds_that_do_not_count(tmp_path: Path) -> None:
    own = bench_in(tmp_path)
    chosen = own.tune("checklist", {"ppo.clip_high": 0.5})
    assert chosen == {"ppo.clip_high": 0.5, "ppo.learning_rate": 1e-3}
    assert {seeds for _, seeds in made} == {own.tuning_seeds} and not set(own.tuning_seeds) & set(own.seeds)
    made.clear()
    config = scoreboard_config.get_config()
    config.learning_rates = (0.02,)
    only = scoreboard.bench_of(config, tmp_path, say=lambda line: None)
    assert only.tune("checklist") == {"ppo.learning_rate": 0.02} and not made  # nothing to choose from


def test_a_run_writes_results_and_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = (Claim("success rises", above=0.0), Claim("success rises by a lot", above=0.5))

    def measure(own: Bench) -> Measured:
        curves = own.train("maze").curves
        return Measured(judged(claims, [rise(curves["success"])] * 2), {"maze": curves})

    def fails(own: Bench) -> Measured:
        raise KeyboardInterrupt

    known = {name: Trend(name, "it rises", "nowhere", claims, each) for name, each in (("A", measure), ("B", fails))}
    monkeypatch.setattr(scoreboard, "TRENDS", known)
    config = scoreboard_config.get_config()
    for expected in (["A"], []):
        with (
            RunDirectory.create(tmp_path / "run", config.to_dict(), "scoreboard") as run,
            pytest.raises(KeyboardInterrupt),
        ):
            scoreboard.run(config, run)
        assert [name for name in ("A", "B") if f"{name}: does not hold" in capsys.readouterr().out] == expected
    result = json.loads((tmp_path / "run" / "trends" / "A.json").read_text())
    assert result["verdict"] == "does not hold" and [each["verdict"] for each in result["tests"]] == [
        "holds",
        "does not hold",
    ]
    assert np.shape(result["curves"]["maze"]["success"]) == (5, 5)
    assert (tmp_path / "run" / "trends" / "A.svg").stat().st_size > 1000
    config.trends = ("T99",)
    with (
        RunDirectory.create(tmp_path / "other", config.to_dict(), "scoreboard") as run,
        pytest.raises(InputError, match="config.trends must be all, or some of A, B; got 'T99'"),
    ):
        scoreboard.run(config, run)


def test_every_trend_of_the_issue_is_there_and_says_beforehand_what_it_takes() -> None:
    assert set(TRENDS) == {f"T{number}" for number in range(1, 21)}
    assert all(trend.tests and trend.source for trend in TRENDS.values())


def test_the_readme_counts_the_verdicts_that_are_committed() -> None:
    root = Path(__file__).resolve().parents[2]
    verdicts = [json.loads(file.read_text())["verdict"] for file in (root / "notebooks" / "trends").glob("T*.json")]
    holds, falls, unclear = (verdicts.count(each) for each in ("holds", "does not hold", "undecided"))
    said = f"of {len(verdicts)} measured over five seeds, {holds} hold, {falls} do not hold, {unclear} are undecided"
    assert said in (root / "README.md").read_text()


def test_games_differ_by_what_each_is_best_at() -> None:
    reaches = np.repeat([[0.2, 0.9, 1.0]], 2, axis=0).repeat(5, axis=1)  # five updates a third
    climbs = np.array([[0.0, 0.1, 0.6], [0.2, 0.3, 0.7]]).repeat(5, axis=1)  # with the second seed not from nothing
    stays = np.array([[0.3, 0.5, 0.5], [0.3, 0.5, 0.55]]).repeat(5, axis=1)
    nearest, rises, slows = effects({"reaches": reaches, "climbs": climbs, "stays": stays})
    np.testing.assert_allclose(nearest, [1.0, 1.0])
    np.testing.assert_allclose(rises, [0.6, 0.0])
    np.testing.assert_allclose(slows, [0.2, 0.1])


def test_small_sizes_differ_in_sizes_alone() -> None:
    full, small = flatten(scoreboard_config.get_config()), flatten(scoreboard_small.get_config())
    assert full.keys() == small.keys()
    assert not any(name.startswith("games.") for name in full if full[name] != small[name])


@pytest.mark.parametrize("base", [0.1, 0.4, 0.6])
def test_the_erring_verifier_has_the_reports_f1(base: float) -> None:
    right, missed = base * (1 - T17_FALSE_NEGATIVE), base * T17_FALSE_NEGATIVE
    wrong = (1 - base) * false_positive(base)
    assert 2 * right / (2 * right + missed + wrong) == pytest.approx(0.838)


def test_switches_are_read_in_the_types_of_their_fields() -> None:
    known = flatten(ablations_config.get_config().agent)
    for written in ablations_config.get_config().switches:
        assert ablations.settings_of(written, known)
    assert ablations.settings_of("ppo.advantages=group ppo.group_size=8", known) == {
        "ppo.advantages": "group",
        "ppo.group_size": 8,
    }
    with pytest.raises(InputError, match="a field in config.switches must be .*; got config.ppo.nothing"):
        ablations.settings_of("ppo.nothing=1", known)
    with pytest.raises(InputError, match="config.ppo.group_size must be a whole number.*; got 1.5"):
        ablations.settings_of("ppo.group_size=1.5", known)
