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
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.window import SampledResponse, WindowBuilder
from tars_jax.environment import ActionSpace, Observation, Task, Transition, Verification
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory


class BegunEpisode(Protocol):
    """An environment whose episode has begun."""

    async def step(self, actions: Sequence[Action]) -> Transition: ...


@runtime_checkable
class Concludes(BegunEpisode, Protocol):
    """An environment that gives its verdict at the end, whoever ends the episode."""

    async def conclude(self) -> Transition | None:
        """Concludes an episode that did not end itself; None where its steps have said all."""
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
    """A session that can also write what to remember (`MemoryConfig.line_tokens`)."""

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
        """Reads tokens after what the context holds, and writes free text of at most so many tokens. Who has no words
        of its own writes `usual`, what the rule would have written."""
        ...


async def ask_to_remember(policy: PolicySession, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
    """Asks the policy to write its memory. Raises InputError for a policy that only answers."""
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
        """The `pixel_size` of `parse_response` for an answer to `observation`."""
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
    refused, episode = refused or _refused, _Episode(first, writer, config, task, instruction, space)
    for index in range(task.max_steps):
        unread = episode.unread(index)
        if episode.is_too_long(unread):
            break
        tokens, images = [token for _, part in unread for token in part], episode.images(unread)
        try:
            sampled = await policy.respond(tokens, list(images.values()), restart=episode.restart)
        except TurnDeclined as error:
            if not episode.steps:
                raise
            episode.declined = str(error)
            break
        text, parsed = episode.read(index, unread, images, sampled)
        if isinstance(parsed, ParseError):
            transition = Transition(refused(episode.observation, parsed.message))
        else:
            transition = await environment.step(parsed.actions)
        if episode.ends_with(text, parsed, transition):
            break
        try:
            await episode.remember(policy, index, sampled)
        except TurnDeclined as error:
            episode.declined = str(error)
            break

    if not episode.over and isinstance(environment, Concludes) and (last := await environment.conclude()):
        episode.conclude(last)
    return episode.trajectory(id)


class _Episode:
    """An episode under way: what was shown and done, in the windows of the policy and as steps."""

    def __init__(
        self,
        first: Observation,
        writer: PromptWriter,
        config: AgentConfig,
        task: Task,
        instruction: str,
        space: ActionSpace | None,
    ) -> None:
        self._writer, self._config, self._task, self._space = writer, config, task, space
        self._asked, self._instruction = instruction, config.prompt_instruction(instruction, space)
        self.observation = config.seen(first)
        self._answered = self._shown = writer.shown(self.observation)  # by the last step; by the next
        self._memory, self._window, self._windows = Memory(config.memory), WindowBuilder(), list[ContextWindow]()
        self.restart = True  # the next answer is the first of a window
        self._line: _Line | None = None  # of the window before, until an answer of the next one makes it count
        self._lines: list[str] = []
        self.steps: list[Step] = []
        # By step; those that a window may still show, as an episode's pixels are many.
        self._seen = {0: self.observation}
        self._outcome, self._malformed = Outcome.TRUNCATED, 0
        self.over = False  # by the environment's own word
        self.declined = ""
        self._verdicts: list[bool | None] = []
        self._measured: dict[str, float] = {}

    def unread(self, index: int) -> list[tuple[int, list[int]]]:
        """Tokens that the policy reads before the answer of step `index`, each part with the step that it is of."""
        steps_left = self._task.max_steps - index
        if self.restart:
            return whole_context(self._memory, self._writer, self._instruction, index, steps_left, self._shown)
        return [(index, self._writer.observation(steps_left, first=False, shown=self._shown))]

    def is_too_long(self, unread: Sequence[tuple[int, list[int]]]) -> bool:
        """Whether the window would be longer than it may be; the first answer is asked for whatever it takes."""
        size = self._window.size + sum(len(tokens) for _, tokens in unread)
        return self._config.max_prompt is not None and size > self._config.max_prompt and bool(self.steps)

    def images(self, unread: Sequence[tuple[int, list[int]]]) -> dict[int, np.ndarray]:
        """The pixels that these parts show, by step."""
        steps = [step for step, _ in unread if step >= 0]
        return {step: pixels for step in steps if (pixels := self._seen[step].pixels) is not None}

    def read(
        self,
        index: int,
        unread: Sequence[tuple[int, list[int]]],
        images: dict[int, np.ndarray],
        sampled: SampledResponse,
    ) -> tuple[str, Response | ParseError]:
        """Keeps what was read and sampled in the window; the answer's text, and what it says or why it cannot be
        read."""
        if self._line is not None:
            self._windows[-1] = self._line.window(index)
            self._lines.append(self._line.text)
            self._line = None
        for step, tokens in unread:
            self._window.read(tokens, step)
        self._window.images += images
        self._window.wrote(sampled, index)
        text, pixel_size = self._writer.read(sampled.tokens), self._config.pixel_size(self.observation)
        return text, parse_response(text, grammar=self._config.grammar, space=self._space, pixel_size=pixel_size)

    def ends_with(self, text: str, parsed: Response | ParseError, transition: Transition) -> bool:
        """Adds the step; whether it is the last, by the environment, the agent, or too many unreadable answers."""
        response = None if isinstance(parsed, ParseError) else parsed
        thought, actions = ("", ()) if response is None else (response.thought, response.actions)
        point = action_point(actions[0]) if actions else None
        self.steps.append(
            Step(
                screenshot=self.observation.screenshot,
                response=text,
                thought=thought,
                action="\n\n".join(format_call(action) for action in actions),
                point=None if point is None else (point.x, point.y),
                reward=transition.reward,
                think_tokens=len(self._writer.codec.encode(thought)),
                valid=response is not None,
                info=dict(self.observation.info),
                text=self._shown.text,
            )
        )
        if response is not None:
            self._judged(transition)
            self.over = transition.terminated or transition.truncated
        self._malformed = self._malformed + 1 if response is None else 0
        self._answered = self._shown
        self.observation = self._config.seen(transition.observation)
        self._shown = self._writer.shown(self.observation)
        if transition.terminated or any(isinstance(action, Finished) for action in actions):
            self._outcome = Outcome.FINISHED
            return True
        if not transition.truncated and self._malformed >= self._config.max_malformed:
            self._outcome = Outcome.REJECTED
        return transition.truncated or self._outcome is Outcome.REJECTED

    async def remember(self, policy: PolicySession, index: int, sampled: SampledResponse) -> None:
        """Takes the step into memory. Where that folds older ones, the window ends; a policy that writes its memory
        itself is then asked for a line of it."""
        step, answered, most = self.steps[-1], self._answered, self._config.memory.line_tokens
        changed = self.observation.screenshot != step.screenshot or self._shown.text != step.text
        summary = summarize(step.thought, changed, step.valid)
        steps_left = self._task.max_steps - index
        remembered = RememberedStep(index, sampled.tokens, answered, steps_left, summary)
        self._memory, self.restart = self._memory.add(remembered)
        kept = {turn.step for turn in self._memory.working}
        self._seen = {number: each for number, each in self._seen.items() if number in kept}
        self._seen[index + 1] = self.observation
        if not self.restart:
            return
        ended, self._window = self._window, WindowBuilder()
        self._windows.append(ended.build())
        if most and index + 1 < self._task.max_steps:
            question = self._writer.ask_for_memory()
            written = await ask_to_remember(policy, question, most, self._memory.text())
            self._line = _Line(ended, question, written, self._writer.memory(written.tokens, most))
            self._memory = self._memory.rewritten(self._line.text)

    def conclude(self, last: Transition) -> None:
        """The verdict that the environment gives at the end."""
        self._judged(last)
        self.observation = self._config.seen(last.observation)
        self.steps[-1] = dataclasses.replace(self.steps[-1], reward=self.steps[-1].reward + last.reward)

    def _judged(self, transition: Transition) -> None:
        self._verdicts.append(transition.success)
        self._measured |= transition.rewards

    def trajectory(self, id: str) -> Trajectory:
        windows = [*self._windows, *([self._window.build()] if self._window.columns else [])]
        reward = sum(step.reward for step in self.steps)
        return Trajectory(
            id=id,
            task=self._task.to_json(),
            windows=tuple(windows),
            steps=tuple(self.steps),
            outcome=self._outcome,
            reward=reward,
            metadata={
                "final": dict(self.observation.info),
                "instruction": self._asked,
                **({"rewards": self._measured} if self._measured else {}),
                **({"memory_lines": self._lines} if self._lines else {}),
                **({"declined": self.declined} if self.declined else {}),
            },
            final_screenshot=self.observation.screenshot,
            final_text=self._shown.text,
            success=episode_success(self._task.verification, reward, self._verdicts),
        )


@dataclasses.dataclass(frozen=True)
class _Line:
    """Line that the policy wrote at the end of a window, to be remembered in the next."""

    before: WindowBuilder
    question: Sequence[int]
    sampled: SampledResponse
    text: str

    def window(self, step: int) -> ContextWindow:
        """The window that ended with the line, which belongs to the turn of `step`, the next window's first: what the
        turn before earned was earned without it."""
        self.before.read(self.question, step)
        self.before.wrote(self.sampled, step)
        return self.before.build()


def _refused(observation: Observation, message: str) -> Observation:
    """Observation after a response that could not be parsed: the same screenshot, and the error."""
    if observation.pixels is None:
        return Observation(text=message, info=observation.info)
    return Observation.decoded(observation.screenshot, observation.pixels, message, observation.info)


def episode_success(verification: Verification, reward: float, verdicts: Sequence[bool | None]) -> bool | None:
    """Whether the episode is a success: by the task's threshold, else by what the environment said last; None where a
    judge decides.

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
    """Beginning of a new window, each part with its step: the preamble (-1), what is remembered, what is shown."""
    parts = [(-1, writer.preamble(instruction, memory.text()))]
    for number, turn in enumerate(memory.working):
        begun = writer.observation(turn.steps_left, first=number == 0, shown=turn.shown)
        parts.append((turn.step, [*begun, *turn.response]))
    return [*parts, (index, writer.observation(steps_left, first=not memory.working, shown=shown))]
