"""BrowseComp (arXiv 2504.12516) and BrowseComp-ZH (arXiv 2504.19314): questions that take long to search and whose
short answer is easily checked. Both come encrypted, so that nobody finds the answers by accident.

    browse_comp_test_set.csv           problem, answer, canary, problem_topic
    browsecomp-zh-encrypted.xlsx       Topic, Question, Answer, canary
    *.json                             [{"Topic", "Question", "Answer"}]: BrowseComp-ZH as its own script decrypts it
"""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_json
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.browsecomp_response import asked
from tars_jax.tasks.benchmarks.spreadsheet import read_sheet

ENGLISH, CHINESE = "en", "zh"
MAX_STEPS = 100  # ours: the benchmark has none
_COLUMNS = {
    ENGLISH: {"question": "problem", "answer": "answer", "topic": "problem_topic"},
    CHINESE: {"question": "Question", "answer": "Answer", "topic": "Topic"},
}
NEEDED = ("problem", "answer", "canary")  # of BrowseComp
_LISTED = ", ".join(NEEDED)
_PREFIX = {ENGLISH: "browsecomp", CHINESE: "browsecomp-zh"}


def decrypted(text: str, canary: str) -> str:
    """Base64 of the bytes of a text, each XORed with the SHA-256 of the canary, repeated. Raises ValueError."""
    data = base64.b64decode(text.strip(), validate=True)
    key = hashlib.sha256(canary.encode()).digest()
    return bytes(one ^ other for one, other in zip(data, itertools.cycle(key), strict=False)).decode("utf-8")


def read_browsecomp(path: Path, language: str = ENGLISH) -> list[BenchmarkTask]:
    """The questions of a file, or of the only file of its kind in a folder; their ids are their places in it.

    Raises InputError that names file, row and column for what is missing, cut off, or cannot be decrypted.
    """
    file = _file(path, language)
    columns = _COLUMNS[language]
    found = []
    for number, (where, row) in enumerate(_rows(file, columns)):
        canary = None if file.suffix == ".json" else row.get("canary", "")
        if canary == "":
            raise InputError(f"{where} must have a canary, which its texts are encrypted with; got none")
        question, answer = (_said(where, columns[name], row, canary) for name in ("question", "answer"))
        topic = row.get(columns["topic"], "").strip()
        if topic and language == CHINESE:  # the other's are not encrypted
            topic = _said(where, columns["topic"], row, canary)
        record = {"question": question, "canary": canary or "", "topic": topic}
        found.append(
            BenchmarkTask(
                f"{_PREFIX[language]}-{number:04d}", asked(question, language), topic or "no topic", record=record,
                reference=answer,
            )
        )  # fmt: skip
    if not found:
        raise InputError(f"{file} must hold questions; got none")
    return found


def _file(path: Path, language: str) -> Path:
    if not path.is_dir():
        return path
    kinds = (".csv",) if language == ENGLISH else (".xlsx",)
    files = sorted(each for each in path.iterdir() if each.suffix in kinds)
    if len(files) != 1:
        raise InputError(f"{path} must be a file, or a folder with one {kinds[0]}; got {len(files)} of these in it")
    return files[0]


def _rows(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each row with where it stands."""
    if file.suffix == ".json":
        records = read_json(file)
        if not isinstance(records, list):
            raise InputError(f"{file} must hold an array of questions; got {type(records).__name__}")
        for number, record in enumerate(records):
            where = f"{file}: entry {number}"
            if not isinstance(record, dict):
                raise InputError(f"{where} must be an object; got {type(record).__name__}")
            fields = Fields(record, f"{where}: field ")
            yield where, {column: fields.text(column, "") for column in columns.values()}
        return
    rows = read_sheet(file) if file.suffix == ".xlsx" else list(_table(file))
    for number, row in enumerate(rows, 2):
        yield f"{file}: row {number}", row


def _table(file: Path) -> Iterator[dict[str, str]]:
    """Rows of a CSV. What has other columns than its first row is cut off, or no CSV."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file} must be a CSV file in UTF-8; got {why}") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: Sequence[str] = ()
    try:
        for row in reader:
            if not names:
                names = [each.strip() for each in row]
                if missing := [each for each in NEEDED if each not in names]:
                    raise InputError(f"{file} must have the columns {_LISTED}; got none named {missing[0]}")
            elif row:
                if len(row) != len(names):
                    raise InputError(f"{file}: line {reader.line_num} must have {len(names)} columns; got {len(row)}")
                yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise InputError(f"{file}: line {reader.line_num} must be CSV; got {error}") from error
    if not names:
        raise InputError(f"{file} must have the columns {_LISTED}; got an empty file")


def _said(where: str, column: str, row: Mapping[str, str], canary: str | None) -> str:
    """The text of a cell. Raises InputError."""
    text = row.get(column, "")
    try:
        said = (text if canary is None else decrypted(text, canary)).strip()
    except ValueError as error:  # of base64, and of UTF-8
        raise InputError(f"{where}: {column} must be base64 of a text encrypted with its canary; {error}") from error
    if not said:
        raise InputError(f"{where}: {column} must not be empty; got {text!r:.60}")
    return said


BROWSECOMP = Benchmark(
    name="browsecomp",
    title="BrowseComp",
    version="2025-04",
    read=read_browsecomp,
    environment="tars_jax.envs.benchmarks.browsecomp:BrowseCompEnvironment",
    max_steps=MAX_STEPS,
    judge=("browsecomp", {}),
    results="tars_jax.evaluation.benchmarks.browsecomp:write_results",
)
BROWSECOMP_ZH = Benchmark(
    name="browsecomp_zh",
    title="BrowseComp-ZH",
    version="2025-05",
    read=functools.partial(read_browsecomp, language=CHINESE),
    environment="tars_jax.envs.benchmarks.browsecomp:BrowseCompEnvironment",
    max_steps=MAX_STEPS,
    judge=("browsecomp", {}),
    results="tars_jax.evaluation.benchmarks.browsecomp:write_results_zh",
)
