"""Agents of several seeds learn a game on the device, and are tested on levels that they have not seen; then a report.

1. supervised: policies from scratch on the expert's episodes;
2. before: held-out levels;
3. value: value models on the returns of the fixed policies;
4. ppo: rollouts and updates in one program, a part of the updates at a time;
5. after: the same held-out levels.

A killed run goes on with the stage, or the part of PPO, that it was in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tars_jax.evaluation import ReportData, Score
from tars_jax.evaluation.live_report import LiveReport
from tars_jax.evaluation.report import VALUE_DOUBT
from tars_jax.evaluation.result import write_result
from tars_jax.pipelines.config import command_of
from tars_jax.pipelines.on_device import Curves, OnDevice
from tars_jax.pipelines.value_stage import doubt_of_levels, doubt_of_value
from tars_jax.training.checkpoint import Checkpoints, load_parameters, save_parameters
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory

SHOWN = (
    "success",
    "reward",
    "entropy",
    "think_tokens",
    "explained_variance",
    "value_correlation",
    "loss",
    "heldout_explained_variance",
)


def run(config: Any, run_directory: RunDirectory) -> None:
    with MetricsWriter(run_directory.path, config.loggers) as metrics, LiveReport(run_directory) as page:
        Stages(config, run_directory, metrics, page).all()


class Stages:
    """The stages of one run; what each leaves behind lies in the run directory."""

    def __init__(self, config: Any, run_directory: RunDirectory, metrics: MetricsWriter, page: LiveReport) -> None:
        self._config, self._run, self._path, self._metrics = config, run_directory, run_directory.path, metrics
        self._seeds = list(range(config.seed, config.seed + config.seeds))
        self._setup = OnDevice(config)
        self._began = time.monotonic()
        self._page = page

    def all(self) -> None:
        policy_shapes, value_shapes = self._setup.shapes(self._seeds)
        start = self._stage("supervised", policy_shapes, lambda: (self._supervise(), {}))
        before = self._evaluate("before", start)
        value = None
        if self._config.value.updates and self._config.ppo.advantages != "group":
            value = self._stage("value", value_shapes, lambda: self._pretrain(start))
        doubt = self._doubt_of_value()
        policy = self._stage("policy", policy_shapes, lambda: (self._improve(start, value), doubt))
        after = self._evaluate("after", policy)
        self._finish(before, after)

    def _stage(self, name: str, like: Any, make: Callable[[], tuple[Any, Mapping[str, Any]]]) -> Any:
        """The parameters that a stage ends with, made now, or read back. `make` also says what is recorded of it."""
        if self._run.finished(name) is None:
            parameters, result = make()
            save_parameters(self._path / name, parameters)
            self._record(name, result)
        return load_parameters(self._path / name, like)

    def _record(self, stage: str, result: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if self._run.finished(stage) is None:
            self._run.finish(stage, {**result, "seconds": now - self._began})
            self._page.look()
        self._began = now

    def _supervise(self) -> Any:
        return self._setup.supervised(self._seeds, self._shown("supervised", self._config.supervised.updates))

    def _pretrain(self, start: Any) -> tuple[Any, dict[str, Any]]:
        config = self._config.value
        shown = self._shown("value", max(config.updates, config.max_updates))
        found = self._setup.pretrain_value(start, self._seeds, shown)
        explained, correlation = found.explained_variance.tolist(), found.correlation.tolist()
        result = {"explained_variance": explained, "correlation": correlation, "levelled_off": list(found.levelled_off)}
        return found.parameters, result

    def _doubt_of_value(self) -> dict[str, str]:
        """Says why PPO should not trust its value models, where it has such; and that, to be recorded."""
        if self._config.ppo.advantages == "group":
            return {}
        doubt = doubt_of_value(None)
        if (found := self._run.finished("value")) is not None:
            of_seeds = zip(self._seeds, found.get("levelled_off", ()), strict=False)
            doubt = doubt_of_levels({f"seed {seed}": flat for seed, flat in of_seeds})
        if not doubt:
            return {}
        print(f"ppo: {doubt}", flush=True)
        return {VALUE_DOUBT: doubt}

    def _improve(self, start: Any, value: Any) -> Any:
        actors = self._setup.actors(start, value, self._seeds)
        checkpoints = Checkpoints(self._path / "checkpoints" / "ppo")
        done = checkpoints.latest() or 0
        if done:
            actors, _ = checkpoints.restore(done, actors)
        shown = self._shown("ppo", self._config.ppo.updates, done)

        def on_part(done: int, state: Any, curves: Curves) -> None:
            checkpoints.save(done, state, {})
            shown(done, state, curves)

        actors, _ = self._setup.improve(actors, self._seeds, on_part, done)
        return actors.policy.parameters

    def _shown(self, stage: str, updates: int, done: int = 0) -> Callable[[int, Any, Curves], None]:
        """Writes metrics: means over seeds, and each seed's own under its number."""
        self._metrics.truncate_after(stage, done)
        progress = Progress(stage, updates, "updates", done=done, min_seconds=0, compiles=True, watch=self._page.show)

        def on_part(done: int, _: Any, curves: Curves) -> None:
            size = next(iter(curves.values())).shape[1]
            for place in range(size):
                values = {name: float(curve[:, place].mean()) for name, curve in curves.items()}
                for row, seed in enumerate(self._seeds):
                    values |= {f"{name}/{seed}": float(curve[row, place]) for name, curve in curves.items()}
                self._metrics.write(stage, done - size + place + 1, values)
            progress.update(done, **{name: float(curves[name].mean()) for name in SHOWN if name in curves})

        return on_part

    def _evaluate(self, stage: str, policy: Any) -> dict[str, np.ndarray]:
        found = self._setup.evaluate(policy, self._seeds, self._config.evaluation.episodes)
        self._record(stage, {name: each.mean(1).tolist() for name, each in found.items()})
        print(f"{stage}: success {_listed(found['success'])}, reward {_listed(found['reward'])}")
        return found

    def _finish(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> None:
        stages = {name: self._run.finished(name) or {} for name in ("supervised", "before", "value", "policy", "after")}
        result = {
            "score_before": float(before["success"].mean()),
            "score_after": float(after["success"].mean()),
            "episodes": int(before["success"].size),
            "minutes": sum(stage.get("seconds", 0.0) for stage in stages.values()) / 60,
            "seed": self._config.seed,
            "seeds": self._seeds,
            "before": stages["before"],
            "after": stages["after"],
        }
        returns = [side["reward"].ravel().tolist() for side in (before, after)]
        if any((side["reward"] != side["success"]).any() for side in (before, after)):  # dense rewards
            result["score"] = Score.of_returns("", *returns).to_json()
        write_result(
            self._path,
            ReportData(
                title=f"On the device: {self._config.game.name}",
                subtitle=f"{len(self._seeds)} agents from scratch; games, rollouts and updates in one program",
                result=result,
                config=self._config.to_dict(),
                command=command_of("on_device", self._config),
            ),
        )


def _listed(found: np.ndarray) -> str:
    return " ".join(f"{each:.2f}" for each in found.mean(1)) + f" (mean {found.mean():.3f})"
