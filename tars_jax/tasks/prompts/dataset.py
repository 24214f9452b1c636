"""A data set of prompts by the seeds of tasks.

Records are read once, from the first to the last, which checks each of them; they are kept in a temporary file and not
in memory, of which a row takes a few bytes.
"""

from __future__ import annotations

import array
import dataclasses
import functools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import short_repr
from tars_jax.plugins import Plugins
from tars_jax.tasks.prompts.record_files import RECORD_FILES, records_of, table_files
from tars_jax.tasks.prompts.records import PromptRecord, RecordForm, read_prompt
from tars_jax.tasks.prompts.row_split import RowSplit, Sides
from tars_jax.tasks.splits import EVAL, TRAIN, split_of

_PLUGINS = Plugins("data", "tars_jax.prompts")


@dataclasses.dataclass(frozen=True)
class RecordSource:
    """Records of one file, or of a function that gives them."""

    name: str
    side: str  # of its rows; empty: as they say, or as is drawn

    def records(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Each with where it stands. Raises InputError for what is none."""
        if _is_function(self.name):
            return _brought(self.name)
        return records_of(Path(self.name))

    def stamp(self) -> tuple[int, int]:
        """A stamp by which a file that has changed is known."""
        if _is_function(self.name):
            return 0, 0
        found = Path(self.name).stat()
        return found.st_mtime_ns, found.st_size


class PromptSet:
    """Prompts by the seeds of tasks, as `dealt` says."""

    def __init__(self, sources: Sequence[RecordSource], form: RecordForm, sides: Sides) -> None:
        """Raises InputError that names file, line (or row) and field for a broken record, or a side without rows."""
        self._form = form
        self._spool = tempfile.TemporaryFile(prefix="tars_jax-prompts-")  # noqa: SIM115  (closed with the object)
        self._ends = array.array("q", [0])
        columns: dict[str, None] = {}
        self.dealt = RowSplit(sides)
        self.has_answers = True
        for source in sources:
            for where, record in source.records():
                prompt = read_prompt(record, where, form)
                columns.update(dict.fromkeys(prompt.columns))
                self._keep(where, record)
                text = prompt.instruction
                side = source.side or split_of(record, f"{where}: field ")
                answer = max(map(len, prompt.answers), default=0)
                self.dealt.add(text, len(text), side, sum(map(len, prompt.replies)), answer)
                self.has_answers = self.has_answers and bool(prompt.answers)
        self._spool.flush()
        self.columns = tuple(columns)
        self.dealt.deal(", ".join(source.name for source in sources))

    def prompt(self, seed: int) -> PromptRecord:
        """Prompt of the task with this seed."""
        return self.row(self.dealt.row(seed))

    def row(self, number: int) -> PromptRecord:
        start, end = self._ends[number], self._ends[number + 1]
        record = json.loads(os.pread(self._spool.fileno(), end - start, start), parse_constant=_nothing)
        return read_prompt(record, f"record {number + 1}", self._form)

    def _keep(self, where: str, record: Mapping[str, Any]) -> None:
        try:
            line = json.dumps(record, default=functools.partial(_written, where)).encode()
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} must be what JSON can write; {error}") from error
        self._spool.write(line)
        self._ends.append(self._ends[-1] + len(line))


def open_prompts(data: str, evaluation_data: str, split: str, form: RecordForm, sides: Sides) -> PromptSet:
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
def _opened(sources: tuple[RecordSource, ...], stamps: Any, form: str, sides: Sides) -> PromptSet:
    return PromptSet(sources, RecordForm(**json.loads(form)), sides)


def _sources(data: str, option: str, split: str, side: str) -> list[RecordSource]:
    path = Path(data)
    if path.is_dir():
        found = table_files(path, split) or sorted(path.glob("*.jsonl"))
    elif path.suffix in RECORD_FILES and path.is_file():
        found = [path]
    elif not path.exists() and _is_function(data):
        return [RecordSource(data, side)]
    else:
        found = []
    if not found:
        raise InputError(
            f"option {option} must be a file of {', '.join(RECORD_FILES)}, a folder that holds some or that datasets "
            f"saved, or package.module:attribute; got {data!r}"
        )
    return [RecordSource(str(file), side) for file in found]


def _is_function(name: str) -> bool:
    return (":" in name or name in _PLUGINS.entry_points()) and not Path(name).exists()


def _brought(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    made_by = _PLUGINS.load(name)
    found = made_by() if callable(made_by) else made_by
    if not isinstance(found, Iterable):
        raise InputError(f"data {name} must give records one after the other; got {type(found).__name__}")
    for number, record in enumerate(found, 1):
        if not isinstance(record, Mapping):
            raise InputError(f"{name}:{number} must be a mapping of columns; got {short_repr(record)}")
        yield f"{name}:{number}", record


def _nothing(name: str) -> None:
    """NaN and infinity, which JSON does not have."""


def _written(where: str, value: Any) -> str:
    """The text of a date or a decimal, which JSON has no form for."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise InputError(f"{where} must be text and numbers, as prompts show no pictures; got bytes in a column")
    return str(value)
