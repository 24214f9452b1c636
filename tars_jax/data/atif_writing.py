"""Episodes as documents of ATIF, the Agent Trajectory Interchange Format 1.8 (Harbor's RFC 1), with images as files.

An answer is a step of the agent with what it led to; the instruction and the first observation are the user's. What the
policy read and sampled stands in the step's metrics, token by token. A step of which nobody sampled a token says
`llm_call_count` 0, and one that is context `is_copied_context`. What the format has no word for: `extra`, under
`tars_jax`. Expert routes and the tokens of memory lines stay behind: the lossless form is a trajectory's own file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import __version__
from tars_jax.agent.calls import call_of
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.data.exporters import conversations, export_fields, writable
from tars_jax.data.images import ImageFiles
from tars_jax.data.store.records import flush
from tars_jax.files import write_atomic
from tars_jax.trajectory import Step, Trajectory
from tars_jax.trajectory.context import context_of

VERSION = "ATIF-v1.8"
SUFFIX = ".atif.json"
OURS = "tars_jax"  # the name of what the format has no word for


@dataclasses.dataclass(frozen=True)
class SampledStep:
    """Tokens that the policy read and wrote at a step."""

    window: int
    prompt: list[int]
    completion: list[int]
    log_probs: list[float]
    versions: list[int]
    images: list[int]  # the steps whose screenshots stand in the prompt


def write_atif(folder: Path, trajectories: Iterable[Trajectory]) -> int:
    """FOLDER/000000.atif.json and so on, a document an episode, and FOLDER/images; returns how many."""
    folder.mkdir(parents=True, exist_ok=True)
    images = ImageFiles(folder)

    def shown(png: bytes) -> dict[str, Any]:
        return {
            "type": "image",
            "source": {"media_type": "image/png", "path": f"images/{images.keep(png).name}"},
        }

    count = 0
    for trajectory, messages in conversations(trajectories, shown):
        final = [{"type": "text", "text": writable(trajectory.final_text)}] if trajectory.final_text else []
        final += [shown(trajectory.final_screenshot)] if trajectory.final_screenshot else []
        document = document_of(trajectory, messages, final)
        flush(images.kept)
        images.kept.clear()
        write_atomic(folder / f"{count:06d}{SUFFIX}", json.dumps(document, ensure_ascii=False).encode())
        count += 1
    return count


def document_of(trajectory: Trajectory, messages: list[dict[str, Any]], final: list[Any]) -> dict[str, Any]:
    """`messages`: the conversation, with images as ATIF has them; `final`: the parts of what the last action led to."""
    sampled, context = sampled_at(trajectory), set(context_of(trajectory))
    observations = [message["content"] for message in messages[2::2]] + [final]
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": messages[0]["content"]}]
    for number, (step, after) in enumerate(zip(trajectory.steps, observations, strict=True)):
        steps.append(_agent_step(number, step, sampled.get(number), bool(trajectory.windows), number in context, after))
    return {
        "schema_version": VERSION,
        "trajectory_id": writable(trajectory.id),
        "agent": {"name": OURS, "version": __version__},
        "steps": steps,
        "final_metrics": {
            "total_steps": len(steps),
            "total_prompt_tokens": sum(len(each.prompt) for each in sampled.values()),
            "total_completion_tokens": sum(len(each.completion) for each in sampled.values()),
        },
        "extra": {OURS: export_fields(trajectory)},
    }


def sampled_at(trajectory: Trajectory) -> Mapping[int, SampledStep]:
    """Sampled answers by step, as they stand in the last window that holds them."""
    found: dict[int, SampledStep] = {}
    for number, window in enumerate(trajectory.windows):
        for step in dict.fromkeys(window.steps[window.action_mask].tolist()):
            places = np.flatnonzero(window.action_mask & (window.steps == step))
            begin, end = int(places[0]), int(places[-1]) + 1
            if end - begin == places.size and (window.versions[begin:end] >= 0).all():
                found[step] = SampledStep(
                    number,
                    window.tokens[:begin].tolist(),
                    window.tokens[begin:end].tolist(),
                    window.log_probs[begin:end].tolist(),
                    window.versions[begin:end].tolist(),
                    [image for image in window.images if image <= step],
                )
    return found


def _agent_step(
    number: int, step: Step, sampled: SampledStep | None, has_tokens: bool, context: bool, after: list[Any]
) -> dict[str, Any]:
    """`has_tokens`: the trajectory has windows, so that who made a step is known."""
    by_nobody = has_tokens and sampled is None and not context
    found: dict[str, Any] = {"step_id": number + 2, "source": "agent", "message": writable(step.response)}
    found["extra"] = {OURS: {"valid": step.valid, "reward": step.reward}}
    if step.thought and not by_nobody:
        found["reasoning_content"] = writable(step.thought)
    if calls := _calls(step, number):
        found["tool_calls"] = calls
    if after:
        found["observation"] = {"results": [{"content": after}]}
    if context:
        found["is_copied_context"] = True
    if sampled is not None:
        found["llm_call_count"] = 1
        found["metrics"] = {
            "prompt_tokens": len(sampled.prompt),
            "completion_tokens": len(sampled.completion),
            "prompt_token_ids": sampled.prompt,
            "completion_token_ids": sampled.completion,
            "logprobs": sampled.log_probs,
            "extra": {OURS: {"window": sampled.window, "versions": sampled.versions, "images": sampled.images}},
        }
    elif by_nobody:
        found["llm_call_count"] = 0
    return found


def _calls(step: Step, number: int) -> list[dict[str, Any]]:
    read = parse_response(f"Action: {step.action}", space=RECORDED) if step.action else None
    if read is None or isinstance(read, ParseError):
        return []
    return [
        {"tool_call_id": f"call_{number}_{place}", "function_name": name, "arguments": dict(arguments)}
        for place, (name, arguments) in enumerate(map(call_of, read.actions))
    ]
