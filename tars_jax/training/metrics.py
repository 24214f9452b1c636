"""The metrics of a run, in files.

`metrics.jsonl` holds the truth, one JSON object a line; what shows it has copies (`loggers.py`).
"""

from __future__ import annotations

import dataclasses
import errno
import importlib.util
import json
import math
import os
import pathlib
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tars_jax import InputError
from tars_jax.training.loggers import TENSORBOARD_FOLDER, Logger, MetricsRow, open_loggers

LEARNED_FROM = ("loss", "value_loss", "heldout_loss", "gradient_norm")  # numbers that are finite while weights are
METRICS_FILE = "metrics.jsonl"


def require_finite(stage: str, update: int, metrics: Mapping[str, Any]) -> None:
    """Raises InputError if a loss or a gradient of the update is not finite: its weights are worth no checkpoint."""
    broken = [name for name in LEARNED_FROM if name in metrics and not math.isfinite(float(metrics[name]))]
    if broken:
        raise InputError(
            f"{stage}: {' and '.join(broken)} of update {update} became infinite or NaN: training diverged. A "
            "smaller learning rate may help; the newest checkpoint is from before."
        )


class MetricsWriter:
    """Appends to the metrics of a run; a context manager.

    The kernel has a line when `write` returns, so kill -9 of the process loses none; what a power cut tore is dropped
    on the next start.
    """

    def __init__(self, run_directory_path: str | os.PathLike[str], loggers: Sequence[str] = ()) -> None:
        """`loggers`: names of `LOGGERS` that get copies, besides TensorBoard.

        Raises InputError if there is a metrics.jsonl that this class did not write, and for a logger that is not
        installed.
        """
        self._folder, self._names = pathlib.Path(run_directory_path), tuple(loggers)
        self._path = self._folder / METRICS_FILE
        rows, size = _read(self._path) if self._path.exists() else ([], 0)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        self._cut(size)
        self._loggers: list[Logger] = open_loggers(self._folder, self._names, rows)

    def write(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Appends one row, whole or not at all. Raises OSError where the disk refuses."""
        row = MetricsRow(int(step), stage, round(time.time(), 3), {name: float(x) for name, x in values.items()})
        record = dataclasses.asdict(row)
        record["values"] = {name: x if math.isfinite(x) else None for name, x in row.values.items()}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        written = os.write(self._file, line)
        if written < len(line):
            self._cut(self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._size += written
        for logger in self._loggers:
            logger.write(row)

    def truncate_after(self, stage: str, step: int) -> None:
        """Takes the run back to the moment when `step` of `stage` was its newest, to continue from a checkpoint.

        Drops the first row of `stage` with a larger step, and everything that was written after it, whatever its stage.
        """
        rows, _ = _read(self._path)
        kept = next((i for i, row in enumerate(rows) if row.stage == stage and row.step > step), len(rows))
        if kept == len(rows):
            return
        with open(self._path, "rb") as file:
            self._cut(sum(len(file.readline()) for _ in range(kept)))
        for logger in self._loggers:
            logger.close()
        self._loggers = open_loggers(self._folder, self._names, rows[:kept])

    def close(self) -> None:
        for logger in self._loggers:
            logger.close()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        self._size = size


def tensorboard_command(run: pathlib.Path) -> str:
    """Shell command that shows a run's curves in TensorBoard; empty where that is not installed."""
    logs = str(run / TENSORBOARD_FOLDER)
    if shutil.which("tensorboard"):
        return shlex.join(["tensorboard", "--logdir", logs])
    if importlib.util.find_spec("tensorboard"):
        return shlex.join([sys.executable, "-m", "tensorboard.main", "--logdir", logs])
    return ""


def read_metrics(path: str | os.PathLike[str]) -> list[MetricsRow]:
    """The rows of a metrics.jsonl in the order of writing, also of a run that is still writing.

    Raises InputError if the file is missing or a line is not a row, naming file and line.
    """
    return _read(pathlib.Path(path))[0]


def _read(path: pathlib.Path) -> tuple[list[MetricsRow], int]:
    """The rows and the size in bytes up to the last whole one. Only the last line may be torn."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read as metrics: {error.strerror}.") from error
    lines = data.splitlines(keepends=True)
    rows, size = [], 0
    for number, line in enumerate(lines, start=1):
        row = _parse(line) if line.endswith(b"\n") else None
        if row is None:
            if number == len(lines):
                break
            raise InputError(f"{path}: line {number} must be a row of metrics; got {line[:60]!r}")
        rows.append(row)
        size += len(line)
    return rows, size


def _parse(line: bytes) -> MetricsRow | None:
    try:
        record = json.loads(line)
        values = {name: math.nan if x is None else float(x) for name, x in record["values"].items()}
        return MetricsRow(int(float(record["step"])), str(record["stage"]), float(record["time"]), values)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
