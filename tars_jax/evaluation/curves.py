"""Curves of a run as inline SVG, in colors and type of the page that they stand in."""

from __future__ import annotations

import dataclasses
import functools
import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.training.metrics import MetricsRow


@dataclasses.dataclass(frozen=True)
class Series:
    """The rows of one stage that hold a value of this name; one that ends with * stands for all that begin so, each
    a curve of its own."""

    stage: str
    name: str
    label: str = ""  # shown where a curve has several


@dataclasses.dataclass(frozen=True)
class Curve:
    """One small figure; left out where the run has no rows for it."""

    section: str
    title: str
    series: tuple[Series, ...]  # the first is the one that counts
    note: str = ""  # how to read it
    x_label: str = "iteration"
    percent: bool = False  # values are fractions, drawn from 0 to 100%
    whole: bool = False  # values are counts
    floor: float = -math.inf  # lower values are cut off
    bounds: tuple[tuple[str, str], ...] = ()  # numbers of the run's result that are drawn as lines, with their labels
    varies: bool = False  # left out, too, where the first series has one value throughout
    compared: int = 1  # series that a comparison of runs draws, the later ones dashed


REWARD_PARTS = "rewards/"  # before the name of a reward function
IMPROVEMENT, VALUE = "Improvement by PPO", "Value pretraining"


def supervised_curves(stage: str, section: str) -> tuple[Curve, Curve]:
    """Curves of one stage of supervised training."""
    return (
        Curve(section, "Loss", (Series(stage, "loss"),), "nats per token", x_label="update"),
        Curve(section, "Accuracy", (Series(stage, "accuracy"),), "next token", "update", percent=True),
    )


DEFAULT_CURVES = (
    Curve(
        IMPROVEMENT,
        "Success",
        (Series("ppo", "success", "as judged"), Series("ppo", "true_success", "the environment’s own verdict, hidden")),
        "episodes of the batch that were solved",
        percent=True,
        compared=2,
    ),
    Curve(
        IMPROVEMENT,
        "False positives",
        (Series("ppo", "judge_false_positive_rate"),),
        "failures that the judge takes for successes",
        percent=True,
    ),
    Curve(IMPROVEMENT, "Reward", (Series("ppo", "reward"),), "per episode, with format and length shaping"),
    Curve(IMPROVEMENT, "", (Series("ppo", f"{REWARD_PARTS}*"),), "of a reward function, before its weight"),
    Curve(
        IMPROVEMENT,
        "Distance",
        (Series("ppo", "distance"),),
        "the curriculum's: moves that an episode needs",
        whole=True,
    ),
    Curve(IMPROVEMENT, "Steps per episode", (Series("ppo", "episode_steps"),), "actions until it ends"),
    Curve(
        IMPROVEMENT,
        "Interfaces",
        (Series("ppo", "calls_share", "calls of functions"), Series("ppo", "gui_share", "acts on the screen")),
        "steps that go through each",
        percent=True,
        varies=True,
    ),
    Curve(
        IMPROVEMENT,
        "Several calls",
        (Series("ppo", "several_calls"),),
        "steps that do two things or more",
        percent=True,
        varies=True,
    ),
    Curve(IMPROVEMENT, "Entropy", (Series("ppo", "entropy"),), "nats per action token"),
    Curve(IMPROVEMENT, "Think length", (Series("ppo", "think_tokens"),), "tokens of thought per step"),
    Curve(IMPROVEMENT, "Well-formed answers", (Series("ppo", "valid"),), "that follow the grammar", percent=True),
    Curve(
        IMPROVEMENT,
        "Explained variance",
        (Series("ppo", "explained_variance"),),
        "of returns, by the value model on fresh episodes",
        floor=-1,
    ),
    Curve(
        IMPROVEMENT,
        "Correlation of value and return",
        (Series("ppo", "value_correlation"),),
        "over action tokens of fresh episodes; below 0 the value model misleads",
        floor=-1,
    ),
    Curve(IMPROVEMENT, "Clip fraction", (Series("ppo", "clip_fraction"),), "tokens whose ratio left the clip range"),
    Curve(IMPROVEMENT, "Staleness", (Series("ppo", "staleness"),), "policy versions between sampling and update"),
    Curve(
        VALUE,
        "Explained variance",
        (
            Series("value", "heldout_explained_variance", "held-out episodes"),
            Series("value", "explained_variance", "training episodes"),
        ),
        "of Monte-Carlo returns of the fixed policy",
        x_label="update",
        floor=-1,
        bounds=(("simulator_explained_variance", "what the simulator’s state explains"),),
    ),
    Curve(
        VALUE,
        "Value loss",
        (Series("value", "heldout_loss", "held-out episodes"), Series("value", "loss", "training episodes")),
        "half the squared error against the returns",
        x_label="update",
    ),
    Curve(
        VALUE,
        "Correlation",
        (
            Series("value", "correlation", "all tokens"),
            Series("value", "correlation_at_start", "first token of an episode"),
        ),
        "of value and return on held-out episodes",
        x_label="update",
        floor=-1,
    ),
    *supervised_curves("supervised", "Supervised start"),
)

