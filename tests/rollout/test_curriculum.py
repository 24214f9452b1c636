"""The curriculum: stages, promotion, and that its state is all there is."""

import json

from tars_jax.rollout.curriculum import CurriculumConfig, StagedCurriculum
from tars_jax.trajectory import Outcome, Trajectory

CONFIG = CurriculumConfig(stages=(3, 5), nearest=2, promote_at=0.75, recent=4)


def episodes(*rewards: float) -> list[Trajectory]:
    return [Trajectory("", {}, (), (), Outcome.FINISHED, reward) for reward in rewards]


def distances(curriculum: StagedCurriculum) -> set[int]:
    drawn = [curriculum.options(index)["distance"] for index in range(60)]
    assert all(low == high for low, high in drawn)
    return {low for low, _ in drawn}


def test_promotion_needs_enough_recent_successes() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    assert not curriculum.saw(episodes(1, 1, 1))  # too few
    assert not curriculum.saw(episodes(0, 0))  # 1 1 0 0: the first one is no longer recent
    assert distances(curriculum) == {2, 3}
    assert not curriculum.saw(episodes(1))
    assert curriculum.saw(episodes(1, 1))
    assert curriculum.distance == 5 and distances(curriculum) == {2, 3, 4, 5}


def test_a_stage_starts_with_no_recent_episodes_and_the_last_one_stays() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    assert curriculum.saw(episodes(1, 1, 1, 1))
    assert curriculum.state() == {"stage": 1, "recent": []}
    assert not curriculum.saw(episodes(1, 1, 1, 1))
    assert curriculum.distance == 5


def test_tasks_depend_on_seed_and_number_alone() -> None:
    first, again, other = (StagedCurriculum(CONFIG, seed) for seed in (1, 1, 2))
    options = [first.options(index) for index in range(20)]
    assert [again.options(index) for index in reversed(range(20))] == options[::-1]
    assert [other.options(index) for index in range(20)] != options


def test_the_state_survives_json() -> None:
    curriculum = StagedCurriculum(CONFIG, seed=1)
    curriculum.saw(episodes(0, 1, 1))
    resumed = StagedCurriculum(CONFIG, 1, json.loads(json.dumps(curriculum.state())))
    assert resumed.state() == curriculum.state()
    assert resumed.saw(episodes(1)) and curriculum.saw(episodes(1))
    assert resumed.state() == curriculum.state()
