"""Whether a solution makes a task: its effect is the same again and in another way, and no wrong end has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from tars_jax.agent.actions import Action
from tars_jax.data.website_synthesis.effects import NoCheck, unnamed, write_effect
from tars_jax.data.website_synthesis.execution import Execution, replay, replay_otherwise
from tars_jax.data.website_synthesis.filters import unproved
from tars_jax.data.website_synthesis.moves import Move
from tars_jax.data.website_synthesis.mutants import End, passing
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.wording import QUOTED
from tars_jax.sandbox.browser import BrowserManager
from tars_jax.tasks.websites.effect import ALL, Effect
from tars_jax.tasks.websites.tables import Tables, fingerprint

NOT_UNDONE = "a reset does not undo it"
OTHER_WAY = "done in another way, it ends otherwise"


@dataclasses.dataclass(frozen=True)
class Grounds:
    """What is known of a site before any of its tasks."""

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
        """What every effect leaves open."""
        return {name: (ALL,) for name in sorted(self.noise) if name in self.chance[0]}

    def without_noise(self, tables: Tables) -> str:
        return fingerprint({name: found for name, found in tables.items() if name not in self.noise})


@dataclasses.dataclass(frozen=True)
class Admission:
    effect: Effect
    unshown: tuple[Move, ...]  # inputs that no value in the state shows: whether they matter is still to be seen
    mutants: int
    ways: int


async def admit(
    grounds: Grounds, first: Execution, actions: Sequence[Action], inputs: Sequence[Move], instruction: str,
    offered: Collection[str] = (),
) -> Admission:  # fmt: skip
    """What a task is verified by.

    Args:
      first: what became of the solution; actions: it, as recorded.
      inputs: what was put in.
      offered: values that the form has by itself.

    Raises NoCheck where it makes no task, and as `replay`.
    """
    write_effect([first.done, first.done], inputs, grounds.noise, grounds.logs)  # ruled out before it is repeated
    second = await replay(grounds.manager, grounds.site, actions)
    if grounds.without_noise(first.before) != grounds.without_noise(second.before):
        raise NoCheck(NOT_UNDONE)
    names = QUOTED.findall(instruction)
    effect, unshown = write_effect([first.done, second.done], inputs, grounds.noise, grounds.logs, names)
    if reason := unproved(effect, first.before, grounds.chance):
        raise NoCheck(reason)
    if reason := unnamed(effect, first.before, instruction, offered):
        raise NoCheck(reason)
    count, passed = passing(End(first.before, first.after, effect, tuple(inputs)))
    if passed:
        raise NoCheck(f"a wrong end passes: {passed[0]}")
    third = await replay_otherwise(grounds.manager, grounds.site, actions)
    if third is not None and effect.wrong(third.before, third.after):
        raise NoCheck(OTHER_WAY)
    return Admission(effect, unshown, count, 2 + (third is not None))