# Matplotlib knows no CSS variables: it draws in these colors, and the page's names replace them in the SVG.
_COLORS = {
    "#010101": "var(--ink)",
    "#020202": "var(--muted)",
    "#030303": "var(--line)",
    "#040404": "var(--after)",
    "#050505": "var(--before)",
    "#060606": "var(--third)",
}
_INK, _MUTED, _LINE, *_SERIES = _COLORS
DASHES = ((3, 3), (1, 2), (6, 3))  # of bounds, in their order
_SIZE = (3.6, 2.0)  # inches of 100 CSS pixels


def curve_sections(
    curves: Sequence[Curve],
    rows: Sequence[MetricsRow],
    result: Mapping[str, Any],
    notes: Mapping[str, str] = {},
) -> list[str]:
    """The curves that the run has rows for, as one HTML section for each of their headings, with its note."""
    sections: dict[str, list[str]] = {}
    for index, curve in enumerate(each for one in curves for each in spread(one, rows)):
        points = [(series, *points_of(rows, series)) for series in curve.series]
        drawn = tuple((series, tuple(x.tolist()), tuple(y.tolist())) for series, x, y in points if len(x))
        if drawn and not (curve.varies and len(set(drawn[0][2])) < 2):
            bounds = tuple((label, result[name]) for name, label in curve.bounds if result.get(name) is not None)
            sections.setdefault(curve.section, []).append(_figure_html(curve, drawn, bounds, index))
    return [
        f'<section class="curves"><h2>{html.escape(section)}</h2>{_note(notes.get(section, ""))}'
        f'<div class="grid">{"".join(figures)}</div></section>'
        for section, figures in sections.items()
    ]


def _note(text: str) -> str:
    return f'<p class="note">{html.escape(text)}</p>' if text else ""


def spread(curve: Curve, rows: Sequence[MetricsRow]) -> list[Curve]:
    """A curve for each name that its series stands for, called by what the name has beyond; else the curve itself."""
    first = curve.series[0]
    if not first.name.endswith("*"):
        return [curve]
    begin = first.name.removesuffix("*")
    names = dict.fromkeys(
        name for row in rows if row.stage == first.stage for name in row.values if name.startswith(begin)
    )
    return [
        dataclasses.replace(curve, title=name.removeprefix(begin), series=(dataclasses.replace(first, name=name),))
        for name in names
    ]


