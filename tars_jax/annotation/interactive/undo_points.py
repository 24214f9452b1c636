"""Moments before the last steps, kept where the environment can: a step is undone by going on from one."""

from __future__ import annotations

from collections.abc import Callable

from tars_jax import InputError
from tars_jax.envs.checked import CheckedEnvironment, EpisodeMoment

MOST = 3  # kept at a time
MOST_BYTES = 1 << 30  # of an episode's, on the disk of whoever has its computer


class UndoPoints:
    """Saved moments of one live environment. `why_not` says why the last step has none; empty where the environment
    keeps none."""

    def __init__(self, environment: CheckedEnvironment, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._environment, self._most, self._most_bytes = environment, most, most_bytes
        self._kept: dict[int, EpisodeMoment] = {}  # by the step that came after, the oldest first
        self._too_large = False
        self.why_not = ""

    def __contains__(self, step: int) -> bool:
        return step in self._kept

    @property
    def bytes(self) -> int:
        return sum(moment.bytes for moment in self._kept.values())

    async def keep(self, step: int) -> None:
        """The moment before a step that is about to be done. Raises EnvironmentFailure where the environment failed."""
        await self._drop([each for each in self._kept if each >= step])  # of steps that were undone
        if self._too_large:
            return
        self.why_not = ""
        try:
            moment = await self._environment.save_moment()
        except InputError as error:
            self.why_not = str(error)
            return
        if moment is None:
            return
        self._kept[step] = moment
        while len(self._kept) > 1 and (len(self._kept) > self._most or self.bytes > self._most_bytes):
            await self._drop([next(iter(self._kept))])
        if self.bytes > self._most_bytes:
            self._too_large = True
            self.why_not = f"a moment must take at most {self._most_bytes >> 20} MiB; got {self.bytes >> 20}"
            await self._drop([step])

    async def go_back(self, step: int, sure: Callable[[], None]) -> None:
        """Raises as `CheckedEnvironment.go_back`; KeyError where there is none of the step."""
        await self._environment.go_back(self._kept[step], sure)

    async def forget(self) -> None:
        """Forgets all points, as what comes must not be kept."""
        await self._drop(list(self._kept))

    async def _drop(self, steps: list[int]) -> None:
        for step in steps:
            moment = self._kept.pop(step)
            await self._environment.drop_moment(moment)
