"""The decode engine's host side: sessions ask, one thread batches and answers.

A session owns a slot for its life. The thread gathers whatever requests have come in, extends their slots in one
batch, and decodes all slots in short chunks, so that a trajectory that waits for its environment costs nothing and a
new request waits for one chunk at most. Weights change between chunks: every token records the version that sampled it.

A caller may give up waiting at any time. Its slot then goes on to the end of the answer, or until the slot is asked for
something new, whichever comes first.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.inference.slots import Extension, SlotState, make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters
from tars_jax.model.positions import rope_positions
from tars_jax.model.quantisation import is_quantised, quantise_on_mesh
from tars_jax.model.sharding import mesh_of

WEIGHTS = ("float", "w4a8")


@dataclasses.dataclass(frozen=True)
class EngineConfig:
    slots: int = 8
    max_length: int = 256  # tokens of one context window
    max_new_tokens: int = 24  # of one answer
    temperature: float = 1.0
    chunk: int = 8  # decode steps between two looks at the queue
    row_buckets: tuple[int, ...] = (2, 8)
    length_buckets: tuple[int, ...] = (24, 48, 128, 256)
    weights: str = "float"  # or w4a8: int4 weights, int8 activations; the learner's log-probabilities are then others


@dataclasses.dataclass(frozen=True)
class Sampled:
    """One answer as it was sampled; the last token is the stop token unless the budget ran out."""

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    versions: tuple[int, ...]


@dataclasses.dataclass
class _Slot:
    """Host bookkeeping of one context. A new one in the same slot is a new object: the old one may still be decoded."""

    index: int
    seed: int = 0
    answering: bool = False
    length: int = 0
    position: int = 0
    drawn: int = 0
    pending: int | None = None  # the last sampled token, which is not in the cache yet


@dataclasses.dataclass
class _Request:
    slot: _Slot
    tokens: np.ndarray  # [T]
    positions: np.ndarray  # [3, T]
    images: np.ndarray  # [I, height, width, 3] uint8
    answer: Future[Sampled]
    sampled: list[tuple[int, float, int]] = dataclasses.field(default_factory=list)


class Session:
    """A live context. Structurally the agent's `PolicySession`."""

    def __init__(self, engine: Engine, slot: _Slot) -> None:
        self._engine, self._slot = engine, slot

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        """Reads tokens and screenshots (uint8 [height, width, 3]) and samples an answer.

        Raises InputError when the window grows beyond the engine's `max_length`, when images and image tokens do not
        fit each other, and when a context goes on whose last answer was never awaited to its end.
        """
        if restart:
            self._slot = _Slot(self._slot.index, self._slot.seed, drawn=self._slot.drawn)
        return await asyncio.wrap_future(self._engine.submit(self._slot, tokens, images))


