"""Any environment of the registry over OpenEnv's protocol: what gymnasium has as TarsJax/Environment-v0."""

from __future__ import annotations

import asyncio
import base64
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure, Observation
from tars_jax.envs.gym_any import RegisteredEnv
from tars_jax.envs.registry import load_environment
from tars_jax.sandbox.compat.openenv import Description, EpisodeTurn, InvalidAction
from tars_jax.sandbox.failures import SandboxFailure

T = TypeVar("T")
_TOLD = ("instruction", "success", "task_seed")  # of info: the rest is for verification, and no policy sees it


def describe(name: str, options: Mapping[str, Any] | None = None) -> Description:
    """Raises InputError where there is no such environment, or none with these options."""
    load_environment(name, options or {})
    action = {
        "type": "object",
        "title": "Action",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "as a policy writes it: Thought: ... Action: click(...)"},
            "metadata": {"type": "object"},
        },
        "additionalProperties": False,
    }
    observation = {
        "type": "object",
        "title": "Observation",
        "required": ["text", "screenshot"],
        "properties": {
            "text": {"type": "string"},
            "screenshot": {"type": ["string", "null"], "contentEncoding": "base64", "contentMediaType": "image/png"},
        },
    }
    about = f"The environment {name} of tars_jax. reset takes its options besides seed."
    return Description(name, about, action, observation, {"instruction": {"type": "string"}})


class RegisteredEpisode:
    """Raises as `Episode`. The environment works in threads, one call at a time; its options are RegisteredEnv's."""

    def __init__(
        self, name: str, options: Mapping[str, Any] | None = None, sandbox: Mapping[str, Any] | None = None
    ) -> None:
        self._make = functools.partial(RegisteredEnv, name, dict(options or {}), sandbox=sandbox)
        self._environment: RegisteredEnv | None = None
        self._instruction = ""

    async def reset(self, seed: int | None, options: Mapping[str, Any]) -> EpisodeTurn:
        if self._environment is None:
            self._environment = await self._do(self._make)
        observed, info = await self._do(functools.partial(self._environment.reset, seed=seed, options=dict(options)))
        self._instruction = str(info.get("instruction", ""))
        return EpisodeTurn(_shown(observed), metadata=_told(info))

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        text = action.get("text")
        if not isinstance(text, str) or set(action) - {"text", "metadata"}:
            raise InvalidAction(f"an action must be an object with text; got {dict(action)!r:.80}")
        if self._environment is None:
            raise InvalidAction("a step must follow a reset")
        observed, reward, terminated, truncated, info = await self._do(functools.partial(self._environment.step, text))
        return EpisodeTurn(
            _shown(observed), float(reward), terminated or truncated, {**_told(info), "truncated": truncated}
        )

    def state(self) -> Mapping[str, Any]:
        return {"instruction": self._instruction}

    async def close(self) -> None:
        environment, self._environment = self._environment, None
        if environment is not None:
            await asyncio.to_thread(environment.close)

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except InputError as error:
            raise InvalidAction(str(error)) from error
        except EnvironmentFailure as failure:
            raise SandboxFailure(failure.kind, str(failure)) from failure


def _shown(observed: Mapping[str, Any]) -> dict[str, Any]:
    pixels = observed.get("screenshot")
    png = None if pixels is None else base64.b64encode(Observation.from_pixels(pixels).screenshot).decode()
    return {"text": str(observed["text"]), "screenshot": png}


def _told(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info[name] for name in _TOLD if info.get(name) is not None}
