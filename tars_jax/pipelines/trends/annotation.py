"""T20: what a person decides on the policy's own path teaches it more than as many steps of demonstrations.

The report annotates on policy (section 2.4), and gives no ablation. Here a reference player that errs at one step in
twenty is the person, in mazes; the policy was shown a hundred, solved without a mistake. Every kind of annotation has
as many human steps, tasks, updates and demonstrations from before; the person

- decides at every step, on the page as it is: a right proposal is accepted, a wrong one rewritten, and that is done;
- is called by a gate, where the policy's uncertainty is in its highest fifth, and stays while it is in the upper half;
- plays alone, whatever the policy would do (demonstrations);
- labels all steps of failed episodes after these are over (afterwards);
- or does nothing, and the policy has the same updates on the demonstrations that are there (none).

Looked at before the tests were put: one tuning seed, three rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.evaluation.tables import markdown
from tars_jax.pipelines.on_device import Curves
from tars_jax.pipelines.on_device_annotation import AnnotationRounds, Arm, human_steps_to
from tars_jax.pipelines.trends.bench import Bench, Measured, Settings, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test, judge

GAME, SKILL, RATES = "maze_annotated", 0.95, (5e-4, 1e-3)
NONE, DEMONSTRATIONS, EVERY_STEP, GATED, AFTERWARDS = "none", "demonstrations", "every step", "gated", "afterwards"
ARMS = {
    NONE: Arm(ask=1.0, keep=1.0),
    DEMONSTRATIONS: Arm(accepts=False),
    EVERY_STEP: Arm(),
    GATED: Arm(ask=0.8, keep=0.5),
    AFTERWARDS: Arm(ask=1.0, keep=1.0, afterwards=True),
}
FORGETFUL = Arm(ask=0.8, keep=0.8)  # the same gate without hysteresis: the person leaves as soon as it would not call
WANTED = 0.8  # success; human steps to it stand in the notes
SUCCESS = "held-out success, mean over the rounds"
TESTS = (
    Test(f"{SUCCESS}: decided at every step minus none"),
    *(Test(f"{SUCCESS}: {arm} minus demonstrations") for arm in (EVERY_STEP, GATED, AFTERWARDS)),
    Test("switches per human step on the first round's path: gate without hysteresis minus with"),
)


def measure(bench: Bench) -> Measured:
    chosen, found = {}, {}
    for name, arm in ARMS.items():
        chosen[name] = tuned(bench, arm)
        found[name] = bench.annotate(GAME, arm, SKILL, chosen[name]["learning_rate"])
    score = {name: curves["success"][:, 1:].mean(1) for name, curves in found.items()}
    effects = [score[EVERY_STEP] - score[NONE]]
    effects += [score[name] - score[DEMONSTRATIONS] for name in (EVERY_STEP, GATED, AFTERWARDS)]
    effects.append(np.subtract(*(switches_per_step(bench, arm) for arm in (FORGETFUL, ARMS[GATED]))))
    curves = {name: {"success": each["success"]} for name, each in found.items()}
    rows = table(found, bench.plan.budgets)
    notes = {
        "x": list(bench.plan.budgets),
        "x_label": "human steps",
        "wanted": WANTED,
        "table": rows,
        "markdown": written(rows, bench.plan.budgets),
    }
    return Measured(judged(TESTS, effects), curves, chosen, notes)


def tuned(bench: Bench, arm: Arm) -> Settings:
    """The rate with the best mean success over the rounds, tuning seeds."""

    def score(rate: float) -> float:
        curves = bench.annotate(GAME, arm, SKILL, rate, bench.tuning_seeds)
        return float(curves["success"][:, 1:].mean())

    return {"learning_rate": max(RATES, key=score)}


def switches_per_step(bench: Bench, arm: Arm) -> np.ndarray:
    """[N]: how often the person is called by the first policy, over the steps that they decide."""
    start = bench.start(GAME)
    counts = AnnotationRounds(bench.setup(GAME), start, bench.seeds, SKILL, bench.plan).collect(start, arm, 0).counts
    return np.asarray(counts["switches"]) / np.maximum(np.asarray(counts["human_steps"]), 1)


def table(found: Mapping[str, Curves], budgets: Sequence[int]) -> dict[str, dict[str, Any]]:
    """For each kind of annotation means over seeds with 95% intervals, [mean, low, high].

    `steps_to_wanted`: of the seeds that reached it, whose number stands beside.
    """
    rows = {}
    for name, curves in found.items():
        steps = human_steps_to(curves["success"], WANTED, budgets)
        reached = steps[np.isfinite(steps)]
        human = curves["human_steps"].sum(1)
        wrong = curves["wrong"].sum(1) / np.maximum(curves["steps"].sum(1), 1)
        rows[name] = {
            "success": [interval(curves["success"][:, number]) for number in range(len(budgets))],
            "steps_to_wanted": interval(reached) if reached.size else None,
            "reached_wanted": int(reached.size),
            "human_steps": interval(human),
            "corrections": interval(curves["corrections"].sum(1)),
            "switches": interval(curves["switches"].sum(1)),
            "steps": interval(curves["steps"].sum(1)),
            "wrong_of_steps": interval(wrong),
            "wrong_of_decided": interval(curves["wrong_decided"].sum(1) / np.maximum(human, 1)),
        }
    return rows


def written(rows: Mapping[str, Mapping[str, Any]], budgets: Sequence[int]) -> str:
    """The table in Markdown: percent and numbers, means with 95% intervals in brackets."""
    steps = [f"success at {budget}, %" for budget in budgets]
    wrong = ("policy wrong where decided, %", "and anywhere, %")
    head = ("who decides", *steps, f"steps to {WANTED:.0%}", "human steps", "corrections", "switches", *wrong)

    def said(found: Sequence[float | None], scale: float = 1, digits: int = 0) -> str:
        mean, *ends = (None if each is None else f"{scale * each:.{digits}f}" for each in found)
        return f"{mean} [{ends[0]}, {ends[1]}]" if None not in ends else str(mean)

    lines = []
    for name, row in rows.items():
        reached = f"{row['reached_wanted']} seeds"
        goal = "never" if row["steps_to_wanted"] is None else f"{said(row['steps_to_wanted'])}, {reached}"
        counts = [said(row[field]) for field in ("human_steps", "corrections", "switches")]
        shares = [said(row[field], 100) for field in ("wrong_of_decided", "wrong_of_steps")]
        lines.append((name, *(said(each, 100, 1) for each in row["success"]), goal, *counts, *shares))
    return markdown(head, lines)


def interval(values: np.ndarray) -> list[float | None]:
    """Mean over seeds [N] with Student's 95% interval, whose ends one seed alone does not give."""
    estimate = judge(Test("mean"), values.tolist()).estimate
    return [round(float(each), 4) if math.isfinite(each) else None for each in estimate]


T20 = Trend(
    "T20",
    "Decisions on the policy's own path teach more than as many steps of demonstrations",
    "UI-TARS-2, section 2.4; the comparison is ours",
    TESTS,
    measure,
)
