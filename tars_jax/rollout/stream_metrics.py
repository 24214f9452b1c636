"""Metrics of the rollout stream at every update: who was busy, what waits, how old the tokens are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tars_jax.rollout.activity import Activity, now
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.pool import RolloutPool, staleness
from tars_jax.rollout.timeline import TrackOwner
from tars_jax.trajectory import Trajectory

ENVIRONMENT = ("reset", "act")
POLICY = ("think",)
LEARNER = ("update", "weights")


class EngineCounts(Protocol):
    """Counts of an engine's work so far."""

    @property
    def busy_seconds(self) -> float: ...

    @property
    def tokens_sampled(self) -> int: ...


class StreamMetrics:
    """The stream's metrics from one reading to the next. A span counts where it ends."""

    def __init__(
        self, activity: Activity, pool: RolloutPool | MixedPool, engine: Callable[[], EngineCounts], workers: int
    ) -> None:
        self._activity, self._pool, self._engine, self._workers = activity, pool, engine, workers
        self._before = self._totals()

    def read(self, batch: Sequence[Trajectory], version: int) -> dict[str, float]:
        """Metrics since the last reading, or since the stream began.

        `batch` is what the update of this reading was made of, `version` the one that was updated. Utilizations are
        busy seconds over wall seconds, of the workers the mean over all of them; `stale_N` is the share of the batch's
        action tokens that were sampled N updates before, the last one also of all that are older.
        """
        after = self._totals()
        done = {name: after[name] - self._before[name] for name in after}
        self._before = after
        wall = max(done["wall"], 1e-9)
        counts = self._pool.counts()
        queues = {name: float(counts[name]) for name in ("requeued", "in_flight", "ready", "filtered", "failed")}
        self._activity.show(TrackOwner.WORKERS, "pool", in_flight=queues["in_flight"], ready=queues["ready"])
        utilizations = {
            "engine_utilization": done["engine"] / wall,
            "environment_utilization": done["environment"] / (wall * self._workers),
            "workers_thinking": done["policy"] / (wall * self._workers),
            "learner_utilization": done["learner"] / wall,
        }
        self._activity.show(TrackOwner.ENGINE, "utilization", engine=utilizations["engine_utilization"])
        return {
            **utilizations,
            **{f"queue_{name}": value for name, value in queues.items()},
            "tokens_per_second": done["tokens"] / wall,
            "steps_per_second": done["steps"] / wall,
            "episodes_per_second": done["episodes"] / wall,
            **staleness_shares(batch, version, self._pool.config.max_staleness + 1),
        }

    def _totals(self) -> dict[str, float]:
        engine = self._engine()
        return {
            "wall": now(),
            "engine": engine.busy_seconds,
            "tokens": engine.tokens_sampled,
            "environment": self._activity.seconds(TrackOwner.WORKERS, *ENVIRONMENT),
            "policy": self._activity.seconds(TrackOwner.WORKERS, *POLICY),
            "learner": self._activity.seconds(TrackOwner.LEARNER, *LEARNER),
            "steps": self._activity.times(TrackOwner.WORKERS, "think"),
            "episodes": self._activity.times(TrackOwner.WORKERS, "store"),
        }


def staleness_shares(batch: Sequence[Trajectory], version: int, oldest: int) -> dict[str, float]:
    """stale_0 to stale_`oldest`: shares of action tokens by staleness at `version`; they add up to one."""
    ages = np.concatenate([np.zeros(0, np.int32), *(staleness(trajectory, version) for trajectory in batch)])
    histogram = np.bincount(np.clip(ages, 0, oldest), minlength=oldest + 1)
    return {f"stale_{age}": float(share) for age, share in enumerate(histogram / max(len(ages), 1))}
