"""The ReAct loop: observe, think, act, until the task ends. It knows neither which sandbox nor which engine it drives.

Failures of the infrastructure are exceptions of the environment or the policy and pass through; everything that the
policy does wrong is an outcome.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action, Finished, action_point
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.grammar_plain import PLAIN
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.memory import Memory, MemoryConfig, RememberedStep, summarize
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.platform_prompt import platform_prompt
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError
from tars_jax.agent.window import SampledResponse, WindowBuilder
from tars_jax.environment import ActionSpace, Observation, Task, Transition, Verification
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory


class BegunEpisode(Protocol):
    """An environment whose episode has begun."""

    async def step(self, actions: Sequence[Action]) -> Transition: ...


@runtime_checkable
class Concludes(BegunEpisode, Protocol):
    """One that gives its verdict at the end, whoever ends the episode."""

    async def conclude(self) -> Transition | None:
        """Of an episode that it has not ended itself; None where its steps have said all."""
        ...


class TurnDeclined(Exception):
    """The policy takes no further turn of this episode, though it does of others. Its words begin with a reason."""


class PolicySession(Protocol):
    """A live context of a policy."""

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        """Reads new tokens and screenshots, after what the context holds or (`restart`) in a new one, and answers.

        Raises TurnDeclined where a window somewhere else is full, or a filter is against it: the episode ends there.
        """
        ...


@runtime_checkable
class RememberingSession(PolicySession, Protocol):
    """One that can also say what to remember (`MemoryConfig.line_tokens`)."""

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
        """Reads tokens after what the context holds, and writes free text of at most so many tokens. Who has no words
        of its own writes `usual`, what the rule would have written."""
        ...


async def ask_to_remember(policy: PolicySession, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
    """Raises InputError for a policy that cannot."""
    if not isinstance(policy, RememberingSession):
        raise InputError(
            f"memory.line_tokens must be 0 for a policy that only answers; got {most} for a {type(policy).__name__}"
        )
    return await policy.remember(tokens, most, usual)


@dataclasses.dataclass(frozen=True)
class AgentConfig:
    grammar: str = "text"
    memory: MemoryConfig = dataclasses.field(default_factory=MemoryConfig)
    max_malformed: int = 2  # this many unreadable responses in a row end the episode as rejected
    max_prompt: int | None = None  # tokens in a window before an answer; an episode that needs more is truncated
    list_actions: bool = False  # the instruction begins with what can be called and how
    # From a screenshot's (height, width) to those at which the policy sees it and it is recorded. None: as it is.
    screenshot_size: Callable[[int, int], tuple[int, int]] | None = None
    # From a screenshot's (height, width) to those of the image in whose pixels the policy points, as models based on
    # Qwen2.5-VL do: `tars_jax.agent.pixel_size`, for instance. None: it points on the grid of 0..1000.
    image_size: Callable[[int, int], tuple[int, int]] | None = None

    def prompt_instruction(self, instruction: str, space: ActionSpace | None) -> str:
        """The instruction as it stands in a window."""
        if not self.list_actions or self.grammar == PLAIN:  # who writes plain text calls nothing
            return instruction
        return f"{platform_prompt(self.grammar, space, pixels=self.image_size is not None)}\n\n{instruction}"

    def seen(self, observation: Observation) -> Observation:
        """The observation at the size that the policy sees."""
        if self.screenshot_size is None or observation.pixels is None:
            return observation
        return observation.resized(*self.screenshot_size(*observation.pixels.shape[:2]))

    def pixel_size(self, observation: Observation) -> tuple[int, int] | None:
        """What `parse_response` takes for an answer to `observation`."""
        if self.image_size is None or observation.pixels is None:
            return None
        height, width = self.image_size(*observation.pixels.shape[:2])
        return width, height


async def play_episode(
    environment: BegunEpisode,
    first: Observation,
    policy: PolicySession,
    writer: PromptWriter,
    config: AgentConfig,
    *,
    id: str,
    task: Task,
    instruction: str,
    space: ActionSpace | None = None,
    refused: Callable[[Observation, str], Observation] | None = None,
) -> Trajectory:
    """Plays one episode from its first observation to an outcome.

    A response that cannot be read changes nothing, and the next observation says why, unless `refused` makes another
    one of the last and of the reason. `space`: what may be called; None takes every GUI action. Exceptions of
    environment and policy pass through, but for a turn after the first that is declined: then the episode is truncated,
    and `metadata["declined"]` says why.
    """
    memory, asked, line_tokens = Memory(config.memory), instruction, config.memory.line_tokens
    refused = refused or _refused
    instruction, first = config.prompt_instruction(instruction, space), config.seen(first)
    observation, outcome, malformed = first, Outcome.TRUNCATED, 0
    ended: dict[str, str] = {}
    verdicts: list[bool | None] = []
    measured: dict[str, float] = {}
    steps: list[Step] = []
    windows: list[ContextWindow] = []
    window, restart = WindowBuilder(), True
    line: _Line | None = None  # of the window before, until an answer of the next one makes it count
    lines: list[str] = []
    shown = writer.shown(first)
    seen = {0: first}  # by step; those that a window may still show, as an episode's pixels are many

    over = False  # by the environment's own word
    for index in range(task.max_steps):
        steps_left = task.max_steps - index
        if restart:
            unread = whole_context(memory, writer, instruction, index, steps_left, shown)
        else:
            unread = [(index, writer.observation(steps_left, first=False, shown=shown))]
        size = window.size + sum(len(tokens) for _, tokens in unread)
        if config.max_prompt is not None and size > config.max_prompt and steps:
            break
        images = {step: pixels for step, _ in unread if step >= 0 and (pixels := seen[step].pixels) is not None}
        try:
            sampled = await policy.respond(
                [token for _, tokens in unread for token in tokens], list(images.values()), restart=restart
            )
        except TurnDeclined as error:
            if not steps:
                raise
            ended = {"declined": str(error)}
            break
        if line is not None:
            windows[-1] = line.window(index)
            lines.append(line.text)
            line = None
        for step, tokens in unread:
            window.read(tokens, step)
        window.images += images
        window.wrote(sampled, index)

        text = writer.read(sampled.tokens)
        pixel_size = config.pixel_size(observation)
        parsed = parse_response(text, grammar=config.grammar, space=space, pixel_size=pixel_size)
        response = None if isinstance(parsed, ParseError) else parsed
        thought, actions = ("", ()) if response is None else (response.thought, response.actions)
        malformed = malformed + 1 if response is None else 0
        before, read = observation, shown
        if isinstance(parsed, ParseError):
            transition = Transition(refused(observation, parsed.message))
        else:
            transition = await environment.step(actions)
            over = transition.terminated or transition.truncated
            verdicts.append(transition.success)
            measured |= transition.rewards
        observation = config.seen(transition.observation)
        shown = writer.shown(observation)
        point = action_point(actions[0]) if actions else None
        steps.append(
            Step(
                screenshot=before.screenshot,
                response=text,
                thought=thought,
                action="\n\n".join(format_call(action) for action in actions),
                point=None if point is None else (point.x, point.y),
                reward=transition.reward,
                think_tokens=len(writer.codec.encode(thought)),
                valid=response is not None,
                info=dict(before.info),
                text=read.text,
            )
        )
        if transition.terminated or any(isinstance(action, Finished) for action in actions):
            outcome = Outcome.FINISHED
            break
        if transition.truncated:
            break
        if malformed >= config.max_malformed:
            outcome = Outcome.REJECTED
            break
        changed = observation.screenshot != before.screenshot or shown.text != read.text
        summary = summarize(thought, changed, response is not None)
        memory, restart = memory.add(RememberedStep(index, sampled.tokens, read, steps_left, summary))
        remembered = {turn.step for turn in memory.working}
        seen = {step: kept for step, kept in seen.items() if step in remembered} | {index + 1: observation}
        if restart:
            windows.append(window.build())
            if line_tokens and index + 1 < task.max_steps:
                question = writer.ask_for_memory()
                try:
                    written = await ask_to_remember(policy, question, line_tokens, memory.text())
                except TurnDeclined as error:
                    ended = {"declined": str(error)}
                    window = WindowBuilder()
                    break
                line = _Line(window, question, written, writer.memory(written.tokens, line_tokens))
                memory = memory.rewritten(line.text)
            window = WindowBuilder()

    if window.columns:
        windows.append(window.build())
    if not over and isinstance(environment, Concludes) and (last := await environment.conclude()):
        verdicts.append(last.success)
        measured |= last.rewards
        observation = config.seen(last.observation)
        steps[-1] = dataclasses.replace(steps[-1], reward=steps[-1].reward + last.reward)
    reward = sum(step.reward for step in steps)
    return Trajectory(
        id=id,
        task=task.to_json(),
        windows=tuple(windows),
        steps=tuple(steps),
        outcome=outcome,
        reward=reward,
        metadata={
            "final": dict(observation.info),
            "instruction": asked,
            **({"rewards": measured} if measured else {}),
            **({"memory_lines": lines} if lines else {}),
            **ended,
        },
        final_screenshot=observation.screenshot,
        final_text=shown.text,
        success=episode_success(task.verification, reward, verdicts),
    )


@dataclasses.dataclass(frozen=True)
class _Line:
    """What the policy wrote at the end of a window, to be remembered in the next."""

    before: WindowBuilder
    question: Sequence[int]
    sampled: SampledResponse
    text: str

    def window(self, step: int) -> ContextWindow:
        """That window with the line, which belongs to the turn of `step`, the next window's first: what the turn before
        earned was earned without it."""
        self.before.read(self.question, step)
        self.before.wrote(self.sampled, step)
        return self.before.build()


def _refused(observation: Observation, message: str) -> Observation:
    """What follows a response that could not be read: the same screenshot, and why it could not."""
    if observation.pixels is None:
        return Observation(text=message, info=observation.info)
    return Observation.decoded(observation.screenshot, observation.pixels, message, observation.info)


def episode_success(verification: Verification, reward: float, verdicts: Sequence[bool | None]) -> bool | None:
    """The task's own statement: its threshold, else what the environment said last; None where a judge is to say it.

    An environment that was never acted on has not been solved.
    """
    if verification.threshold is not None:
        return reward >= verification.threshold
    if verification.by != "environment":
        return None
    return verdicts[-1] if verdicts else False


def whole_context(
    memory: Memory, writer: PromptWriter, instruction: str, index: int, steps_left: int, shown: ShownObservation
) -> list[tuple[int, list[int]]]:
    """What a new window begins with, each part with its step: the preamble (-1), what is remembered, what is shown."""
    parts = [(-1, writer.preamble(instruction, memory.text()))]
    for number, turn in enumerate(memory.working):
        begun = writer.observation(turn.steps_left, first=number == 0, shown=turn.shown)
        parts.append((turn.step, [*begun, *turn.response]))
    return [*parts, (index, writer.observation(steps_left, first=not memory.working, shown=shown))]
