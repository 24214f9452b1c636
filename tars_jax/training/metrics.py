"""What a run says while it works: metrics in files, and progress lines.

`metrics.jsonl` holds the truth, one JSON object a line; what shows it has copies (`loggers.py`).
"""

from __future__ import annotations

import collections
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
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TextIO

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
    """What shows a run's curves in TensorBoard, as a shell takes it; empty where that is not installed."""
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


class Progress:
    """One line a step: stage, done of total, rate, time left, and a few values.

        ppo            7/20 iterations    0.31/s    0:42 left   reward 0.612    entropy 0.83

    On a terminal every step prints; elsewhere (a file, a pipe) at most one line in `min_seconds`, but always the first
    and the last.
    """

    def __init__(
        self,
        stage: str,
        total: int,
        unit: str,
        *,
        done: int = 0,
        min_seconds: float = 5.0,
        compiles: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`done` steps were finished before, by the run that this one resumes; they do not enter the rate. `compiles`:
        the first step does, which is said at once; it tells nothing of the others and does not enter the rate either.
        """
        self._stage, self._total, self._unit = stage, total, unit
        self._stream = stream or sys.stdout
        self._min_seconds = 0.0 if self._stream.isatty() else min_seconds
        self._clock = clock
        self._started = clock()
        self._recent = collections.deque([(self._started, done)], maxlen=50)  # the rate is that of the last 50 steps
        self._printed = -math.inf
        self._compiling = compiles and done < total
        if self._compiling:
            print(f"{self._count(done)}  compiling", file=self._stream, flush=True)

    def compiled(self, done: int) -> None:
        """Says that the first step is finished, where `update` comes later: the rate counts from here."""
        self._compiling = False
        self._recent.clear()
        self._recent.append((self._clock(), done))

    def update(self, done: int, **values: Any) -> None:
        """Says that `done` steps are finished in all, with values that are numbers or short texts."""
        now = self._clock()
        if self._compiling:
            self.compiled(done)
        self._recent.append((now, done))
        if now - self._printed < self._min_seconds and done < self._total:
            return
        self._printed = now
        then, before = self._recent[0]
        rate = (done - before) / (now - then) if now > then else math.nan
        if done >= self._total:
            remaining = f"took {_duration(now - self._started)}"
        elif rate > 0:
            remaining = f"{_duration((self._total - done) / rate)} left"
        else:
            remaining = "? left"
        columns = [
            self._count(done),
            f"{_number(rate)}/s".rjust(8),
            remaining.rjust(12),
            *(f"{name.replace('_', ' ')} {_number(value):<6}" for name, value in values.items()),
        ]
        print("  ".join(columns).rstrip(), file=self._stream, flush=True)

    def _count(self, done: int) -> str:
        return f"{self._stage:<12} {done:>{len(str(self._total))}}/{self._total} {self._unit}"


def _number(value: Any) -> str:
    if isinstance(value, str | int):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _duration(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
