"""A data set of prompts by number: which rows are trained on, which are held out, and in which order they come.

Records are read once, from the first to the last, which checks each of them; they are kept in a temporary file and not
in memory, of which a row takes a few bytes. Rows with the same prompt are on one side, whatever else they say: a
record that says its own `split` ("train" or "eval") decides, else a hash of the prompt and the seed.
"""

from __future__ import annotations

import array
import dataclasses
import functools
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import shown
from tars_jax.plugins import Plugins
from tars_jax.tables import RECORD_FILES, records_of, table_files
from tars_jax.tasks.prompts.records import Form, Prompt, read_prompt
from tars_jax.tasks.sampling import split_of_seed
from tars_jax.tasks.splits import EVAL, SPLITS, TRAIN, split_of

log = logging.getLogger(__name__)
_SAID = ("", *SPLITS)
_PLUGINS = Plugins("data", "tars_jax.prompts")
_LEFT_OUT = -1
_BLOCKS = 2**20  # of seeds: a stream's pass over the rows has one of them


@dataclasses.dataclass(frozen=True)
class Sides:
    """How rows are dealt out."""

    held_out: float = 0.1  # the share of prompts for evaluation, where no record says its split
    seed: int = 0  # of which these are, and of the order
    shuffle: bool = True  # otherwise in the order of the file, over and over
    max_characters: int = 0  # longer prompts are left out; 0: none


