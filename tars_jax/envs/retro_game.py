"""Games of consoles in stable-retro's emulator, from a user's own ROM: LMGame-Bench's Super Mario Bros.

step_budgets --config.suite=environment --config.environment=lmgame/super_mario_bros \\
  --config.environment_options='{"rom": "/where/it/lies/smb.nes"}'

Not played by us: no ROM is at hand; in the tests the same class plays Airstriker, which its authors gave away.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Hotkey, Press, Release, Wait
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.retro_emulator import Cartridge, Emulator, EmulatorFrame

HOLD, REST = 24, 6  # frames that a hotkey holds its keys, and lets go of them: half a second of 60
FRAMES_PER_SECOND = 60
KINDS = (Hotkey, Press, Release, Wait, Finished, CallUser)


@dataclasses.dataclass(frozen=True)
class RetroGame(Cartridge):
    """A game that is played by keys."""

    keys: Mapping[str, str]  # key -> button
    instruction: str
    score: Callable[[Mapping[str, int]], int]  # of the game's variables; an episode's is the most that there was
    is_over: Callable[[Mapping[str, int]], bool]


PAD = {"up": "UP", "down": "DOWN", "left": "LEFT", "right": "RIGHT"}
SUPER_MARIO_BROS = RetroGame(
    title="Super Mario Bros.",
    integration="SuperMarioBros-Nes",
    state="Level1-1",
    suffix=".nes",
    header=16,
    keys={**PAD, "x": "A", "z": "B", "enter": "START"},
    instruction="Run as far to the right as you can. Arrow keys move, x jumps, z runs; hotkey presses keys together "
    "for half a second, press and release hold one longer.",
    # As gamingagent/envs/retro_01_super_mario_bros of LMGame-Bench counts how far to the right one is.
    score=lambda variables: variables["xscrollLo"] + 255 * variables["xscrollHi"],
    is_over=lambda variables: variables["lives"] <= 0,
)


class RetroEnvironment:
    """A game of a console; one emulator, in a process of its own, over many episodes.

    Args:
      rom: the file of the user's ROM.
    """

    game: RetroGame
    max_steps = 3000
    time_limit = 60.0

    def __init__(self, rom: str = "") -> None:
        self._emulator = Emulator(self.game, rom)
        self._held: set[str] = set()
        self._best = 0
        self._observation: Observation | None = None

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("game", tuple(kind.name for kind in KINDS))

    @property
    def instruction(self) -> str:
        return self.game.instruction

    async def reset(self, task: Task) -> Observation:
        self._held, self._best = set(), 0
        self._observation = self._observe(await self._emulator.begin(self.game.state))
        return self._observation

    async def step(self, actions: Sequence[Action]) -> Transition:
        if self._observation is None:
            raise InputError("reset must be called before step")
        before, over, executed = self._best, False, 0
        for action in actions:
            executed += 1
            over = isinstance(action, Finished | CallUser)
            if over:
                break
            if frames := self._frames(action):
                self._observation = self._observe(await self._emulator.play(frames))
                if over := self._observation.info["verdict"]["done"]:
                    break
        return Transition(self._observation, float(self._best - before), over, info={"executed": executed})

    async def close(self) -> None:
        self._observation = None
        await self._emulator.close()

    def _frames(self, action: Action) -> list[list[str]]:
        """The buttons that are held in each frame of an action."""
        match action:
            case Hotkey(keys):
                return [sorted(self._held | self._buttons(keys))] * HOLD + [sorted(self._held)] * REST
            case Press(key):
                self._held |= self._buttons([key])
            case Release(key):
                self._held -= self._buttons([key])
            case Wait(seconds):
                return [sorted(self._held)] * round(seconds * FRAMES_PER_SECOND)
            case _:
                return []
        return [sorted(self._held)] * HOLD

    def _buttons(self, keys: Sequence[str]) -> set[str]:
        return {self.game.keys[key] for key in keys if key in self.game.keys}

    def _observe(self, frame: EmulatorFrame) -> Observation:
        variables, done = frame.variables, frame.done
        if variables:  # there are none at the beginning
            self._best = max(self._best, self.game.score(variables))
            done = done or self.game.is_over(variables)
        verdict = {"score": self._best, "level": 1, "lives": variables.get("lives", 1), "done": done, "success": False}
        return Observation.from_pixels(frame.pixels, info={"state": variables, "verdict": verdict})


class SuperMarioBros(RetroEnvironment):
    """LMGame-Bench's Super Mario Bros.: how far to the right one comes on three lives. `rom`: the user's own file."""

    game = SUPER_MARIO_BROS