def points_of(rows: Sequence[MetricsRow], series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Steps and finite values of a series, [n] each."""
    points = [
        (row.step, row.values[series.name])
        for row in rows
        if row.stage == series.stage and math.isfinite(row.values.get(series.name, math.nan))
    ]
    x, y = zip(*points, strict=True) if points else ((), ())
    return np.array(x, float), np.array(y, float)


def smooth(y: np.ndarray, width: int) -> np.ndarray:
    """Centred moving average over `width` (odd) points, over fewer at the ends: [n] -> [n]."""
    kernel = np.ones(width)
    padded = [np.convolve(np.pad(values, width // 2), kernel, "valid") for values in (y, np.ones_like(y))]
    return padded[0] / padded[1]


@functools.lru_cache(maxsize=64)
def _figure_html(
    curve: Curve,
    drawn: tuple[tuple[Series, tuple[float, ...], tuple[float, ...]], ...],
    bounds: tuple[tuple[str, float], ...],
    index: int,
) -> str:
    """Kept, as the page of a run in progress draws most of its curves again and again."""
    lines = [(series, np.array(x), np.array(y), smooth(np.array(y), 2 * (len(y) // 40) + 1)) for series, x, y in drawn]
    counts = lines[0][3]
    first, last = _number(counts[0], curve.percent), _number(counts[-1], curve.percent)
    change = f'<span class="change">{first} → <b>{last}</b></span>' if len(counts) > 1 else f"<b>{last}</b>"
    keys = [(color, series.label) for color, (series, *_) in zip(_SERIES, lines, strict=False) if len(lines) > 1]
    legend = "".join(
        f'<span class="key" style="--key: {_COLORS[color]}">{html.escape(label)}</span>' for color, label in keys
    )
    legend += "".join(
        f'<span class="key dashed">{html.escape(label)}, {_number(bound, curve.percent)}</span>'
        for label, bound in bounds
    )
    return (
        f"<figure><figcaption><h3>{html.escape(curve.title)}</h3>{change}</figcaption>"
        f'<p class="note">{html.escape(curve.note)}</p>'
        f"{_svg(curve, lines, [bound for _, bound in bounds], index)}"
        f'<p class="legend">{legend}</p></figure>'
    )


def _svg(
    curve: Curve,
    lines: list[tuple[Series, np.ndarray, np.ndarray, np.ndarray]],
    bounds: Sequence[float],
    index: int,
) -> str:
    import matplotlib  # here, as every command that may report imports this file
    from matplotlib.figure import Figure

    # Text stays text; the salt keeps the ids of one page's figures apart and the same from run to run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"curve {index}", "font.size": 7.5}):
        figure = Figure(figsize=_SIZE, dpi=100)
        axes = figure.add_axes((0.165, 0.17, 0.815, 0.79))
        for color, (_, x, y, smoothed) in zip(_SERIES, lines, strict=False):
            if len(x) > 40:
                axes.plot(x, y, color=color, linewidth=0.7, alpha=0.28)
            axes.plot(x, smoothed, color=color, linewidth=1.6, solid_capstyle="round", solid_joinstyle="round")
            axes.plot(x[-1:], smoothed[-1:], "o", color=color, markersize=3.5)
        for number, bound in enumerate(bounds):
            axes.axhline(bound, color=_INK, linewidth=0.9, linestyle=(0, DASHES[number % len(DASHES)]))
        _scale(axes, curve, lines, bounds)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _inline(buffer.getvalue(), curve.title)


def _scale(
    axes: Any, curve: Curve, lines: list[tuple[Series, np.ndarray, np.ndarray, np.ndarray]], bounds: Sequence[float]
) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, PercentFormatter

    values = np.concatenate([y for _, _, y, _ in lines] + [np.array(bounds, float)])
    low, high = max(float(values.min()), curve.floor), float(values.max())
    if curve.percent:
        low, high = min(low, 0.0), max(high, 1.0)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        axes.ticklabel_format(style="plain", useOffset=False, axis="y")  # there is no room for a factor above
    # A change of a few per cent must not look like a landslide, nor one by rounding.
    size = max(abs(low), abs(high))
    missing = max(0.25 * (size if size > 1e-9 else 1.0) - (high - low), 0)
    low, high = low - missing / 2, high + missing / 2
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    rounds = MaxNLocator(4, steps=[1, 2, 5, 10], integer=curve.whole, min_n_ticks=1)
    axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]) if curve.percent else rounds)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    axes.set_xlabel(curve.x_label, color=_MUTED, labelpad=2, loc="right")
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.tick_params(colors=_MUTED, length=0, pad=4)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_LINE)


def _inline(svg: str, title: str) -> str:
    """A stand-alone SVG file as an element of an HTML page: without prologue, metadata, namespaces, size, plain ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = re.sub(r"font: ([\d.]+)px '[^']*'(, [^;\"]*)?", r"font-size: \1px", svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    for color, name in _COLORS.items():
        svg = svg.replace(color, name)
    size = re.search(r'viewBox="[^"]*"', svg)
    assert size is not None
    label = html.escape(title, quote=True)
    return re.sub(r"<svg[^>]*>", f'<svg role="img" aria-label="{label}" {size.group()}>', svg, count=1)


def _number(value: float, percent: bool) -> str:
    if percent:
        text = f"{100 * value:.0f}%"
    elif abs(value) >= 1:
        text = f"{value:.3g}"
    else:
        text = f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
    return text.replace("-", "−")


GAME_SECTION = "Each game while PPO trains"
_BOUNDS = (("person", "a person's pace and errors"), ("reference", "the best scripted player"))


def game_curves(games: Sequence[tuple[str, str]]) -> list[Curve]:
    """Curves of each (name, title): the share of episodes that were solved, and of episodes of several levels the mean
    score, where a run has them."""
    return [
        curve
        for name, title in games
        for curve in (
            Curve(
                GAME_SECTION,
                title,
                (Series("ppo", f"{name}_success"),),
                "solved, of the game's episodes in a batch",
                percent=True,
            ),
            Curve(
                GAME_SECTION,
                f"{title}, score",
                (Series("ppo", f"{name}_score"),),
                "mean of the game's episodes in a batch",
                bounds=tuple((f"{side}/{name}_score", label) for side, label in _BOUNDS),
            ),
        )
    ]
