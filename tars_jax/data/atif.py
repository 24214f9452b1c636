"""Documents of ATIF (the Agent Trajectory Interchange Format, 1.0 to 1.8) as trajectories.

The user's first text is the instruction, each step of the agent an answer, and its observation what came of it. Steps
that were copied from an earlier document are context: a learner reads them and imitates none. Agents within are
trajectories of their own. Documents of ours come back with the tokens that were sampled; those of others hold token ids
of vocabularies that nobody knows here, and are written anew for the policy that learns (retokenized.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tars_jax import InputError
from tars_jax.agent.window import WindowBuilder
from tars_jax.data.atif_writing import OURS, SUFFIX
from tars_jax.data.chat_messages import ReadImage, trajectory_of_messages
from tars_jax.decoding import decoded_file
from tars_jax.trajectory import ContextWindow, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS

_HARBOR = "trajectory.json"  # as Harbor's agents leave it in the folder of each trial
_VERSIONS = "ATIF-v1."


class _Source(msgspec.Struct, frozen=True):
    path: str


class _Part(msgspec.Struct, frozen=True):
    type: str
    text: str | None = None
    source: _Source | None = None


_Content = str | list[_Part] | None


class _Result(msgspec.Struct, frozen=True):
    content: _Content = None


class _Observation(msgspec.Struct, frozen=True):
    results: list[_Result] = []


class _Call(msgspec.Struct, frozen=True):
    function_name: str
    arguments: dict[str, Any]


class _Metrics(msgspec.Struct, frozen=True):
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class _Step(msgspec.Struct, frozen=True):
    source: str
    message: _Content
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    observation: _Observation | None = None
    metrics: _Metrics | None = None
    extra: dict[str, Any] | None = None
    is_copied_context: bool | None = None


class _Document(msgspec.Struct, frozen=True):
    schema_version: str
    steps: list[_Step]
    trajectory_id: str | None = None
    session_id: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[_Document] | None = None


@dataclasses.dataclass(frozen=True)
class _Sampled:
    """As `WindowBuilder` takes it."""

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    versions: tuple[int, ...]
    routes: None = None


def atif_files(folder: Path) -> list[Path]:
    """Documents of an export of ours; else those that Harbor's agents left, in folders below."""
    return sorted(folder.glob(f"*{SUFFIX}")) or sorted(folder.rglob(_HARBOR))


def trajectories_of_atif(file: Path, read_image: ReadImage) -> Iterator[Trajectory]:
    """Trajectories of a document, and of the agents within. Raises InputError that names the file and the field."""
    document = decoded_file(file, _Document, unknown=None)
    yield from _trajectories(document, str(file), file.name.removesuffix(SUFFIX).removesuffix(".json"), read_image)


def _trajectories(document: _Document, where: str, name: str, read_image: ReadImage) -> Iterator[Trajectory]:
    if not document.schema_version.startswith(_VERSIONS):
        raise InputError(
            f"{where}: field schema_version must be {_VERSIONS}0 to 8; got {document.schema_version!r:.40}"
        )
    own = (document.extra or {}).get(OURS)
    record: dict[str, Any] = dict(own) if isinstance(own, dict) else {}
    record["messages"] = [each for step in document.steps for each in _messages(step, is_ours=bool(record))]
    record.setdefault("id", document.trajectory_id or document.session_id or name)
    answers = [step for step in document.steps if step.source == "agent"]
    trajectory = trajectory_of_messages(record, where, name, read_image)
    if context := [number for number, step in enumerate(answers) if step.is_copied_context]:
        trajectory = dataclasses.replace(trajectory, metadata={**trajectory.metadata, CONTEXT_STEPS: context})
    if own:
        try:
            trajectory = dataclasses.replace(trajectory, windows=_windows(answers))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where}: field metrics must be as an export of ours has them; {error}") from error
    yield trajectory
    for number, each in enumerate(document.subagent_trajectories or ()):
        yield from _trajectories(each, f"{where}: subagent_trajectories[{number}]", f"{name}-{number}", read_image)


def _messages(step: _Step, *, is_ours: bool) -> Iterator[dict[str, Any]]:
    """As chat messages: an answer, and what came of it."""
    if step.source != "agent":
        yield {"role": step.source, "content": _content(step.message)}
        return
    message: dict[str, Any] = {"role": "assistant", "content": _content(step.message)}
    if not is_ours:
        if step.reasoning_content:
            said = _content(step.message)
            said = said if isinstance(said, list) else [{"type": "text", "text": said}]
            message["content"] = [{"type": "text", "text": step.reasoning_content}, *said]
        if step.tool_calls:
            called = ({"name": each.function_name, "arguments": each.arguments} for each in step.tool_calls)
            message["tool_calls"] = [{"function": call} for call in called]
    yield message
    results = step.observation.results if step.observation else ()
    if parts := [part for result in results for part in _parts(result.content)]:
        yield {"role": "tool", "content": parts}


def _content(content: _Content) -> Any:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: _Content) -> list[dict[str, Any]]:
    """As chat messages have them; what is heard is not shown."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found: list[dict[str, Any]] = []
    for part in content:
        if part.type == "image" and part.source is not None:
            found.append({"type": "image", "image": part.source.path})
        elif part.type == "text":
            found.append({"type": "text", "text": part.text or ""})
    return found


def _windows(answers: Sequence[_Step]) -> tuple[ContextWindow, ...]:
    """Context windows that the policy read and sampled: a prompt that begins with all of the window before it goes on
    with that."""
    builders: list[WindowBuilder] = []
    tokens: list[int] = []
    last = -1
    for number, step in enumerate(answers):
        metrics = step.metrics
        if metrics is None or metrics.prompt_token_ids is None or metrics.completion_token_ids is None:
            continue
        own = (metrics.extra or {})[OURS]
        prompt, completion = metrics.prompt_token_ids, metrics.completion_token_ids
        if own["window"] != last or prompt[: len(tokens)] != tokens:
            builders.append(WindowBuilder())
            tokens, last = [], own["window"]
        builders[-1].read(prompt[len(tokens) :], number)
        sampled = _Sampled(tuple(completion), tuple(metrics.logprobs or ()), tuple(own["versions"]))
        if not len(sampled.tokens) == len(sampled.log_probs) == len(sampled.versions):
            raise ValueError("logprobs and versions must be as many as completion_token_ids")
        builders[-1].wrote(sampled, number)
        builders[-1].images = [int(image) for image in own["images"]]
        tokens = [*prompt, *completion]
    return tuple(builder.build() for builder in builders)


def is_atif(file: Path) -> bool:
    """Whether a JSON file says of itself that it is one."""
    if file.suffix != ".json":
        return False
    with open(file, "rb") as opened:
        head = opened.read(4096)
    return b'"schema_version"' in head and f'"{_VERSIONS}'.encode() in head
