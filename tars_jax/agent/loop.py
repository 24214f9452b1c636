"""The ReAct loop: observe, think, act, until the task ends. It knows neither which sandbox nor which engine it drives.

Failures of the infrastructure are exceptions of the environment or the policy and pass through; everything that the
policy does wrong is an outcome.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tars_jax.agent.actions import Action, Finished, action_point
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.memory import Memory, MemoryConfig, Turn, summarise
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError
from tars_jax.agent.window import Sampled, WindowBuilder
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory


class Frame(Protocol):
    """What an environment shows."""

    @property
    def png(self) -> bytes: ...

    @property
    def pixels(self) -> np.ndarray: ...  # [height, width, 3] uint8

    @property
    def info(self) -> dict[str, Any]: ...


class Transition(Protocol):
    """What an action led to."""

    @property
    def frame(self) -> Frame: ...

    @property
    def reward(self) -> float: ...

    @property
    def terminated(self) -> bool: ...


class Environment(Protocol):
    """A task that has been reset, acted upon step by step."""

    async def step(self, actions: Sequence[Action]) -> Transition: ...


class TurnDeclined(Exception):
    """The policy takes no further turn of this episode, though it does of others. Its words begin with a reason."""


class PolicySession(Protocol):
    """A live context of a policy."""

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        """Reads new tokens and screenshots, after what the context holds or (`restart`) in a new one, and answers.

        Raises TurnDeclined where a window somewhere else is full, or a filter is against it: the episode ends there.
        """
        ...


@dataclasses.dataclass(frozen=True)
class AgentConfig:
    grammar: str = "text"
    memory: MemoryConfig = dataclasses.field(default_factory=MemoryConfig)
    max_malformed: int = 2  # this many unreadable responses in a row end the episode as rejected
    max_prompt: int | None = None  # tokens in a window before an answer; an episode that needs more is truncated
    # From a screenshot's (height, width) to those of the image in whose pixels the policy points, as models based on
    # Qwen2.5-VL do: `smart_resize`, for instance. None: it points on the grid of 0..1000.
    image_size: Callable[[int, int], tuple[int, int]] | None = None

    def pixel_size(self, frame: Frame) -> tuple[int, int] | None:
        """What `parse_response` takes for an answer to `frame`."""
        if self.image_size is None:
            return None
        height, width = self.image_size(*frame.pixels.shape[:2])
        return width, height


async def play_episode(
    environment: Environment,
    first_frame: Frame,
    policy: PolicySession,
    writer: PromptWriter,
    config: AgentConfig,
    *,
    id: str,
    task: Mapping[str, Any],
    instruction: str,
    max_steps: int,
) -> Trajectory:
    """Plays one episode from its first frame to an outcome. Exceptions of environment and policy pass through, but
    for a turn after the first that is declined: then the episode is truncated, and `metadata["declined"]` says why."""
    memory = Memory(config.memory)
    frame, outcome, malformed = first_frame, Outcome.TRUNCATED, 0
    ended: dict[str, str] = {}
    steps: list[Step] = []
    windows: list[ContextWindow] = []
    window, restart = WindowBuilder(), True
    frames = {0: first_frame}  # by step; those that a window may still show, as an episode's pixels are many

    for index in range(max_steps):
        steps_left = max_steps - index
        if restart:
            unread = _whole_context(memory, writer, instruction, index, steps_left)
        else:
            unread = [(index, writer.observation(steps_left, first=False))]
        size = window.size + sum(len(tokens) for _, tokens in unread)
        if config.max_prompt is not None and size > config.max_prompt and steps:
            break
        shown = [step for step, _ in unread if step >= 0]
        try:
            sampled = await policy.respond(
                [token for _, tokens in unread for token in tokens],
                [frames[step].pixels for step in shown],
                restart=restart,
            )
        except TurnDeclined as error:
            if not steps:
                raise
            ended = {"declined": str(error)}
            break
        for step, tokens in unread:
            window.read(tokens, step)
        window.images += shown
        window.wrote(sampled, index)

        text = writer.read(sampled.tokens)
        parsed = parse_response(text, grammar=config.grammar, pixel_size=config.pixel_size(frame))
        response = None if isinstance(parsed, ParseError) else parsed
        thought, actions = ("", ()) if response is None else (response.thought, response.actions)
        malformed = malformed + 1 if response is None else 0
        reward, terminated, before = 0.0, False, frame
        if actions:
            transition = await environment.step(actions)
            frame, reward, terminated = transition.frame, transition.reward, transition.terminated
        point = action_point(actions[0]) if actions else None
        steps.append(
            Step(
                screenshot=before.png,
                response=text,
                thought=thought,
                action="\n\n".join(format_call(action) for action in actions),
                point=None if point is None else (point.x, point.y),
                reward=reward,
                think_tokens=len(writer.codec.encode(thought)),
                valid=response is not None,
                info=before.info,
            )
        )
        if terminated or any(isinstance(action, Finished) for action in actions):
            outcome = Outcome.FINISHED
            break
        if malformed >= config.max_malformed:
            outcome = Outcome.REJECTED
            break
        summary = summarise(thought, frame.png != before.png, response is not None)
        memory, restart = memory.add(Turn(index, sampled.tokens, steps_left, summary))
        remembered = {turn.step for turn in memory.working}
        frames = {step: kept for step, kept in frames.items() if step in remembered} | {index + 1: frame}
        if restart:
            windows.append(window.build())
            window = WindowBuilder()

    if window.columns:
        windows.append(window.build())
    return Trajectory(
        id=id,
        task=dict(task),
        windows=tuple(windows),
        steps=tuple(steps),
        outcome=outcome,
        reward=sum(step.reward for step in steps),
        metadata={"final": frame.info, **ended},
        final_screenshot=frame.png,
    )


def _whole_context(
    memory: Memory, writer: PromptWriter, instruction: str, index: int, steps_left: int
) -> list[tuple[int, list[int]]]:
    """What a new window begins with, each part with its step: the preamble (-1), what is remembered, what is shown."""
    parts = [(-1, writer.preamble(instruction, memory.text()))]
    for number, turn in enumerate(memory.working):
        parts.append((turn.step, [*writer.observation(turn.steps_left, first=number == 0), *turn.response]))
    return [*parts, (index, writer.observation(steps_left, first=not memory.working))]
