"""SWE-bench: issues of repositories, read from its data files; the repositories are the user's own clones.

FOLDER/instances.jsonl (or .json, .parquet)
FOLDER/repos/OWNER__NAME                      a clone, or a bare one
FOLDER/environments/OWNER__NAME-VERSION/Dockerfile, or .../OWNER__NAME/Dockerfile
                                              what programs its tests need; none: those of this machine
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_text, read_json, read_json_lines
from tars_jax.sandbox.computer.images import checked
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask

FORMS = (".jsonl", ".json", ".parquet")
REPOSITORIES, ENVIRONMENTS = "repos", "environments"
CONDA = "/opt/miniconda3"  # that scripts of the published sets activate; shown to computers where this machine has it
MAX_STEPS = 100
_ID, _COMMIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"), re.compile(r"[0-9a-f]{7,64}")
_TEXTS = ("instance_id", "repo", "base_commit", "problem_statement", "test_patch")
_ASKED = (
    "The repository is in /testbed. Change its files so that the issue is resolved; tests that show it will be run on "
    "what you leave. Changes of test files do not count.\n\n"
)


def read_instances(path: Path) -> Sequence[BenchmarkTask]:
    """`path`: the folder, or a data file with `repos` beside it. Raises InputError with the file and the field."""
    file = _data_file(path)
    folder = file.parent
    records = [_checked(record, where) for where, record in _records(file)]
    there = _commits(folder, records)
    return [_task(folder, record, there) for record in records]


def repository(folder: Path, name: str) -> Path:
    """The folder of the clone of OWNER/NAME."""
    return folder / REPOSITORIES / name.replace("/", "__")


def environment_of(folder: Path, record: Mapping[str, Any]) -> Path | None:
    """The build context of an instance's tests: of its version, or of its repository. None: it has none."""
    name, version = record["repo"].replace("/", "__"), str(record.get("version") or "")
    names = [f"{name}-{version}", name] if _ID.fullmatch(version) else [name]
    contexts = [folder / ENVIRONMENTS / each for each in names]
    return next((context for context in contexts if (context / "Dockerfile").is_file()), None)


def _data_file(path: Path) -> Path:
    if path.is_file() and path.suffix in FORMS:
        return path
    found = sorted(each for each in path.iterdir() if each.suffix in FORMS) if path.is_dir() else []
    if len(found) != 1:
        got = f"{len(found)} in {path}" if path.is_dir() else str(path)
        raise InputError(f"tasks must be one file of {', '.join(FORMS)}, or a folder with one; got {got}")
    return found[0]


def _records(file: Path) -> list[tuple[str, dict[str, Any]]]:
    if file.suffix == ".jsonl":
        return list(read_json_lines(file, "an instance of SWE-bench"))
    if file.suffix == ".parquet":
        rows = _parquet(file)
    else:
        value = read_json(file)
        rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{file} must hold a list of instances; got {type(rows).__name__}")
    return [(f"{file}: instance {number}", row) for number, row in enumerate(rows, 1)]


def _parquet(file: Path) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(file).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{file} must be a whole Parquet file; got {error}") from error
    return rows


def _checked(record: dict[str, Any], where: str) -> dict[str, Any]:
    for name in _TEXTS:
        if not is_text(record.get(name)):
            raise InputError(f"{where}: {name} must be text; got {record.get(name)!r:.60}")
    if not _ID.fullmatch(record["instance_id"]):
        raise InputError(f"{where}: instance_id must be letters, digits, _ . and -; got {record['instance_id']!r:.60}")
    if not all(_ID.fullmatch(part) for part in record["repo"].split("/")) or record["repo"].count("/") != 1:
        raise InputError(f"{where}: repo must be OWNER/NAME; got {record['repo']!r:.60}")
    if not _COMMIT.fullmatch(record["base_commit"]):
        raise InputError(f"{where}: base_commit must be hexadecimal; got {record['base_commit']!r:.60}")
    tests = {name: _names(record.get(name), f"{where}: {name}") for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    return {**record, **tests}


def _names(value: Any, where: str) -> list[str]:
    """A list, or one as text, as some files of the benchmark have it."""
    try:
        names = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"{where} must be a list of tests; got {value!r:.60}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{where} must be a list of tests; got {value!r:.60}")
    return names


def _commits(folder: Path, records: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Pairs of repository and commit that are there; each clone is asked once."""
    wanted: dict[str, list[str]] = {}
    for record in records:
        wanted.setdefault(record["repo"], []).append(record["base_commit"])
    found: set[tuple[str, str]] = set()
    for repo, commits in wanted.items():
        if (clone := repository(folder, repo)).is_dir():
            asked = "".join(f"{commit}^{{commit}}\n" for commit in commits)
            told = git(clone, "cat-file", "--batch-check", stdin=asked.encode()).stdout.decode().splitlines()
            found |= {(repo, commit) for commit, line in zip(commits, told, strict=False) if " commit " in line}
    return found


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Git on a clone of the user's, without settings of anybody's: none of its hooks, filters or aliases run."""
    settings = ("-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    environment = {
        "PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C",
    }  # fmt: skip
    return subprocess.run(
        ["git", "-C", str(folder), *settings, *arguments], input=stdin, capture_output=True, env=environment
    )


def _task(folder: Path, record: Mapping[str, Any], there: set[tuple[str, str]]) -> BenchmarkTask:
    return BenchmarkTask(
        record["instance_id"], _ASKED + record["problem_statement"], record["repo"], record=record, folder=folder,
        left_out=_why_left_out(folder, record, there),
    )  # fmt: skip


def _why_left_out(folder: Path, record: Mapping[str, Any], there: set[tuple[str, str]]) -> str:
    clone = repository(folder, record["repo"])
    if not record["FAIL_TO_PASS"]:
        return "its FAIL_TO_PASS names no test, so nothing tells whether it is resolved"
    if not clone.is_dir():
        return f"{REPOSITORIES}/{clone.name} is missing: clone {record['repo']} there"
    if (record["repo"], record["base_commit"]) not in there:
        return f"{REPOSITORIES}/{clone.name} has no commit {record['base_commit'][:12]}: its clone must be a whole one"
    if CONDA in str(record.get("eval_script", "")) and not os.path.isdir(CONDA):
        return f"its eval_script activates {CONDA}, which this machine has not"
    if _assets(record):
        return "its tests need files that its patches cannot carry (image_assets), which nobody fetches here"
    if (context := environment_of(folder, record)) is not None:
        try:
            checked(context)
        except InputError as error:
            return str(error)
    return ""


def _assets(record: Mapping[str, Any]) -> bool:
    """Whether files come besides the patches, as in the multimodal set."""
    given = record.get("image_assets")
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return True
    return isinstance(value, dict) and any(value.values())


SWE_BENCH = Benchmark(
    name="swe_bench",
    title="SWE-bench",
    version="graded by swebench 5.0.2",
    read=read_instances,
    environment="tars_jax.envs.benchmarks.swe_bench.environment:SweBenchEnvironment",
    max_steps=MAX_STEPS,
    results="tars_jax.evaluation.benchmarks.swe_bench:write_results",
)
