"""Online-Mind2Web (arXiv 2504.01382): 300 tasks on websites as they are now.

    Online_Mind2Web.json    [{"task_id", "confirmed_task", "website", "reference_length", "level"}, ...]

Tasks are replaced as websites change, under the same name: `fingerprint` tells which ones a run has played.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_json
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask

LEVELS = ("easy", "medium", "hard")
MAX_STEPS = 100  # ours: the benchmark has none
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")  # it names a folder of the results


def read_online_mind2web(path: Path) -> list[BenchmarkTask]:
    """The tasks of a file, or of the only .json in a folder. Raises InputError that names file, entry and field."""
    file = task_file(path)
    records = read_json(file)
    if not isinstance(records, list) or not records:
        got = "an empty list" if records == [] else type(records).__name__
        raise InputError(f"{file} must hold a list of tasks; got {got}")
    return [_task(record, f"{file}: entry {number}") for number, record in enumerate(records)]


def fingerprint(task: BenchmarkTask) -> str:
    """A fingerprint, which changes where a task is replaced under its id."""
    said = [task.id, task.record["confirmed_task"], task.record["website"]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def task_file(path: Path) -> Path:
    """Raises InputError for a folder without one."""
    if not path.is_dir():
        return path
    files = sorted(path.glob("*.json"))
    if len(files) != 1:
        raise InputError(f"{path} must be a file, or a folder with one .json; got {len(files)} of these in it")
    return files[0]


def _task(record: object, where: str) -> BenchmarkTask:
    if not isinstance(record, dict):
        raise InputError(f"{where} must be an object; got {type(record).__name__}")
    fields = Fields(record, f"{where}: field ")
    id, asked, website = (fields.text(name) for name in ("task_id", "confirmed_task", "website"))
    if not _ID.fullmatch(id):
        raise fields.error("task_id", "letters, digits, - and _")
    if not asked.strip():
        raise fields.error("confirmed_task", "the task in words")
    if not _is_website(website):
        raise fields.error("website", "an address of http or https")
    level = fields.text("level", "")
    if level not in ("", *LEVELS):
        raise fields.error("level", f"one of {', '.join(LEVELS)}")
    fields.integer("reference_length", 0, 0, 10_000)
    return BenchmarkTask(id, asked.strip(), level or "no level", record=record)


def _is_website(address: str) -> bool:
    try:
        parts = urlsplit(address if "://" in address else f"https://{address}")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in address.strip()
    except ValueError:
        return False


ONLINE_MIND2WEB = Benchmark(
    name="online_mind2web",
    title="Online-Mind2Web",
    version="2025-04, tasks replaced since",
    read=read_online_mind2web,
    environment="tars_jax.envs.benchmarks.online_mind2web:OnlineMind2WebEnvironment",
    max_steps=MAX_STEPS,
    judge=("webjudge", {}),
    results="tars_jax.evaluation.benchmarks.online_mind2web:write_results",
)
