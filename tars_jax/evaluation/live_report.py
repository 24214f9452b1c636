"""The page of a run that is not over: report.html again and again, until the report takes its place.

It says how far the run is, when that was written, and what goes on where it was if it was killed: a page that runs no
script cannot know. A browser shows it anew by itself while the run lives. Writing takes at most 1% of the run's time,
as the next time comes a hundred times as long after one as that took.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import math
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from tars_jax.evaluation.curves import DEFAULT_CURVES, Curve, curve_sections, supervised_curves
from tars_jax.evaluation.replays import replays_html
from tars_jax.evaluation.report import REPORT_FILE, ReportTable, page_html, replays_section
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_object
from tars_jax.launcher import resume_command
from tars_jax.training.metrics import METRICS_FILE, MetricsRow, read_metrics
from tars_jax.training.progress import Moment, duration
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory

SHARE = 0.01  # of the run's time that writing takes at most
RAREST = 10.0  # seconds between two pages at least
REFRESH = 30  # seconds after which a browser looks again
REPLAYS = 4  # episodes shown of an evaluation


class LiveReport:
    """Written by the process that leads the run; a context manager that writes how it ended."""

    def __init__(
        self,
        run: RunDirectory,
        place: pathlib.Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], str] = lambda: time.strftime("%Y-%m-%d %H:%M:%S %z"),
    ) -> None:
        """`place`: the folder of the page, where the run is a part of the one there."""
        self._run, self._folder = run, place or run.path
        stored = read_object(self._folder / "config.json", "experiment", "config")
        self._experiment = str(stored["experiment"])
        self._of = str(stored["config"].get("environment", ""))
        self._path = self._folder / REPORT_FILE
        self._clock, self._now = clock, now
        self._next = -math.inf
        self._moment: Moment | None = None
        self._evaluated: list[Sequence[Trajectory]] = []
        self._replays = ""
        self._written = b""  # SHA-256 of the page

    def show(self, moment: Moment) -> None:
        """Shows the progress of a stage; the page is written where it is time."""
        self._moment = moment
        self.look()

    def look(self) -> None:
        """Writes the page where it is time."""
        if self._clock() >= self._next:
            self._write(_running(self._moment), REFRESH)

    def evaluated(self, episodes: Sequence[Trajectory]) -> None:
        """Episodes of an evaluation; the first of them and those of the latest one are shown."""
        self._evaluated = [*self._evaluated[:1], episodes[:REPLAYS]]
        self._replays = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """The last page of this process says why it ended, unless a report has taken its place."""
        with contextlib.suppress(OSError):  # of a full disk, too, which the run itself tells
            if error is None and (not self._written or _digest(self._path.read_bytes()) != self._written):
                return
            where = f" It was in {_said(self._moment)}." if error is not None and self._moment is not None else ""
            self._write(_end(error) + where, 0)

    def _write(self, sentence: str, refresh: int) -> None:
        began = self._clock()
        page = self._render(sentence, refresh).encode(errors="replace")
        write_atomic(self._path, page)
        self._written = _digest(page)
        ended = self._clock()
        self._next = ended + max(RAREST, (ended - began) / SHARE)

    def _render(self, sentence: str, refresh: int) -> str:
        metrics = self._run.path / METRICS_FILE
        rows = read_metrics(metrics) if metrics.exists() else []
        resume = resume_command(self._experiment, self._folder)
        if self._evaluated and not self._replays:
            before, *after = self._evaluated
            self._replays = replays_html(before, after[0] if after else (), REPLAYS)
        note = (
            f"Written {self._now()}."
            + (" It is written anew while the run lives; a time long past means that it was killed." if refresh else "")
            + " To go on where it was:"
        )
        headline = (
            f'<section class="headline running"><p class="verdict">{html.escape(sentence)}</p>'
            f'<p class="note">{html.escape(note)} <code>{html.escape(resume)}</code></p></section>'
        )
        parts = [
            headline,
            _stages(self._run.results()),
            *curve_sections(curves_of(rows), rows, {}),
            replays_section(self._replays),
        ]
        title = _titled(self._experiment) + (f": {self._of}" if self._of else "")
        return page_html(title, str(self._run.path), parts, refresh)


def curves_of(rows: Sequence[MetricsRow]) -> list[Curve]:
    """The usual ones, and the loss of every other stage that imitates."""
    usual = {series.stage for curve in DEFAULT_CURVES for series in curve.series}
    others = dict.fromkeys(row.stage for row in rows if row.stage not in usual and "loss" in row.values)
    return [
        *DEFAULT_CURVES,
        *(curve for stage in others for curve in supervised_curves(stage, _titled(stage))),
    ]


def _titled(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _running(moment: Moment | None) -> str:
    return "Running." if moment is None else f"Running: {_said(moment)}."


def _said(moment: Moment) -> str:
    of = "" if moment.total is None else f" of {moment.total:,}"
    words = f"stage {moment.stage}, {moment.done:,}{of} {moment.unit}"
    if moment.compiling:
        return f"{words}, compiling"
    return words if math.isnan(moment.remaining) else f"{words}, about {duration(moment.remaining)} left of the stage"


def _end(error: BaseException | None) -> str:
    if error is None:
        return "Its stages are done."
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted."
    return f"Stopped by an error: {type(error).__name__}: {str(error)[:500]}"


def _stages(results: Mapping[str, Mapping[str, Any]]) -> str:
    if not results:
        return ""
    rows = []
    for name, result in results.items():
        # On the device one number for each seed.
        success = f"{100 * np.mean(result['success']):.1f}%" if "success" in result else ""
        rows.append((name, duration(result.get("seconds", 0.0)), result.get("episodes", ""), success))
    return ReportTable("Stages that are done", ("", "took", "episodes", "success"), rows).to_html()


def _digest(page: bytes) -> bytes:
    return hashlib.sha256(page).digest()
