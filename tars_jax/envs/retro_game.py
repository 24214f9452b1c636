"""Games of consoles in stable-retro's emulator, from a user's own ROM: LMGame-Bench's Super Mario Bros.

step_budgets --config.suite=environment --config.environment=lmgame/super_mario_bros \\
  --config.environment_options='{"rom": "/where/it/lies/smb.nes"}'

Nobody may ship the ROM, and nothing of it is kept. Time stands still between steps. The emulator is deterministic, so
the same actions give the same pictures. Not played by us: no ROM is at hand; in the tests the same class plays
Airstriker, which its authors gave away.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Hotkey, Press, Release, Wait
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task, Transition
from tars_jax.tasks.lmgame import emulator

HOLD, REST = 24, 6  # frames that a hotkey holds its keys, and lets go of them: half a second of 60
FRAMES_PER_SECOND = 60
KINDS = (Hotkey, Press, Release, Wait, Finished, CallUser)


@dataclasses.dataclass(frozen=True)
class RetroGame:
    """What is known of a game."""

    title: str
    integration: str  # stable-retro's name of it
    state: str  # where an episode begins
    suffix: str  # of its ROM's file
    header: int  # bytes of the file before what the SHA-1 is of
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


def check_rom(game: RetroGame, rom: Any) -> Path:
    """The file of a ROM. Raises InputError where there is none, it is another, or the emulator is not installed."""
    if not isinstance(rom, str) or not rom:
        raise InputError(
            f"rom must be the file of a ROM of {game.title} that you own, as nobody may ship one; got {rom!r}"
        )
    package = importlib.util.find_spec("stable_retro")
    if package is None or package.origin is None:
        raise InputError(f"{game.title} needs the emulator of stable-retro, which pip install 'tars_jax[retro]' brings")
    try:
        content = Path(rom).read_bytes()
    except OSError as error:
        raise InputError(f"rom: {rom} cannot be read: {error.strerror}") from None
    known = (Path(package.origin).parent / f"data/stable/{game.integration}-v0/rom.sha").read_text().split()
    found = hashlib.sha1(content[game.header :]).hexdigest()
    if Path(rom).suffix.lower() != game.suffix or found not in known:
        raise InputError(
            f"rom: {rom} must be a {game.suffix} file of {game.title} with the SHA-1 {' or '.join(known)}"
            f"{f' after {game.header} bytes' if game.header else ''}; got {found}"
        )
    return Path(rom)


class RetroEnvironment:
    """A game of a console; one emulator, in a process of its own, over many episodes.

    Args:
      rom: the file of the user's ROM.
    """

    game: RetroGame
    max_steps = 3000
    time_limit = 60.0

    def __init__(self, rom: str = "") -> None:
        self._rom = check_rom(self.game, rom)
        self._process: asyncio.subprocess.Process | None = None
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
        await self._running()
        self._held, self._best = set(), 0
        self._observation = await self._ask([])
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
                self._observation = await self._ask(frames)
                if over := self._observation.info["verdict"]["done"]:
                    break
        return Transition(self._observation, float(self._best - before), over, info={"executed": executed})

    async def close(self) -> None:
        process, self._process, self._observation = self._process, None, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

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

    async def _running(self) -> None:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, emulator.__file__, self.game.integration, str(self._rom), self.game.state,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip

    async def _ask(self, frames: list[list[str]]) -> Observation:
        """Raises EnvironmentFailure where the emulator is gone."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"buttons": frames}).encode() + b"\n")
            await process.stdin.drain()
            head = json.loads(await process.stdout.readline())
            height, width = head["size"]
            picture = await process.stdout.readexactly(height * width * 3)
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise EnvironmentFailure("emulator", f"the emulator of {self.game.title} is gone: {error}") from None
        variables = head["info"]
        if frames:  # before the first one there are no variables
            self._best = max(self._best, self.game.score(variables))
        done = bool(frames) and (head["done"] or self.game.is_over(variables))
        verdict = {"score": self._best, "level": 1, "lives": variables.get("lives", 1), "done": done, "success": False}
        pixels = np.frombuffer(picture, np.uint8).reshape(height, width, 3)
        return Observation.from_pixels(pixels, info={"state": variables, "verdict": verdict})


class SuperMarioBros(RetroEnvironment):
    """LMGame-Bench's Super Mario Bros.: how far to the right one comes on three lives. `rom`: the user's own file."""

    game = SUPER_MARIO_BROS
