"""WindowsAgentArena's tasks: from the wheel `waa-cube`, or from a folder of its public repository's form.

PATH is waa_cube-VERSION-py3-none-any.whl, a folder with its task_metadata.json and task_execution_info.json, or
`evaluation_examples_windows` (test_all.json and examples/DOMAIN/ID.json), a list or a task of that. What tasks download
lies in cache/ID/ or files/DOMAIN/ID/ beside it, as OSWorld's does. `needs_of` says why a guest cannot play a task.
"""

from __future__ import annotations

import functools
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, is_text, read_json
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.osworld import CONFIG_TYPES, check_evaluator, check_steps, listed_files, unknown_step
from tars_jax.tasks.benchmarks.osworld_files import cache_folders, cloud_files, local_copy, wrong_paths

MAX_STEPS = 15
PACKAGE, VERSION = "waa_cube", "0.1.2"
METADATA, EXECUTION = "task_metadata.json", "task_execution_info.json"
LARGEST = 16 << 20  # bytes of a file of tasks
STEP_TYPES = CONFIG_TYPES | {
    "close_all", "create_file", "create_folder", "recycle_file", "tidy_desktop", "update_browse_history_edge",
}  # fmt: skip
# Whose scorers ask the internet, and nothing of ours does.
ONLINE = ("googledrive_file", "info_from_website", "page_info", "pdf_from_url", "url_path_parse")
_OF_CUBE = {"id", "abstract_description", "split", "recommended_max_steps", "container_config", "_type"}
# Steps and getters that files alone serve: they are the same on every system.
PLAIN_STEPS = (
    "activate_window", "close_all", "close_window", "create_file", "create_folder", "download", "sleep",
    "tidy_desktop", "upload_file",
)  # fmt: skip
PLAIN_GETTERS = (
    "all_png_file_names", "cloud_file", "is_all_docx_in_archive", "is_file_desktop", "is_file_saved_desktop",
    "is_files_moved_downloads", "rule", "vm_file", "vm_file_exists_in_desktop", "vm_file_exists_in_vm_folder",
    "vm_folder_exists_in_documents",
)  # fmt: skip
# Getters by the route of WindowsAgentArena's own server that they ask; launch/windows_guest.py has none of these.
OWN_ROUTES: Mapping[str, str] = {
    "are_all_images_tagged": "are_all_images_tagged",
    "are_files_sorted_by_modified_time": "are_files_sorted_by_modified_time",
    "check_if_timer_started": "check_if_timer_started",
    "check_if_world_clock_exists": "check_if_world_clock_exists",
    "is_details_view": "is_details_view",
    "is_directory_read_only_for_user": "is_directory_read_only_for_user",
    "vm_active_window_title": "accessibility",
    "vm_library_folders": "library_folders",
    "vm_wallpaper": "wallpaper",
}
PROGRAMS = {"zipped_folder_in_desktop": "py7zr"}  # of Python, which the scorers' environment has not


def read(path: Path) -> Sequence[BenchmarkTask]:
    """Raises InputError that names the file and the field."""
    if path.suffix == ".whl":
        metadata, execution = (_of_wheel(path, name) for name in (METADATA, EXECUTION))
        return _of_cube(path, metadata, execution)
    if (path / EXECUTION).is_file():
        return _of_cube(path, *(read_json(path / name) for name in (METADATA, EXECUTION)))
    if not path.exists():
        raise InputError(f"tasks must be waa-cube's wheel, or a folder of its tasks; there is no {path}")
    caches = cache_folders(path if path.is_dir() else path.parent)
    return [_task(read_json(file), domain, file, caches) for domain, file in listed_files(path)]


def _of_wheel(path: Path, name: str) -> Any:
    try:
        with zipfile.ZipFile(path) as wheel:
            if wheel.getinfo(f"{PACKAGE}/{name}").file_size > LARGEST:
                raise InputError(f"{path}: {name} must have at most {LARGEST} bytes")
            return json.loads(wheel.read(f"{PACKAGE}/{name}"))
    except KeyError as error:
        raise InputError(f"{path} must be waa-cube's wheel; it has no {PACKAGE}/{name}") from error
    except (OSError, zipfile.BadZipFile, ValueError, RecursionError) as error:
        raise InputError(f"{path} must be a whole wheel of waa-cube; got {error}") from error


