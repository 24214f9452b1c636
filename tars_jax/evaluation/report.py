"""One run as one page: report.html, which opens offline.

What it holds: the verdict, the curves, replays before and after, the configuration. Nothing in it is loaded from
elsewhere, and it runs no script; a content security policy in the page makes sure of both.
"""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import tars_jax
from tars_jax import InputError
from tars_jax.evaluation.curves import DEFAULT_CURVES, IMPROVEMENT, Curve, Series, curve_sections, points_of, smooth
from tars_jax.evaluation.replays import replays_html
from tars_jax.evaluation.scores import RETURN, SUCCESS, Score, percent, score_table_html
from tars_jax.evaluation.statistics import Estimate
from tars_jax.files import write_atomic
from tars_jax.training.metrics import MetricsRow
from tars_jax.trajectory import Trajectory

REPORT_FILE = "report.html"
VALUE_DOUBT = "value_doubt"  # in the record of a stage, and in result.json: a sentence
OPTIONAL_FACTS = ("training_episodes", "environment_steps", "parameters")  # numbers shown in the headline if present
REQUIRED = ("score_before", "score_after", "episodes", "minutes", "seed")


@dataclasses.dataclass(frozen=True)
class ScoreWording:
    """Words for what a score counts: "it solved 40% of 200 held-out episodes"."""

    did: str = "it solved"
    items: str = "held-out episodes"
    rate: str = "success"
    who: str = "agent"


@dataclasses.dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    `result` holds at least `score_before` and `score_after` (success rates, 0..1, each over `episodes` evaluation
    episodes, or what else is `counted`), `minutes` and `seed`; whatever else is in it is listed. With a `score`
    (`Score.to_json`) that is what the verdict is of, be it success or mean return.
    """

    title: str
    result: Mapping[str, Any]
    metrics: Sequence[MetricsRow] = ()
    before: Sequence[Trajectory] = ()  # evaluation episodes, in the order in which they are to be shown
    after: Sequence[Trajectory] = ()
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    curves: Sequence[Curve] = DEFAULT_CURVES
    replays: int = 4  # episodes shown of each side
    subtitle: str = ""
    command: str = ""  # repeats the run
    scores: Sequence[Score] = ()  # where the result has parts, such as games
    counted: ScoreWording = ScoreWording()
    tables: Sequence[ReportTable] = ()

    def __post_init__(self) -> None:
        for name in REQUIRED:
            value = self.result.get(name)
            if not _is_number(value):
                raise InputError(f"result: field {name} must be a number; got {value!r}")
        for name in ("score_before", "score_after"):
            if not 0 <= self.result[name] <= 1:
                raise InputError(f"result: field {name} must be a success rate of 0 to 1; got {self.result[name]!r}")
        if self.result["episodes"] < 1:
            raise InputError(f"result: field episodes must be at least 1; got {self.result['episodes']!r}")


def write_report(run_path: str | os.PathLike[str], data: ReportData) -> pathlib.Path:
    """Writes report.html into the run directory, whole or not at all, and returns its path."""
    path = pathlib.Path(run_path) / REPORT_FILE
    write_atomic(path, render_report(data).encode(errors="replace"))  # a policy may write half a surrogate pair
    return path


def render_report(data: ReportData) -> str:
    """Renders the page of the report."""
    beside = " ".join(filter(None, [beside_the_curve(data), _of_value(data.result)]))
    curves = curve_sections(data.curves, data.metrics, data.result, {IMPROVEMENT: beside})
    parts = [
        _headline_html(data),
        score_table_html(data.scores),
        *curves[:1],
        *(table.to_html() for table in data.tables),
        replays_section(replays_html(data.before, data.after, data.replays)),
        *curves[1:],
        _details_html(data),
    ]
    return page_html(data.title, data.subtitle, parts)


def page_html(title: str, subtitle: str, parts: Sequence[str], refresh: int = 0) -> str:
    """A page of these parts in their order, which loads nothing and runs no script. With `refresh` a browser shows it
    anew every so many seconds.
    """
    style = (pathlib.Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    below = f'<p class="subtitle">{html.escape(subtitle)}</p>' if subtitle else ""
    again = f'<meta http-equiv="refresh" content="{refresh}">\n' if refresh else ""
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
{again}<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{html.escape(title)}</h1>{below}</header>
<main>
{body}
</main>
<footer>Made by tars_jax {tars_jax.__version__}. This page is one file and loads nothing.</footer>
</body>
</html>
"""


def verdict(result: Mapping[str, Any], counted: ScoreWording = ScoreWording()) -> tuple[str, str]:
    """(kind, sentence) of a result with the fields that `ReportData` requires.

    The kind is "better" or "worse" only where the 95% interval of the difference leaves out 0. It is "solved" where
    there was nothing to improve. Otherwise it is "unclear", and the sentence says that the run did not improve, or that
    the improvement is not shown.
    """
    n = int(result["episodes"])
    score = Score.of_result(result)
    before, after = score.value(score.before.value), score.value(score.after.value)
    if score.measure == RETURN:
        scores = f"mean return {before} in {n} {counted.items} before and {after} after"
    else:
        scores = f"{counted.did} {before} of {n} {counted.items} before and {after} after"
    value, low, high = map(score.difference, score.change)
    change = f"{value}{score.unit} (95% interval {low} to {high})"
    if score.kind == "better":
        return "better", f"The {counted.who} improved: {scores}, {change}."
    if score.kind == "worse":
        return "worse", f"The {counted.who} got worse: {scores}, {change}."
    if score.kind == "solved" and score.after.value == 1:
        return "solved", f"Already solved: {scores}, so there was nothing to improve."
    chance = f"{change}, which {n} {counted.items.split()[-1]} cannot tell from chance"
    if score.kind == "solved":
        return "solved", f"Already solved before: {scores}, {chance}."
    if score.change.value > 0:
        return "unclear", f"Improvement is not shown: {scores}, {chance}."
    return "unclear", f"The run did not improve the {counted.who}: {scores}, {chance}."


