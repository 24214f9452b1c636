"""An answer of the policy as the items, and as the events, of OpenAI's responses."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from tars_jax.inference.response_forms import Heard

# Of an item that has begun, what comes in pieces.
_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
}


def output_items(heard: Heard, screen: str) -> list[dict[str, Any]]:
    """An answer as items. `screen`: the type of the computer tool; a preview's call holds one action."""
    items: list[dict[str, Any]] = []
    if heard.thought:
        summary = [{"type": "summary_text", "text": heard.thought}]
        items.append({"type": "reasoning", "id": _id("rs"), "summary": summary})
    if heard.words or not heard.calls:
        text = {"type": "output_text", "text": heard.words, "annotations": [], "logprobs": []}
        items.append(
            {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": [text]}
        )
    for call in heard.calls:
        if "name" in call:
            items.append(
                {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "status": "completed", **call}
            )
        elif screen == "computer":
            items.append(_computer_call(actions=call["actions"]))
        else:
            items += (_computer_call(action=action) for action in call["actions"])
    return items


def _computer_call(**acted: Any) -> dict[str, Any]:
    head = {"type": "computer_call", "id": _id("cu"), "call_id": _id("call")}
    return {**head, **acted, "pending_safety_checks": [], "status": "completed"}


def _id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(16)}"


def response_events(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream that tells a whole response: created, then each item, then completed."""
    began = {**body, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": began},
        {"type": "response.in_progress", "response": began},
    ]
    for index, item in enumerate(body["output"]):
        at = {"item_id": item["id"], "output_index": index}
        empty = {**item, **_EMPTY.get(item["type"], {}), "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if item["type"] == "message":
            (part,) = item["content"]
            within = {**at, "content_index": 0}
            events += [
                {"type": "response.content_part.added", **within, "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", **within, "delta": part["text"], "logprobs": []},
                {"type": "response.output_text.done", **within, "text": part["text"], "logprobs": []},
                {"type": "response.content_part.done", **within, "part": part},
            ]
        elif item["type"] == "reasoning":
            (part,) = item["summary"]
            within = {**at, "summary_index": 0}
            events += [
                {"type": "response.reasoning_summary_part.added", **within, "part": {**part, "text": ""}},
                {"type": "response.reasoning_summary_text.delta", **within, "delta": part["text"]},
                {"type": "response.reasoning_summary_text.done", **within, "text": part["text"]},
                {"type": "response.reasoning_summary_part.done", **within, "part": part},
            ]
        elif item["type"] == "function_call":
            called = {"name": item["name"], "arguments": item["arguments"]}
            events += [
                {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]},
                {"type": "response.function_call_arguments.done", **at, **called},
            ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{body['status']}", "response": body})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]
