"""A judge beside people's labels, the benchmark's own rules and the judge that always says yes."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tars_jax.environment import CannotSay
from tars_jax.evaluation.calibration_error import Reliability, reliability_of
from tars_jax.evaluation.judge_metrics import (
    Calibrated,
    Confusion,
    Verdicts,
    by_length,
    calibrated,
    confusion,
    f1_estimate,
    in_groups,
)
from tars_jax.evaluation.tables import markdown
from tars_jax.judges import Judge, JudgeFailure
from tars_jax.judges.labels import Labelled


@dataclasses.dataclass(frozen=True)
class JudgedLabel:
    """A labelled trajectory and the judge's verdict on it."""

    labelled: Labelled
    solved: bool  # by the label
    verdict: bool | None  # None: the judge failed, or cannot say
    reward: float | None
    failure: str = ""
    cannot_say: bool = False  # that is its verdict


async def ask_judge(
    judge: Judge,
    labels: Sequence[tuple[Labelled, bool]],
    *,
    parallel: int = 8,
    on_answer: Callable[[int], None] = lambda done: None,
) -> list[JudgedLabel]:
    """The judge on each labelled trajectory, in their order; that it fails, or cannot say, is kept as such."""
    places, done = asyncio.Semaphore(parallel), 0

    async def ask(each: Labelled, solved: bool) -> JudgedLabel:
        nonlocal done
        assert each.trajectory is not None and each.task is not None
        async with places:
            try:
                reward, verdict = await judge.judgement(each.trajectory, each.task)
                found = JudgedLabel(each, solved, verdict, reward)
            except CannotSay as verdict:
                found = JudgedLabel(each, solved, None, None, f"CannotSay: {verdict}", cannot_say=True)
            except JudgeFailure as failure:
                found = JudgedLabel(each, solved, None, None, f"{type(failure).__name__}: {failure}")
        done += 1
        on_answer(done)
        return found

    return await asyncio.gather(*(ask(*each) for each in labels))


@dataclasses.dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of a judge's verdicts with labels. `baselines`: on the same trajectories."""

    judge: Confusion
    f1: dict[str, Any]  # estimates with intervals, by judge
    baselines: dict[str, Confusion]
    by_site: dict[str, Confusion]
    by_length: dict[str, Confusion]
    by_agent: dict[str, Confusion]
    calibrated: Calibrated | None  # None where the judge gives no scores between 0 and 1
    reliability: Reliability | None  # of its scores as probabilities; None where they are none
    cannot_say: dict[str, float]  # the share of what it cannot tell, which is no success to it: of all (""), by site

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"judge": self.judge.to_json(), "f1": self.f1, "cannot_say": self.cannot_say}
        for name in ("baselines", "by_site", "by_length", "by_agent"):
            found[name] = {key: counts.to_json() for key, counts in getattr(self, name).items()}
        if self.calibrated is not None:
            found["calibrated"] = {
                "threshold": self.calibrated.threshold,
                "chosen_on": self.calibrated.chosen_on.to_json(),
                "reported_on": self.calibrated.reported_on.to_json(),
            }
        if self.reliability is not None:
            found["reliability"] = self.reliability.to_json()
        return found

    def table(self, name: str) -> str:
        """The agreement in Markdown: the judge and its baselines, then the judge by agent, by site and by length."""
        head = (
            "", "n", "precision", "recall", "F1", "95%", "false positives", "unreadable", "precision, 95%",
            "recall, 95%", "cannot say",
        )  # fmt: skip
        rows = [
            (*_row(who, counts, shown_f1(self.f1[who])), _share(self.cannot_say[""] if who == name else 0.0))
            for who, counts in {name: self.judge, **self.baselines}.items()
        ]
        groups = [
            (*_row(f"{name}: {group}", counts, ""), _share(self.cannot_say.get(group)))
            for found in (self.by_agent, self.by_site, self.by_length)
            for group, counts in found.items()
        ]
        if self.calibrated is not None:
            said = f"{name}, threshold {self.calibrated.threshold:.3g} (other half)"
            groups.append((*_row(said, self.calibrated.reported_on, ""), "-"))
        table = markdown(head, [*rows, *groups])
        if self.reliability is not None:
            table += f"\n\nAs probabilities, {self.reliability.line()}"
        return table


def judge_agreement(
    judged: Sequence[JudgedLabel], name: str, seed: int = 0, *, has_steps: bool = True
) -> JudgeAgreement:
    """Agreement of the verdicts of the judge `name`; the rules' is there where every trajectory has one. Without steps,
    as of answers, nothing is grouped by their number."""
    verdicts: dict[str, Verdicts] = {name: [(each.verdict, each.solved) for each in judged]}
    if judged and all(each.labelled.rule_verdict is not None for each in judged):
        verdicts["rules"] = [(each.labelled.rule_verdict, each.solved) for each in judged]
    verdicts["always yes"] = [(True, each.solved) for each in judged]
    counts = {who: confusion(pairs) for who, pairs in verdicts.items()}
    rewards, solved = [each.reward for each in judged], [each.solved for each in judged]
    read = [(reward, truth) for reward, truth in zip(rewards, solved, strict=True) if reward is not None]
    graded = len(read) >= 2 and any(reward not in (0.0, 1.0) for reward, _ in read)
    are_probabilities = graded and all(0 <= reward <= 1 for reward, _ in read)
    return JudgeAgreement(
        judge=counts.pop(name),
        f1={who: f1_estimate(pairs, seed)._asdict() for who, pairs in verdicts.items()},
        baselines=counts,
        by_site=in_groups((each.verdict, each.solved, each.labelled.site) for each in judged),
        by_agent=in_groups((each.verdict, each.solved, each.labelled.agent) for each in judged if each.labelled.agent),
        by_length=in_groups(
            (each.verdict, each.solved, f"{by_length(each.labelled.steps)} steps") for each in judged if has_steps
        ),
        calibrated=calibrated(rewards, solved, seed=seed) if graded else None,
        reliability=reliability_of([reward for reward, _ in read], [truth for _, truth in read])
        if are_probabilities
        else None,
        cannot_say=_cannot_say(judged),
    )


def _cannot_say(judged: Sequence[JudgedLabel]) -> dict[str, float]:
    groups: dict[str, list[bool]] = {"": [each.cannot_say for each in judged]}
    for each in judged:
        for group in {each.labelled.site, each.labelled.agent}:
            groups.setdefault(group, []).append(each.cannot_say)
    return {name: sum(said) / max(len(said), 1) for name, said in groups.items()}


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def shown_f1(estimate: dict[str, float]) -> str:
    return f"{100 * estimate['low']:.1f} to {100 * estimate['high']:.1f}"


def _row(name: str, counts: Confusion, interval: str) -> tuple[str, ...]:
    found = counts.to_json()
    shares = (found[each] for each in ("precision", "recall", "f1"))
    precision, recall, f1 = (f"{100 * share:.1f}" for share in shares)
    false = f"{100 * found['false_positive_rate']:.1f}%"
    bounds = (found[f"{each}_interval"] for each in ("precision", "recall"))
    intervals = (f"{100 * low:.1f} to {100 * high:.1f}" for low, high in bounds)
    return (name, str(counts.total), precision, recall, f1, interval or "-", false, str(counts.unreadable), *intervals)
