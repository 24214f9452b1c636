"""Scheduler: which window gets a slot, and when. Plain bookkeeping: it knows of no device, and its caller holds a lock
around every call.

First come, first served: requests begin in the order in which they came. A request whose window lives in a slot needs
none; for any other, a free slot is taken, else that of the window that nobody has asked for longest. Only an answer
under way keeps its slot; it ends after `max_new_tokens` at most, so nobody waits for ever.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

import numpy as np

from tars_jax.inference.image_features import RequestImage
from tars_jax.inference.sampling import Busy, Likeliest, OnToken, Sampled, Sampling, Token, Written


@dataclasses.dataclass
class RandomStream:
    """A session's random stream. It goes on over all of its windows."""

    seed: int
    drawn: int = 0


@dataclasses.dataclass(eq=False)
class Saved:
    """A cache in host memory. The blocks come when the device has been read."""

    blocks: Any = None


@dataclasses.dataclass(eq=False)
class LiveWindow:
    """One live context window as the host knows it. Its cache is in a slot, in host memory, or still another's."""

    length: int = 0  # tokens in the cache
    position: int = 0  # rotary position of the next token
    pending: int | None = None  # the last token of the last answer, which is not in the cache yet
    slot: int | None = None
    saved: Saved | None = None  # the cache in host memory
    source: LiveWindow | None = None  # forked from it and without a cache of its own: its first `length` tokens
    request: Request | None = None  # that waits or is being answered
    open: bool = True  # it belongs to a session, which may go on with it
    forks: int = 0  # windows whose `source` it is
    asked: int = 0  # when it was last asked or answered


@dataclasses.dataclass(eq=False)
class Request:
    """New tokens for a window, and what becomes of them."""

    window: LiveWindow
    stream: RandomStream | None  # the session's, which goes on with this answer
    tokens: np.ndarray  # [T] with what was pending
    images: tuple[RequestImage, ...]
    positions: np.ndarray  # [3, T]
    next_position: int
    held: int | None  # the last token, where it is not to be read before the next request
    sampling: Sampling
    seed: int  # of the random stream of this answer
    drawn: int  # tokens that have been drawn from it before
    budget: int  # tokens that the answer may take
    answer: Future[Sampled]
    on_token: OnToken | None = None
    written: list[int] = dataclasses.field(default_factory=list)
    log_probs: list[float] = dataclasses.field(default_factory=list)
    versions: list[int] = dataclasses.field(default_factory=list)
    likeliest: list[Likeliest] = dataclasses.field(default_factory=list)  # of each token, where asked for
    routes: list[np.ndarray] = dataclasses.field(default_factory=list)  # of the tokens gone through, where recorded

    @property
    def slot(self) -> int:
        """Slot of the request's window, once it has one."""
        assert self.window.slot is not None
        return self.window.slot

    @property
    def left(self) -> int:
        """Tokens that the answer may still take."""
        return self.budget - len(self.written)

    def write(self, drawn: Written, stop: int) -> tuple[int, str] | None:
        """Adds tokens; at the end of the answer, how many of its tokens to keep and why it ended."""
        on_token, until = self.on_token, self.sampling.until
        for part in (drawn,) if on_token is None and until is None else drawn.one_by_one():
            self.written += part.tokens
            self.log_probs += part.log_probs
            self.versions += [part.version] * len(part.tokens)
            self.likeliest += part.likeliest
            if on_token is not None:
                on_token(Token(part.tokens[0], part.log_probs[0], part.version, part.likeliest[0]))
            if self.written[-1] == stop:
                return len(self.written), "stop"
            if until is not None and (kept := until(self.written)) is not None:
                return min(max(kept, 0), len(self.written)), "stop"
        return None if self.left else (len(self.written), "length")

    def settle(self, kept: int) -> None:
        """Moves the window on by what was read and the tokens that are kept. Behind its length the cache is free.

        The random stream moves on by all that was written: whether tokens are kept depends on what they are, and drawn
        again they would come again.
        """
        window, cached = self.window, max(kept - 1, 0)
        window.length += self.tokens.size + cached
        window.position = self.next_position + cached
        window.pending = self.written[kept - 1] if kept else self.held
        if self.stream is not None:
            self.stream.drawn += len(self.written)

    def deliver(self, outcome: Sampled | BaseException) -> None:
        """Delivers the answer, unless nobody waits for it any longer or it has come already."""
        with contextlib.suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)

    def sampled(self, kept: int, reason: str) -> Sampled:
        """Builds the answer."""
        routes = None
        if self.routes:  # the last token that is kept has not been gone through, as far as the window knows
            routes = np.concatenate(self.routes)[: self.tokens.size + max(kept - 1, 0)]
        return Sampled(
            tuple(self.written[:kept]),
            tuple(self.log_probs[:kept]),
            tuple(self.versions[:kept]),
            reason,
            routes,
            tuple(self.likeliest[:kept]) if self.sampling.top_logprobs else (),
        )


@dataclasses.dataclass(frozen=True)
class CacheMove:
    """One thing to do to a slot's cache, before it can be read into; exactly one of the three."""

    slot: int
    save: Saved | None = None  # to host memory
    copy: int | None = None  # from another slot
    restore: Saved | None = None  # from host memory
    length: int = 0  # tokens to save or to restore


