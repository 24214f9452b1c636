"""T1, T2, T4 and T6 as tests over finished runs of any environment: what PPO did to reward, entropy, thoughts, steps.

Axes: U updates of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tars_jax.evaluation.tables import markdown
from tars_jax.pipelines.trends.verdicts import Test, TestResult, judge, late_minus_early, rise


class Measure(NamedTuple):
    """One number of a curve of PPO."""

    curve: str  # the name of its values in the metrics
    test: Test
    effect: Callable[[np.ndarray], np.ndarray]  # [N, U] -> [N]


def _fall(curves: np.ndarray) -> np.ndarray:
    return -late_minus_early(curves)


MEASURES = (
    Measure("reward", Test("T1: rise of the reward over the run (least squares)"), rise),
    Measure("entropy", Test("T2: entropy a token in the last fifth of the updates minus the first"), late_minus_early),
    Measure("think_tokens", Test("T4: think tokens a step in the first fifth of the updates minus the last"), _fall),
    Measure("episode_steps", Test("T6: steps an episode in the first fifth of the updates minus the last"), _fall),
)


def judge_runs(runs: Sequence[Mapping[str, np.ndarray]]) -> tuple[TestResult, ...]:
    """Tests of one setting over its seeds, each by its curves [U] by name; without a test that a run has no curve
    for."""
    found = []
    for measure in MEASURES:
        curves = [np.asarray(run.get(measure.curve, ()), float) for run in runs]
        if curves and min(len(curve) for curve in curves) > 1:
            found.append(judge(measure.test, [float(measure.effect(curve[None])[0]) for curve in curves]))
    return tuple(found)


def table(judged: Mapping[str, Sequence[TestResult]]) -> str:
    """Markdown: a row for each setting and test."""
    rows = []
    for name, judgements in judged.items():
        for each in judgements:
            mean, low, high = each.estimate
            words = f"{mean:+.3g} [{low:.3g}, {high:.3g}]" if np.isfinite(low) else f"{mean:+.3g}"
            rows.append((name, str(len(each.effects)), each.test.statement, words, each.verdict.value))
    return markdown(("setting", "seeds", "effect of PPO", "mean [95% interval]", "verdict"), rows)