@dataclasses.dataclass(frozen=True)
class Source:
    """Records of one file, or of a function that gives them."""

    name: str
    side: str  # of its rows; empty: as they say, or as is drawn

    def records(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Each with where it stands. Raises InputError for what is none."""
        if _is_function(self.name):
            return _brought(self.name)
        return records_of(Path(self.name))

    def stamp(self) -> tuple[int, int]:
        """By which a file that has changed is known."""
        if _is_function(self.name):
            return 0, 0
        found = Path(self.name).stat()
        return found.st_mtime_ns, found.st_size


class PromptSet:
    """Prompts by the seeds of tasks: an even one stands for a row of the training side, an odd one for one held out."""

    def __init__(self, sources: Sequence[Source], form: Form, sides: Sides) -> None:
        """Raises InputError that names file, line (or row) and field for a broken record, or a side without rows."""
        self._form, self._sides = form, sides
        self._spool = tempfile.TemporaryFile(prefix="tars_jax-prompts-")  # noqa: SIM115  (closed with the object)
        self._ends = array.array("q", [0])
        columns: dict[str, None] = {}
        keys, said = array.array("Q"), array.array("b")
        asked, answered = array.array("q"), array.array("q")  # characters
        self.has_answers = True
        for source in sources:
            for where, record in source.records():
                prompt = read_prompt(record, where, form)
                columns.update(dict.fromkeys(prompt.columns))
                self._keep(where, record)
                text = prompt.instruction
                too_long = 0 < sides.max_characters < len(text)
                keys.append(int.from_bytes(hashlib.sha256(f"{sides.seed}:{text}".encode()).digest()[:8], "big"))
                asked.append(len(text) + sum(map(len, prompt.replies)))
                answered.append(max(map(len, prompt.answers), default=0))
                said.append(_LEFT_OUT if too_long else _SAID.index(source.side or split_of(record, f"{where}: field ")))
                self.has_answers = self.has_answers and bool(prompt.answers)
        self._spool.flush()
        names = ", ".join(source.name for source in sources)
        if not keys:
            raise InputError(f"data must hold records; got none in {names}")
        self.columns = tuple(columns)
        dealt = _dealt(np.array(keys, np.uint64), np.array(said), sides)
        for split, rows in dealt.items():
            if not rows.size:
                raise InputError(
                    f"data must hold prompts to train on and others to evaluate on (held_out={sides.held_out:g}); "
                    f"got none to {'train' if split == TRAIN else 'evaluate'} on among {len(keys)} records of {names}"
                )
        self._rows = dealt
        self._longest = [
            (split, int(np.argmax(np.array(lengths, np.int64)[rows])))
            for lengths in (asked, answered)
            for split, rows in dealt.items()
        ]  # their places among the rows of a side

    def prompt(self, seed: int) -> Prompt:
        """Of a task's seed."""
        rows = self._rows[split_of_seed(seed)]
        return self.row(int(rows[(seed // 2) % len(rows)]))

    def row(self, number: int) -> Prompt:
        start, end = self._ends[number], self._ends[number + 1]
        record = json.loads(os.pread(self._spool.fileno(), end - start, start), parse_constant=_nothing)
        return read_prompt(record, f"record {number + 1}", self._form)

    def count(self, split: str) -> int:
        """Rows of a side."""
        return len(self._rows[split])

    def seed(self, split: str, index: int, stream: int) -> int:
        """Of task `index` of a stream: every row comes once before any comes again, in an order of that stream."""
        rows = len(self._rows[split])
        passed, place = divmod(index, rows)
        if self._sides.shuffle:
            place = int(_order(rows, self._sides.seed, stream, passed)[place])
        block = int.from_bytes(hashlib.sha256(f"{stream}:{passed}".encode()).digest()[:8], "big") % _BLOCKS
        return 2 * (block * rows + place) + SPLITS.index(split)

    def telling(self) -> list[int]:
        """Seeds of the longest prompt and the longest answer of each side: what a window has to hold."""
        return list(dict.fromkeys(2 * place + SPLITS.index(split) for split, place in self._longest))

    def _keep(self, where: str, record: Mapping[str, Any]) -> None:
        try:
            line = json.dumps(record, default=functools.partial(_written, where)).encode()
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} must be what JSON can write; {error}") from error
        self._spool.write(line)
        self._ends.append(self._ends[-1] + len(line))


def open_prompts(data: str, evaluation_data: str, split: str, form: Form, sides: Sides) -> PromptSet:
    """The data set of a file, a folder, or a function that gives records (package.module:attribute, or an entry point
    of `tars_jax.prompts`); read once for as long as its files stay as they are.

    `evaluation_data`: where the held-out rows are, a file or a folder; empty: among those of `data`. `split`: of a
    folder that has several, the one to train on. Raises InputError as `PromptSet` does, and where there is nothing to
    read.
    """
    sources = _sources(data, "data", split, TRAIN if evaluation_data else "")
    if evaluation_data:
        sources += _sources(evaluation_data, "evaluation_data", "test", EVAL)
    stamps = tuple(source.stamp() for source in sources)
    return _opened(tuple(sources), stamps, json.dumps(dataclasses.asdict(form), sort_keys=True), sides)


@functools.lru_cache(maxsize=8)
def _opened(sources: tuple[Source, ...], stamps: Any, form: str, sides: Sides) -> PromptSet:
    return PromptSet(sources, Form(**json.loads(form)), sides)


def _sources(data: str, option: str, split: str, side: str) -> list[Source]:
    path = Path(data)
    if path.is_dir():
        found = table_files(path, split) or sorted(path.glob("*.jsonl"))
    elif path.suffix in RECORD_FILES and path.is_file():
        found = [path]
    elif not path.exists() and _is_function(data):
        return [Source(data, side)]
    else:
        found = []
    if not found:
        raise InputError(
            f"option {option} must be a file of {', '.join(RECORD_FILES)}, a folder that holds some or that datasets "
            f"saved, or package.module:attribute; got {data!r}"
        )
    return [Source(str(file), side) for file in found]


def _is_function(name: str) -> bool:
    return (":" in name or name in _PLUGINS.entry_points()) and not Path(name).exists()


def _brought(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    made_by = _PLUGINS.load(name)
    found = made_by() if callable(made_by) else made_by
    if not isinstance(found, Iterable):
        raise InputError(f"data {name} must give records one after the other; got {type(found).__name__}")
    for number, record in enumerate(found, 1):
        if not isinstance(record, Mapping):
            raise InputError(f"{name}:{number} must be a mapping of columns; got {shown(record)}")
        yield f"{name}:{number}", record


def _dealt(keys: np.ndarray, said: np.ndarray, sides: Sides) -> dict[str, np.ndarray]:
    """The numbers of each side's rows, by the keys of their prompts and what they say themselves."""
    kept = said != _LEFT_OUT
    told = bool((said > 0).any())
    if told:
        held = keys[said == _SAID.index(EVAL)]
    else:
        prompts = np.unique(keys[kept])  # ascending: hashes are as good as drawn
        share = max(1, round(sides.held_out * len(prompts))) if sides.held_out else 0
        held = prompts[: max(0, min(share, len(prompts) - 1))]
    is_held = np.isin(keys, held) & kept
    evaluated = said == _SAID.index(EVAL) if told else is_held
    if too_long := int((~kept).sum()):
        log.warning("%d records are left out, as their prompts are longer than max_characters", too_long)
    if both := int((is_held & ~evaluated).sum()):
        log.warning("%d records to train on are left out, as their prompts are evaluated on, too", both)
    return {TRAIN: np.flatnonzero(kept & ~is_held), EVAL: np.flatnonzero(evaluated)}


@functools.lru_cache(maxsize=16)
def _order(rows: int, seed: int, stream: int, passed: int) -> np.ndarray:
    """[rows] int64."""
    return np.random.default_rng([seed, stream, passed]).permutation(rows)


def _nothing(name: str) -> None:
    """NaN and infinity, which JSON does not have."""


def _written(where: str, value: Any) -> str:
    """What JSON has no form for: dates and decimals are texts."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise InputError(f"{where} must be text and numbers, as prompts show no pictures; got bytes in a column")
    return str(value)
