"""A judge beside labels, rules and always yes; by hand."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.evaluation.judge_agreement import JudgedLabel, ask_judge, judge_agreement
from tars_jax.evaluation.judge_metrics import (
    Confusion,
    at_threshold,
    best_threshold,
    by_length,
    calibrated,
    confusion,
    f1_estimate,
    hidden_metrics,
    hidden_verdicts,
    in_groups,
)
from tars_jax.judges import Judge, Judgement, JudgeUnavailable
from tars_jax.judges.labels import Labelled
from tars_jax.trajectory import Trajectory
from tests.judges.episodes import episode, task


def test_false_positives_and_intervals() -> None:
    """4 failures, one of them judged a success; unreadable verdicts of failures are none."""
    found = confusion([(True, False), (False, False), (False, False), (None, False), (True, True)]).to_json()
    assert found["false_positive_rate"] == 1 / 4 and found["precision"] == 1 / 2 and found["recall"] == 1
    assert found["false_positive_rate_interval"][0] < 1 / 4 < found["false_positive_rate_interval"][1]
    pairs = [(True, True)] * 60 + [(True, False)] * 20 + [(False, True)] * 20  # F1 = 120 / 160
    value, low, high = f1_estimate(pairs)
    assert value == pytest.approx(0.75) and 0.66 < low < 0.72 and 0.78 < high < 0.84
    assert f1_estimate([]) == (0.0, 0.0, 1.0) and f1_estimate([(None, True)]).value == 0


def test_a_threshold_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    solved = [number % 2 == 0 for number in range(40)]
    scores = [0.75 if each else 0.25 for each in solved]
    found = calibrated(scores, solved)
    assert found.threshold == 0.75 and found.reported_on.right == 20 == found.chosen_on.total
    assert found.reported_on.total == 20 and found.reported_on.solved + found.chosen_on.solved == 20
    # Scores that tell nothing: the best F1 says yes to all; with few false positives allowed, no threshold serves.
    same = calibrated([0.5] * 40, solved)
    assert same.threshold == 0.5 and same.reported_on.false_negatives == same.reported_on.true_negatives == 0
    strict = calibrated([0.5] * 40, solved, most_false_positives=0.1)
    assert strict.threshold == float("inf") and strict.reported_on.true_positives == 0
    for wrong, words in (([0.5], "two or more"), ([0.5, float("nan")], "must be finite; got nan")):
        with pytest.raises(InputError, match=words):
            calibrated(wrong, [True] * len(wrong))


def test_what_is_unreadable_counts_where_a_threshold_is_chosen() -> None:
    """From .8 on: 2 of 3 that say so are solved, 2 of 5 solved ones are found. From .6 on: 3 of 5 and 3 of 5."""
    scores = [0.9, 0.9, 0.8, 0.7, 0.6, None, None]
    solved = [True, True, False, False, True, True, True]
    assert at_threshold(scores, solved, 0.8) == Confusion(2, 1, 1, 1, unreadable=2)
    assert at_threshold(scores, solved, 0.8).to_json()["f1"] == pytest.approx(2 * 2 / (3 + 5))
    # F1 is 2/7 * 2 = .571 from .9 on, .5 from .8 on, 4/9 from .7 on and .6 from .6 on.
    assert best_threshold(scores, solved) == 0.6 and best_threshold(scores, solved, most_false_positives=0.0) == 0.9
    found = calibrated([0.9, None] * 20, [True] * 40)
    assert found.threshold == 0.9 and found.reported_on.total == 20
    assert found.chosen_on.unreadable + found.reported_on.unreadable == 20 == found.chosen_on.solved
    assert best_threshold([None], [True]) == float("inf")


def test_groups() -> None:
    assert [by_length(steps) for steps in (1, 5, 6, 20, 21)] == ["1-5", "1-5", "6-10", "11-20", "over 20"]
    groups = in_groups([(True, True, "b"), (False, True, "a"), (None, False, "b")])
    assert groups == {"a": Confusion(0, 0, 1, 0), "b": Confusion(1, 0, 0, 0, unreadable=1)}


def hidden(judged: bool, true: bool | None) -> Trajectory:
    return dataclasses.replace(episode([], success=judged), metadata={"environment_success": true})


def test_the_environments_own_verdicts_beside_the_judges() -> None:
    """2 of 4 really solved, 3 judged so: one success of 2 missed, both failures taken for successes."""
    played = [hidden(True, True), hidden(False, True), hidden(True, False), hidden(True, False), hidden(True, None)]
    assert hidden_verdicts(played) == Confusion(1, 2, 1, 0)
    found = hidden_metrics(played)
    assert found == {
        "true_success": 0.5, "judge_accuracy": 0.25, "judge_f1": 2 / 5, "judge_false_positive_rate": 1.0
    }  # fmt: skip
    assert hidden_metrics([episode([])]) == {} and hidden_verdicts([hidden(True, None)]) is None
    assert hidden(True, False).verified_success is False and episode([]).verified_success is True


def labelled(number: int, site: str, rule: bool | None) -> Labelled:
    played = episode([("o", "wait()")] * (number + 1))
    return Labelled(f"t{number}", site, "agent", (True,), dataclasses.replace(played, id=f"t{number}"), task(), rule)


def by_number(trajectory: Trajectory, about: Task) -> Judgement:
    number = int(trajectory.id[1:])
    if number == 3:
        raise JudgeUnavailable("away")
    if number == 8:
        raise CannotSay("a picture")
    return Judgement(number / 10, number > 1)


def test_a_judge_is_asked_about_labelled_trajectories() -> None:
    labels = [
        (labelled(number, "a" if number < 6 else "b", number % 2 == 0), solved)
        for number, solved in enumerate([False, True, True, True, False, False, True, True])
    ]
    heard: list[int] = []
    judge = Judge("mine", by_number, attempts=1)
    judged = asyncio.run(ask_judge(judge, labels, parallel=2, on_answer=heard.append))
    assert sorted(heard) == list(range(1, 9)) and judged[3].failure.startswith("JudgeUnavailable: judge mine raised")
    found = judge_agreement(judged, "mine")
    # Yes to 2, 4, 5, 6, 7, of which 2, 6, 7 are solved; 1 is missed, 3 unreadable, 0 right.
    assert found.judge == Confusion(3, 2, 1, 1, unreadable=1) and found.judge.unreadable_solved == 1
    assert found.f1["mine"]["value"] == pytest.approx(6 / 10)
    assert found.baselines["always yes"] == Confusion(5, 3, 0, 0)
    assert found.baselines["rules"] == Confusion(2, 2, 3, 1)  # yes to 0, 2, 4, 6
    assert found.by_site["b"] == Confusion(2, 0, 0, 0) and set(found.by_length) == {"1-5 steps", "6-10 steps"}
    assert found.calibrated is not None and found.calibrated.reported_on.total == 4  # of 7 with a score
    table = found.table("mine")
    assert table.splitlines()[2].startswith("| mine ") and "| always yes " in table and "mine: 6-10 steps" in table
    row = [cell.strip() for cell in table.splitlines()[2].split("|")]
    assert row[2:6] == ["8", "60.0", "60.0", "60.0"] and row[7:9] == ["66.7%", "1"]
    assert found.to_json()["judge"]["unreadable"] == 1


def test_a_judge_that_cannot_say_is_counted_and_scores_are_probabilities() -> None:
    labels = [(labelled(number, "a", None), number % 2 == 0) for number in (2, 3, 8)]
    found = judge_agreement(asyncio.run(ask_judge(Judge("mine", by_number, attempts=1), labels)), "mine")
    assert found.judge == Confusion(1, 0, 0, 0, unreadable=2) and found.cannot_say[""] == pytest.approx(1 / 3)
    assert found.to_json()["cannot_say"] == found.cannot_say and found.reliability is None  # a single score
    more = [*labels, (labelled(4, "a", None), False)]
    scored = judge_agreement(asyncio.run(ask_judge(Judge("mine", by_number, attempts=1), more)), "mine")
    said = scored.to_json()["reliability"]
    assert said["expected"] == pytest.approx((0.8 + 0.4) / 2) and said["scored"] == 2
    assert said["brier"] == pytest.approx((0.8**2 + 0.4**2) / 2)
    assert "As probabilities, 2 scores: calibration error 0.600 (" in scored.table("mine")
    beyond = [JudgedLabel(labelled(0, "a", None), True, True, reward) for reward in (3.0, 0.5)]
    assert judge_agreement(beyond, "mine").reliability is None  # no probabilities


def test_without_rules_or_scores_there_is_no_such_line(tmp_path: Path) -> None:
    judged = [JudgedLabel(labelled(number, "a", None), True, True, 1.0) for number in range(3)]
    found = judge_agreement(judged, "mine")
    assert set(found.baselines) == {"always yes"} and found.calibrated is None