class Engine:
    """Batched sampling from one model. Use as a context manager: the thread ends with it.

    The cache lies on the parameters' mesh; new weights must come in the same shardings.
    """

    def __init__(
        self, model: ModelConfig, parameters: Parameters, config: EngineConfig, *, image: int, stop: int, seed: int
    ) -> None:
        if model.image_token != image:
            raise InputError(f"model.image_token is {model.image_token}, the tokenizer's image token is {image}")
        if config.weights not in WEIGHTS:
            raise InputError(f"engine.weights is {config.weights!r}, it takes {' or '.join(WEIGHTS)}")
        self.model, self.config, self._image = model, config, image
        self._quantise = functools.partial(quantise_on_mesh, model)
        self._functions = make_slot_functions(
            model,
            stop=stop,
            temperature=config.temperature,
            chunk=config.chunk,
            base_seed=seed,
            quantised=config.weights == "w4a8",
        )
        self._stop = stop
        self._mesh = mesh_of(parameters)
        self._state = SlotState.empty(model, config.slots, config.max_length, self._mesh)
        self._free = collections.deque(range(config.slots))
        self._queue: collections.deque[_Request] = collections.deque()
        self._wake = threading.Condition()
        self.set_weights(parameters, version=0)
        self._closing = False
        self._stopped: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self.busy_seconds = 0.0
        self.tokens_sampled = 0

    def __enter__(self) -> Engine:
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

    def set_weights(self, parameters: Parameters, version: int) -> None:
        """Hands over new weights without stopping anybody. They are copied: the learner may donate its own.

        An engine of w4a8 quantises them, unless they are quantised already.
        """
        if self.config.weights == "w4a8" and not is_quantised(parameters):
            parameters = self._quantise(parameters)
        copied = jax.tree.map(jnp.copy, parameters)
        with self._wake:
            self._weights = (copied, version)

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[Session]:
        """A slot for one trajectory, with its own random stream. Raises InputError when all slots are taken."""
        if not self._free:
            raise InputError(f"engine.slots: all {self.config.slots} slots are taken; it takes one for each worker")
        index = self._free.popleft()
        try:
            yield Session(self, _Slot(index, seed & 0xFFFFFFFF))
        finally:
            self._free.append(index)

    def submit(self, slot: _Slot, tokens: Sequence[int], images: Sequence[np.ndarray]) -> Future[Sampled]:
        """Queues new tokens for a slot. The answer is on its way or, after an exception, nothing has changed."""
        if slot.answering:
            raise InputError("session: the last answer was not awaited to its end; it takes restart=True")
        new = np.asarray([*([] if slot.pending is None else [slot.pending]), *tokens], np.int32)
        if slot.length + new.size + self.config.max_new_tokens > self.config.max_length:
            raise InputError(
                f"engine.max_length: a window of {slot.length + new.size} tokens and an answer of up to "
                f"{self.config.max_new_tokens} do not fit {self.config.max_length}"
            )
        _bucket(new.size, self.config.length_buckets)
        kinds = {(image.dtype.name, image.shape) for image in images}
        if len(kinds) > 1 or any(dtype != "uint8" for dtype, _ in kinds):
            raise InputError(f"session: the images of one call must be uint8 and of one size, got {sorted(kinds)}")
        pixels = np.stack(images) if images else np.zeros((0, 1, 1, 3), np.uint8)
        rows, columns = self.model.vision.token_grid(*pixels.shape[1:3]) if images else (1, 1)
        is_image = new == self._image
        if is_image.sum() != rows * columns * len(images):
            raise InputError(
                f"session: {is_image.sum()} image tokens for {len(images)} images of {rows * columns} tokens each"
            )
        positions, next_position = rope_positions(is_image, (rows, columns), slot.position)
        request = _Request(slot, new, positions, pixels, Future())
        with self._wake:
            if self._stopped is not None:
                raise RuntimeError("the engine has stopped") from self._stopped
            slot.position, slot.answering = next_position, True
            self._queue.append(request)
            self._wake.notify()
        return request.answer

    def _run(self) -> None:
        # A mesh belongs to a thread; the caller's is not this one's.
        with contextlib.nullcontext() if self._mesh is None else jax.set_mesh(self._mesh):
            self._serve()

    def _serve(self) -> None:
        open_requests: dict[int, _Request] = {}
        arrived: list[_Request] | None = None
        reason: BaseException = RuntimeError("the engine was closed")
        try:
            while (arrived := self._wait_for_work(open_requests)) is not None:
                began = time.perf_counter()
                parameters, version = self._weights
                if arrived:
                    self._extend(parameters, version, arrived)
                    for request in arrived:
                        if given_up := open_requests.pop(request.slot.index, None):
                            given_up.answer.set_exception(RuntimeError("the slot was asked for something new"))
                        open_requests[request.slot.index] = request
                self._settle(open_requests)
                if open_requests:
                    self._decode(parameters, version, open_requests)
                    self._settle(open_requests)
                self.busy_seconds += time.perf_counter() - began
        except BaseException as error:
            reason = error
        with self._wake:
            self._stopped = reason
            queued = [request for request in self._queue if request.answer.set_running_or_notify_cancel()]
            self._queue.clear()
        for request in [*(arrived or ()), *open_requests.values(), *queued]:
            if not request.answer.done():
                request.answer.set_exception(reason)

    def _wait_for_work(self, open_requests: dict[int, _Request]) -> list[_Request] | None:
        """The next batch to extend, empty while answers are under way; None when the engine closes.

        A batch holds one request of a slot at most, and screenshots of one size.
        """
        with self._wake:
            self._wake.wait_for(lambda: self._queue or open_requests or self._closing)
            if self._closing:
                return None
            batch: dict[int, _Request] = {}
            sizes: set[tuple[int, ...]] = set()
            while self._queue and len(batch) < max(self.config.row_buckets):
                request = self._queue[0]
                size = {request.images.shape[1:]} if len(request.images) else set()
                if request.slot.index in batch or len(sizes | size) > 1:
                    break
                self._queue.popleft()
                # From here on the caller can no longer cancel the answer, only stop to wait for it.
                if request.answer.set_running_or_notify_cancel():
                    batch[request.slot.index] = request
                    sizes |= size
            return list(batch.values())

    def _extend(self, parameters: Parameters, version: int, requests: list[_Request]) -> None:
        config = self.config
        rows = _bucket(len(requests), config.row_buckets)
        length = _bucket(max(request.tokens.size for request in requests), config.length_buckets)
        pictures = max(len(request.images) for request in requests)
        shape = max(request.images.shape[1:] for request in requests)  # 1 x 1 where a request has none
        tokens = np.zeros((rows, length), np.int32)
        positions = np.zeros((3, rows, length), np.int32)
        write_at = np.full((rows, length), config.max_length, np.int32)
        images = np.zeros((rows, pictures, *shape), np.uint8)
        image_tokens = np.full((rows, length), -1, np.int32)
        columns = np.zeros((6, rows), np.int64)  # slot, last, length, position, seed, drawn
        columns[0] = config.slots
        for row, request in enumerate(requests):
            slot, size = request.slot, request.tokens.size
            tokens[row, :size] = request.tokens
            positions[:, row, :size] = request.positions
            write_at[row, :size] = slot.length + np.arange(size)
            images[row, : len(request.images)] = request.images
            seen = np.flatnonzero(request.tokens == self._image)
            image_tokens[row, seen] = np.arange(seen.size)
            slot.length += size
            columns[:, row] = slot.index, size - 1, slot.length, slot.position, slot.seed, slot.drawn
            slot.drawn += 1
        segments = (write_at < config.max_length).astype(np.int32)
        slots, last, lengths, next_positions, seeds, drawn = columns
        extension = Extension(
            slots=jnp.asarray(slots, jnp.int32),
            inputs=Inputs(*(jnp.asarray(each) for each in (tokens, positions, segments, images, image_tokens))),
            write_at=jnp.asarray(write_at),
            last=jnp.asarray(last, jnp.int32),
            length=jnp.asarray(lengths, jnp.int32),
            position=jnp.asarray(next_positions, jnp.int32),
            budget=jnp.full(rows, config.max_new_tokens, jnp.int32),
            seed=jnp.asarray(seeds, jnp.uint32),
            drawn=jnp.asarray(drawn, jnp.int32),
        )
        self._state, record = self._functions.extend(parameters, self._state, extension)
        first_tokens, first_log_probs = (np.asarray(column) for column in record)
        for row, request in enumerate(requests):
            request.sampled.append((int(first_tokens[row]), float(first_log_probs[row]), version))

    def _decode(self, parameters: Parameters, version: int, requests: dict[int, _Request]) -> None:
        self._state, record = self._functions.decode(parameters, self._state)
        tokens, log_probs = (np.asarray(column) for column in record)
        for index, request in requests.items():
            for token, log_prob in zip(tokens[index], log_probs[index], strict=True):
                if token < 0:
                    break
                request.sampled.append((int(token), float(log_prob), version))
                request.slot.length += 1
                request.slot.position += 1
                request.slot.drawn += 1

    def _settle(self, requests: dict[int, _Request]) -> None:
        """Answers the requests that have come to their end."""
        for index, request in list(requests.items()):
            if request.sampled[-1][0] == self._stop or len(request.sampled) == self.config.max_new_tokens:
                del requests[index]
                request.slot.pending, request.slot.answering = request.sampled[-1][0], False
                self.tokens_sampled += len(request.sampled)
                request.answer.set_result(Sampled(*(tuple(column) for column in zip(*request.sampled, strict=True))))


def _bucket(size: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds `size`; raises InputError when none does."""
    for bucket in buckets:
        if bucket >= size:
            return bucket
    raise InputError(f"engine.length_buckets: {size} new tokens fit none of {tuple(buckets)}")
