"""The folder of a checkpoint: on disk whole or not at all, with a JSON file that says what it holds.

It is written beside and renamed into place when it is whole, so a name without a leading dot is a complete checkpoint
unless the disk lost something of it later. Of several processes all write arrays, to a file system that all share, and
the leader does the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pathlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.files import FULL_DISK, write_atomic
from tars_jax.training.processes import is_main_process, run_on_main_process

FORMAT = "tars_jax checkpoint 1"
ARRAYS, EXTRA_FILES = "arrays", "beside"
MANIFEST = "checkpoint.json"


def write_checkpoint(
    target: pathlib.Path,
    leaves: dict[str, str],
    extra: dict[str, Any],
    fill: Callable[[pathlib.Path], None],
    extra_files: Sequence[pathlib.Path] = (),
) -> None:
    """Commits what `fill` writes into the folder it is given as the checkpoint `target`, whole or not at all.

    `leaves` says the type and shape of every leaf; `extra_files` are copied. Raises InputError if the folder
    cannot be made, OSError if the disk refuses, and whatever `fill` raises.
    """
    target = target.absolute()
    partial, replaced = _beside(target, "saving"), _beside(target, "replaced")

    def prepare() -> None:
        try:
            remove(partial)
            _recover(target)
            partial.mkdir(parents=True)
        except OSError as error:
            if error.errno in FULL_DISK:
                raise
            told = f"{target} cannot be made: {error.strerror}"
            raise InputError(told) from error

    def commit() -> None:
        if extra_files:
            (partial / EXTRA_FILES).mkdir()
        for path in extra_files:
            shutil.copy(path, partial / EXTRA_FILES / path.name)
        files = {
            str(path.relative_to(partial)): _synced_digest(path)
            for path in sorted(partial.rglob("*"))
            if path.is_file()
        }
        content = {"format": FORMAT, "leaves": leaves, "files": files, "extra": extra}
        write_atomic(partial / MANIFEST, json.dumps({"content": content, "sha256": digest_of(content)}).encode())
        _sync_folders(partial)
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
        _sync(target.parent)

    try:
        run_on_main_process(prepare)
        with _disk_errors(target):
            fill(partial / ARRAYS)
        run_on_main_process(commit)
    except BaseException:
        if is_main_process():
            remove(partial)
            _recover(target)
        raise
    if is_main_process():
        remove(replaced)


def read_manifest(path: pathlib.Path) -> dict[str, Any]:
    """Reads checkpoint.json: leaves, files, extra. Raises InputError if it is missing, damaged or no checkpoint."""
    file = path / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: cannot be read as a checkpoint: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{file}: damaged, truncated or no checkpoint: {error}.") from error
    content = manifest.get("content") if isinstance(manifest, dict) else None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{file} must have the format {FORMAT!r}; got {content!r:.60}")
    if manifest.get("sha256") != digest_of(content):
        raise InputError(f"{file}: damaged: its checksum does not fit.")
    return content


def require_undamaged(path: pathlib.Path, content: dict[str, Any]) -> None:
    """Raises InputError that names the first file which is not as the manifest `content` says."""
    for name, (size, digest) in content["files"].items():
        try:
            found = (path / name).stat().st_size, _checksum(path / name)
        except OSError as error:
            raise InputError(f"{path / name}: cannot be read as part of a checkpoint: {error.strerror}.") from error
        if found != (size, digest):
            raise InputError(f"{path / name}: damaged or truncated: its size or checksum is not the checkpoint's.")


def is_complete(path: pathlib.Path) -> bool:
    """Whether all files are there in full; what is in them is checked when they are read."""
    try:
        files = read_manifest(path)["files"]
        return all((path / name).stat().st_size == size for name, (size, _) in files.items())
    except (InputError, OSError):
        return False


def copy_checkpoint(source: pathlib.Path, target: pathlib.Path) -> None:
    """To a new folder, whole or not at all. Raises InputError as `read_manifest` and `require_undamaged` do."""
    require_undamaged(source, read_manifest(source))
    partial = _beside(target.absolute(), "saving")
    remove(partial)
    try:
        shutil.copytree(source, partial)
        for path in partial.rglob("*"):
            if path.is_file():
                _sync(path)
        _sync_folders(partial)
        partial.rename(target)
    except BaseException:
        remove(partial)
        raise
    _sync(partial.parent)


def tidy(folder: pathlib.Path) -> None:
    """Makes the folder of checkpoints, or ends in it what a killed process has begun."""
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(".*.replaced"):
        _recover(folder / leftover.name[1:].removesuffix(".replaced"))
    for leftover in folder.glob(".*.saving"):
        remove(leftover)


def _beside(target: pathlib.Path, state: str) -> pathlib.Path:
    return target.with_name(f".{target.name}.{state}")


def _recover(target: pathlib.Path) -> None:
    """Ends a replacement that was interrupted: the old checkpoint stays unless the new one stands in its place."""
    replaced = _beside(target, "replaced")
    if os.path.exists(replaced) and not target.exists():
        replaced.rename(target)
    remove(replaced)


def remove(path: pathlib.Path) -> None:
    """Removes a folder; a kill in between leaves it under a name that no one takes for a checkpoint."""
    if os.path.exists(path):  # False, too, where the name is too long
        shutil.rmtree(path if path.name.startswith(".") else path.rename(_beside(path, "saving")))


def digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(json.loads(json.dumps(content)), sort_keys=True).encode()).hexdigest()


def _synced_digest(path: pathlib.Path) -> tuple[int, str]:
    """Makes a file durable; its size and SHA-256."""
    _sync(path)
    return path.stat().st_size, _checksum(path)


def _checksum(path: pathlib.Path) -> str:
    """SHA-256 of a file that may be larger than the memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folders(path: pathlib.Path) -> None:
    for folder in [path, *(each for each in path.rglob("*") if each.is_dir())]:
        _sync(folder)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _disk_errors(target: pathlib.Path) -> Iterator[None]:
    """Turns the disk's errors, which orbax raises as ValueError after three logged tracebacks, into one OSError."""

    def is_news(record: logging.LogRecord) -> bool:
        return "_SignalingThread" not in record.getMessage()  # the same error is raised here

    logger = logging.getLogger("absl")
    logger.addFilter(is_news)
    try:
        yield
    except ValueError as error:
        code = re.search(r"os_error_code='(\d+)'", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(target)) from error
    finally:
        logger.removeFilter(is_news)
