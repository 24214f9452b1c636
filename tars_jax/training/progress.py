"""Progress of long work on the terminal: one line a step, with rate and remaining time.

`Progress` is the one form of such a line. Work that iterates is wrapped by `each`, work that reports (done, total) by
`counting`, and what is one opaque step, a compilation or a program on the device, by `working`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO, TypeVar

HEARTBEAT = 10.0  # seconds that work is silent at most
QUIET = 3.0  # seconds of work of which nothing need be said
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Moment:
    """Progress of a stage at one moment."""

    stage: str
    done: int
    total: int | None  # None: nobody knows
    unit: str
    remaining: float  # seconds; NaN where nobody knows
    compiling: bool = False


class Progress:
    """One line a step: stage, done of total, rate, time left, and a few values.

        ppo            7/20 iterations    0.31/s    0:42 left   reward 0.612    entropy 0.83

    On a terminal every step prints; elsewhere (a file, a pipe) at most one line in `min_seconds`, but always the first
    and the last. Without a `total` the lines say how long it has taken so far.
    """

    def __init__(
        self,
        stage: str,
        total: int | None,
        unit: str,
        *,
        done: int = 0,
        min_seconds: float = 5.0,
        quiet: float = 0.0,
        compiles: bool = False,
        watch: Callable[[Moment], None] = lambda moment: None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`done` steps were finished before, by the run that this one resumes; they do not enter the rate. `compiles`:
        the first step does, which is said at once; it tells nothing of the others and does not enter the rate either.
        `quiet`: nothing is said of the first so many seconds, nor of work that is over by then. `watch` hears of every
        step.
        """
        self._stage, self._total, self._unit = stage, total, unit
        self._stream = stream or sys.stdout
        self._min_seconds = 0.0 if self._stream.isatty() and not quiet else min_seconds
        self._clock, self._watch = clock, watch
        self._started = clock()
        self._recent = collections.deque([(self._started, done)], maxlen=50)  # the rate is that of the last 50 steps
        self._printed = self._started + quiet - self._min_seconds if quiet else -math.inf
        self._quiet, self._said = quiet, False
        self._compiling = compiles and (total is None or done < total)
        if self._compiling:
            print(f"{self._count(done)}  compiling", file=self._stream, flush=True)
            self._watch(Moment(stage, done, total, unit, math.nan, compiling=True))

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
        then, before = self._recent[0]
        rate = (done - before) / (now - then) if now > then else math.nan
        is_last = self._total is not None and done >= self._total
        remaining = math.nan if self._total is None else (self._total - done) / rate if rate > 0 else math.nan
        self._watch(Moment(self._stage, done, self._total, self._unit, 0.0 if is_last else remaining))
        if is_last and not self._said and now - self._started < self._quiet:
            return
        if now - self._printed < self._min_seconds and not is_last:
            return
        self._printed = now
        if is_last:
            said = f"took {duration(now - self._started)}"
        elif self._total is None:
            said = f"{duration(now - self._started)} so far"
        else:
            said = "? left" if math.isnan(remaining) else f"{duration(remaining)} left"
        self._print(done, f"{_number(rate)}/s", said, values)

    def waiting(self, **values: Any) -> None:
        """Says how long the step that is under way has taken, where nothing was said for `HEARTBEAT` seconds. For who
        looks again and again whether it is done."""
        now = self._clock()
        last = max(self._printed, self._started)
        if now - last >= HEARTBEAT:
            self._printed = now
            then, done = self._recent[-1]
            self._print(done, "", f"{duration(now - then)} so far", values)

    def each(self, steps: Iterable[T]) -> Iterator[T]:
        """The steps, one after the other; each is done when the next one is asked for."""
        done = self._recent[-1][1]
        for step in steps:
            yield step
            done += 1
            self.update(done)
        if self._total is None and self._said:
            self._total = done
            self.update(done)

    def _print(self, done: int, rate: str, said: str, values: Mapping[str, Any]) -> None:
        self._said = True
        columns = [
            self._count(done),
            rate.rjust(8),
            said.rjust(12),
            *(f"{name.replace('_', ' ')} {_number(value):<6}" for name, value in values.items()),
        ]
        print("  ".join(columns).rstrip(), file=self._stream, flush=True)

    def _count(self, done: int) -> str:
        if self._total is None:
            return f"{self._stage:<12} {done} {self._unit}"
        return f"{self._stage:<12} {done:>{len(str(self._total))}}/{self._total} {self._unit}"


def counting(stage: str, unit: str, **options: Any) -> Callable[[int, int], None]:
    """A `Progress` for work that reports (done, total); it begins with the first report."""
    found: list[Progress] = []

    def update(done: int, total: int) -> None:
        if not found:
            found.append(Progress(stage, total, unit, **options))
        found[0].update(done)

    return update


@contextlib.contextmanager
def working(what: str, *, every: float = HEARTBEAT, stream: TextIO | None = None) -> Iterator[None]:
    """Says now and then how long a step has taken that reports nothing."""
    out, began, ended = stream or sys.stdout, time.monotonic(), threading.Event()

    def say() -> None:
        while not ended.wait(every):
            print(f"{what:<12} {duration(time.monotonic() - began)} so far", file=out, flush=True)

    thread = threading.Thread(target=say, name=f"progress of {what}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _number(value: Any) -> str:
    if isinstance(value, str | int):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A duration as 1:05 or 2:00:05."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
