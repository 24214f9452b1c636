"""Copies of a run's metrics for what shows them: TensorBoard always, W&B and MLflow where a config says so.

metrics.jsonl is the truth. A copy is made again from it whenever a run is resumed, so the two never disagree. All of
them lie in the run directory and reach no network, unless the environment says so as each library has it: with
WANDB_MODE=online, or MLFLOW_TRACKING_URI; there a run that is resumed is a new one beside the old, whole again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter

from tars_jax import InputError

TENSORBOARD_FOLDER = "tensorboard"
PROJECT = "tars_jax"


@dataclasses.dataclass(frozen=True)
class MetricsRow:
    """One line of metrics.jsonl."""

    step: int  # of its stage
    stage: str
    time: float  # seconds since 1970
    values: dict[str, float]  # not finite where the run computed no number


class Logger(Protocol):
    """Writes rows of metrics to a tracker."""

    def write(self, row: MetricsRow) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """RUN/tensorboard, as an event file. The library's `SummaryWriter` has a thread, where a full disk is a traceback;
    its records are written where this is called, and whoever calls knows what to say."""

    def __init__(self, run: Path) -> None:
        folder = run / TENSORBOARD_FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        started = time.time()
        path = folder / f"events.out.tfevents.{int(started)}.{socket.gethostname()}"
        self._records = RecordWriter(str(path))
        self._append(Event(wall_time=started, file_version="brain.Event:2"))

    def write(self, row: MetricsRow) -> None:
        values = [Summary.Value(tag=f"{row.stage}/{name}", simple_value=value) for name, value in row.values.items()]
        self._append(Event(wall_time=row.time, step=row.step, summary=Summary(value=values)))

    def close(self) -> None:
        with contextlib.suppress(OSError):  # all is on disk, but for what a write that was refused has left
            self._records.close()

    def _append(self, event: Event) -> None:
        self._records.write(event.SerializeToString())
        self._records.flush()


class WeightsAndBiases:
    """RUN/wandb, as an offline run that `wandb sync` uploads; steps are those of each stage."""

    def __init__(self, run: Path) -> None:
        wandb = _required("wandb", "wandb")
        shutil.rmtree(run / "wandb", ignore_errors=True)
        self._stages: set[str] = set()
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.absolute().name,
            dir=str(run),
            mode=os.environ.get("WANDB_MODE", "offline"),
            reinit="create_new",
            settings=wandb.Settings(
                silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True
            ),
        )

    def write(self, row: MetricsRow) -> None:
        if row.stage not in self._stages:
            self._stages.add(row.stage)
            self._run.define_metric(f"{row.stage}/*", step_metric=f"{row.stage}/step")
        values = {f"{row.stage}/{name}": value for name, value in _numbers(row).items()}
        self._run.log({**values, f"{row.stage}/step": row.step})

    def close(self) -> None:
        self._run.finish()


class Mlflow:
    """RUN/mlruns, as a store of files that `mlflow ui --backend-store-uri RUN/mlruns` shows."""

    def __init__(self, run: Path) -> None:
        tracking = _required("mlflow.tracking", "mlflow")
        self._metric = importlib.import_module("mlflow.entities").Metric
        for earlier in (run / "mlruns").glob("*/*/meta.yaml"):  # runs; the library holds on to what is above them
            shutil.rmtree(earlier.parent)
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions would rather have a database
        place = os.environ.get("MLFLOW_TRACKING_URI") or (run.absolute() / "mlruns").as_uri()
        self._client = tracking.MlflowClient(tracking_uri=place)
        known = self._client.get_experiment_by_name(PROJECT)
        experiment = known.experiment_id if known else self._client.create_experiment(PROJECT)
        self._id = self._client.create_run(experiment, run_name=run.absolute().name).info.run_id

    def write(self, row: MetricsRow) -> None:
        milliseconds = int(row.time * 1000)
        found = [
            self._metric(f"{row.stage}/{name}", value, milliseconds, row.step) for name, value in _numbers(row).items()
        ]
        self._client.log_batch(self._id, metrics=found)

    def close(self) -> None:
        self._client.set_terminated(self._id)


LOGGERS: Mapping[str, Callable[[Path], Logger]] = {"wandb": WeightsAndBiases, "mlflow": Mlflow}


def open_loggers(run: Path, names: Iterable[str], rows: Iterable[MetricsRow]) -> list[Logger]:
    """TensorBoard and those of `names`, each with the rows so far.

    Raises InputError where what a name takes is not installed, and says which extra brings it.
    """
    found: list[Logger] = []
    with contextlib.ExitStack() as opened:
        for make in (TensorBoard, *(LOGGERS[name] for name in names)):
            found.append(make(run))
            opened.callback(found[-1].close)
        opened.pop_all()
    for row in rows:
        for logger in found:
            logger.write(row)
    return found


def _numbers(row: MetricsRow) -> dict[str, float]:
    return {name: value for name, value in row.values.items() if math.isfinite(value)}


def _required(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"config.loggers must name what is installed; got {extra!r}, which the extra {extra} brings: "
            f"pip install 'tars_jax[{extra}]'."
        ) from error