class Scheduler:
    """The queue, the slots and what lives in them."""

    def __init__(self, slots: int, max_queue: int) -> None:
        self.queue: collections.deque[Request] = collections.deque()
        self.active: dict[int, Request] = {}
        self._slots: list[LiveWindow | None] = [None] * slots
        self._max_queue = max_queue
        self._clock = itertools.count(1)

    @property
    def idle(self) -> int:
        """Slots whose window has no request."""
        return sum(window is not None and window.request is None for window in self._slots)

    def add(self, request: Request) -> None:
        """Raises Busy when the queue is full."""
        if len(self.queue) >= self._max_queue:
            raise Busy(f"engine.max_queue: {self._max_queue} requests wait already")
        request.window.request = request
        request.window.asked = next(self._clock)
        self.queue.append(request)

    def fork(self, window: LiveWindow) -> LiveWindow:
        """A window with the same context, which shares the cache until it is asked something."""
        source = window.source or window
        child = LiveWindow(window.length, window.position, window.pending)
        if child.length:
            child.source, source.forks = source, source.forks + 1
        return child

    def close(self, window: LiveWindow) -> None:
        """Closes a window: its session does not go on with it. The slot is free at once, or when its answer has been
        stopped."""
        window.open = False
        if window.request is not None:
            window.request.answer.cancel()
        self._tidy(window)

    def drop_cancelled(self) -> None:
        """Ends requests that nobody waits for any longer; their windows cannot go on."""
        for request in [each for each in [*self.queue, *self.active.values()] if each.answer.cancelled()]:
            window = request.window
            if window.slot is not None and self.active.get(window.slot) is request:
                del self.active[window.slot]
            else:
                self.queue.remove(request)
            window.request, window.open = None, False
            self._tidy(window)

    def take(self, rows: int, fits: Callable[[list[Request]], bool]) -> tuple[list[Request], list[CacheMove]]:
        """The next requests in the order in which they came, `rows` at most, as far as there are slots and they fit."""
        batch: list[Request] = []
        moves: list[CacheMove] = []
        while self.queue and len(batch) < rows and fits([*batch, self.queue[0]]):
            window = self.queue[0].window
            if window.slot is None and not self._place(window, moves):
                break
            assert window.slot is not None
            request = self.queue.popleft()
            self.active[window.slot] = request
            batch.append(request)
        return batch, moves

    def finish(self, request: Request) -> None:
        """The answer has come to its end: its window is idle."""
        window = request.window
        if window.slot is not None:  # without one, nothing had to be read
            self.active.pop(window.slot, None)
        window.request, window.asked = None, next(self._clock)
        self._tidy(window)

    def abandon(self, request: Request) -> None:
        """The answer has ended in an error: its window cannot go on."""
        request.window.open = False
        self.finish(request)

    def clear(self) -> list[Request]:
        """Ends everything; returns the requests without an answer."""
        asked = [*self.active.values(), *self.queue]
        self.active.clear()
        self.queue.clear()
        for request in asked:
            request.window.request, request.window.open = None, False
            self._tidy(request.window)
        return asked

    def _place(self, window: LiveWindow, moves: list[CacheMove]) -> bool:
        """A slot for a window without one, and what it takes to have its cache there; False when all are busy."""
        source = window.source
        if source is not None and source.slot is not None and self._is_left_to(source):
            # Nobody else wants what it was forked from: the slot goes from hand to hand.
            slot, source.slot, source = source.slot, None, None
        elif None in self._slots:
            slot = self._slots.index(None)
        else:
            resting = [each for each in self._slots if each is not None and each.slot not in self.active]
            if not resting:
                return False
            leaving = min(resting, key=lambda each: (each.request is not None, each is source, each.asked))
            assert leaving.slot is not None
            slot, leaving.slot, leaving.saved = leaving.slot, None, Saved()
            moves.append(CacheMove(slot, save=leaving.saved, length=leaving.length))
            if leaving is source:
                source = None  # its cache is in the slot already
        origin = source or window
        if origin.slot is not None:
            moves.append(CacheMove(slot, copy=origin.slot))
        elif origin.saved is not None:
            moves.append(CacheMove(slot, restore=origin.saved, length=window.length))
        window.saved = None
        self._slots[slot], window.slot = window, slot
        if window.source is not None:
            self._unfork(window)
        return True

    def _is_left_to(self, source: LiveWindow) -> bool:
        """Whether its one fork is all that needs it."""
        return not source.open and source.forks == 1 and source.request is None

    def _unfork(self, window: LiveWindow) -> None:
        source, window.source = window.source, None
        assert source is not None
        source.forks -= 1
        self._tidy(source)

    def _tidy(self, window: LiveWindow) -> None:
        """Frees what a window holds that nobody can go on with, once it is not being answered."""
        if window.open or window.forks or window.request is not None:
            return
        if window.slot is not None:
            self._slots[window.slot], window.slot = None, None
        window.saved = None
        if window.source is not None:
            self._unfork(window)
