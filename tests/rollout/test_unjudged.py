"""Episodes of which the judge cannot say: masked, not played again, counted, and tasks of too many dropped."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.environment import CannotSay, Task
from tars_jax.evaluation.replays import outcome_badge
from tars_jax.judges import Judge
from tars_jax.rollout.config import PoolConfig, Share
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.sources import PoolSource
from tars_jax.rollout.unjudged import Unjudged, judged_of, merged_tallies, metrics_of
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_outline, load_trajectory, save_trajectory
from tests.judges.test_judges import WRITER, play, task_of

REASON = "whether Holland is another name has to be known"


def test_it_is_asked_once_and_the_episode_is_masked_whole(tmp_path: Path) -> None:
    asked: list[str] = []

    def blind(trajectory: Trajectory, task: Task) -> Any:
        asked.append(trajectory.id)
        raise CannotSay(REASON)

    assert play([task_of(0)], tmp_path, Judge("blind", blind, pause=0.0)) == []
    assert len(asked) == 1
    masked = load_trajectory(tmp_path / "00000000.trajectory")
    assert (masked.outcome, masked.reward, masked.success) == (Outcome.FAILED, 0.0, None)
    assert masked.cannot_say == REASON and masked.metadata["infrastructure_failures"] == []
    assert len(masked.steps) == 2 and masked.windows and not any(step.reward for step in masked.steps)
    assert masked.metadata["environment_reward"] == 2.0 and masked.metadata["judge"] == "blind"
    assert outcome_badge(masked) == ("void", "could not be judged after 2 steps, not counted")


def ended(task: Task, reason: str = "", outcome: Outcome = Outcome.FINISHED) -> Trajectory:
    metadata = {"cannot_say": reason} if reason else {}
    return Trajectory("e", task.to_json(), (), (), Outcome.FAILED if reason else outcome, 0.0, metadata)


def test_a_fifth_of_five_episodes_drops_a_task_and_a_fifth_of_twenty_the_set() -> None:
    vague, clear = task_of(0), task_of(1)
    counts = Unjudged.of([ended(vague, REASON), *(ended(vague) for _ in range(3))])
    assert not counts.drops(vague.to_json())  # four episodes show nothing yet
    counts.add(ended(vague, outcome=Outcome.FAILED))  # lost to the sandbox: no episode
    assert not counts.drops(vague.to_json())
    counts.add(ended(vague))
    assert counts.drops(vague.to_json()) and not counts.drops(clear.to_json()) and counts.dropped == ["t0"]
    for _ in range(15):
        counts.add(ended(clear))
    counts.require_admitted()
    assert metrics_of(counts.tally) == {"cannot_say": 1, "cannot_say_share": 1 / 20} and metrics_of({}) == {}
    for _ in range(4):
        counts.add(ended(clear, REASON))
    with pytest.raises(InputError, match=f"could not say of 5 of 24 episodes, of the last one because {REASON}"):
        counts.require_admitted()


def test_a_dropped_task_leaves_what_was_played(tmp_path: Path) -> None:
    def by_turns(trajectory: Trajectory, task: Task) -> Any:
        if task.seed == 0 and trajectory.id.startswith("00000000"):
            raise CannotSay(REASON)
        return 1.0, True

    tasks = [task_of(0)] * 5 + [task_of(1)]
    assert [each.task["id"] for each in play(tasks, tmp_path, Judge("by turns", by_turns))] == ["t1"]


def test_a_stream_draws_the_next_task_in_the_place_of_a_dropped_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers are not played again for it: the pool goes on with others, and the source is not lost to the sandbox."""
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=99))
    source = PoolSource(pool, lambda group: task_of(group % 2), lambda: 0, most_lost=3)
    played: list[str] = []
    for _ in range(14):
        assignment = source.claim()
        assert assignment is not None
        played.append(assignment.task.id)
        vague = assignment.task.id == "t0" and played.count("t0") > 4
        trajectory = dataclasses.replace(ended(assignment.task, REASON if vague else ""), id=str(assignment.index))
        source.finish(assignment.index, trajectory)
    assert played == ["t0", "t1"] * 5 + ["t1"] * 4 and pool.counts()["failed"] == 1
    assert f"task t0 is drawn no more: {REASON}" in capsys.readouterr().out


def test_a_stream_of_which_no_judge_can_say_ends(tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=99))
    source = PoolSource(pool, task_of, lambda: 0, most_lost=3)
    with pytest.raises(InputError, match="task.judge must be able to tell these tasks; it could not say of 20 of 20"):
        for _ in range(21):
            assignment = source.claim()
            assert assignment is not None
            source.finish(assignment.index, ended(assignment.task, REASON))


def judged_by(judge: str, trajectory: Trajectory) -> Trajectory:
    return dataclasses.replace(trajectory, metadata={**trajectory.metadata, "judge": judge})


def test_episodes_are_counted_by_their_judge_and_over_processes() -> None:
    asked = [judged_by("a", ended(task_of(0), REASON)), judged_by("a", ended(task_of(0))), ended(task_of(1))]
    tally = Unjudged.of(asked).tally
    assert tally == {"a": {"episodes": 2, "cannot_say": 1}, "": {"episodes": 1, "cannot_say": 0}}
    assert judged_of(tally) == {"judged": {"a": {"episodes": 2, "cannot_say": 1}}} and judged_of({}) == {}
    assert judged_of({"": {"episodes": 1, "cannot_say": 0}}) == {}
    other = {"b": {"episodes": 4, "cannot_say": 0}, "a": {"episodes": 1, "cannot_say": 1}}
    assert judged_of(merged_tallies([tally, other])) == {
        "judged": {"a": {"episodes": 3, "cannot_say": 2}, "b": {"episodes": 4, "cannot_say": 0}}
    }


def test_what_was_played_before_a_resume_counts_on(tmp_path: Path) -> None:
    """Also what the checkpoint's ledger does not know, failed and taken ones; of several processes each its own."""
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=99))
    for reason in ("", REASON, "", ""):
        index = pool.claim(0)
        assert index is not None
        pool.finish(index, judged_by("a", ended(task_of(index), reason)))
    assert pool.take() is not None
    resumed = RolloutPool(tmp_path, pool.config, pool.ledger())
    with Rollouts(None, WRITER, AgentConfig(), 1) as rollouts:
        player = reference_player(WRITER, "text", 1.0)
        with rollouts.streaming(resumed, task_of, player, lambda: -99):  # so old a version that nothing is claimed
            assert rollouts.unjudged.tally == {"a": {"episodes": 4, "cannot_say": 1}}
    shares = [dataclasses.replace(pool.config, share=Share(number, 2)) for number in (0, 1)]
    tallies = [Unjudged.of(RolloutPool(tmp_path, each, pool.ledger()).outlines()).tally for each in shares]
    assert [each["a"] for each in tallies] == [{"episodes": 2, "cannot_say": 0}, {"episodes": 2, "cannot_say": 1}]


def test_an_outline_is_the_episode_without_its_steps(tmp_path: Path) -> None:
    whole = ended(task_of(0), REASON)
    save_trajectory(tmp_path / "0.trajectory", whole)
    assert load_outline(tmp_path / "0.trajectory") == whole
    (tmp_path / "1.trajectory").write_bytes(b"no zip")
    for name in ("1.trajectory", "2.trajectory"):
        with pytest.raises(InputError, match=name):
            load_outline(tmp_path / name)
