"""Several agents on several kinds of tasks: specialists, what was merged of them, and others beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tars_jax.evaluation.statistics import Estimate, success_difference, wilson_interval

Successes = Mapping[str, Mapping[str, tuple[int, int]]]  # agent -> kind -> successes, episodes


def table_lines(successes: Successes) -> list[str]:
    """A line for each agent, with a column for each kind, 95% intervals, and the mean of all kinds."""
    kinds = list(next(iter(successes.values())))
    lines = [f"{'agent':24}" + "".join(f"{kind:>30}" for kind in kinds) + f"{'mean':>8}"]
    for agent, scores in successes.items():
        columns = "".join(f"{_shown(scores[kind]):>30}" for kind in kinds)
        lines.append(f"{agent:24}{columns}{mean_success(scores):8.1%}")
    return lines


def mean_success(scores: Mapping[str, tuple[int, int]]) -> float:
    """Over kinds, each of which counts the same."""
    return sum(successes / episodes for successes, episodes in scores.values()) / len(scores)


def against_specialists(successes: Successes, agents: Sequence[str]) -> dict[str, dict[str, Estimate]]:
    """Success of each of these agents, on each kind, minus that of the agent that bears the kind's name."""
    return {
        agent: {kind: success_difference(successes[kind][kind], score) for kind, score in successes[agent].items()}
        for agent in agents
    }


def comparable(over: Estimate, tolerance: float) -> str:
    """Whether a difference to a specialist's success is at most `tolerance` below 0: yes, no, or undecided."""
    if over.low >= -tolerance:
        return "yes"
    return "no" if over.high < -tolerance else "undecided"


def sentences(over: Mapping[str, Mapping[str, Estimate]], of: str) -> list[str]:
    """Sentences for the results of `against_specialists`, one for each agent; `of`: what a kind is called."""
    return [
        f"{agent} against the specialist of each {of}: "
        + ", ".join(
            f"{100 * each.value:+.1f} points [{100 * each.low:.0f}, {100 * each.high:.0f}] on {kind}"
            for kind, each in found.items()
        )
        for agent, found in over.items()
    ]


def _shown(score: tuple[int, int]) -> str:
    low, high = wilson_interval(*score)
    return f"{score[0] / score[1]:.1%} [{100 * low:.0f}, {100 * high:.0f}]"
