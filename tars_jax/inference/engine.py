"""The decode engine's host side: sessions ask, one thread batches and answers.

The thread repeats: give slots to the requests that have waited longest, read their tokens in one batch, decode all
slots for a short chunk of steps, answer what has come to its end. While nobody waits, the next chunk is on its way to
the device before the last one comes back, so that the device does not wait for the host. So a trajectory that waits for
its environment costs nothing, and a new request waits for two chunks at most while there are slots. Weights change
between chunks: every token records the version that sampled it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.inference.batching import Chunk, bucket, rows_for, sampled_tokens
from tars_jax.inference.config import EngineConfig, EngineStatistics
from tars_jax.inference.constraint import Constraints, padded_constraints
from tars_jax.inference.device import Device
from tars_jax.inference.request_checks import RequestBuilder, check_idle
from tars_jax.inference.sampling import Busy, NotFinite, OnToken, Sampled, Sampling, Written
from tars_jax.inference.scheduler import CacheMove, LiveWindow, Request, Scheduler
from tars_jax.inference.session import Session
from tars_jax.inference.slots import Drawn
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters


class Engine:
    """Batched sampling from one model. Use as a context manager: the thread ends with it.

    The cache lies on the parameters' mesh; new weights must come in the same shardings.
    """

    def __init__(
        self,
        model: ModelConfig,
        parameters: Parameters,
        config: EngineConfig,
        *,
        image: int,
        stop: int,
        seed: int,
        constraints: Constraints | None = None,
        span: Callable[[str], contextlib.AbstractContextManager[None]] | None = None,
    ) -> None:
        """`span(name)` is entered around what the thread does on the device: `read` and `decode`."""
        if model.image_token != image:
            raise InputError(f"model.image_token must be {image}, the tokenizer's; got {model.image_token}")
        if config.top_logprobs > model.vocabulary:
            raise InputError(
                f"engine.top_logprobs must be at most {model.vocabulary}, the vocabulary; got {config.top_logprobs}"
            )
        self.model, self.config, self._stop = model, config, stop
        self._device = Device(model, parameters, config, image=image, stop=stop, seed=seed, constraints=constraints)
        self._admission = RequestBuilder(model, config, image, constraints)
        self._constraints = constraints
        self._in_flight: Chunk | None = None
        self._working = threading.Lock()  # around everything that uses the device, but for `hold`
        self._wake = threading.Condition()  # around everything below
        self._scheduler = Scheduler(config.slots, config.max_queue)
        self._sessions: set[Session] = set()
        self._generation = itertools.count()  # of weights: their version may come again with others
        self.set_weights(parameters, version=0)
        self._closing = False
        self._stopped: BaseException | None = None
        self._span = span or (lambda name: contextlib.nullcontext())
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._began = time.perf_counter()
        self._busy_seconds, self._tokens_sampled, self._tokens_read = 0.0, 0, 0

    def __enter__(self) -> Engine:
        self._began = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    @property
    def version(self) -> int:
        return self._weights[1]

    @property
    def stopped(self) -> bool:
        """Whether it answers nobody any more: it was closed, or its thread raised an exception."""
        return self._stopped is not None

    @property
    def sessions(self) -> Engine:
        """The engine itself, as the source of sessions."""
        return self

    def set_weights(self, parameters: Parameters, version: int) -> None:
        """Hands over new weights without stopping anybody. They are copied: the learner may donate its own.

        An engine of w4a8 quantizes them, unless they are quantized already.

        Raises InputError for weights with NaN or infinity, and goes on with those that it has.
        """
        with self._device.on_mesh():
            copied = self._device.hold(parameters)
        with self._wake:
            self._weights = (copied, version, next(self._generation))

    @property
    def temperature(self) -> float:
        return self._admission.temperature

    @property
    def constraints(self) -> Constraints | None:
        return self._constraints

    def set_constraints(self, constraints: Constraints) -> None:
        """Constraints that begin with those that answers under way are sampled with (`extend_constraints`).

        Programs are compiled anew where the table's shape is another one; it grows by powers of two.
        """
        with self._device.on_mesh():
            self._device.set_constraints(padded_constraints(constraints))
        self._admission.constraints = self._constraints = constraints

    def warm_up(
        self,
        image_size: tuple[int, int] | None = None,
        on_program: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Compiles every shape, and with `image_size` (height, width) the encoding of such screenshots.

        Afterwards nothing is compiled but for screenshots of other sizes and for constraints that come later
        (`set_constraints`).
        `on_program(done, total)` hears how many programs have run, first of none; each runs twice, and is compiled the
        first time.
        """
        with self._working, self._device.on_mesh():
            self._device.warm_up(self._weights[0], image_size, on_program)

    def statistics(self) -> EngineStatistics:
        with self._wake:
            return EngineStatistics(
                busy_seconds=self._busy_seconds,
                wall_seconds=time.perf_counter() - self._began,
                tokens_sampled=self._tokens_sampled,
                tokens_read=self._tokens_read,
                queue=len(self._scheduler.queue),
                active=len(self._scheduler.active),
                idle=self._scheduler.idle,
                offloaded=sum(session.window.saved is not None for session in self._sessions),
                sessions=len(self._sessions),
                slots=self.config.slots,
                image_hits=self._device.bank.hits,
                image_misses=self._device.bank.misses,
                version=self.version,
            )

    def session(self, seed: int) -> Session:
        """A session for one trajectory, with its own random stream. Entering it raises Busy when too many are open."""
        return Session(self, seed, LiveWindow())

    # What sessions call

    def open(self, session: Session) -> None:
        """Raises Busy when too many are open."""
        with self._wake:
            if session not in self._sessions and len(self._sessions) >= self.config.max_sessions:
                raise Busy(f"engine.max_sessions: all {self.config.max_sessions} sessions are open")
            self._sessions.add(session)

    def close(self, session: Session) -> None:
        with self._wake:
            if session in self._sessions:
                self._sessions.remove(session)
                self._scheduler.close(session.window)

    def fork(self, session: Session, seed: int) -> Session:
        with self._wake:
            check_idle(session.window)
            child = Session(self, seed, self._scheduler.fork(session.window))
            try:
                self.open(child)
            except Busy:
                self._scheduler.close(child.window)
                raise
            return child

    def give_up(self, window: LiveWindow) -> None:
        """Cancels a request: nobody waits for its answer any longer."""
        with self._wake:
            self._scheduler.close(window)

    def submit(
        self,
        session: Session,
        tokens: Sequence[int],
        images: Sequence[np.ndarray],
        *,
        restart: bool,
        sampling: Sampling | None = None,
        on_token: OnToken | None = None,
    ) -> tuple[LiveWindow, Future[Sampled]]:
        """Queues new tokens for a session's window, or for a new one that takes its place.

        The answer is on its way or, after an exception, nothing has changed.
        """
        window = LiveWindow() if restart else session.window
        request = self._admission.request(window, session.stream, tokens, images, sampling, on_token)
        with self._wake:
            if self._stopped is not None:
                raise RuntimeError("the engine has stopped") from self._stopped
            if session not in self._sessions:
                raise InputError("the session is not open; `async with engine.session(seed) as session` opens it")
            if request.tokens.size:
                self._scheduler.add(request)
            else:
                self._finish(request, 0, "length")
            if restart:
                self._scheduler.close(session.window)
            self._wake.notify()
        return window, request.answer

    # The thread

    def _run(self) -> None:
        reason: BaseException = RuntimeError("the engine was closed")
        try:
            with self._device.on_mesh():
                while (work := self._next()) is not None:
                    began = time.perf_counter()
                    with self._working:
                        self._round(*work)
                    self._busy_seconds += time.perf_counter() - began
        except BaseException as error:
            reason = error
        with self._wake:
            self._stopped = reason
            for request in self._scheduler.clear():
                request.deliver(reason)

    def _next(self) -> tuple[list[Request], list[CacheMove]] | None:
        """The next requests to prefill, empty while answers are under way; None when the engine closes."""
        with self._wake:
            while not self._closing:
                self._scheduler.drop_cancelled()
                batch, moves = self._scheduler.take(self.config.row_buckets[-1], self._fit)
                if self._scheduler.active:
                    return batch, moves
                self._wake.wait()
            return None

    def _fit(self, requests: Sequence[Request]) -> bool:
        return self._device.bank.fits(image for request in requests for image in request.images)

    def _round(self, batch: list[Request], moves: list[CacheMove]) -> None:
        weights = self._weights
        with self._wake:
            somebody_waits = bool(batch or self._scheduler.queue)
        if somebody_waits:  # what comes back may end answers, whose slots they need
            self._read_back()
        for move in moves:
            self._device.move(move)
        if batch:
            with self._span("read"):
                self._begin(weights, batch)
        with self._span("decode"):
            more = self._decode_next_chunk(weights)
            self._read_back()
            self._in_flight = more

    def _begin(self, weights: tuple[Parameters, int, int], batch: Sequence[Request]) -> None:
        """Reads the new tokens of a batch, and writes the first token of each answer."""
        parameters, version, generation = weights
        by_slot = {request.slot: request for request in batch}
        slots = rows_for(list(by_slot), self.config.row_buckets, self.config.slots)
        length = bucket(max(request.tokens.size for request in batch), self.config.length_buckets)
        images = [image for request in batch for image in request.images]
        places = self._device.bank.get_or_encode(parameters, generation, images)
        first = self._device.read(parameters, by_slot, slots, length, places)
        answers = [by_slot.get(slot) for slot in slots.tolist()]
        drawn = sampled_tokens(first, answers, version)
        for row, request in enumerate(answers):
            if request is None:
                continue
            self._tokens_read += request.tokens.size
            if first.routes is not None:
                request.routes.append(np.asarray(first.routes[row, : request.tokens.size]))
            self._write(request, drawn[row])

    def _decode_next_chunk(self, weights: tuple[Parameters, int, int]) -> Chunk | None:
        """Has a chunk decoded of every answer that goes on behind the one under way, as far as the host can know."""
        parameters, version, _ = weights
        before = {} if self._in_flight is None else self._in_flight.answers
        with self._wake:
            answers = {
                slot: request
                for slot, request in self._scheduler.active.items()
                if request.left > (self.config.chunk if before.get(slot) is request else 0)
            }
        if not answers:
            return None
        slots = rows_for(sorted(answers), self.config.decode_buckets, self.config.slots)
        return Chunk(self._device.decode(parameters, slots), slots, answers, version)

    def _read_back(self) -> None:
        """Waits for the chunk under way, and writes what was drawn to its answers but those that have ended since."""
        chunk, self._in_flight = self._in_flight, None
        if chunk is None:
            return
        drawn: Drawn = jax.device_get(chunk.record)
        answers = [chunk.answers.get(slot) for slot in chunk.slots.tolist()]
        for row, mine in enumerate(sampled_tokens(drawn, answers, chunk.version)):
            request = answers[row]
            if request is None or self._scheduler.active.get(int(chunk.slots[row])) is not request:
                continue
            if drawn.routes is not None:
                request.routes.append(np.asarray(drawn.routes[row])[: len(mine.tokens)])
            self._write(request, mine)

    def _write(self, request: Request, drawn: Written) -> None:
        """Adds what was drawn to an answer, up to its end. What its caller's functions raise ends this answer alone; so
        does a distribution that is none."""
        if request.budget == 0:
            self._finish(request, 0, "length")
            return
        try:
            if not all(map(math.isfinite, drawn.log_probs)):
                raise NotFinite(f"weights of version {drawn.version} overflow here: their logits are not finite")
            end = request.write(drawn, self._stop)
        except Exception as error:
            with self._wake:
                request.deliver(error)
                self._scheduler.abandon(request)
        else:
            if end is not None:
                self._finish(request, *end)

    def _finish(self, request: Request, kept: int, reason: str) -> None:
        """Answers a request with the first tokens of what was written; its window ends with them, too."""
        with self._wake:
            self._tokens_sampled += len(request.written)
            request.settle(kept)
            self._scheduler.finish(request)
            request.deliver(request.sampled(kept, reason))
