"""The protocol's messages over one episode, by WebSocket or as HTTP endpoints."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from tars_jax.json_fields import short_repr
from tars_jax.sandbox.compat.openenv.episodes import InvalidAction, OpenEnvEpisode
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.protocol import RequestError, RequestFields

_LARGEST_SEED = 2**53 - 1


class Wrong(Exception):
    """An error as the protocol has it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message

    def to_json(self) -> dict[str, Any]:
        return {"type": "error", "data": {"message": self.message, "code": self.code}}


class OpenEnvSession:
    """Calls of one client, one after another."""

    def __init__(self, episode: OpenEnvEpisode) -> None:
        self._episode = episode
        self._lock = asyncio.Lock()
        self._id: str | None = None
        self._steps, self._over = 0, True

    async def answer(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """The data of the response to reset, step or state. Raises Wrong."""
        async with self._lock:
            try:
                if kind == "reset":
                    return await self._reset(data)
                if kind == "step":
                    return await self._step(data)
                return {"episode_id": self._id, "step_count": self._steps, **self._episode.state()}
            except (InvalidAction, RequestError) as error:
                raise Wrong("VALIDATION_ERROR", str(error)) from error
            except SandboxFailure as failure:
                self._over = True
                raise Wrong("EXECUTION_ERROR", f"infrastructure: {failure}: reset begins another episode") from failure

    async def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        fields = RequestFields(dict(data))
        seed = fields.integer("seed", None, 0, _LARGEST_SEED)
        id = fields.optional_text("episode_id", 255)
        self._over = True
        turn = await self._episode.reset(seed, {name: data[name] for name in fields.unread()})
        self._id, self._steps, self._over = id or secrets.token_hex(8), 0, turn.done
        return turn.to_json()

    async def _step(self, action: dict[str, Any]) -> dict[str, Any]:
        if self._over:
            raise Wrong("EXECUTION_ERROR", "a step must follow a reset, and no end of an episode")
        turn = await self._episode.step(action)
        self._steps += 1
        self._over = turn.done
        return turn.to_json()

    async def close(self) -> None:
        await self._episode.close()


def read_message(message: Any) -> tuple[str, dict[str, Any]]:
    """The kind of a message and its data. Raises Wrong."""
    if not isinstance(message, dict):
        raise Wrong("INVALID_JSON", f"a message must be an object; got {short_repr(message)}")
    kind, data = message.get("type"), message.get("data", {})
    if kind not in ("reset", "step", "state", "close"):
        raise Wrong("UNKNOWN_TYPE", f"type must be reset, step, state or close; got {short_repr(kind)}")
    if not isinstance(data, dict):
        raise Wrong("VALIDATION_ERROR", f"data must be an object; got {short_repr(data)}")
    return kind, data
