"""Records of files, one after the other: lines of JSONL, rows of Parquet and of what Hugging Face's `datasets` saves.

Tables are read with pyarrow alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import read_json_lines, without_nulls

ROWS = 64  # in memory together, with their images
TABLES = (".parquet", ".arrow")
RECORD_FILES = (".jsonl", *TABLES)
_SPLITS, _STATE = "dataset_dict.json", "state.json"


def records_of(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each record with where it stands, FILE:NUMBER of its line or row. Raises InputError as `read_json_lines` and
    `rows_of` do."""
    if file.suffix in TABLES:
        return ((f"{file}:{number}", row) for number, row in enumerate(rows_of(file), 1))
    return read_json_lines(file)


def table_files(folder: Path, split: str = "train") -> list[Path]:
    """The files of a folder as `save_to_disk` or the Hub lay it out, of one split where there are several; none where
    it is no such folder.

    Raises InputError for splits without this one among them, and a state.json that names no files.
    """
    if (folder / _SPLITS).is_file():
        splits = _json(folder / _SPLITS).get("splits") or []
        return table_files(folder / _one_split(splits, split, folder))
    if (folder / _STATE).is_file():
        try:
            names = [each["filename"] for each in _json(folder / _STATE)["_data_files"]]
        except (KeyError, TypeError) as error:
            raise InputError(f"{folder / _STATE}: field _data_files must name the files of the dataset") from error
        return [folder / name for name in names]
    found = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    splits = sorted({file.name.partition("-")[0] for file in found if "-of-" in file.name})
    if len(splits) < 2:
        return found
    chosen = _one_split(splits, split, folder)
    return [file for file in found if file.name.startswith(f"{chosen}-")]


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet or an Arrow file. A column has all fields that any row has, and says null in the others: such
    fields are left out. Raises InputError for a damaged file, and where pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(f"{file} takes pyarrow: install the extra parquet, tars_jax[parquet].") from error
    try:
        if file.suffix == ".parquet":
            with pq.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=ROWS):
                    yield from map(without_nulls, batch.to_pylist())
        else:
            with pa.memory_map(str(file)) as source, pa.ipc.open_stream(source) as batches:
                for batch in batches:
                    for start in range(0, batch.num_rows, ROWS):
                        yield from map(without_nulls, batch.slice(start, ROWS).to_pylist())
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file} must be a file of Parquet, or of Arrow as datasets writes it; {error}") from error


def _one_split(splits: list[str], wanted: str, folder: Path) -> str:
    if wanted in splits:
        return wanted
    if len(splits) == 1:
        return splits[0]
    raise InputError(f"{folder} must have a split {wanted}, or be the folder of one split; got {', '.join(splits)}")


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} must be JSON as datasets writes it; {error}") from error
    return found if isinstance(found, dict) else {}
