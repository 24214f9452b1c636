"""The stream's numbers, against a history whose every second is known."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest

from tars_jax.rollout import stream_metrics
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.stream_metrics import StreamMetrics, staleness_shares
from tars_jax.rollout.timeline import TrackOwner
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory


@dataclasses.dataclass(frozen=True)
class Counts:
    busy_seconds: float
    tokens_sampled: int


def sampled_at(*versions: int) -> Trajectory:
    """A window of one token that was read and of these, sampled where their version is 0 or more."""
    versions = (-1, *versions)
    size = len(versions)
    window = ContextWindow(
        tokens=np.zeros(size, np.int32),
        action_mask=np.array([version >= 0 for version in versions]),
        log_probs=np.zeros(size, np.float32),
        versions=np.array(versions, np.int32),
        steps=np.full(size, -1, np.int32),
        images=(),
    )
    return Trajectory("", {}, (window,), (), Outcome.FINISHED, 1.0)


def test_shares_of_staleness() -> None:
    batch = [sampled_at(-1, 7, 7, 6), sampled_at(5, -1, 2, 7)]  # ages 0 0 1, 2 5 0
    shares = staleness_shares(batch, version=7, oldest=3)
    assert shares == {
        "stale_0": pytest.approx(3 / 6),
        "stale_1": pytest.approx(1 / 6),
        "stale_2": pytest.approx(1 / 6),
        "stale_3": pytest.approx(1 / 6),
    }


def test_a_reading_covers_the_time_since_the_last_one(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(stream_metrics, "now", lambda: clock)
    engine = Counts(3.0, 50)
    activity = Activity()
    activity.add(TrackOwner.WORKERS, 0, "act", 90.0, 99.0)  # before the stream began
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=1))
    metrics = StreamMetrics(activity, pool, lambda: engine, workers=2)
    for index in range(4):
        pool.claim(0)
        if index < 2:
            pool.finish(index, sampled_at(0))
    activity.add(TrackOwner.WORKERS, 0, "reset", 100.0, 101.0)
    activity.add(TrackOwner.WORKERS, 0, "think", 101.0, 105.0)
    activity.add(TrackOwner.WORKERS, 1, "act", 101.0, 103.0)
    activity.add(TrackOwner.WORKERS, 1, "store", 103.0, 103.5)
    activity.add(TrackOwner.LEARNER, 0, "update", 104.0, 106.0)
    activity.add(TrackOwner.LEARNER, 0, "values", 104.5, 105.0)  # a part of the update
    clock, engine = 110.0, Counts(8.0, 250)
    batch = pool.take() or []
    read = metrics.read(batch, version=1)
    assert read == pytest.approx(
        {
            "engine_utilization": 0.5,
            "environment_utilization": 3 / 20,
            "workers_thinking": 4 / 20,
            "learner_utilization": 0.2,
            "queue_requeued": 0,
            "queue_in_flight": 2,
            "queue_ready": 0,
            "queue_filtered": 0,
            "queue_failed": 0,
            "tokens_per_second": 20,
            "steps_per_second": 0.1,
            "episodes_per_second": 0.1,
            "stale_0": 0,
            "stale_1": 1,
            "stale_2": 0,
        }
    )
    clock = 112.0
    again = metrics.read(batch, version=1)
    assert {again[name] for name in ("engine_utilization", "learner_utilization", "steps_per_second")} == {0}
