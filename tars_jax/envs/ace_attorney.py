"""LMGame-Bench's Ace Attorney, from a user's own ROM and checkout of the benchmark.

step_budgets --config.suite=environment --config.environment=lmgame/ace_attorney \\
  --config.environment_options='{"rom": "/where/it/lies/ace.gba", "gaming_agent": "/where/lies/GamingAgent"}'

An answer is one move and the line on the screen, as in the benchmark; a button is held for one frame, and 500 frames
follow without any. What is scored is what the answers say (`tars_jax.tasks.lmgame.ace_attorney`): it measures, and
training on it would teach to say lines. Not played by us: no ROM is at hand; in the tests the same class plays a game
of our own on the same emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import ToolCall
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.envs.retro_emulator import Cartridge, Emulator, EmulatorFrame
from tars_jax.tasks.lmgame.ace_attorney import FOLDER, INTEGRATION, PARTS, DialogueProgress, read_parts
from tars_jax.tasks.lmgame.catalog import ACE_ATTORNEY, ROM_GAMES

PAUSE = 500  # frames after a button, for the game to say what it says
LIVES = 5  # of each part, until the game says how many there are
NO_MOVE = "no_op"
# The benchmark's moves (game_env_config.json), and their buttons.
MOVES = {name: [name.upper()] for name in ("a", "b", "l", "r", "up", "down", "left", "right")} | {NO_MOVE: []}
CARTRIDGE = Cartridge("Ace Attorney", INTEGRATION, PARTS[0], ".gba", 0)
MOVE = Function(
    "move",
    "Presses a button, and tells the line on the screen.",
    {
        "type": "object",
        "properties": {
            "move": {"type": "string", "enum": list(MOVES)},
            "dialog": {
                "type": "string",
                "description": "the line on the screen, word for word, as NAME: line; empty where nobody speaks",
            },
        },
        "required": ["move"],
    },
)
INSTRUCTION = (
    "You defend in court: find what contradicts a witness and prove that your client is innocent; five mistakes lose "
    "the case. a goes on, chooses an option, or presents the evidence that is selected; l presses a witness, r opens "
    "the evidence, b closes it, right and down choose. With every move write the line on the screen, word for word."
)


class AceAttorney:
    """Ace Attorney, scored by how many parts of the game the model gets through, told by the lines that it reads.

    Args:
      rom: the user's own file, the one that the benchmark's saved states are of.
      gaming_agent: a checkout of lmgame-org/GamingAgent.
    """

    action_space = ActionSpace("game", functions=(MOVE,))
    instruction = INSTRUCTION
    max_steps = ROM_GAMES[ACE_ATTORNEY].max_steps
    time_limit = 120.0

    def __init__(self, rom: str = "", gaming_agent: str = "") -> None:
        self._parts = read_parts(gaming_agent)
        self._emulator = Emulator(CARTRIDGE, rom, Path(gaming_agent) / FOLDER / INTEGRATION)
        self._reading = DialogueProgress(self._parts)
        self._observation: Observation | None = None

    async def reset(self, task: Task) -> Observation:
        self._reading = DialogueProgress(self._parts)
        return await self._begin()

    async def step(self, actions: Sequence[Any]) -> Transition:
        """The first of them; without one the benchmark's pause alone."""
        if self._observation is None:
            raise InputError("reset must be called before step")
        call = actions[0] if actions else ToolCall(MOVE.name, {"move": NO_MOVE})
        reading, ended = self._reading, self._reading.is_over  # by what was said before: the benchmark looks first
        reading.hear(call.parameters.get("dialog", ""))
        info = {"executed": len(actions[:1])}
        if not ended:
            frame = await self._emulator.play([MOVES[call.parameters["move"]]] + [[]] * PAUSE)
            self._observation = self._observe(frame, begun=False)
            return Transition(self._observation, 0.0, self._observation.info["verdict"]["done"], info=info)
        if reading.is_last:
            return Transition(self._observation, 0.0, True, info=info)
        reading.go_on()
        return Transition(await self._begin(), 1.0, info=info)

    async def close(self) -> None:
        self._observation = None
        await self._emulator.close()

    async def _begin(self) -> Observation:
        frame = await self._emulator.begin(self._reading.part.name)
        self._observation = self._observe(frame, begun=True)
        return self._observation

    def _observe(self, frame: EmulatorFrame, *, begun: bool) -> Observation:
        reading = self._reading
        lives = frame.variables.get("lives", LIVES)
        verdict = {
            "score": reading.behind, "level": reading.behind + 1, "lives": lives, "success": False,
            "done": frame.done or lives <= 0,
        }  # fmt: skip
        state = {"part": reading.part.name, "lines": reading.lines}  # what the benchmark sees a change by
        text = reading.text(background=begun)
        return Observation.from_pixels(frame.pixels, text, {"state": state, "verdict": verdict})
