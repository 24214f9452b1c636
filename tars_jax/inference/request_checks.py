"""Checks of requests before they wait in the queue: a bad request is an error of its caller alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

import numpy as np

from tars_jax import InputError
from tars_jax.inference.batching import bucket
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints
from tars_jax.inference.image_features import RequestImage
from tars_jax.inference.sampling import InvalidRequest, OnToken, Sampling
from tars_jax.inference.scheduler import LiveWindow, RandomStream, Request
from tars_jax.model.config import ModelConfig
from tars_jax.model.positions import rope_positions


def check_idle(window: LiveWindow) -> None:
    """Raises InputError for a window that cannot go on."""
    if window.request is not None or not window.open:
        raise InputError("restart must be True after an answer that was not awaited to its end; got False")


@contextlib.contextmanager
def _at_fault(field: str) -> Iterator[None]:
    """Re-raises errors inside as errors of this field."""
    try:
        yield
    except InputError as error:
        raise InvalidRequest(str(error), field) from error


class RequestBuilder:
    """Makes requests of one engine. Methods raise InputError for what cannot be served, InvalidRequest with a field."""

    def __init__(
        self,
        model: ModelConfig,
        config: EngineConfig,
        image: int,
        constraints: Constraints | None,
    ) -> None:
        self._model, self._config, self._image = model, config, image
        self.constraints = constraints

    @property
    def temperature(self) -> float:
        return self._config.temperature

    def request(
        self,
        window: LiveWindow,
        stream: RandomStream,
        tokens: Sequence[int],
        images: Sequence[np.ndarray],
        sampling: Sampling | None,
        on_token: OnToken | None,
    ) -> Request:
        """New tokens after what the window holds. The window is not changed."""
        check_idle(window)
        config = self._config
        sampling = sampling or Sampling(temperature=config.temperature, constraint=config.constraint)
        budget = config.max_new_tokens if sampling.max_new_tokens is None else sampling.max_new_tokens
        with _at_fault("tokens"):
            new = self._new_tokens(window, tokens, budget)
        with _at_fault("top_logprobs"):
            self._check_top_logprobs(sampling)
        self._check_penalties(sampling)
        self._check_biases(sampling)
        self._check_constraint(sampling, budget)
        is_image = new == self._image
        with _at_fault("images"):
            request_images = tuple(RequestImage.of(self._model, pixels) for pixels in images)
            _check_named(is_image, request_images)
        grids = [image.grid for image in request_images]
        with _at_fault("tokens"):
            positions, next_position = rope_positions(is_image, grids or (1, 1), window.position)
        held = None
        if not budget:
            # The last token waits to be read, since what comes after it is drawn from what it leads to.
            if is_image[-1]:
                words = "the last token must be one of text where no answer follows; got one of an image"
                raise InvalidRequest(words, "tokens")
            new, positions, next_position, held = new[:-1], positions[:, :-1], next_position - 1, int(new[-1])
        own = sampling.seed is None
        return Request(
            window=window,
            stream=stream if own else None,
            tokens=new,
            images=request_images,
            positions=positions,
            next_position=next_position,
            held=held,
            sampling=sampling,
            seed=(stream.seed if sampling.seed is None else sampling.seed) & 0xFFFFFFFF,
            drawn=stream.drawn if own else 0,
            budget=budget,
            answer=Future(),
            on_token=on_token,
        )

    def _new_tokens(self, window: LiveWindow, tokens: Sequence[int], budget: int) -> np.ndarray:
        """[T] int32 with what was pending."""
        new = np.asarray([*([] if window.pending is None else [window.pending]), *tokens])
        if not new.size:
            raise InputError("tokens must be one or more; got none")
        if new.dtype.kind not in "iu" or new.min() < 0 or new.max() >= self._model.vocabulary:
            raise InputError(
                f"tokens must be whole numbers from 0 to {self._model.vocabulary - 1}; got {new.min()} to {new.max()}"
            )
        longest = self._config.max_length
        if window.length + new.size + budget > longest:
            raise InputError(
                f"a window and its answer must be at most {longest} tokens (engine.max_length); "
                f"got {window.length + new.size} and up to {budget}"
            )
        bucket(new.size, self._config.length_buckets)
        return new.astype(np.int32)

    def _check_top_logprobs(self, sampling: Sampling) -> None:
        if sampling.top_logprobs > self._config.top_logprobs:
            raise InputError(
                f"sampling.top_logprobs must be 0 to {self._config.top_logprobs} (engine.top_logprobs); "
                f"got {sampling.top_logprobs}"
            )

    def _check_penalties(self, sampling: Sampling) -> None:
        for name in ("frequency_penalty", "presence_penalty"):
            asked = getattr(sampling, name)
            if asked and not self._config.penalties:
                raise InvalidRequest(f"sampling.{name} must be 0, as engine.penalties is False; got {asked}", name)

    def _check_biases(self, sampling: Sampling) -> None:
        tokens, vocabulary = [token for token, _ in sampling.logit_bias], self._model.vocabulary
        if len(tokens) > self._config.biases:
            words = (
                f"sampling.logit_bias must have at most {self._config.biases} tokens (engine.biases); got {len(tokens)}"
            )
            raise InvalidRequest(words, "logit_bias")
        if unknown := [token for token in tokens if not 0 <= token < vocabulary]:
            words = f"sampling.logit_bias must name tokens 0 to {vocabulary - 1}; got {unknown[0]}"
            raise InvalidRequest(words, "logit_bias")

    def _check_constraint(self, sampling: Sampling, budget: int) -> None:
        if sampling.constraint is None:
            return
        with _at_fault("constraint"):
            if self.constraints is None:
                raise InputError(
                    f"sampling.constraint must be None, as the engine has none; got {sampling.constraint!r}"
                )
            needed = self.constraints.shortest(sampling.constraint)
        if needed > budget:
            raise InvalidRequest(
                f"sampling.max_new_tokens must be {needed} or more, the shortest answer of constraint "
                f"{sampling.constraint!r}; got {budget}",
                "max_new_tokens",
            )


def _check_named(is_image: np.ndarray, images: Sequence[RequestImage]) -> None:
    """Raises InputError unless there are as many image tokens as the images take."""
    if is_image.sum() != sum(image.tokens for image in images):
        each = ", ".join(sorted({str(image.tokens) for image in images})) or "0"
        raise InputError(f"images must have {each} image tokens each; got {is_image.sum()} for {len(images)} images")
