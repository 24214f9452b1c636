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


class Sampled(Protocol):
    """One response of a policy, as recorded while it was sampled."""

    @property
    def tokens(self) -> tuple[int, ...]: ...

    @property
    def log_probs(self) -> tuple[float, ...]: ...

    @property
    def versions(self) -> tuple[int, ...]: ...

    @property
    def routes(self) -> np.ndarray | None:
        """[N, L, K] experts of the N tokens that this call went through, or None where nobody records them.

        These are, in a window that goes on, the last token of the answer before; then the tokens that were read; then
        those of the answer but its last.
        """
        ...


class PolicySession(Protocol):
    """A live context of a policy."""

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        """Reads new tokens and screenshots, after what the context holds or (`restart`) in a new one, and answers."""
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


class _WindowBuilder:
    """Collects one context window."""

    def __init__(self) -> None:
        self.images: list[int] = []
        self.columns: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.routes: list[np.ndarray] = []

    @property
    def size(self) -> int:
        return sum(len(column[0]) for column in self.columns)

    def read(self, tokens: Sequence[int], step: int) -> None:
        size = len(tokens)
        self.columns.append(
            (
                np.asarray(tokens, np.int32),
                np.zeros(size, bool),
                np.zeros(size, np.float32),
                np.full(size, -1, np.int32),
                np.full(size, step, np.int32),
            )
        )

    def wrote(self, sampled: Sampled, step: int) -> None:
        size = len(sampled.tokens)
        if sampled.routes is not None:
            self.routes.append(sampled.routes)
        self.columns.append(
            (
                np.asarray(sampled.tokens, np.int32),
                np.ones(size, bool),
                np.asarray(sampled.log_probs, np.float32),
                np.asarray(sampled.versions, np.int32),
                np.full(size, step, np.int32),
            )
        )

    def build(self) -> ContextWindow:
        tokens, mask, log_probs, versions, steps = (np.concatenate(each) for each in zip(*self.columns, strict=True))
        routes = None
        if self.routes:
            gone_through = np.concatenate(self.routes).astype(np.int16)
            routes = np.full((tokens.size, *gone_through.shape[1:]), -1, np.int16)
            routes[: len(gone_through)] = gone_through  # the last token of a window was never read
        return ContextWindow(tokens, mask, log_probs, versions, steps, tuple(self.images), routes)


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
    """Plays one episode from its first frame to an outcome. Exceptions of environment and policy pass through."""
    memory = Memory(config.memory)
    frame, outcome, malformed = first_frame, Outcome.TRUNCATED, 0
    steps: list[Step] = []
    windows: list[ContextWindow] = []
    window, restart = _WindowBuilder(), True
    frames = {0: first_frame}  # by step; those that a window may still show, as an episode's pixels are many

    for index in range(max_steps):
        fresh: list[tuple[int, list[int]]] = []  # steps and what stands in the window of them
        if restart:
            fresh.append((-1, writer.preamble(instruction, memory.text())))
            for turn in memory.working:
                first = turn is memory.working[0]
                fresh.append((turn.step, [*writer.observation(turn.steps_left, first=first), *turn.response]))
        fresh.append((index, writer.observation(max_steps - index, first=restart and not memory.working)))
        size = window.size + sum(len(tokens) for _, tokens in fresh)
        if config.max_prompt is not None and size > config.max_prompt and steps:
            break
        for step, tokens in fresh:
            window.read(tokens, step)
        shown = [step for step, _ in fresh if step >= 0]
        window.images += shown
        sampled = await policy.respond(
            [token for _, tokens in fresh for token in tokens],
            [frames[step].pixels for step in shown],
            restart=restart,
        )
        window.wrote(sampled, index)

        text = writer.read(sampled.tokens)
        parsed = parse_response(text, grammar=config.grammar, pixel_size=config.pixel_size(frame))
        valid = not isinstance(parsed, ParseError)
        thought = "" if isinstance(parsed, ParseError) else parsed.thought
        actions = () if isinstance(parsed, ParseError) else parsed.actions
        malformed = 0 if valid else malformed + 1
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
                valid=valid,
                info=before.info,
            )
        )
        if terminated or any(isinstance(action, Finished) for action in actions):
            outcome = Outcome.FINISHED
            break
        if malformed >= config.max_malformed:
            outcome = Outcome.REJECTED
            break
        summary = summarise(thought, frame.png != before.png, valid)
        memory, restart = memory.add(Turn(index, sampled.tokens, max_steps - index, summary))
        remembered = {turn.step for turn in memory.working}
        frames = {step: kept for step, kept in frames.items() if step in remembered} | {index + 1: frame}
        if restart:
            windows.append(window.build())
            window = _WindowBuilder()

    if window.columns:
        windows.append(window.build())
    return Trajectory(
        id=id,
        task=dict(task),
        windows=tuple(windows),
        steps=tuple(steps),
        outcome=outcome,
        reward=sum(step.reward for step in steps),
        metadata={"final": frame.info},
        final_screenshot=frame.png,
    )
