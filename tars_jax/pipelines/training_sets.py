"""The episodes of one training: of a set, shuffled, with text-only data mixed in by weights.

A stage that was killed draws the same ones again, so that its checkpoints go on where they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from tars_jax.data.store.feeding import ArrayRecordEpisodes, Feed, Source, grain_feed, write_array_record
from tars_jax.trajectory import Trajectory

READERS = ("store", "array_record")


def draw(
    name: str,
    episodes: Sequence[Trajectory],
    texts: Sequence[Trajectory],
    text_weight: float,
    *,
    count: int,
    seed: int,
    records: Path | None = None,
) -> list[Trajectory]:
    """So many episodes of the set `name`, a share `text_weight` of them being `texts`; as many as the set holds, and
    text beside them, where `count` is 0. None of an empty set.

    `records`: the set is written there as one ArrayRecord file, and read by grain, which takes the extra `grain`
    (InputError without); None: it is read as it lies.
    """
    if not episodes:
        return []
    share = 1 - text_weight if texts else 1.0
    mixed = [Source("text", texts, text_weight)] if texts and text_weight else []
    count = count or round(len(episodes) / share)
    if records is None:
        return Feed([Source(name, episodes, share), *mixed], seed).take(count)
    if not records.exists():
        write_array_record(records, episodes)
    return list(itertools.islice(grain_feed([Source(name, ArrayRecordEpisodes(records), share), *mixed], seed), count))
