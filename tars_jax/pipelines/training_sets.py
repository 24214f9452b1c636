"""The episodes of one training: of a set, shuffled, with text-only data mixed in by its share of what is learned from.

A stage that was killed draws the same ones again, so that its checkpoints go on where they were.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tars_jax.data.store.feed import ArrayRecordEpisodes, Feed, FeedSource, grain_feed, write_array_record
from tars_jax.trajectory import ContextWindow, Trajectory

AGENT = "agent"  # whose episodes are of a set and no text
MEASURED = 512  # episodes by whose mean size a source is weighted


def draw_training_set(
    name: str,
    episodes: Sequence[Trajectory],
    texts: Sequence[Trajectory],
    text_weight: float,
    *,
    size: Callable[[Trajectory], int],
    count: int,
    seed: int,
    records: Path | None = None,
    texts_alone: bool = False,
) -> list[Trajectory]:
    """Samples `count` items of the set `name` and texts, text making up `text_weight` of the tokens; `count` 0: one
    pass over the set, and text beside it. An empty set gives no items, or with `texts_alone` the texts.

    `records`: the set is written there as one ArrayRecord file, and read by grain, which takes the extra `grain`
    (InputError without); None: it is read as it lies.
    """
    if not text_weight:
        texts = ()
    if not episodes:
        return Feed([FeedSource("text", texts)], seed).take(count or len(texts)) if texts and texts_alone else []
    share = _share_of_items(episodes, texts, text_weight, size) if texts else 0.0
    mixed = [FeedSource("text", texts, share)] if texts else []
    count = count or round(len(episodes) / (1 - share))
    if records is None:
        return Feed([FeedSource(name, episodes, 1 - share), *mixed], seed).take(count)
    if not records.exists():
        write_array_record(records, episodes)
    fed = grain_feed([FeedSource(name, ArrayRecordEpisodes(records), 1 - share), *mixed], seed)
    return list(itertools.islice(fed, count))


def _share_of_items(
    episodes: Sequence[Trajectory], texts: Sequence[Trajectory], weight: float, size: Callable[[Trajectory], int]
) -> float:
    """The share of texts among all that is drawn, for which they have `weight` of the sizes."""
    agent, text = (max(1.0, float(np.mean([size(each) for each in _some(of)]))) for of in (episodes, texts))
    return weight * agent / (weight * agent + (1 - weight) * text)


def _some(episodes: Sequence[Trajectory]) -> Sequence[Trajectory]:
    return episodes[:: max(1, len(episodes) // MEASURED)]


def learned_tokens(trajectory: Trajectory, loss_on: str, image: int) -> int:
    """Number of a trajectory's tokens that `make_supervised_update` learns from; `image` is the token of a
    screenshot."""
    if loss_on == "agent":
        return trajectory.num_action_tokens
    return sum(int((window.tokens[1:] != image).sum()) for window in trajectory.windows)


def mixture(
    drawn: Sequence[Trajectory], source_of: Mapping[str, str], size: Callable[[Trajectory], int]
) -> dict[str, dict[str, int]]:
    """Episodes and their sizes, by source. `source_of`: a text's id to its dataset; others are the agent's."""
    episodes, sizes = collections.Counter[str](), collections.Counter[str]()
    for each in drawn:
        source = source_of.get(each.id, AGENT)
        episodes[source] += 1
        sizes[source] += size(each)
    return {source: {"episodes": episodes[source], "tokens": sizes[source]} for source in sorted(episodes)}


def in_rows(text: Trajectory, row_length: int) -> Trajectory:
    """The same text in windows that each fit a row of the learner: what a document is longer by goes on in the next
    one. A window that shows a screenshot stays whole."""
    windows = [piece for window in text.windows for piece in _pieces(window, row_length)]
    return dataclasses.replace(text, windows=tuple(windows))


def _pieces(window: ContextWindow, length: int) -> list[ContextWindow]:
    if window.images or window.tokens.size <= length:
        return [window]
    found = []
    for start in range(0, window.tokens.size, length):
        columns = (window.tokens, window.action_mask, window.log_probs, window.versions, window.steps)
        tokens, action_mask, log_probs, versions, steps = (each[start : start + length].copy() for each in columns)
        # Nothing of its window stands before a first token, so it is read, not written.
        action_mask[0], log_probs[0], versions[0] = False, 0, -1
        found.append(ContextWindow(tokens, action_mask, log_probs, versions, steps, ()))
    return found
