"""Environments of `verifiers` with its classic interface (`load_environment`, a rubric), such as 0.3.1.

Its rollouts ask an OpenAI client, whose HTTP leads here: the environment plays and scores its episode itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import httpx
import openai
import verifiers as vf

# Of its errors, those that a policy causes: the episode ends, and is scored.
OF_THE_POLICY = ("EmptyModelResponseError", "InvalidModelResponseError", "ToolParseError", "ToolCallError")
MODEL = "policy"


class Asks(httpx.AsyncBaseTransport):
    """HTTP of an OpenAI client as turns of a dialog."""

    def __init__(self, dialog: Any) -> None:
        self._dialog = dialog

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/chat/completions"):
            return httpx.Response(
                404, json={"error": {"message": f"only chat completions are here; got {request.url}"}}
            )
        body = json.loads(await request.aread())
        said = await self._dialog.ask(body["messages"], body.get("tools") or [])
        if said is None:  # by these words clients know that a model has no room left
            words = "This model's maximum context length is reached: the episode has no turn left"
            return httpx.Response(400, json={"error": {"message": words, "code": "context_length_exceeded"}})
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        choice = {"index": 0, "message": said, "finish_reason": reason, "logprobs": None}
        head = {"id": "tars_jax", "object": "chat.completion", "created": int(time.time()), "model": MODEL}
        return httpx.Response(200, json={**head, "choices": [choice]})


class VerifiersEnvironment:
    def __init__(self, environment: Any) -> None:
        self._environment = environment
        parts = [environment, *getattr(environment, "envs", ())]
        if any(part.rubric.has_group_rewards for part in parts):
            raise ValueError("a rubric must judge each episode alone; got functions over a group of episodes")
        built = [("train", environment.build_dataset()), ("eval", environment.build_eval_dataset())]
        self._sides = [(name, side) for name, side in built if side is not None and len(side)]
        self._max_turns = max(getattr(part, "max_turns", -1) for part in parts)

    def described(self) -> dict[str, Any]:
        """Facts about the environment. With one data set only, its rows name no split, as part of them is held out."""
        said = {name: name if len(self._sides) == 2 else "" for name, _ in self._sides}
        return {
            "rows": [[*_key(prompt), said[name]] for name, side in self._sides for prompt in side["prompt"]],
            "max_turns": self._max_turns,
            "threshold": self._environment.pass_threshold,
        }

    async def episode(self, row: int, dialog: Any) -> dict[str, Any]:
        http: Any = openai.DefaultAsyncHttpxClient
        client = openai.AsyncOpenAI(
            api_key="none", base_url="http://policy/v1", max_retries=0, timeout=None,
            http_client=http(transport=Asks(dialog)),
        )  # fmt: skip
        async with client:
            model = vf.OpenAIChatCompletionsClient(client)
            played = await self._environment.run_rollout(self._row(row), model, MODEL, {})
        if (error := played.get("error")) and error["error"] not in OF_THE_POLICY:
            return {"failed": error["error_chain_repr"]}
        whole = json.loads(json.dumps([*played["prompt"], *(played["completion"] or [])], default=_plain))
        ended = {
            "reward": float(played["reward"]),
            "rewards": {name: float(value) for name, value in (played["metrics"] or {}).items()},
            "messages": dialog.new(whole),
            "truncated": bool(played["is_truncated"]),
        }
        return {"ended": ended}

    def _row(self, number: int) -> dict[str, Any]:
        for _, side in self._sides:
            if number < len(side):
                return dict(side[number])
            number -= len(side)
        raise IndexError(f"a row must be there; got {number} behind the last one")

    async def close(self) -> None:
        await self._environment._teardown()


def load(id: str, arguments: dict[str, Any]) -> VerifiersEnvironment:
    return VerifiersEnvironment(vf.load_environment(id, **arguments))


def _key(prompt: Any) -> tuple[str, int]:
    """By which prompts are told apart, and how long it is."""
    text = json.dumps(prompt, sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16], len(text)


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else str(value)
