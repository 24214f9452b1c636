"""A session of an endpoint that acts by OpenAI's computer tool: `POST /v1/responses`, asked with the whole window.

The screenshot of each turn is the output of the calls of the turn before, in whose pixels the policy points; what the
environment says beside it is a message of the user. Functions of the action space, and actions that the tool has no
form for, go along as functions. An answer in words alone is the end of the task, as the tool has none of its own.
A policy that asks for a screenshot alone is shown the present one, and asked again within the same turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.agent.actions import FUNCTIONS, ActionError, Finished
from tars_jax.agent.computer_tool import ACKNOWLEDGE, COMPUTER, END, FORMS, PREVIEW, Size, read_computer_action
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.native_answers import ELSEWHERE, ComputerCall, NativeCall, native_answer
from tars_jax.agent.platform_prompt import introduction
from tars_jax.agent.response import ErrorKind, ParseError, Response
from tars_jax.agent.tool_schemas import action_tools
from tars_jax.environment import ActionSpace
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.http_client import encoded_images
from tars_jax.inference.policy_client import Declined, MessageEndpoint, PolicyUnavailable
from tars_jax.inference.response_input import OUTPUTS
from tars_jax.inference.sampling import Sampled, Sampling, seed_of
from tars_jax.rollout.native_session import (
    DONE,
    NOTHING,
    History,
    PixelSize,
    SentAnswer,
    called_function,
    content_of,
    naming_tools,
    readable_arguments,
    readable_name,
    results,
    text_of,
)

MOST_LOOKS = 4  # screenshots in a row that a policy is shown within one turn
LOOK = {"type": "screenshot"}  # in place of an action that the endpoint could not read again
_FINISHES = {"max_output_tokens": "length"}


class ComputerToolSession:
    """One episode by the computer tool."""

    def __init__(
        self,
        client: MessageEndpoint,
        turns: TurnFormat,
        space: ActionSpace,
        grammar: str,
        seed: int,
        *,
        tool: str = COMPUTER,
        image_size: PixelSize | None = None,
        guide: bool = True,
        safety_checks: str = END,
    ) -> None:
        """`tool`: computer, or computer_use_preview. `image_size`: in whose pixels our text points (`AgentConfig`)."""
        self._client, self._space, self._grammar, self._tool = client, space, grammar, tool
        self._seed = seed % 2**31
        self._image_size, self._guide, self._acknowledges = image_size, guide, safety_checks == ACKNOWLEDGE
        self._acts = "click" in space.actions  # else there is nothing to do on a screen
        self._functions = action_tools(space, without=FORMS if self._acts else frozenset())
        self._history = History(turns)
        self._screen: np.ndarray | None = None  # the last one
        self._blank = np.zeros((1, 1, 3), np.uint8)  # for calls of a tool that was not given, where there is none
        self._answers = 0

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        """Like `PolicySession.respond`. Raises Declined where a safety check ends the episode, InputError where the
        endpoint has no such tool."""
        if images:
            self._screen = images[-1]
        items = await self._items(self._history.read(tokens, images, restart=restart))
        said, looks = list[Mapping[str, Any]](), 0
        while True:
            found = await self._ask([*items, *said])
            output = _output_of(found, self._answers + looks)
            self._check(output)
            said += map(self._again, output)
            if looks == MOST_LOOKS or not _only_looks(output):
                break
            looks += 1
            said += await self._outputs(output)
        finish = _FINISHES.get(_reason_of(found), "stop")
        self._answers += 1
        return self._history.wrote(self._said_of(output, said), finish)

    async def _ask(self, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        body: dict[str, Any] = {"input": items, "tools": self._tools(), "truncation": "auto"}
        if self._client.policy_info:  # a server of ours; elsewhere responses have no seed
            body["seed"] = seed_of(self._seed, self._answers) % 2**31
        if self._guide:
            body["instructions"] = f"{introduction(self._space, (), pixels=True)} {_ENDS}"
        with naming_tools(self._tool):
            return await self._client.post("responses", body)

    @property
    def _size(self) -> Size:
        height, width = (self._blank if self._screen is None else self._screen).shape[:2]
        return width, height

    def _tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = [
            {"type": "function", "name": name, "description": each.description, "parameters": dict(each.parameters),
             "strict": False}
            for name, each in self._functions.items()
        ]  # fmt: skip
        if self._screen is None or not self._acts:
            return tools
        if self._tool == COMPUTER:
            return [{"type": COMPUTER}, *tools]
        width, height = self._size
        where = "linux" if self._space.platform == "computer" else "browser"
        return [{"type": PREVIEW, "display_width": width, "display_height": height, "environment": where}, *tools]

    def _said_of(self, output: Sequence[Mapping[str, Any]], said: Sequence[Mapping[str, Any]]) -> SentAnswer:
        """The last answer of a turn, and all items that were exchanged in it."""
        words, thoughts = list[str](), list[str]()
        calls: list[tuple[str, NativeCall]] = []
        for item in output:
            match item["type"]:
                case "message":
                    words.append(text_of(item.get("content")) or _refusal_of(item))
                case "reasoning":
                    thoughts.append(text_of(item.get("summary")) or text_of(item.get("content")))
                case "function_call":
                    calls.append((item["call_id"], called_function(item, self._functions)))
                case "computer_call":
                    calls += [(item["call_id"], ComputerCall.of(each, self._size)) for each in _actions_of(item)]
        said_words = "\n".join(filter(None, words)).strip()
        thought = said_words or "\n".join(filter(None, thoughts)).strip()
        if not calls:
            return SentAnswer(self._ended(said_words, thought), tuple(said))
        answer = native_answer(thought, [call for _, call in calls], self._grammar, self._space, self._pixel_size())
        errors: dict[str, str] = {}
        for (id, _), error in zip(calls, answer.errors, strict=True):
            known = errors.get(id, "")
            errors[id] = error if not known or known == ELSEWHERE else known  # of several actions the one at fault
        return SentAnswer(answer.text, tuple(said), tuple(errors.items()))

    def _ended(self, words: str, thought: str) -> str:
        """An answer without calls: what it is in our grammar where it is anything; else the end, with these words."""
        parsed = parse_response(words, self._grammar, space=self._space, pixel_size=self._pixel_size())
        unread = isinstance(parsed, ParseError) and parsed.kind is ErrorKind.NO_ACTION
        if not unread or Finished.name not in self._space.actions:
            return words
        end = Response("" if thought == words else thought, (Finished(words),))
        return format_response(end, self._grammar, space=self._space)

    def _pixel_size(self) -> tuple[int, int] | None:
        if self._image_size is None or self._screen is None:
            return None
        height, width = self._image_size(*self._screen.shape[:2])
        return width, height

    def _otherwise(self, text: str, place: int) -> SentAnswer:
        """Reads an answer that came from elsewhere, for instance a person's words."""
        return SentAnswer(text, ({"type": "message", "role": "assistant", "content": text or NOTHING},))

    async def _items(self, messages: Sequence[Message]) -> list[Mapping[str, Any]]:
        """A window as items of an input."""
        items: list[Mapping[str, Any]] = []
        answers, said = iter(self._history.said(messages, self._otherwise)), SentAnswer("", ())
        for message in messages:
            if message.role == "assistant":
                said = next(answers)
                items += said.items
                continue
            text, shown = await content_of(message)
            if said.calls:
                last = said.items[_last_answer(said.items) :]
                screen = shown[-1] if shown else await self._shown()
                outputs, text = self._told(last, said.calls, text, screen)
                items += outputs
                if any(item["type"] == "computer_call" for item in last):
                    shown = []
                said = SentAnswer("", ())
            parts: list[dict[str, Any]] = [{"type": "input_text", "text": text}] if text else []
            parts += [{"type": "input_image", "image_url": url, "detail": "auto"} for url in shown]
            if parts:
                items.append({"type": "message", "role": "user", "content": parts})
        return items

    def _told(
        self, answer: Sequence[Mapping[str, Any]], calls: Sequence[tuple[str, str]], text: str, screen: str
    ) -> tuple[list[Mapping[str, Any]], str]:
        """The outputs of an answer's calls, and the text that none of them holds."""
        functions = {item["call_id"] for item in answer if item["type"] == "function_call"}
        errors = dict(calls)
        told = dict(results([(id, error) for id, error in calls if id in functions], text)) if functions else {}
        outputs: list[Mapping[str, Any]] = []
        for item in answer:
            if item["type"] == "computer_call":
                outputs.append(self._screenshot(item, screen))
            elif item["type"] == "function_call":
                result = told.get(item["call_id"], DONE)
                outputs.append({"type": "function_call_output", "call_id": item["call_id"], "output": result})
        if functions:
            return outputs, ""
        wrong = dict.fromkeys(error for error in errors.values() if error and error not in text)
        return outputs, "\n".join(filter(None, (*wrong, text.strip())))

    def _screenshot(self, call: Mapping[str, Any], screen: str) -> Mapping[str, Any]:
        output = {"type": "computer_screenshot", "image_url": screen}
        checks = _checks_of(call)
        more = {"acknowledged_safety_checks": checks} if checks else {}
        return {"type": "computer_call_output", "call_id": call["call_id"], "output": output, **more}

    def _check(self, output: Sequence[Mapping[str, Any]]) -> None:
        """Before anything is carried out: raises Declined with the words of safety checks that nobody acknowledges."""
        checks = [check for item in output if item["type"] == "computer_call" for check in _checks_of(item)]
        if checks and not self._acknowledges:
            raise Declined(
                "; ".join(str(each.get("message") or each.get("code") or each) for each in checks), "safety_check"
            )

    def _again(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """An item as it is sent again: as it came, but for a call that could not be read again."""
        if item["type"] == "computer_call":
            actions = [each if self._is_theirs(each) else LOOK for each in _actions_of(item)]
            return {**item, "actions": actions} if self._tool == COMPUTER else {**item, "action": actions[0]}
        if item["type"] != "function_call":
            return item
        called = called_function(item, self._functions)
        return {**item, "name": readable_name(item), "arguments": readable_arguments(called)}

    def _is_theirs(self, action: Any) -> bool:
        try:
            read_computer_action(action, _ALL, self._size)
        except ActionError:
            return False
        return True

    async def _outputs(self, answer: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        screen = await self._shown()
        return [self._screenshot(item, screen) for item in answer if item["type"] == "computer_call"]

    async def _shown(self) -> str:
        return (await encoded_images([self._blank if self._screen is None else self._screen]))[0]


_ALL = ActionSpace("browser", tuple(FUNCTIONS))
_ENDS = "When the task is done, answer in words, without a call."


def _output_of(found: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    """The items of a response; calls without an id have one of ours.

    Raises PolicyUnavailable for what is no response, Declined for what a filter is against.
    """
    output = found.get("output")
    if output is None and "output" in found:
        output = []  # it said nothing
    if _reason_of(found) == "content_filter":
        raise Declined("the answer was filtered", "content_filter")
    if found.get("status") in ("failed", "cancelled"):
        raise PolicyUnavailable(f"the endpoint gave no response: {str(found.get('error'))[:200]}")
    if not isinstance(output, list) or not all(
        isinstance(each, dict) and isinstance(each.get("type"), str) for each in output
    ):
        raise PolicyUnavailable(f"the endpoint's answer is no response: {str(found)[:200]}")
    items = []
    for place, item in enumerate(output):
        kept = {name: value for name, value in item.items() if value is not None}
        if item["type"] in ("computer_call", "function_call"):
            kept["call_id"] = str(kept.get("call_id") or f"call_{number}_{place}")
        items.append(kept)
    return items


def _reason_of(found: Mapping[str, Any]) -> str:
    """The reason why a response is incomplete; empty where it is complete."""
    details = found.get("incomplete_details")
    return str(details.get("reason")) if isinstance(details, dict) else ""


def _actions_of(call: Mapping[str, Any]) -> list[Any]:
    """Actions of a call of either computer tool; at least one, which may be unreadable."""
    actions = call.get("actions")
    if isinstance(actions, list) and actions:
        return actions
    return [call.get("action")]


def _only_looks(output: Sequence[Mapping[str, Any]]) -> bool:
    calls = [item for item in output if item["type"] in ("computer_call", "function_call")]
    kinds = [
        action.get("type") if isinstance(action, dict) else None
        for call in calls
        for action in (_actions_of(call) if call["type"] == "computer_call" else [None])
    ]
    return bool(kinds) and all(kind == "screenshot" for kind in kinds)


def _checks_of(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = call.get("pending_safety_checks") or []
    checks = given if isinstance(given, list) else [given]
    return [each if isinstance(each, dict) else {"message": str(each)} for each in checks]


def _last_answer(items: Sequence[Mapping[str, Any]]) -> int:
    """Position at which the last answer of a turn begins, behind the screenshots that it was shown within it."""
    return max((place + 1 for place, item in enumerate(items) if item["type"] in OUTPUTS), default=0)


def _refusal_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("refusal") or "") for part in parts if isinstance(part, dict))
