"""Files that OSWorld's tasks fetch from clouds, and where a copy of each lies beside the tasks.

A copy is found as desktop-env's cache keeps it, FOLDER/ID/UUID5_NAME and FOLDER/ID/DEST, or as the published data set
of files has it, FOLDER/DOMAIN/ID/NAME.
"""

from __future__ import annotations

import dataclasses
import posixpath
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CACHES = ("cache", "files")  # folders beside evaluation_examples, or in it


@dataclasses.dataclass(frozen=True)
class CloudFile:
    url: str
    name: str  # that it has in a task's cache, or of the file inside that it becomes
    path: str = ""  # inside, where it is put; empty: the scorer reads it


def cache_folders(root: Path) -> list[Path]:
    return [folder for above in (root, root.parent) for name in CACHES if (folder := above / name).is_dir()]


def cloud_files(record: Mapping[str, Any]) -> list[CloudFile]:
    """Files that a task of OSWorld fetches, by its steps and for its scorer; each once."""
    evaluator = record["evaluator"]
    steps = [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]
    found = [each for step in steps if step["type"] == "download" for each in downloads(step["parameters"])]
    for part in ("result", "expected"):
        given = evaluator.get(part) or []
        for getter in given if isinstance(given, list) else [given]:
            if getter and getter["type"] == "cloud_file":
                several = getter.get("multi", False)
                urls = getter["path"] if several else [getter["path"]]
                names = getter["dest"] if several else [getter["dest"]]
                found += [CloudFile(str(url), str(name)) for url, name in zip(urls, names, strict=False)]
    return list(dict.fromkeys(found))


def wrong_paths(record: Mapping[str, Any], folder: Path) -> str:
    """A sentence on the paths of a task that would lead out of a folder of this machine; empty: none would.

    What its scorer keeps has names and no paths, so that it stays in the cache of the episode; what is uploaded lies
    in `folder`, beside the task.
    """
    evaluator = record["evaluator"]
    kept: list[tuple[str, Any]] = []
    for part in ("result", "expected"):
        given = evaluator.get(part) or []
        for getter in filter(None, given if isinstance(given, list) else [given]):
            kept += [(f"{part}.dest", each) for each in _each(getter.get("dest"))]
            if getter["type"] == "cache_file":
                kept += [(f"{part}.path", each) for each in _each(getter.get("path"))]
    for step in [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]:
        parameters = step["parameters"]
        kept += [(name, parameters[name]) for name in ("stdout", "stderr") if parameters.get(name)]
        if step["type"] != "upload_file":
            continue
        for file in parameters.get("files") or ():
            local = file.get("local_path") if isinstance(file, dict) else None
            path = folder / local if isinstance(local, str) and "\0" not in local else None
            if path is None or not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
                return f"Its local_path must be a file beside the task; got {local!r:.100}."
    for name, value in kept:
        if not is_name(value):
            return f"Its {name} must be the name of a file, without folders; got {value!r:.100}."
    return ""


def is_name(value: Any) -> bool:
    """Whether it is one part of a path, on any system, which leads nowhere else."""
    return isinstance(value, str) and value not in ("", ".", "..") and not set(value) & set("/\\\0:")


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def downloads(parameters: Mapping[str, Any]) -> Iterator[CloudFile]:
    for file in parameters.get("files") or ():
        path = str(file.get("path", ""))
        yield CloudFile(str(file.get("url", "")), posixpath.basename(path.replace("\\", "/")), path)


def local_copy(file: CloudFile, task: str, domain: str, caches: Sequence[Path]) -> Path | None:
    """The copy of a file that a task fetches; None: there is none. Names that lead out of a folder have no copy."""
    fetched = urllib.parse.unquote(posixpath.basename(urllib.parse.urlsplit(file.url).path))
    kept = f"{uuid.uuid5(uuid.NAMESPACE_URL, file.url)}_{file.name}"
    below = [(task, kept), (task, file.name), (domain, task, fetched), (domain, task, file.name)]
    for folder in caches:
        for parts in below:
            if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
                continue
            if (path := folder.joinpath(*parts)).is_file():
                return path
    return None
