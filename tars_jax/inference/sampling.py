"""Sampling options of one answer, and its stop conditions. Host side; no jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tars_jax import InputError

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"  # what a decoder writes for bytes that are no character, or not yet one

Until = Callable[[Sequence[int]], int | None]
Decode = Callable[[Sequence[int]], str]
Likeliest = tuple[tuple[int, float], ...]  # tokens with their log-probabilities, the likeliest first


class Token(NamedTuple):
    """One token as it was drawn."""

    token: int
    log_prob: float
    version: int  # of the weights
    likeliest: Likeliest = ()  # what could have come in its place, itself included, where that was asked for


OnToken = Callable[[Token], None]


class Written(NamedTuple):
    """Tokens of one answer that were drawn one after the other, with the same weights."""

    tokens: list[int]
    log_probs: list[float]
    version: int  # of the weights
    likeliest: list[Likeliest]  # of each token where that was asked for, else of none

    def one_by_one(self) -> list[Written]:
        likeliest = self.likeliest or [()] * len(self.tokens)
        parts = zip(self.tokens, self.log_probs, likeliest, strict=True)
        return [Written([token], [log_prob], self.version, [others]) for token, log_prob, others in parts]


class Busy(InputError):
    """The engine takes no more at the moment; the same request may succeed later."""


class NotFinite(RuntimeError):
    """The policy's output for one answer is no distribution. Its window cannot go on; other answers do."""


class InvalidRequest(InputError):
    """A request that cannot be served. `field` is at fault: an argument of `Session.respond`, or one of `Sampling`."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclasses.dataclass(frozen=True)
class Sampled:
    """One answer as it was sampled."""

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]  # fp32, of the distribution that each token was drawn from
    versions: tuple[int, ...]  # of the weights
    finish: str = "stop"  # the stop token was written or `until` held; or length: the budget ran out
    routes: np.ndarray | None = None  # [N, L, K] int16, where recorded: experts of the N tokens that were gone through,
    # which are the last token of the answer before, where the window goes on; what was read; the answer but its last
    likeliest: tuple[Likeliest, ...] = ()  # of each token, where asked for

    def one_by_one(self) -> list[Token]:
        likeliest = self.likeliest or ((),) * len(self.tokens)
        return list(map(Token, self.tokens, self.log_probs, self.versions, likeliest))


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Sampling options of one answer. Raises InputError, naming the field, for values that mean nothing."""

    temperature: float = 1.0  # 0 takes the likeliest token
    top_p: float = 1.0  # the likeliest tokens that together have this probability; 1 keeps all
    top_k: int = 0  # this many of the likeliest tokens; 0 keeps all
    max_new_tokens: int | None = None  # None: the engine's; 0 reads and writes nothing
    seed: int | None = None  # of a random stream of its own; None: the session's goes on
    frequency_penalty: float = 0.0  # taken from a token's logit for each time that the answer holds it already
    presence_penalty: float = 0.0  # taken once from the logit of each token that the answer holds already
    logit_bias: tuple[tuple[int, float], ...] = ()  # tokens, and what is added to their logits
    constraint: str | None = None  # name of a constraint that the engine was built with
    top_logprobs: int = 0  # so many of the likeliest tokens are recorded beside each one; EngineConfig bounds it
    until: Until | None = None  # of the tokens so far: how many of them to keep when the answer has ended, else None

    def __post_init__(self) -> None:
        check("temperature", self.temperature, self.temperature >= 0 and self.temperature < 1e4, "0 (greedy) to 10000")
        check("top_p", self.top_p, 0 < self.top_p <= 1, "more than 0, at most 1")
        check("top_k", self.top_k, 0 <= self.top_k < 2**31, "0 (off) to 2147483647")
        for name in ("frequency_penalty", "presence_penalty"):
            check(name, getattr(self, name), abs(getattr(self, name)) <= 2, "-2 to 2")
        biases = [added for _, added in self.logit_bias]
        check("logit_bias", self.logit_bias, all(abs(added) <= 100 for added in biases), "tokens with -100 to 100 each")
        check("top_logprobs", self.top_logprobs, self.top_logprobs >= 0, "0 or more")
        check("max_new_tokens", self.max_new_tokens, (self.max_new_tokens or 0) >= 0, "0 or more")


def seed_of(seed: int, index: int) -> int:
    """The seed of answer `index` to one request: the request's own for the first, and no other's for the next ones."""
    return seed % 2**32 if index == 0 else int(np.random.SeedSequence((seed % 2**32, index)).generate_state(1)[0])


def check(field: str, got: Any, right: bool, wanted: str) -> None:
    """Raises InputError unless `right`; NaN compares with nothing, so it is never right."""
    if not right:
        raise InputError(f"sampling.{field} must be {wanted}; got {got!r}")


def until_text(stops: Sequence[str], decode: Decode) -> Until:
    """An `until` that ends an answer where its text first holds one of `stops`.

    What is kept are the tokens whose text ends where the stop begins, or before. A token that holds both the end of the
    answer and the beginning of the stop is not kept.

    Args:
        stops: any of these; none may be empty.
        decode: tokens to text. The text of tokens must begin with the text of any of their prefixes, but for
            characters that are not complete.
    """
    if not stops or any(not stop for stop in stops):
        raise InputError(f"sampling.until must be one or more stop sequences, none of them empty; got {list(stops)!r}")
    longest = max(len(stop.encode()) for stop in stops)

    def until(tokens: Sequence[int]) -> int | None:
        # A token has one byte at least: a stop that ends in the last token begins among the last `longest`.
        if _first(decode(tokens[-longest - 3 :]), stops) is None:
            return None
        place = _first(decode(tokens), stops)
        if place is None:
            return None
        return next(kept for kept in range(len(tokens), -1, -1) if len(decode(tokens[:kept])) <= place)

    return until


def _first(text: str, stops: Sequence[str]) -> int | None:
    """Position of the first stop in the text. A broken character at its end may still become whole."""
    text = text.removesuffix(REPLACEMENT)
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)
