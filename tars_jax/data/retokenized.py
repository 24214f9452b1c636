"""Episodes that somebody else played, as the policy that is to learn from them would have read and written them.

A policy behind an address, a reference player without a model, or a policy of another screen leaves windows whose
tokens are not those of the learner: one token for a screenshot, perhaps, where the learner has nine; a dataset of
somebody else's leaves none. The episode is then gone through again, by its recorded thoughts, actions and screenshots,
with the learner's prompts, grammar and memory. Its tokens are not those that were sampled, so it carries no
log-probabilities: it is for imitation, never for PPO, and `metadata["retokenized"]` says so.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.loop import AgentConfig, TurnDeclined, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError, Response
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.inference.sampling import Sampled
from tars_jax.pictures import read_picture, size_of
from tars_jax.trajectory import Step, Trajectory
from tars_jax.trajectory.context import as_context, context_of

MARK = "retokenized"


@dataclasses.dataclass(frozen=True)
class EpisodeReader:
    """The learner's way to read and write an episode."""

    writer: PromptWriter
    agent: AgentConfig
    image: int  # its token
    vocabulary: int  # the number of its tokens
    size: Callable[[int, int], tuple[int, int]]  # from a recorded screenshot's (height, width) to those that it sees
    space: ActionSpace | None = None  # what its prompts list, where they do; None: every GUI action


def is_foreign(trajectory: Trajectory, reader: EpisodeReader) -> bool:
    """Whether it has no windows, or these hold other tokens or screenshots than the learner's, or another number of
    them for each."""
    sizes = {number: size_of(step.screenshot) for number, step in enumerate(trajectory.steps) if step.screenshot}
    if not trajectory.windows or any(reader.size(*size) != size for size in sizes.values()):
        return True
    begins = reader.writer.codec.encode(reader.writer.chat.user)[0]
    for window in trajectory.windows:
        shown = sum(reader.writer.image_size(*sizes[number]) for number in window.images)
        if int((window.tokens == reader.image).sum()) != shown or window.tokens.max(initial=0) >= reader.vocabulary:
            return True
        if window.tokens[0] != begins:  # of another tokenizer
            return True
    return False


def retokenize(trajectory: Trajectory, instruction: str, reader: EpisodeReader) -> Trajectory:
    """The trajectory with its steps and outcome in the learner's windows, and its mark. Its screenshots become the
    learner's size.

    An answer that says `finished` is its last: what an episode of somebody else's has after that is left out. Steps
    that are context stay that. Raises InputError where its metadata name steps that there are not.
    """
    steps = tuple(_seen(step, reader) for step in trajectory.steps)
    told = reader.agent.prompt_instruction(instruction, reader.space)
    agent = dataclasses.replace(
        reader.agent, max_prompt=None, image_size=None, list_actions=False, max_malformed=len(steps) + 1
    )
    recorded = _Recorded(steps, reader.writer)
    again = asyncio.run(
        play_episode(
            recorded,
            recorded.observation,
            recorded,
            reader.writer,
            agent,
            id=trajectory.id,
            task=Task(trajectory.id, "recorded", 0, {}, max(int(trajectory.task["max_steps"]), len(steps))),
            instruction=told,
            space=RECORDED,
            refused=lambda observation, message: recorded.observation,
        )
    )
    tokens = [step.think_tokens for step in again.steps]
    kept = tuple(dataclasses.replace(step, think_tokens=count) for step, count in zip(steps, tokens, strict=False))
    mine = dataclasses.replace(
        trajectory, windows=again.windows, steps=kept, metadata={**trajectory.metadata, MARK: True}
    )
    return as_context(mine, context_of(trajectory, len(kept)))


class _Recorded:
    """Environment and policy of an episode that is over: both say what they said."""

    def __init__(self, steps: Sequence[Step], writer: PromptWriter) -> None:
        self._steps, self._writer, self._answered = steps, writer, 0

    @property
    def observation(self) -> Observation:
        step = self._steps[min(self._answered, len(self._steps) - 1)]
        return Observation(step.screenshot, step.text, step.info)

    async def step(self, actions: Any) -> Transition:
        reward = self._steps[self._answered - 1].reward
        return Transition(self.observation, reward, self._answered == len(self._steps))

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        if self._answered == len(self._steps):
            raise TurnDeclined("the episode ended here")
        written = tuple(self._writer.response(self._steps[self._answered].response))
        self._answered += 1
        return Sampled(written, (0.0,) * len(written), (-1,) * len(written))

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Sampled:
        written = tuple(self._writer.response(self._writer.cut(usual, most - 1)))
        return Sampled(written, (0.0,) * len(written), (-1,) * len(written))


def _seen(step: Step, reader: EpisodeReader) -> Step:
    """A step with the learner's screenshot and way to write the answer; one that nobody could read stays as it is."""
    response = step.response
    parsed = parse_response(f"Action: {step.action}", grammar="text", space=RECORDED)
    if step.valid and not isinstance(parsed, ParseError):
        response = format_response(Response(step.thought, parsed.actions), grammar=reader.agent.grammar)
    return dataclasses.replace(step, screenshot=resized(step.screenshot, reader.size), response=response)


def resized(png: bytes, size: Callable[[int, int], tuple[int, int]]) -> bytes:
    """A picture, if there is one, at the (height, width) that a policy reads it at."""
    if not png:
        return png
    image = read_picture(png)
    height, width = size(image.height, image.width)
    if image.size == (width, height):
        return png
    smaller = io.BytesIO()
    image.resize((width, height), Image.Resampling.BICUBIC).save(smaller, "PNG")
    return smaller.getvalue()