def _of_cube(path: Path, metadata: Any, execution: Any) -> list[BenchmarkTask]:
    if not isinstance(metadata, list) or not isinstance(execution, dict):
        raise InputError(f"{path}: {METADATA} must be an array and {EXECUTION} an object")
    caches, tasks = cache_folders(path.parent), []
    for number, row in enumerate(metadata):
        if not isinstance(row, dict) or not is_text(row.get("id")) or not is_text(row.get("abstract_description")):
            raise InputError(f"{path}: {METADATA}[{number}] must have id and abstract_description; got {row!r:.80}")
        if unknown := sorted(row.keys() - _OF_CUBE):
            raise InputError(f"{path}: {METADATA}[{number}] must be of version {VERSION}; got the field {unknown[0]!r}")
        if not isinstance(info := execution.get(row["id"]), dict):
            raise InputError(f"{path}: {EXECUTION} must have {row['id']}, which {METADATA} names")
        fields = ("snapshot", "config", "evaluator", "related_apps", "domain")
        record = {"id": row["id"], "instruction": row["abstract_description"]}
        record |= {name: info.get(name) for name in fields}
        tasks.append(_task(record, str(info.get("domain", "")), path, caches))
    return tasks


def _task(record: Any, domain: str, path: Path, caches: Sequence[Path]) -> BenchmarkTask:
    if not isinstance(record, dict):
        raise InputError(f"{path} must be a JSON object; got {type(record).__name__}")
    fields = Fields(record, f"{path}: ")
    name, instruction = fields.text("id"), fields.text("instruction")
    if not re.fullmatch(r"[\w.-]+", name) or name.strip(".") == "":
        raise fields.error("id", "the name of a folder")
    where = f"{path}: {name}"
    if not isinstance(evaluator := fields.value("evaluator"), dict):
        raise fields.error("evaluator", "an object")
    check_steps(record.get("config") or [], f"{where}: config")
    check_evaluator(evaluator, f"{where}: evaluator")
    folder = path if path.is_dir() else path.parent
    wrong = unknown_step(record, STEP_TYPES) or wrong_paths(record, folder)
    return BenchmarkTask(
        name, instruction, domain, record=record, folder=folder, left_out=wrong or left_out(record, domain, caches),
    )  # fmt: skip


def left_out(record: Mapping[str, Any], domain: str, caches: Sequence[Path]) -> str:
    """The reason why no guest can play a task; empty: one can."""
    evaluator = record["evaluator"]
    getters = [each["type"] for part in ("result", "expected") for each in _listed(evaluator.get(part)) if each]
    if online := next((name for name in getters if name in ONLINE), ""):
        return f"It is scored by {online!r}, which asks a live website."
    for step in record.get("config") or []:
        if step["type"] in ("googledrive", "login"):
            return "It needs an account of Google Drive."
    files = cloud_files(record)
    if missing := [file for file in files if local_copy(file, record["id"], domain, caches) is None]:
        first = missing[0].name
        return f"{len(missing)} of its {len(files)} files must lie in cache/ beside the tasks; the first is {first}."
    return ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


@functools.cache
def package_of(path: Path) -> str:
    """The entry of `sys.path` where Python finds waa-cube's scorers: a wheel, or the folder around the package. Raises
    InputError for what holds no waa-cube, or another version."""
    if path.suffix == ".whl":
        if not path.name.startswith(f"{PACKAGE}-{VERSION}-"):
            raise InputError(f"scorers must be waa-cube's wheel of version {VERSION}; got {path.name}")
        _of_wheel(path, EXECUTION)
        return str(path)
    if not (path / "vm_backend" / "getters").is_dir():
        raise InputError(f"scorers must be waa-cube's wheel, or the folder of its package; got {path}")
    return str(path.parent)


WINDOWS_AGENT_ARENA = Benchmark(
    name="windows_agent_arena",
    title="WindowsAgentArena",
    version=f"1 (waa-cube {VERSION})",
    read=read,
    environment="tars_jax.envs.benchmarks.windows_agent_arena:WindowsAgentArenaEnvironment",
    max_steps=MAX_STEPS,
    results="tars_jax.evaluation.benchmarks.windows_agent_arena:write_results",
)


def needs_of(record: Mapping[str, Any], system: str, *, own_server: bool) -> str:
    """A sentence on why a guest cannot play a task; empty: it can.

    Args:
      system: of the guest, as Python calls it: win32, linux.
      own_server: it is WindowsAgentArena's own server.
    """
    evaluator = record["evaluator"]
    steps = [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]
    parts = [evaluator.get(part) for part in ("result", "expected")]
    getters = [each["type"] for part in parts for each in (part if isinstance(part, list) else [part]) if each]
    if missing := next((name for name in getters if name in PROGRAMS), ""):
        return f"It is scored by {missing!r}, which needs {PROGRAMS[missing]}."
    if not own_server and (name := next((name for name in getters if name in OWN_ROUTES), "")):
        return f"It is scored by {name!r}, which asks /{OWN_ROUTES[name]} of WindowsAgentArena's own server."
    if system == "win32":
        return ""
    if kind := next((step["type"] for step in steps if step["type"] not in PLAIN_STEPS), ""):
        return f"It has a step {kind!r}, which runs programs of Windows."
    if kind := next((name for name in getters if name not in PLAIN_GETTERS), ""):
        return f"It is scored by {kind!r}, which reads what Windows keeps."
    return ""
