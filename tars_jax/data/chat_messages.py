"""Chat messages with images as trajectories: the way back of `exporters.conversation`, and others' in the same form.

    {"messages": [{"role": "user", "content": [{"type": "text", ...}, {"type": "image", ...}]},
                  {"role": "assistant", "content": "Thought: ...\nAction: click(...)"}, ...]}

A user's or a tool's turn is what was observed, at most one image in it; the first text is the instruction. An image
is named by its part (`image`, `image_url`), or, with `images` beside the messages, is the next one of these. What an
assistant wrote is read in either grammar, or taken from `tool_calls`; what cannot be read stays text. A system message
is metadata, as an agent of ours has its own; whoever learns from a harness's conversations is shown it. `id`, `task`,
`outcome`, `reward`, `success`, `actions`, `purpose`, `held_out` and `context_steps` may stand beside the messages, as
exports write them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import action_point
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.response import ParseError, Response
from tars_jax.data.held_out import marks_in
from tars_jax.environment import Task
from tars_jax.json_fields import without_nulls
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.context import context_in

ReadImage = Callable[[Any, str], bytes]  # what a record says of an image, and where, to its PNG
SYSTEM = "system"  # of the metadata: what system messages said
_PLACEHOLDER = "<image>"


def trajectory_of_messages(record: Mapping[str, Any], where: str, name: str, read_image: ReadImage) -> Trajectory:
    """The trajectory of one record. `where` begins its errors; `name` is its id if it has none.

    Raises InputError that names the field.
    """
    messages = _of(record, "messages", list, where)
    listed = record.get("images") if record.get("images") is not None else record.get("image")
    images = iter(listed if isinstance(listed, list) else [] if listed is None else [listed])
    turns = _Turns(where, read_image, images, may_be_silent=record.get("actions") is not None)
    for number, message in enumerate(messages):
        turns.add(f"{where}: field messages[{number}]", message)
    if not turns.answers:
        raise InputError(f"{where}: field messages must hold an assistant's message; got {len(messages)} without any")
    if next(images, None) is not None:
        raise InputError(f"{where}: field images must have a place in the messages each; got more than these show")
    steps = turns.steps(record.get("actions"))
    context = context_in(record, where, len(steps))
    success = record.get("success")
    if type(success) not in (bool, type(None)):
        raise InputError(f"{where}: field success must be true, false or null; got {success!r:.80}")
    reward = float(bool(success)) if record.get("reward") is None else record["reward"]
    if type(reward) not in (int, float) or not math.isfinite(reward):
        raise InputError(f"{where}: field reward must be a finite number; got {reward!r:.80}")
    return Trajectory(
        id=str(record.get("id") or name),
        task=task_of(record.get("task"), str(record.get("id") or name), len(steps), where),
        windows=(),
        steps=(*steps[:-1], dataclasses.replace(steps[-1], reward=float(reward))),
        outcome=_outcome(record.get("outcome") or Outcome.FINISHED.value, where),
        reward=float(reward),
        metadata={
            "instruction": turns.instruction,
            **({SYSTEM: "\n".join(turns.system)} if turns.system else {}),
            "recorded_in": where,
            **marks_in(record, where),
            **context,
        },
        final_screenshot=turns.seen.screenshot,
        final_text=turns.seen.text,
        success=success,
    )


def task_of(given: Any, id: str, steps: int, where: str) -> dict[str, Any]:
    """A task as trajectories hold it; one that a record lacks is of the environment "recorded"."""
    if given is None:
        return Task(id, "recorded", 0, {}, max(1, steps)).to_json()
    task = given
    if isinstance(given, str):
        try:
            task = json.loads(given)
        except json.JSONDecodeError as error:
            raise InputError(f"{where}: field task must be JSON; got {given!r:.80}: {error}") from error
    if not isinstance(task, dict) or type(task.get("max_steps")) is not int:
        raise InputError(
            f"{where}: field task must be an object with max_steps, as an export has it; got {given!r:.80}"
        )
    return task


@dataclasses.dataclass
class _Seen:
    """Observations since the last answer."""

    screenshot: bytes = b""
    texts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class _Turns:
    """Reads one message after the other."""

    def __init__(self, where: str, read_image: ReadImage, images: Iterator[Any], *, may_be_silent: bool) -> None:
        self._where, self._read_image, self._images = where, read_image, images
        self._may_be_silent = may_be_silent  # an export of ours says so of a policy that wrote nothing
        self.instruction: str | None = None
        self.system: tuple[str, ...] = ()
        self.seen = _Seen()
        self.answers: list[tuple[_Seen, str]] = []

    def add(self, where: str, message: Any) -> None:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            if self.instruction is None:
                if not self.seen.screenshot:
                    raise InputError(f"{where} must follow a user's message with the instruction; got an assistant's")
                self.instruction = ""  # a picture says it all
            self.answers.append((self.seen, _answer(message, where, self._may_be_silent)))
            self.seen = _Seen()
        elif role in ("user", "tool"):
            self._observe(where, message)
        elif role == "system":
            self.system += tuple(part for part in _parts(message.get("content"), where) if isinstance(part, str))
        else:
            raise InputError(f"{where}.role must be system, user, assistant or tool; got {role!r:.80}")

    def _observe(self, where: str, message: Mapping[str, Any]) -> None:
        for place, part in enumerate(_parts(message.get("content"), where)):
            if isinstance(part, str):
                if self.instruction is None:
                    self.instruction = part
                else:
                    self.seen.texts += (part,)
            elif self.seen.screenshot:
                raise InputError(f"{where}.content must show one image at most before an answer; got a second one")
            else:
                field = f"{where}.content[{place}]"
                given = part.get("image") or part.get("image_url")
                given = given.get("url", given) if isinstance(given, dict) else given
                if given is None and (given := next(self._images, None)) is None:
                    raise InputError(f"{field} must name its image, or have one in images; got neither")
                self.seen.screenshot = self._read_image(given, field)

    def steps(self, actions: Any) -> list[Step]:
        """Steps with the actions that stand beside the messages, in the text form; without them, as the answers say."""
        if actions is not None and (
            not isinstance(actions, list)
            or len(actions) != len(self.answers)
            or not all(isinstance(action, str) for action in actions)
        ):
            raise InputError(
                f"{self._where}: field actions must be a text for each of {len(self.answers)} answers; "
                f"got {actions!r:.80}"
            )
        told = actions or [None] * len(self.answers)
        return [_step(seen, answer, action) for (seen, answer), action in zip(self.answers, told, strict=True)]


def _parts(content: Any, where: str) -> Iterator[str | Mapping[str, Any]]:
    """Texts, and parts that show an image."""
    if isinstance(content, str):
        for place, text in enumerate(content.split(_PLACEHOLDER)):
            if place:
                yield {}
            if text.strip():
                yield text.strip("\n")
        return
    if not isinstance(content, list):
        raise InputError(f"{where}.content must be text or a list of parts; got {content!r:.80}")
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            if part["text"]:
                yield part["text"]
        elif kind in ("image", "image_url"):
            yield part
        else:
            raise InputError(f"{where}.content[{place}] must be a text or an image; got {part!r:.80}")


def _answer(message: Mapping[str, Any], where: str, may_be_silent: bool) -> str:
    content = message.get("content")
    parts = list(_parts(content, where)) if content is not None else []
    if not all(isinstance(part, str) for part in parts):
        raise InputError(f"{where}.content must be text; got an image")
    text = "\n".join(map(str, parts))
    if not message.get("tool_calls"):
        if not text and not may_be_silent:
            raise InputError(f"{where}.content must be what the assistant wrote; got nothing")
        return text
    try:
        calls = [_called(call) for call in message["tool_calls"]]
        actions = tuple(action_from_call(name, arguments, space=RECORDED) for name, arguments in calls)
    except InputError as error:
        raise InputError(f"{where}.tool_calls: {error}") from error
    except (TypeError, KeyError, ValueError) as error:
        given = message["tool_calls"]
        raise InputError(
            f"{where}.tool_calls must be calls of functions as OpenAI writes them; got {given!r:.80}"
        ) from error
    return format_response(Response(text, actions))


def _called(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Arguments are JSON, in which null is what was written; or an object, in which tables fill up with null."""
    arguments = call["function"].get("arguments") or {}
    return call["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else without_nulls(arguments)


def _step(seen: _Seen, answer: str, action: str | None) -> Step:
    read = _read(answer) if action is None else _read_action(action)
    written = _read(answer)
    actions: Sequence[Any] = () if read is None else read.actions
    point = action_point(actions[0]) if actions else None
    return Step(
        screenshot=seen.screenshot,
        response=answer,
        thought="" if written is None else written.thought,
        action="\n\n".join(map(format_call, actions)),
        point=None if point is None else (point.x, point.y),
        reward=0.0,
        think_tokens=0,  # which tokenizer counts is not known yet
        valid=bool(actions),
        info={},
        text=seen.text,
    )


def _read(answer: str) -> Response | None:
    for grammar in ("text", "tool"):
        parsed = parse_response(answer, grammar=grammar, space=RECORDED)
        if not isinstance(parsed, ParseError):
            return parsed
    return None


def _read_action(action: str) -> Response | None:
    parsed = parse_response(f"Action: {action}", grammar="text", space=RECORDED)
    return None if isinstance(parsed, ParseError) else parsed


def _outcome(value: Any, where: str) -> Outcome:
    outcomes = [each.value for each in Outcome if each.carries_reward]
    if value not in outcomes:
        raise InputError(f"{where}: field outcome must be one of {', '.join(outcomes)}; got {value!r:.80}")
    return Outcome(value)


def _of(record: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    if not isinstance(value := record.get(name), kind):
        raise InputError(f"{where}: field {name} must be of type {kind.__name__}; got {value!r:.80}")
    return value
