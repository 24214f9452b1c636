"""Servers of others that take tokens and give tokens: vLLM and SGLang, each in its own form.

    async with open_token_server("http://127.0.0.1:8000", "vllm", stop=end, max_new_tokens=64, model="NAME") as server:
        async with server.session(seed) as session:                     # what tars_jax/agent/loop.py plays with
            sampled = await session.respond(tokens, images, restart=True)
        server.version = 8                                              # when the server has new weights

A learner may take what comes back, as nothing is tokenized again: the prompt goes as token ids, with all that the
window holds (these servers keep the cache of a prefix by themselves), and the answer is the ids that were drawn, with
their log-probabilities. What would make these inexact is refused: log-probabilities are those before temperature and
truncation, as such a server has them by default, so it has to be asked for temperature 1 (or 0) and the whole
distribution, unless it was started to give those of the distribution it draws from (`processed`; vLLM's
--logprobs-mode processed_logprobs).

vLLM: POST /v1/completions with `prompt` as ids, `logprobs` and `return_token_ids`; text alone. SGLang: POST /generate
with `input_ids` and `return_logprob`; images as data URLs beside the ids, which hold all tokens of each image.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.inference.config import SERVER_FORMS
from tars_jax.inference.http_client import encoded_images
from tars_jax.inference.http_connection import Connection, bearer, check_address, open_connection
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.inference.sampling import InvalidRequest, Sampled, Sampling, seed_of

ENDS = ("stop", "length")  # others, such as abort, are failures of the server
FORBIDDING = -100.0  # as a bias of logits: the least that either server takes
UNKNOWN = ("frequency_penalty", "presence_penalty", "logit_bias", "constraint", "until", "top_logprobs")


@dataclasses.dataclass(frozen=True)
class TokenCompletion:
    """A server's answer, in either form."""

    tokens: Sequence[int]
    log_probs: Sequence[float]
    finish: str
    prompt_tokens: int | None  # that it has read, where it says so
    version: int | None = None  # of the weights, where it says so


@contextlib.asynccontextmanager
async def open_token_server(
    target: str,
    form: str,
    *,
    stop: int,
    max_new_tokens: int,
    model: str = "",
    api_key: str = "",
    patience: float = 120.0,
    processed: bool = False,
    forbidden: Sequence[int] = (),
) -> AsyncIterator[TokenServer]:
    """The server at the address `target`, without its /v1.

    Args:
        form: "vllm" or "sglang".
        stop: the token that ends an answer.
        max_new_tokens: of an answer, where a caller asks for no other number.
        model: its name there; vLLM takes one.
        patience: seconds for one answer, and for a busy server to take a request.
        processed: log-probabilities are those of the distribution that is drawn from, whatever temperature and
            truncation; else these are refused.
        forbidden: tokens that no answer may hold, such as that of a screenshot: the server is told so, and an answer
            that holds one all the same is Declined.

    Raises InputError for another form, an address that is none, or a model that is missing.
    """
    if form not in SERVER_FORMS:
        raise InputError(f"client.form must be {' or '.join(SERVER_FORMS)}; got {form!r}")
    if form == "vllm" and not model:
        raise InputError("client.model must be the name of a model of the vLLM server; got none")
    base = target.rstrip("/").removesuffix("/v1")
    check_address(base)
    async with open_connection(base, bearer(api_key), patience) as connection:
        yield TokenServer(connection, form, model, stop, max_new_tokens, processed, forbidden)


