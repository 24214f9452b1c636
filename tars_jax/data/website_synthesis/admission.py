"""Admission of a task by its solution: its effect is reproducible, also in another way, and no wrong end state has
it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from tars_jax.agent.actions import Action
from tars_jax.data.website_synthesis.effects import NoCheck, is_shown, unnamed, write_effect
from tars_jax.data.website_synthesis.execution import PlanExecution, replay, replay_otherwise
from tars_jax.data.website_synthesis.filters import untrusted_effect
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.mutants import RightEnd, passing
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.wording import QUOTED
from tars_jax.sandbox.browser import BrowserManager
from tars_jax.tasks.websites.effect import ALL, Effect
from tars_jax.tasks.websites.tables import Tables, fingerprint
from tars_jax.tasks.websites.task import WebsiteTask, plain_answer

NOT_UNDONE = "a reset does not undo it"
UNNAMED = "its words do not name the one that is meant"
OTHER_WAY = "done in another way, it ends otherwise"


@dataclasses.dataclass(frozen=True)
class Grounds:
    """Facts about a site before any of its tasks."""

    manager: BrowserManager
    site: LiveSite
    noise: frozenset[str]  # tables that change by looking alone
    chance: Sequence[Tables]  # ends of doing nothing, and of random play

    @property
    def logs(self) -> tuple[str, ...]:
        """Readers that tell what was done and not what is."""
        declared = getattr(self.site, "site", None)
        return tuple(getattr(declared, "logs", ()))

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """Tables and fields that every effect leaves open."""
        return {name: (ALL,) for name in sorted(self.noise) if name in self.chance[0]}

    def without_noise(self, tables: Tables) -> str:
        return fingerprint({name: found for name, found in tables.items() if name not in self.noise})


@dataclasses.dataclass(frozen=True)
class AdmittedTask:
    effect: Effect
    unshown: tuple[PageMove, ...]  # inputs that no value in the state shows: whether they matter is still to be seen
    mutants: int
    ways: int  # that are known


async def admit(
    grounds: Grounds, first: PlanExecution, actions: Sequence[Action], inputs: Sequence[PageMove], instruction: str,
    offered: Collection[str] = (),
) -> AdmittedTask:  # fmt: skip
    """Verifies a task by its solution, repeated and done in another way, and returns the effect that its check tests.

    Args:
      first: what became of the solution; actions: it, as recorded.
      inputs: what was put in.
      offered: values that the form has by itself.

    Raises NoCheck where it makes no task, and as `replay`.
    """
    names = QUOTED.findall(instruction)
    likely, _ = write_effect([first.done, first.done], inputs, grounds.noise, grounds.logs, names)  # before any repeats
    if (name := unnamed(likely, first.before, instruction, inputs, offered)) is not None:
        raise NoCheck(UNNAMED, where=name)
    other = await replay_otherwise(grounds.manager, grounds.site, actions)
    if other is not None and not is_shown(other.done, inputs):
        other = None  # the page has not taken it that way
    if other is not None and grounds.without_noise(other.after) == grounds.without_noise(first.after):
        again = other
    else:  # what came out otherwise may be drawn by chance, or be of that way
        again = await replay(grounds.manager, grounds.site, actions)
    if any(
        grounds.without_noise(first.before) != grounds.without_noise(each.before) for each in (again, other or again)
    ):
        raise NoCheck(NOT_UNDONE)
    effect, unshown = write_effect([first.done, again.done], inputs, grounds.noise, grounds.logs, names)
    if other is not None and (said := effect.wrong(other.before, other.after, other.done.days)):
        raise NoCheck(OTHER_WAY, where=said)
    if reason := untrusted_effect(effect, first.before, grounds.chance):
        raise NoCheck(reason)
    count, passed = passing(RightEnd(first.before, first.after, effect.on(first.ended.date()), tuple(inputs)))
    if passed:
        raise NoCheck(f"a wrong end passes: {passed[0]}")
    return AdmittedTask(effect, unshown, count, 1 if other is None else 2)


def admit_answer(grounds: Grounds, seen: PlanExecution, answer: str) -> AdmittedTask:
    """Verifies a question: its answer stands where its solution ends, no other cell of there passes, and nothing is
    changed on the way. Raises NoCheck."""
    if grounds.without_noise(seen.before) != grounds.without_noise(seen.after):
        raise NoCheck("question: looking at it changes the state")
    cells = {cell for table in seen.view.tables for row in table.rows for cell in row}
    if answer not in cells:
        raise NoCheck("question: its answer is not where it was")
    effect = Effect((), grounds.open)
    others = [cell for cell in (*cells, "", "nothing at all") if plain_answer(cell) != plain_answer(answer)]
    asked = WebsiteTask("question", "", "question", effect, answer)
    passed = [other for other in others if not asked.wrong(seen.before, seen.after, other)]
    if passed or asked.wrong(seen.before, seen.after, answer):
        raise NoCheck("question: another answer passes")
    return AdmittedTask(effect, (), len(set(others)), 1)
