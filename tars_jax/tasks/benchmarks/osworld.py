"""OSWorld's tasks, read from a checkout of its `evaluation_examples`.

    evaluation_examples/
      test_all.json            {domain: [ids]}: the tasks, in order
      examples/DOMAIN/ID.json  one task each
    cache/                     what tasks download, as desktop-env keeps it; or files/, as the data set of files has it

PATH is the folder, or the checkout around it, a list such as test_small.json, a folder of tasks, or one task.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.osworld_files import cache_folders, wrong_paths
from tars_jax.tasks.benchmarks.osworld_needs import left_out

MAX_STEPS = 15  # of the first leaderboard; the verified one has 15, 50 and 100
FOLDERS = ("evaluation_examples", "evaluation_examples_windows")  # of tasks in a checkout
LARGEST = 4 << 20  # bytes of one file of JSON
CONFIG_TYPES = frozenset((
    "activate_window", "chrome_close_tabs", "chrome_open_tabs", "change_wallpaper", "close_window", "command",
    "download", "execute", "execute_with_verification", "googledrive", "launch", "login", "open", "sleep",
    "update_browse_history", "upload_file",
))  # fmt: skip
# Fields of a task that are known; nothing here reads those of the second line.
KNOWN = frozenset((
    "id", "instruction", "config", "evaluator", "related_apps", "proxy", "snapshot", "source",
    "trajectory", "fixed_ip", "possibility_of_env_change", "os_type",
))  # fmt: skip


def read(path: Path) -> Sequence[BenchmarkTask]:
    """The tasks of a checkout, a list, a folder or a file. Raises InputError."""
    if not path.exists():
        raise InputError(f"tasks must be a checkout of OSWorld's evaluation_examples, or a file; there is no {path}")
    root, files = path if path.is_dir() else path.parent, listed_files(path)
    root = root / "evaluation_examples" if (root / "evaluation_examples").is_dir() else root
    caches = cache_folders(root)
    tasks = [_task(file, domain, caches) for domain, file in files]
    names = [task.id for task in tasks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        # Identifiers are of a domain: thunderbird and chrome have some alike.
        tasks = [_renamed(task) if task.id in twice else task for task in tasks]
    return tasks


def listed_files(path: Path) -> list[tuple[str, Path]]:
    """Domain and file of each task of a checkout, a list, a folder or a file. Raises InputError."""
    root = path if path.is_dir() else path.parent
    for name in FOLDERS:
        root = root / name if (root / name).is_dir() else root
    if path.is_dir():
        lists = root / "test_all.json"
        files = list(_listed(lists)) if lists.is_file() else [(each.parent.name, each) for each in _found(root)]
        if not files:
            raise InputError(f"tasks must be a folder with test_all.json or with tasks; got {path}")
        return files
    if (fields := _object(path)).get("instruction") is not None or "evaluator" in fields:
        return [(path.parent.name, path)]
    return list(_listed(path))


OSWORLD = Benchmark(
    name="osworld",
    title="OSWorld",
    version="1 (desktop-env 1.0.2)",
    read=read,
    environment="tars_jax.envs.benchmarks.osworld:OSWorldEnvironment",
    max_steps=MAX_STEPS,
    results="tars_jax.evaluation.benchmarks.osworld:write_results",
)


def _object(path: Path) -> Mapping[str, Any]:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(f"{path} must have at most {LARGEST} bytes; got {size}")
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} must be a file of JSON; {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} must be a JSON object; got {type(value).__name__}")
    return value


def _listed(path: Path) -> Iterator[tuple[str, Path]]:
    """Domain and file of each task of a list, whose tasks lie beside it in examples/."""
    for domain, names in _object(path).items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"{path} must be a task, with an instruction, or lists of ids by domain; got a field {domain!r:.80} "
                f"that is {names!r:.80}"
            )
        for name in names:
            if any(part in ("", ".", "..") or "/" in part or "\\" in part or "\0" in part for part in (domain, name)):
                raise InputError(f"{path}: domains and ids must be names of files; got {domain!r} with {name!r}")
            folder = path.parent if (path.parent / domain).is_dir() else path.parent / "examples"
            file = folder / domain / f"{name}.json"
            if not file.is_file():
                raise InputError(f"{path}: {domain} must name tasks that are there; there is no {file}")
            yield domain, file


def _found(root: Path) -> list[Path]:
    """The tasks of a folder without a list: files that say an instruction."""
    folder = root / "examples" if (root / "examples").is_dir() else root
    return [path for path in sorted(folder.glob("**/*.json")) if "evaluator" in _object(path)]


def _task(path: Path, domain: str, caches: Sequence[Path]) -> BenchmarkTask:
    fields = Fields(_object(path), f"{path}: ")
    name, instruction = fields.text("id"), fields.text("instruction")
    if not name or "/" in name or name in (".", ".."):
        raise fields.error("id", "the name of a folder")
    for kind in ("config", "related_apps", "trajectory", "evaluator"):
        wanted = {"config": list, "related_apps": list, "trajectory": str, "evaluator": dict}[kind]
        if fields.value(kind) is not None and not isinstance(fields.value(kind), wanted):
            raise fields.error(kind, {list: "a list", str: "text", dict: "an object"}[wanted])
    if not isinstance(evaluator := fields.value("evaluator"), dict):
        raise fields.error("evaluator", "an object")
    if unknown := sorted(set(fields.names()) - KNOWN):
        raise InputError(
            f"{path}: fields must be those of OSWorld 1; got {unknown[0]!r}, which a newer version may have"
        )
    check_steps(fields.value("config") or [], f"{path}: config")
    check_evaluator(evaluator, f"{path}: evaluator")
    record = dict(fields.values)
    return BenchmarkTask(
        id=name, instruction=instruction, group=domain, record=record, folder=path.parent,
        left_out=unknown_step(record) or wrong_paths(record, path.parent) or left_out(record, domain, caches),
    )  # fmt: skip


def check_steps(steps: Any, where: str) -> None:
    """Raises InputError for what is no list of steps."""
    if not isinstance(steps, list):
        raise InputError(f"{where} must be a list; got {type(steps).__name__}")
    for number, step in enumerate(steps):
        whole = isinstance(step, dict) and isinstance(step.get("parameters"), dict)
        if not whole or not isinstance(step.get("type"), str):
            raise InputError(f"{where}[{number}] must be an object with type and parameters; got {str(step)[:80]}")


def unknown_step(record: Mapping[str, Any], known: Collection[str] = CONFIG_TYPES) -> str:
    """A sentence on the first step of a task whose type is not known; empty: all are known."""
    steps = [*(record.get("config") or []), *(record["evaluator"].get("postconfig") or [])]
    unknown = next((step["type"] for step in steps if step["type"] not in known), "")
    return f"It has a step of the type {unknown!r:.80}, which this version of the benchmark does not have." * bool(
        unknown
    )


def check_evaluator(evaluator: Mapping[str, Any], where: str) -> None:
    """Raises InputError for what says no metric, or not what it looks at."""
    metrics = evaluator.get("func")
    names = metrics if isinstance(metrics, list) else [metrics]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"{where}.func must be a name or a list of names; got {str(metrics)[:80]}")
    if evaluator.get("conj", "and") not in ("and", "or"):
        raise InputError(f"{where}.conj must be and or or; got {evaluator['conj']!r}")
    check_steps(evaluator.get("postconfig") or [], f"{where}.postconfig")
    for part in ("result", "expected", "options"):
        given = evaluator.get(part)
        listed = given if isinstance(given, list) else [given]
        if not all(each is None or isinstance(each, dict) for each in listed):
            raise InputError(f"{where}.{part} must be an object, or a list of objects; got {str(given)[:80]}")
        if given and isinstance(metrics, list) and (not isinstance(given, list) or len(given) != len(metrics)):
            raise InputError(f"{where}.{part} must be a list as long as func, of {len(metrics)}; got {str(given)[:80]}")
        if part != "options" and any(each and not isinstance(each.get("type"), str) for each in listed):
            raise InputError(f"{where}.{part} must say its type; got {str(given)[:80]}")
    if names != ["infeasible"] and not evaluator.get("result"):
        raise InputError(f"{where}.result must be there for {names[0]}; got none")


def _renamed(task: BenchmarkTask) -> BenchmarkTask:
    return dataclasses.replace(task, id=f"{task.group}/{task.id}")
