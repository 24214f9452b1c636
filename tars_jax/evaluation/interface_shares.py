"""Shares of a policy's actions by interface: calls of functions, and actions on a screen."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.agent.actions import FUNCTIONS, CallUser, Finished
from tars_jax.trajectory import Step, Trajectory

_ENDS = {Finished.name, CallUser.name}  # through neither interface


def interface_metrics(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """Shares of the steps of all episodes: `calls_share` call a function of the environment, `gui_share` act on its
    screen, `several_calls` do two things or more. One step may count in each; one that could not be read in none.
    Nothing where there are no steps.
    """
    done = [actions_of(step) for episode in episodes for step in episode.steps]
    if not done:
        return {}
    return {
        "calls_share": sum(any(name not in FUNCTIONS for name in names) for names in done) / len(done),
        "gui_share": sum(any(name in FUNCTIONS and name not in _ENDS for name in names) for names in done) / len(done),
        "several_calls": sum(len(names) > 1 for names in done) / len(done),
    }


def actions_of(step: Step) -> list[str]:
    """Names of what a step did, in order, as the loop has recorded it: calls in canonical form, blank lines between."""
    return [call.partition("(")[0] for call in step.action.split("\n\n") if call]