class TokenServer:
    """A policy whose answers are exact. `version`: of the weights that it samples with, as its trainer last set them;
    SGLang's own word comes first, where it is a number. Weights that change during an answer cannot be told apart."""

    exact = True

    def __init__(
        self,
        connection: Connection,
        form: str,
        model: str,
        stop: int,
        max_new_tokens: int,
        processed: bool,
        forbidden: Sequence[int],
    ) -> None:
        self.version = 0
        self._connection, self._form, self._model = connection, form, model
        self._stop, self._longest, self._processed = stop, max_new_tokens, processed
        self._forbidden = frozenset(forbidden)

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[TokenSession]:
        """A context window with a random stream of its own; SGLang draws from its server's stream."""
        yield TokenSession(self, seed)

    async def sample(self, prompt: Sequence[int], images: Sequence[np.ndarray], sampling: Sampling) -> Sampled:
        """One answer to a whole window. Raises as `ClientSession.respond` does."""
        self._require_exact(sampling)
        version, longest = self.version, sampling.max_new_tokens
        budget = self._longest if longest is None else longest
        ask = self._ask_vllm if self._form == "vllm" else self._ask_sglang
        answer = await ask(prompt, images, sampling, budget)
        self._check(answer, len(prompt))
        version = version if answer.version is None else answer.version
        count = len(answer.tokens)
        return Sampled(tuple(answer.tokens), tuple(answer.log_probs), (version,) * count, finish=answer.finish)

    def _require_exact(self, sampling: Sampling) -> None:
        plain = Sampling()
        for name in UNKNOWN:
            if getattr(sampling, name) != getattr(plain, name):
                raise InvalidRequest(f"client.sampling.{name} cannot be asked of a {self._form} server", name)
        truncated = sampling.top_p != plain.top_p or sampling.top_k != plain.top_k
        if not self._processed and (sampling.temperature not in (0.0, 1.0) or truncated):
            raise InvalidRequest(
                "client.sampling must be at temperature 1 or 0 without top_p and top_k, as the server's "
                f"log-probabilities are those before them; got {sampling.temperature:g}, {sampling.top_p:g} and "
                f"{sampling.top_k}",
                "temperature",
            )

    async def _ask_vllm(
        self, prompt: Sequence[int], images: Sequence[np.ndarray], sampling: Sampling, budget: int
    ) -> TokenCompletion:
        if len(images):
            raise InvalidRequest(
                "client.images: vLLM's completions take token ids without images; SGLang's form takes both", "images"
            )
        body: dict[str, Any] = {
            **self._common(sampling),
            "model": self._model,
            "prompt": list(map(int, prompt)),
            "max_tokens": budget,
            "logprobs": 1,
            "return_token_ids": True,
        }
        if sampling.seed is not None:
            body["seed"] = sampling.seed % 2**31
        found = await self._connection.send("POST", "/v1/completions", body)
        with _as_answer(found):
            choice = found["choices"][0]
            given = choice.get("prompt_token_ids", found.get("prompt_token_ids"))
            if given is not None and list(given) != body["prompt"]:
                raise InputError(f"client.target: the server has read other tokens than it was given ({len(given)})")
            return TokenCompletion(
                list(map(int, choice["token_ids"])),
                [float(each) for each in choice["logprobs"]["token_logprobs"]],
                str(choice["finish_reason"]),
                None if given is None else len(given),
            )

    async def _ask_sglang(
        self, prompt: Sequence[int], images: Sequence[np.ndarray], sampling: Sampling, budget: int
    ) -> TokenCompletion:
        body: dict[str, Any] = {
            "input_ids": list(map(int, prompt)),
            "sampling_params": {**self._common(sampling), "max_new_tokens": budget, "no_stop_trim": True},
            "return_logprob": True,
        }
        if len(images):
            body["image_data"] = await encoded_images(images)
        found = await self._connection.send("POST", "/generate", body)
        with _as_answer(found):
            about = found["meta_info"]
            drawn = [(float(each[0]), int(each[1])) for each in about["output_token_logprobs"]]
            version = str(about.get("weight_version", ""))
            return TokenCompletion(
                [token for _, token in drawn],
                [log_prob for log_prob, _ in drawn],
                str(about["finish_reason"]["type"]),
                about.get("prompt_tokens"),
                int(version) if version.isdecimal() else None,
            )

    def _common(self, sampling: Sampling) -> dict[str, Any]:
        """All that a model's own defaults would decide otherwise, said."""
        forbidding = {str(token): FORBIDDING for token in sorted(self._forbidden)}
        return {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "stop_token_ids": [self._stop],
            "skip_special_tokens": False,
            **({"logit_bias": forbidding} if forbidding else {}),
        }

    def _check(self, answer: TokenCompletion, prompt: int) -> None:
        """Raises PolicyUnavailable for an answer that was broken off, InputError for one that is not exact, Declined
        for one that no learner could read."""
        if answer.finish not in ENDS:
            raise PolicyUnavailable(f"the server ended an answer with {answer.finish!r}")
        if answer.prompt_tokens not in (None, prompt):
            raise InputError(
                f"client.target must read the tokens that it is given, {prompt}; the server has read "
                f"{answer.prompt_tokens}"
            )
        if len(answer.tokens) != len(answer.log_probs) or not answer.tokens:
            raise InputError(
                f"client.target must give a log-probability for each of its tokens; got {len(answer.log_probs)} for "
                f"{len(answer.tokens)}"
            )
        if not all(map(math.isfinite, answer.log_probs)):
            raise PolicyUnavailable("the server gave a log-probability that is no number")
        if held := self._forbidden.intersection(answer.tokens):
            raise Declined(
                f"client.target must not sample {sorted(held)}, which stand for what an answer cannot hold; it did",
                "content_filter",
            )
        if answer.finish == "stop" and answer.tokens[-1] != self._stop:
            raise InputError(
                f"client.target must give the stop token {self._stop} with the answer that it ends; the last one is "
                f"{answer.tokens[-1]}"
            )


class TokenSession:
    """A context window, which is sent whole with each turn. Structurally the agent's `PolicySession`."""

    def __init__(self, server: TokenServer, seed: int) -> None:
        self._server, self._seed, self._turn = server, seed % 2**31, 0
        self._tokens: list[int] = []
        self._images: list[np.ndarray] = []

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        """Like `ClientSession.respond`. Raises InputError, too, where the server's answer is not exact."""
        read = [*([] if restart else self._tokens), *map(int, tokens)]
        shown = [*([] if restart else self._images), *images]
        sampling = sampling or Sampling()
        if sampling.seed is None:
            sampling = dataclasses.replace(sampling, seed=seed_of(self._seed, self._turn) % 2**31)
        sampled = await self._server.sample(read, shown, sampling)
        self._turn += 1
        self._tokens, self._images = [*read, *sampled.tokens], shown
        return sampled


@contextlib.contextmanager
def _as_answer(found: Mapping[str, Any]) -> Any:
    """Parses an answer. One that lacks a field or has another type there is no answer in this form."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise PolicyUnavailable(
            f"the server's answer is not in the form that was asked for ({type(error).__name__} {error}): "
            f"{str(found)[:200]}"
        ) from error
