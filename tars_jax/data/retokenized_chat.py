"""Conversations that somebody else had with a harness, as a policy server would have read them.

One window: what system messages, users and tools said by the server's template, and each answer as it stands behind it.
As with `retokenized.py` nobody sampled these tokens: they are imitated, and `metadata["retokenized"]` says so.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence

from tars_jax.agent.calls import call_of
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.window import WindowBuilder
from tars_jax.data.chat_messages import SYSTEM
from tars_jax.data.retokenized import MARK, resized
from tars_jax.inference.chat_protocol import message_of
from tars_jax.inference.chat_template import Message, Part, Template
from tars_jax.inference.sampling import Sampled
from tars_jax.pictures import pixels_of
from tars_jax.trajectory import Step, Trajectory
from tars_jax.trajectory.context import as_context, context_of


def retokenize_chat(
    trajectory: Trajectory,
    instruction: str,
    template: Template,
    write: Callable[[str], Sequence[int]],
    size: Callable[[int, int], tuple[int, int]],
) -> Trajectory:
    """The trajectory with its steps and outcome in one window.

    Args:
      instruction: what the user said first; "": a picture alone.
      write: an answer as tokens, with the one that ends it.
      size: from a recorded screenshot's (height, width) to those that the policy reads.
    """
    steps = tuple(
        dataclasses.replace(step, screenshot=resized(step.screenshot, size), response=_as_written(step))
        for step in trajectory.steps
    )
    window = WindowBuilder()
    for number, step in enumerate(steps):
        said = _said(step, instruction if not number else "")
        if not number:
            system = str(trajectory.metadata.get(SYSTEM, ""))
            read = template([*([Message("system", (system,))] if system else []), said])
        else:
            read = template.after([said], ended=True)
        window.read(read.tokens, number)
        window.images += [number] * len(read.images)
        tokens = tuple(write(step.response))
        window.wrote(Sampled(tokens, (0.0,) * len(tokens), (-1,) * len(tokens)), number)
    mine = dataclasses.replace(
        trajectory, windows=(window.build(),), steps=steps, metadata={**trajectory.metadata, MARK: True}
    )
    return as_context(mine, context_of(trajectory))


def _said(step: Step, instruction: str) -> Message:
    texts = "\n".join(filter(None, (instruction, step.text)))
    parts: list[Part] = [texts] if texts or not step.screenshot else []
    return Message("user", (*parts, *([pixels_of(step.screenshot, "screenshot")] if step.screenshot else [])))


def _as_written(step: Step) -> str:
    """The answer; one that was read from calls of tools, as the server has such calls in its text."""
    parsed = parse_response(f"Action: {step.action}", grammar="text", space=RECORDED) if step.action else None
    if parsed is None or isinstance(parsed, ParseError):
        return step.response
    if step.response != format_response(Response(step.thought, parsed.actions)):
        return step.response
    calls = [
        {"id": f"{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(dict(arguments))}}
        for place, (name, arguments) in enumerate(map(call_of, parsed.actions))
    ]
    return str(message_of({"role": "assistant", "content": step.thought or None, "tool_calls": calls}).parts[0])
