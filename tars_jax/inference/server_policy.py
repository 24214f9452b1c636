"""A run's policy on a server of somebody else's: vLLM or SGLang samples, the learner hands it weights.

    with ServerPolicy(address, "sglang", model=..., stop=..., max_new_tokens=..., folder=RUN / "served") as policy:
        policy.set_weights(parameters, 1)
        async with policy.session(seed) as session: ...

Weights go through a folder that both sides see: a checkpoint as `transformers` reads it, which the server is then told
to load. SGLang: POST /update_weights_from_disk, which waits for the answers under way. vLLM: POST /collective_rpc with
`reload_weights`, which takes a server that was started with VLLM_SERVER_DEV_MODE=1, then /reset_prefix_cache; answers
under way go on with the new weights, and count as of the old ones. Either way a token's log-probability is that at
sampling time, which PPO takes as the behavior policy's.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from tars_jax import GaveUp, InputError
from tars_jax.inference.http_connection import bearer, open_connection
from tars_jax.inference.policy_client import PolicyUnavailable, RequestCounts, ServedCounts
from tars_jax.inference.sampling import Sampled
from tars_jax.inference.serving_weights import WeightFolders
from tars_jax.inference.token_server import TokenServer, TokenSession, open_token_server
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface.checkpoint_export import export_checkpoint


class ServerPolicy:
    """An inference server: the source of the rollouts' sessions, and the destination of new weights."""

    def __init__(
        self,
        address: str,
        form: str,
        *,
        served_model: str,
        model: ModelConfig,
        stop: int,
        max_new_tokens: int,
        folder: Path,
        extra_files: Sequence[Path] = (),
        api_key: str = "",
        patience: float = 120.0,
        processed: bool = False,
    ) -> None:
        """`folder`: for weights, where the server finds them under the same path. `extra_files`: go with them, such as
        a tokenizer. The others are those of `open_token_server`, which raises InputError for some of them when
        the first session is opened."""
        self.version = 0
        self._address, self._form, self._api_key, self._patience = address, form, api_key, patience
        self._options: dict[str, Any] = {"stop": stop, "max_new_tokens": max_new_tokens, "model": served_model}
        self._options |= {"api_key": api_key, "patience": patience, "processed": processed}
        self._options["forbidden"] = () if model.image_token is None else (model.image_token,)
        policy = dataclasses.replace(model, scalar_head=False)
        self._folders = WeightFolders(
            folder, lambda target, weights: export_checkpoint(target, policy, weights, extra_files=extra_files)
        )
        self._open: set[TokenServer] = set()
        self._counts = RequestCounts()

    @property
    def sessions(self) -> Self:
        """This policy, as the source of sessions for `engine_player`."""
        return self

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[_CountedSession]:
        async with open_token_server(self._address, self._form, **self._options) as server:
            server.version = self.version
            self._open.add(server)
            try:
                async with server.session(seed) as session:
                    yield _CountedSession(session, self._counts)
            finally:
                self._open.discard(server)

    def set_weights(self, parameters: Any, version: int) -> None:
        """Writes the weights and has them loaded; returns when they are in use.

        Raises GaveUp where the server does not answer, InputError where it does not take them.
        """
        target = self._folders.written(parameters)
        try:
            asyncio.run(self._load(target, version))
        except PolicyUnavailable as error:
            raise GaveUp(f"The server of the policy, {self._address}, did not take new weights: {error}.") from error
        self.version = version
        for server in list(self._open):  # which the rollouts' thread changes
            server.version = version
        self._folders.forget()

    def statistics(self) -> ServedCounts:
        return self._counts.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The last weights stay where they are: the server may have to read them again."""

    async def _load(self, folder: Path, version: int) -> None:
        base = self._address.rstrip("/").removesuffix("/v1")
        async with open_connection(base, bearer(self._api_key), self._patience) as connection:
            if self._form == "vllm":
                body = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
                await connection.send("POST", "/collective_rpc", body)
                await connection.send("POST", "/reset_prefix_cache")
                return
            body = {"model_path": str(folder), "weight_version": str(version)}
            found = await connection.send("POST", "/update_weights_from_disk", body)
            if not found.get("success"):
                raise InputError(
                    f"{self._address} must load the weights of {folder}; it says {found.get('message')!r:.300}"
                )


@dataclasses.dataclass(frozen=True)
class _CountedSession:
    session: TokenSession
    counts: RequestCounts

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        return await self.counts.count(self.session.respond(tokens, images, restart=restart))
