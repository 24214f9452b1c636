"""Answers to calls that came with an idempotency key: a call that comes again is answered, and not carried out again.

Each has a file: what was asked is there before the call is carried out, its answer before the caller hears it. So after
a kill an answered call is answered as before, and one that was under way is told apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import itertools
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.store import replace
from tars_jax.web.protocol import RequestError

log = logging.getLogger(__name__)
REMEMBERED = 32
UNDER_WAY = (
    "the service was killed while this call was under way: it may have been carried out or not; look before you call "
    "again (a command in a shell runs on, and `more` tells what it writes)"
)


@dataclasses.dataclass(eq=False)
class _One:
    number: int
    asked: str  # digest
    task: asyncio.Task[Any]


class Answers:
    """Answers of one session. Without a folder they end with this process."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._ones: dict[str, _One] = {}  # by word
        self._numbers = itertools.count()

    def load(self) -> None:
        """Loads the answers of the process before. What is unreadable was never answered."""
        if self._folder is None or not self._folder.is_dir():
            return
        found = []
        for file in self._folder.iterdir():
            try:
                value = json.loads(file.read_bytes())
                found.append((int(value["number"]), str(value["idempotency_key"]), str(value["asked"]), value))
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("%s is unreadable: %s", file, error)
        for number, key, asked, value in sorted(found, key=lambda each: each[0]):
            task = asyncio.create_task(_told(value))
            task.add_done_callback(_heard)
            self._ones[key] = _One(number, asked, task)
            self._numbers = itertools.count(number + 1)

    def get(self, key: str, value: Any) -> Awaitable[Any] | None:
        """The answer to a call that has begun; None for a new one. Raises RequestError where the key was another's."""
        if (one := self._ones.get(key)) is None:
            return None
        if one.asked != digest(value):
            raise RequestError("idempotency_key must be one of this call alone; got that of another", "idempotency_key")
        return asyncio.shield(one.task)

    def begin(self, key: str, value: Any, work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Carries a new call out, whoever waits for it."""
        one = _One(next(self._numbers), digest(value), asyncio.create_task(self._kept(key, value, work)))
        one.task.add_done_callback(_heard)
        self._ones[key] = one
        while len(self._ones) > REMEMBERED:
            oldest = next(iter(self._ones))
            del self._ones[oldest]
            if self._folder is not None:
                self._file(oldest).unlink(missing_ok=True)
        return asyncio.shield(one.task)

    async def _kept(self, key: str, value: Any, work: Callable[[], Awaitable[Any]]) -> Any:
        if self._folder is None:
            return await work()
        begun = {"idempotency_key": key, "asked": digest(value), "number": self._ones[key].number}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            await asyncio.to_thread(replace, self._file(key), begun)
        except OSError as error:
            del self._ones[key]
            raise SandboxFailure("disk", f"the call has not been carried out: {error.strerror or error}") from error
        try:
            answer = await work()
        except (InputError, RequestError, SandboxFailure) as error:
            await self._keep(key, {**begun, "error": _error(error)})
            raise
        await self._keep(key, {**begun, "answer": answer})
        return answer

    async def _keep(self, key: str, value: dict[str, Any]) -> None:
        if key not in self._ones:  # many others came behind it
            return
        try:
            await asyncio.to_thread(replace, self._file(key), value)
        except OSError as error:  # it is known here, and after a kill it counts as one that was under way
            log.warning("the answer to a call could not be kept: %s", error)

    def _file(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:32]}.json"

    def cancel(self) -> None:
        for one in self._ones.values():
            one.task.cancel()


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _heard(task: asyncio.Task[Any]) -> None:
    """Its caller may have left."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()


def _error(error: Exception) -> dict[str, Any]:
    if isinstance(error, RequestError):
        return {
            "type": "request",
            "text": error.message,
            "param": error.param,
            "status": error.status,
            "code": error.code,
        }
    if isinstance(error, SandboxFailure):
        return {"type": "failure", "kind": error.kind, "text": str(error).partition(": ")[2]}
    return {"type": "input", "text": str(error), "code": getattr(error, "code", None)}


async def _told(value: dict[str, Any]) -> Any:
    """The recorded answer. Raises what was raised, and SandboxFailure("restored") for a call that was under way."""
    if "answer" in value:
        return value["answer"]
    error = value.get("error")
    if error is None:
        raise SandboxFailure("restored", UNDER_WAY)
    if error["type"] == "failure":
        raise SandboxFailure(error["kind"], error["text"])
    if error["type"] == "request":
        raise RequestError(error["text"], error["param"], status=error["status"], code=error["code"])
    told = InputError(error["text"])
    if error["code"] is not None:
        told.code = error["code"]  # type: ignore[attr-defined]
    raise told
