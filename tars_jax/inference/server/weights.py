"""/v1/rl/weights: new weights while requests go on. Each token says the version that sampled it.

POST {"checkpoint": "RUN/policy", "version": 7} loads a folder below the server's root; PUT ?version=7 takes them as the
bytes of a safetensors file, whose tensors are named as a checkpoint's leaves (decoder/layers/experts/gate).

Versions come again: of another run, and after a restart, which begins at 0. Whoever must know its weights again sends a
word of its own with them (`word`); sessions and answers state that of the weights that the server has.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tars_jax import InputError
from tars_jax.inference.config import ServerConfig
from tars_jax.inference.server.served import Served
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import leaf_name
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse, read_json

MAX_VERSION = 2**31 - 1
WORD = re.compile(r"[\w-]{0,64}", re.ASCII)
PIECE = 1 << 20  # bytes that are gathered before they are written
SAFETENSORS_TYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


class Weights:
    """Endpoints of the weights: one update at a time, further ones wait. A refused or broken one changes nothing."""

    def __init__(self, served: Served, config: ServerConfig) -> None:
        self._served, self._config = served, config
        self._updating = asyncio.Lock()
        self.word = ""  # of those that it has; "": nobody gave any

    async def show(self, request: Request) -> Response:
        """{version, word, leaves: {name: "float32[2,96]"}}"""
        leaves = {name: _shown(leaf) for name, leaf in _leaves(self._served.weights).items()}
        return JsonResponse({"version": self._served.engine.version, "word": self.word, "leaves": leaves})

    async def load(self, request: Request) -> Response:
        fields = RequestFields(await read_json(request))
        name = fields.text("checkpoint")
        version = fields.integer("version", None, 0, MAX_VERSION)
        if version is None:
            raise fields.error("version", "the number that tokens will record")
        word = _word(fields.text("word", ""))
        fields.done()
        path = self._below_root(name)
        return await self._update(lambda: self._served.load(path), version, word, "checkpoint")

    async def push(self, request: Request) -> Response:
        text = request.query_params.get("version", "")
        if not (text.isascii() and text.isdecimal() and len(text) < 11 and int(text) <= MAX_VERSION):
            raise RequestError(f"version must be a whole number, as ?version=7; got {text[:20]!r}", "version")
        word = _word(request.query_params.get("word", ""))
        if self._config.incoming is None:
            raise RequestError("this server accepts no pushed weights", status=403, code="weights_disabled")
        try:
            self._config.incoming.mkdir(parents=True, exist_ok=True)
            # Without a name: kill -9 leaves none behind.
            with tempfile.TemporaryFile(dir=self._config.incoming) as file:
                await _receive(request, file)
                path = Path(f"/dev/fd/{file.fileno()}")
                return await self._update(lambda: read_tensors(path, self._served.weights), int(text), word, "body")
        except ClientDisconnect as error:
            raise RequestError("the client left before its weights were complete", status=499) from error
        except OSError as error:  # of closing the file, too
            words = f"the server cannot keep the weights: {error.strerror}"
            raise RequestError(words, status=507, code="not_kept", headers={"Connection": "close"}) from error

    async def _update(self, read: Callable[[], Parameters], version: int, word: str, param: str) -> Response:
        def update() -> None:
            self._served.engine.set_weights(read(), version)
            self.word = word

        async with self._updating:
            working = asyncio.create_task(asyncio.to_thread(update))
            try:
                # A client that leaves cannot stop a thread; the lock is held until it has ended.
                await asyncio.shield(working)
            except asyncio.CancelledError:
                await asyncio.wait({working})
                raise
            except InputError as error:
                raise RequestError(str(error), param, code="weights_refused") from error
        return JsonResponse({"version": version})

    def _below_root(self, name: str) -> Path:
        if self._config.checkpoint_root is None:
            raise RequestError("this server loads no weights from files", status=403, code="weights_disabled")
        root = self._config.checkpoint_root.resolve()
        try:
            path = (root / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise RequestError(f"checkpoint must be a path; got {name!r}", "checkpoint") from error
        if not path.is_relative_to(root):
            raise RequestError(f"checkpoint must be a folder below the server's root; got {name!r}", "checkpoint")
        return path


def _word(text: str) -> str:
    if not WORD.fullmatch(text):
        raise RequestError(f"word must be at most 64 of the characters A-Z a-z 0-9 _ -; got {text[:80]!r}", "word")
    return text


async def _receive(request: Request, file: IO[bytes]) -> None:
    gathered = bytearray()
    async for piece in request.stream():
        gathered += piece
        if len(gathered) >= PIECE:
            await asyncio.to_thread(file.write, bytes(gathered))
            gathered.clear()
    file.write(gathered)
    file.flush()


def read_tensors(path: Path, like: Any) -> Parameters:
    """The tensors of a safetensors file as a tree like `like`, one after the other into its shardings.

    Raises InputError when the file is damaged or its tensors are not `like`'s leaves in name, shape and type.
    """
    wanted = _leaves(like)
    try:
        with safe_open(path, framework="flax") as file:
            found = {}
            for name in file.keys():  # noqa: SIM118 (it is no dict)
                tensor = file.get_slice(name)
                kind = SAFETENSORS_TYPES.get(tensor.get_dtype(), tensor.get_dtype())
                found[name] = f"{kind}{list(tensor.get_shape())}".replace(" ", "")
            _require_same(found, {name: _shown(leaf) for name, leaf in wanted.items()})
            arrays = {name: _placed(np.asarray(file.get_tensor(name)), leaf) for name, leaf in wanted.items()}
    except SafetensorError as error:
        raise InputError(f"weights: no safetensors file, or a damaged one: {error}") from error
    return jax.tree_util.tree_map_with_path(lambda where, leaf: arrays[leaf_name(where)], like)


def _require_same(found: dict[str, str], wanted: dict[str, str]) -> None:
    differences = [
        *[f"{name} is missing" for name in wanted if name not in found],
        *[f"{name} is not expected" for name in found if name not in wanted],
        *[
            f"{name} is {found[name]}, wanted {wanted[name]}"
            for name in wanted
            if found.get(name, wanted[name]) != wanted[name]
        ],
    ]
    if differences:
        more = f" and {len(differences) - 6} more" if len(differences) > 6 else ""
        raise InputError(f"weights: they do not fit: {'; '.join(differences[:6])}{more}")


def _placed(array: np.ndarray, leaf: Any) -> jax.Array:
    sharding = getattr(leaf, "sharding", None)
    return jax.device_put(array, sharding)


def _leaves(tree: Any) -> dict[str, Any]:
    return {leaf_name(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _shown(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}".replace(" ", "")
