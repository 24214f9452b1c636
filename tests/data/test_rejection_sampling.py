"""Which attempts are imitated, and what recorded trajectories come back."""

import dataclasses
import pathlib

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.data.recorded import recorded_trajectories, with_verdict
from tars_jax.data.rejection_sampling import PREFERENCES, Attempts, KeepRule, by_task, count_attempts, select_successes
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.files import save_trajectory


def attempt(actions: str, reward: float = 1.0, task: str = "a", valid: bool = True, id: str = "") -> Trajectory:
    steps = tuple(Step(b"", "", "", action, None, 0.0, 0, valid, {}) for action in actions)
    return Trajectory(id, {"id": task}, (), steps, Outcome.FINISHED, reward, success=reward > 0)


def acted(trajectories: list[Trajectory]) -> list[str]:
    return ["".join(step.action for step in each.steps) for each in trajectories]


def test_kept_are_different_verified_solutions_the_shortest_first() -> None:
    attempts = [
        attempt("rrd"),
        attempt("rd"),
        attempt("rd", id="the same again"),
        attempt("d", reward=0.0),
        attempt("r", valid=False),
        attempt("drr"),
    ]
    assert acted(select_successes(attempts, KeepRule(5, "shortest"))) == ["rd", "rrd", "drr"]
    assert acted(select_successes(attempts, KeepRule(2, "shortest"))) == ["rd", "rrd"]
    assert acted(select_successes(attempts, KeepRule(2, "first"))) == ["rrd", "rd"]
    assert select_successes(attempts, KeepRule(5, "first"))[1].id == ""


def test_tasks_are_counted_by_how_many_attempts_solved_them() -> None:
    outcomes = {"a": (0, 0), "b": (1, 0), "c": (1, 1), "d": (0, 1), "e": (1,)}
    played = [attempt("r", float(won), task) for task, rewards in outcomes.items() for won in rewards]
    groups = by_task(played)
    assert [group[0].task["id"] for group in groups] == list("abcde") and [len(each) for each in groups] == [
        2,
        2,
        2,
        2,
        1,
    ]
    assert count_attempts(groups) == Attempts(none=1, some=2, every=2)


@hypothesis.given(
    st.lists(st.tuples(st.text("rd", min_size=1, max_size=3), st.booleans(), st.booleans()), max_size=12),
    st.integers(1, 4),
    st.sampled_from(PREFERENCES),
)
def test_whatever_is_kept_keeps_the_rule(drawn: list[tuple[str, bool, bool]], at_most: int, prefer: str) -> None:
    attempts = [attempt(actions, float(won), valid=valid) for actions, won, valid in drawn]
    kept = select_successes(attempts, KeepRule(at_most, prefer))
    good = {actions for actions, won, valid in drawn if won and valid}
    assert len(kept) == min(at_most, len(good)) == len(set(acted(kept))) and set(acted(kept)) <= good
    if prefer == "shortest":
        assert (
            sorted(map(len, acted(kept))) == sorted(map(len, good))[: len(kept)] == [len(each) for each in acted(kept)]
        )


def test_recorded_trajectories_come_back_but_for_failures_of_the_infrastructure(tmp_path: pathlib.Path) -> None:
    for number, reward in enumerate((0.0, 1.0, 0.0)):
        outcome = Outcome.FAILED if number == 2 else Outcome.FINISHED
        episode = dataclasses.replace(attempt("", reward, id=str(number)), outcome=outcome)
        save_trajectory(tmp_path / f"{number:08d}.trajectory", episode)
    found = recorded_trajectories([str(tmp_path), str(tmp_path)])
    assert [each.id for each in found] == ["0", "1", "0", "1"]
    assert [each.id for each in with_verdict(found, "solved")] == ["1", "1"]
    assert [each.id for each in with_verdict(found, "failed")] == ["0", "0"]
    assert with_verdict(found, "any") == found
    with pytest.raises(InputError, match="got .*nowhere, which holds none"):
        recorded_trajectories([str(tmp_path), str(tmp_path / "nowhere")])


def test_recorded_trajectories_that_cannot_be_trained_on_are_refused_by_file_and_field(tmp_path: pathlib.Path) -> None:
    tokens, versions, numbers = (np.array(each, np.int32) for each in ([1, 9], [-1, 4], [0, 0]))
    window = ContextWindow(tokens, np.array([0, 1], bool), np.zeros(2, np.float32), versions, numbers, ())
    one = dataclasses.replace(attempt("r"), windows=(window,))
    file = tmp_path / "00000000.trajectory"
    save_trajectory(file, one)
    assert len(recorded_trajectories([str(tmp_path)], vocabulary=10)) == 1
    with pytest.raises(InputError, match=rf"^{file}: field windows\[0\].tokens must be below the vocabulary, 9; got 9"):
        recorded_trajectories([str(tmp_path)], vocabulary=9)
    save_trajectory(
        file, dataclasses.replace(attempt("rd"), windows=(dataclasses.replace(window, steps=numbers + 1), window))
    )
    with pytest.raises(InputError, match=rf"^{file}: field windows\[1\].steps must not go back .*; got 0 after 1"):
        recorded_trajectories([str(tmp_path)])
