"""Requests of all sizes to batches of a few shapes, and what was drawn back to the tokens of each.

Axes: R rows, T new tokens of a row, Q image tokens of an image.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.inference.sampling import Likeliest, Written
from tars_jax.inference.sampling_state import rows_of
from tars_jax.inference.scheduler import Request
from tars_jax.inference.slots import Drawn, Prefill
from tars_jax.model.policy import Inputs


class Chunk(NamedTuple):
    """Decode steps that the device has been given."""

    record: Drawn  # on the device, as it becomes ready
    slots: np.ndarray  # [R]
    answers: Mapping[int, Request]  # by slot
    version: int


def bucket(size: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds `size`; raises InputError when none does."""
    for each in buckets:
        if each >= size:
            return each
    raise InputError(f"new tokens must be at most {max(buckets)}, the largest of engine.length_buckets; got {size}")


def prefill_batch(
    requests: Mapping[int, Request],
    slots: np.ndarray,
    length: int,
    *,
    max_length: int,
    image: int,
    places: Mapping[bytes, np.ndarray],
    bank: jax.Array,
    starts: Mapping[str, int],
    biases: int = 0,
) -> Prefill:
    """One padded batch [R, T], on the host but for the images' features.

    Args:
        requests: by slot.
        slots: [R], from `rows_for`.
        length: T.
        max_length: of a window: where tokens that are padding are written.
        image: the image token.
        places: [Q] in `bank` of each image.
        bank: the features of all images.
        starts: the state that each constraint begins in.
        biases: how many tokens a request may bias.
    """
    rows, shape = len(slots), (len(slots), length)
    batch = {row: requests[slot] for row, slot in enumerate(slots.tolist()) if slot in requests}
    tokens, image_tokens = np.zeros(shape, np.int32), np.full(shape, -1, np.int32)
    positions, write_at = np.zeros((3, *shape), np.int32), np.full(shape, max_length, np.int32)
    columns = np.zeros((4, rows), np.int32)  # last, length, position, budget
    for row, request in batch.items():
        window, size = request.window, request.tokens.size
        tokens[row, :size], positions[:, row, :size] = request.tokens, request.positions
        write_at[row, :size] = window.length + np.arange(size)
        if request.images:
            seen = np.flatnonzero(request.tokens == image)
            image_tokens[row, seen] = np.concatenate([places[each.key] for each in request.images])
        columns[:, row] = size - 1, window.length + size, request.next_position, request.budget
    return Prefill(
        slots=slots,
        inputs=Inputs(
            tokens=tokens,
            positions=positions,
            segments=(write_at < max_length).astype(np.int32),
            images=(),
            image_tokens=image_tokens,
            image_features=bank,
        ),
        write_at=write_at,
        last=columns[0],
        length=columns[1],
        position=columns[2],
        budget=columns[3],
        sampling=rows_of(
            {row: (each.sampling, each.seed, each.drawn) for row, each in batch.items()}, starts, rows, biases
        ),
    )


def rows_for(slots: Sequence[int], buckets: Sequence[int], every: int) -> np.ndarray:
    """Slots [R] int32, padded to a bucket with S = `every`, the number of slots. Of S rows each slot has its own.

    There is room for S rows where no bucket holds so many.
    """
    size = next((rows for rows in sorted(buckets) if rows >= len(slots)), every)
    rows = np.full(size, every, np.int32)
    rows[list(slots) if size == every else slice(len(slots))] = slots
    return rows


def sampled_tokens(drawn: Drawn, answers: Sequence[Request | None], version: int) -> list[Written]:
    """Tokens drawn for each row, up to where its slot was idle, with the top_logprobs that its answer asked for."""
    tokens, log_probs = (np.reshape(each, (len(each), -1)) for each in (drawn.tokens, drawn.log_probs))
    asked = [0 if request is None else request.sampling.top_logprobs for request in answers]
    rows = zip(tokens.tolist(), log_probs.tolist(), (tokens >= 0).sum(1).tolist(), asked, strict=True)
    return [
        Written(mine[:count], log_probs[:count], version, _likeliest(drawn, row, count, top_logprobs))
        for row, (mine, log_probs, count, top_logprobs) in enumerate(rows)
    ]


def _likeliest(drawn: Drawn, row: int, count: int, top_logprobs: int) -> list[Likeliest]:
    if drawn.likeliest is None or not top_logprobs:
        return []
    tokens, log_probs = (np.atleast_2d(each[row])[:count, :top_logprobs].tolist() for each in drawn.likeliest)
    return [
        tuple((token, log_prob) for token, log_prob in zip(*pair, strict=True) if log_prob > -math.inf)
        for pair in zip(tokens, log_probs, strict=True)
    ]