def beside_the_curve(data: ReportData) -> str:
    """Explains why success in training ends below the headline, where it does and a curriculum picked the levels."""
    picks, score = data.result.get("curriculum"), Score.of_result(data.result)
    _, success = points_of(data.metrics, Series("ppo", "success"))
    if not picks or score.measure != SUCCESS or not len(success):
        return ""
    last = float(smooth(success, 2 * (len(success) // 10) + 1)[-1])
    if last >= score.after.low:
        return ""
    return (
        f"Success in training ends near {100 * last:.0f}%, below the {percent(score.after.value)} of the headline, and "
        f"cannot be held against it: a curriculum picks {picks}; held-out levels are drawn evenly, and stay the same."
    )


def _of_value(result: Mapping[str, Any]) -> str:
    doubt = str(result.get(VALUE_DOUBT, ""))
    return f"{doubt[:1].upper()}{doubt[1:]}." if doubt else ""


def _headline_html(data: ReportData) -> str:
    kind, sentence = verdict(data.result, data.counted)
    n = int(data.result["episodes"])
    measured = Score.of_result(data.result)
    low, high = (0.0, 1.0) if measured.measure == SUCCESS else _range((*measured.before, *measured.after))
    rows = []
    for side, label, score in (("before", "Before", measured.before), ("after", "After", measured.after)):
        left, dot, right = (percent((end - low) / (high - low)) for end in (score.low, score.value, score.high))
        rows.append(
            f'<div class="score {side}"><span class="name">{label}</span>'
            f'<span class="value">{measured.value(score.value)}</span><span class="track">'
            f'<span class="interval" style="left: {left}; width: calc({right} - {left})"></span>'
            f'<span class="dot" style="left: {dot}"></span></span>'
            f'<span class="range">{_interval(measured, score)}</span></div>'
        )
    facts = [
        (data.counted.items, f"{n:,}"),
        ("minutes", f"{data.result['minutes']:.3g}"),
        ("seed", str(data.result["seed"])),
        *(
            (name.replace("_", " "), f"{fact:,}")
            for name in OPTIONAL_FACTS
            if _is_number(fact := data.result.get(name))
        ),
    ]
    rate = data.counted.rate if measured.measure == SUCCESS else "mean return"
    items = "".join(f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts)
    return (
        f'<section class="headline {kind}"><p class="verdict">{html.escape(sentence)}</p>'
        f'<div class="scores">{"".join(rows)}<p class="scale"><span>{_end(measured, low)}</span>'
        f"<span>{html.escape(rate)}, with 95% intervals</span><span>{_end(measured, high)}</span></p></div>"
        f"<dl>{items}</dl></section>"
    )


def _range(ends: Sequence[float]) -> tuple[float, float]:
    """Range of a scale that holds 0 and `ends`."""
    low, high = min(0.0, *ends), max(0.0, *ends)
    return low, high if high > low else low + 1.0


def _interval(measured: Score, side: Estimate) -> str:
    if measured.measure == SUCCESS:
        return f"{100 * side.low:.0f} to {100 * side.high:.0f}%"
    return f"{measured.value(side.low)} to {measured.value(side.high)}"


def _end(measured: Score, end: float) -> str:
    return f"{100 * end:.0f}%" if measured.measure == SUCCESS else measured.value(end)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def replays_section(strips: str) -> str:
    """The output of `replays_html` as a section; empty where there is none."""
    if not strips:
        return ""
    ring = "; a ring marks where it pointed" if 'class="ring"' in strips else ""
    return (
        '<section class="replays"><h2>Replays</h2><p class="note">The first evaluation episodes as they came, not a '
        f"selection. Each card is what the policy saw and read before its action{ring}.</p>{strips}</section>"
    )


def _details_html(data: ReportData) -> str:
    rest = {name: value for name, value in data.result.items() if name not in REQUIRED}
    tables = [("Result", rest), ("Configuration", data.config)]
    parts = [
        f"<details><summary>{title}</summary><table>{_table_rows(values)}</table></details>"
        for title, values in tables
        if values
    ]
    if data.command:
        parts.append(f'<p class="note">Again: <code>{html.escape(data.command)}</code></p>')
    return f'<section class="details">{"".join(parts)}</section>' if parts else ""


def _table_rows(values: Mapping[str, Any]) -> str:
    return "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in _flatten(values, "")
    )


def _flatten(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, default=str)


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """A titled table; the first cell of a row is its name."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int]]
    note: str = ""

    def to_html(self) -> str:
        """The table as a section in HTML."""
        head = "".join(f"<td>{html.escape(name)}</td>" for name in self.head)
        rows = "".join(
            f"<tr><th>{html.escape(str(row[0]))}</th>"
            + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        return (
            f'<section class="parts"><h2>{html.escape(self.title)}</h2>{note}'
            f'<table><tr class="head">{head}</tr>{rows}</table></section>'
        )
