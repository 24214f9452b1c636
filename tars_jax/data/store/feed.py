"""Episodes for training, shuffled and mixed by weights, from where a killed reader stopped.

    feed = Feed([FeedSource("agent", episodes, 0.7), FeedSource("chat", texts, 0.3)], seed=0)
    batch = feed.take(64)
    state = feed.state()                      # JSON; Feed(...).restore(state) goes on with the next one

Each pass over a source is a new permutation of it: nothing comes twice before all have come once. `grain_feed` is the
same by Google's grain (the extra `grain`), for sources that are read in parallel; ArrayRecord files are sources, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np

from tars_jax import InputError
from tars_jax.data.store import Store
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import decode_trajectory, encode_trajectory

T = TypeVar("T")
_EXTRA = "needs grain and array_record: install the extra grain, tars_jax[grain]."


@dataclasses.dataclass(frozen=True)
class FeedSource(Generic[T]):
    """Source that is drawn from with a share of `weight` over the sum of all weights."""

    name: str
    items: Sequence[T]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise InputError(f"weight of the source {self.name} must be above 0; got {self.weight}")
        if not len(self.items):
            raise InputError(f"source {self.name} must hold one item or more; got none.")


class Feed(Generic[T]):
    """Endless: the sources' items in the shares of their weights, to within one item at any moment."""

    def __init__(self, sources: Sequence[FeedSource[T]], seed: int) -> None:
        """Raises InputError without a source, and where two have one name."""
        if not sources or len({source.name for source in sources}) != len(sources):
            names = [source.name for source in sources]
            raise InputError(f"sources must be one or more of different names; got {names}")
        self._sources, self._seed = tuple(sources), seed
        self._taken = [0] * len(sources)
        self._orders: dict[tuple[int, int], np.ndarray] = {}

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        total = sum(source.weight for source in self._sources)
        place = sum(self._taken) + 1
        owed = [source.weight / total * place - taken for source, taken in zip(self._sources, self._taken, strict=True)]
        number = int(np.argmax(owed))
        turn, index = divmod(self._taken[number], len(self._sources[number].items))
        self._taken[number] += 1
        return self._sources[number].items[int(self._order(number, turn)[index])]

    def take(self, count: int) -> list[T]:
        return [next(self) for _ in range(count)]

    def state(self) -> dict[str, Any]:
        """Position of the feed, as JSON."""
        sizes = {source.name: len(source.items) for source in self._sources}
        names = [source.name for source in self._sources]
        return {"seed": self._seed, "sizes": sizes, "taken": dict(zip(names, self._taken, strict=True))}

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Goes on where `state` was taken. Raises InputError where seed or sources were others."""
        now = self.state()
        for field in ("seed", "sizes"):
            if state.get(field) != now[field]:
                raise InputError(f"state of a feed must be of {field} {now[field]}; got {state.get(field)}")
        self._taken = [int(state["taken"][source.name]) for source in self._sources]
        return self

    def _order(self, number: int, turn: int) -> np.ndarray:
        if (number, turn) not in self._orders:
            self._orders = {key: order for key, order in self._orders.items() if key[0] != number}
            generator = np.random.default_rng((self._seed, number, turn))
            self._orders[number, turn] = generator.permutation(len(self._sources[number].items))
        return self._orders[number, turn]


class StoredEpisodes(Sequence[Trajectory]):
    """Episodes of a store, each read when it is asked for."""

    def __init__(self, store: Store, ids: Sequence[str]) -> None:
        self._store, self._ids = store, tuple(ids)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Trajectory: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trajectory]: ...
    def __getitem__(self, index: int | slice) -> Trajectory | Sequence[Trajectory]:
        if isinstance(index, slice):
            return StoredEpisodes(self._store, self._ids[index])
        return self._store.load(self._ids[index])


# ---- grain and ArrayRecord


def write_array_record(file: Path, trajectories: Iterator[Trajectory] | Sequence[Trajectory]) -> int:
    """Writes one record an episode, whole with its screenshots; returns how many. Raises InputError without the
    extra."""
    try:
        from array_record.python.array_record_module import ArrayRecordWriter
    except ImportError as error:
        raise InputError(f"ArrayRecord {_EXTRA}") from error
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    writer = ArrayRecordWriter(str(partial), "group_size:1")  # random access, record by record
    count = 0
    for trajectory in trajectories:
        writer.write(encode_trajectory(trajectory))
        count += 1
    writer.close()
    partial.replace(file)
    return count


class ArrayRecordEpisodes(Sequence[Trajectory]):
    """The episodes of an ArrayRecord file, each read when it is asked for."""

    def __init__(self, file: Path) -> None:
        """Raises InputError without the extra, and where there is no such file."""
        try:
            from array_record.python.array_record_data_source import ArrayRecordDataSource
        except ImportError as error:
            raise InputError(f"ArrayRecord {_EXTRA}") from error
        if not file.is_file():
            raise InputError(f"{file} must be an ArrayRecord file; got none.")
        self._file, self._records = file, ArrayRecordDataSource(str(file))

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Trajectory: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trajectory]: ...
    def __getitem__(self, index: int | slice) -> Trajectory | Sequence[Trajectory]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        place = range(len(self))[index]  # IndexError beyond the end, which ends a loop; array_record has another
        return decode_trajectory(self._records[place], f"{self._file}:{place}")


def grain_feed(sources: Sequence[FeedSource[T]], seed: int) -> Any:
    """The sources as grain's iterator, endless: `next`, `get_state` and `set_state`. Raises InputError without the
    extra."""
    try:
        import grain
    except ImportError as error:
        raise InputError(f"grain_feed {_EXTRA}") from error
    parts = [
        grain.MapDataset.source(source.items).seed(seed + number).shuffle().repeat()
        for number, source in enumerate(sources)
    ]
    mixed = grain.MapDataset.mix(parts, [source.weight for source in sources])
    return iter(mixed.to_iter_dataset(grain.ReadOptions(num_threads=0)))
