"""The curriculum: stages, promotion, and that its state is all there is."""

import json
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.rollout.curriculum import CurriculumConfig, FrontierCurriculum, StagedCurriculum
from tars_jax.trajectory import Outcome, Trajectory

CONFIG = CurriculumConfig(stages=(3, 5), nearest=2, promote_at=0.75, recent=4)


def episodes(*rewards: float) -> list[Trajectory]:
    return [Trajectory("", {}, (), (), Outcome.FINISHED, reward, success=reward > 0) for reward in rewards]


def distances(curriculum: StagedCurriculum) -> set[int]:
    drawn = [curriculum.options(index)["distance"] for index in range(60)]
    assert all(low == high for low, high in drawn)
    return {low for low, _ in drawn}


def test_promotion_needs_enough_recent_successes() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    assert not curriculum.update(episodes(1, 1, 1))  # too few
    assert not curriculum.update(episodes(0, 0))  # 1 1 0 0: the first one is no longer recent
    assert distances(curriculum) == {2, 3}
    assert not curriculum.update(episodes(1))
    assert curriculum.update(episodes(1, 1))
    assert curriculum.distance == 5 and distances(curriculum) == {2, 3, 4, 5}


def test_a_stage_starts_with_no_recent_episodes_and_the_last_one_stays() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    assert curriculum.update(episodes(1, 1, 1, 1))
    assert curriculum.state() == {"stage": 1, "recent": []}
    assert not curriculum.update(episodes(1, 1, 1, 1))
    assert curriculum.distance == 5


def test_tasks_depend_on_seed_and_number_alone() -> None:
    first, again, other = (StagedCurriculum(CONFIG, seed) for seed in (1, 1, 2))
    options = [first.options(index) for index in range(20)]
    assert [again.options(index) for index in reversed(range(20))] == options[::-1]
    assert [other.options(index) for index in range(20)] != options


def test_the_state_survives_json() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    curriculum.update(episodes(0, 1, 1))
    resumed = StagedCurriculum(CONFIG, 1, json.loads(json.dumps(curriculum.state())))
    assert resumed.state() == curriculum.state()
    assert resumed.update(episodes(1)) and curriculum.update(episodes(1))
    assert resumed.state() == curriculum.state()


KINDS: list[dict[str, Any]] = [{"distance": [n, n]} for n in (2, 3, 5)]


def of_kind(kind: int, *rewards: float) -> list[Trajectory]:
    return [
        Trajectory("", {"options": KINDS[kind]}, (), (), Outcome.FINISHED, reward, success=reward > 0)
        for reward in rewards
    ]


def test_the_frontier_is_where_success_is_uncertain() -> None:
    curriculum = FrontierCurriculum(KINDS, seed=3, recent=4, floor=0.01)
    assert curriculum.shares.tolist() == [1 / 3] * 3
    assert curriculum.update([*of_kind(0, 1, 1, 1, 1), *of_kind(1, 1, 0, 1, 0), *of_kind(2, 0, 0, 0, 0)])
    # (successes + 1) / (4 + 2) is 5/6, 1/2, 1/6: weights 5/36, 1/4, 5/36, and the floor
    weights = [5 / 36 + 0.01, 1 / 4 + 0.01, 5 / 36 + 0.01]
    assert curriculum.shares.tolist() == pytest.approx([weight / sum(weights) for weight in weights])
    drawn = [curriculum.options(index)["distance"][0] for index in range(2000)]
    assert drawn.count(3) / 2000 == pytest.approx(curriculum.shares[1], abs=0.04)
    assert not curriculum.update(of_kind(0, 1))  # the oldest of four successes makes room for the fifth


def test_a_frontier_goes_on_from_its_state() -> None:
    curriculum = FrontierCurriculum(KINDS, seed=3)
    curriculum.update([*of_kind(0, 1, 1), *of_kind(2, 0)])
    again = FrontierCurriculum(KINDS, 3, json.loads(json.dumps(curriculum.state())))
    assert [again.options(index) for index in range(50)] == [curriculum.options(index) for index in range(50)]
    assert FrontierCurriculum(KINDS, 4, curriculum.state()).options(0) in KINDS


@pytest.mark.parametrize(
    ("field", "value"), [("nearest", 4), ("nearest", 0), ("stages", ()), ("stages", (5, 4)), ("stages", (3, 3))]
)
def test_stages_that_do_not_grow_from_the_nearest_on_are_refused(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^curriculum.{field} must be "):
        CurriculumConfig(**{"stages": (3, 5), "nearest": 2, field: value})
