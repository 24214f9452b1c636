"""Archives: some files of a run in one zip, every one with its checksum.

    manifest.json    format, experiment, and for each other member its size and SHA-256; with a checksum of its own
    ...              the members, named as the files of a run directory are

The same members give the same bytes: they are sorted, dated 1980, and carry no owner. What is compressed already is
stored as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tars_jax import InputError

FORMAT = "tars_jax archive 1"
MANIFEST = "manifest.json"
_STORED = {".trajectory", ".png"}  # compressed in themselves
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(
    path: str | os.PathLike[str],
    experiment: str,
    members: Mapping[str, bytes | pathlib.Path],
    on_member: Callable[[int, int], None] = lambda done, members: None,
) -> None:
    """Writes bytes and files under their names, whole or not at all; replaces an archive of that name. `on_member`
    hears how many are written, and of how many.

    Raises OSError where a file cannot be read or the disk refuses.
    """
    target = pathlib.Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    files = {}
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for number, name in enumerate(sorted(members), 1):
                member = members[name]
                data = member if isinstance(member, bytes) else member.read_bytes()
                files[name] = [len(data), hashlib.sha256(data).hexdigest()]
                _add(archive, name, data)
                on_member(number, len(members))
            content = {"format": FORMAT, "experiment": experiment, "files": files}
            manifest = {"content": content, "sha256": _digest(content)}
            _add(archive, MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def extract_archive(path: str | os.PathLike[str], folder: pathlib.Path) -> None:
    """Writes every member below `folder`, each checked first. Raises InputError that names the archive and member."""
    for name, data in _checked_members(pathlib.Path(path)):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _checked_members(source: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(source) as archive:
            names = set(archive.namelist())
            for name, (size, digest) in _manifest(source, archive).items():
                if name not in names:
                    raise InputError(f"{source}: {name} is missing, and its manifest lists it.")
                if pathlib.PurePosixPath(name).is_absolute() or ".." in pathlib.PurePosixPath(name).parts:
                    raise InputError(f"{source}: a file's name must stay inside the archive; got {name!r}")
                data = archive.read(name)
                if (len(data), hashlib.sha256(data).hexdigest()) != (size, digest):
                    raise InputError(f"{source}: {name} is damaged: its size or checksum is not the manifest's.")
                yield name, data
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{source} does not exist; an archive is made by `publish`") from error
    except IsADirectoryError as error:
        raise InputError(f"{source} must be an archive that `publish` made; got a folder") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, EOFError) as error:
        raise InputError(f"{source}: damaged, or no archive of a run ({error}).") from error


def _manifest(source: pathlib.Path, archive: zipfile.ZipFile) -> dict[str, tuple[int, str]]:
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except KeyError as error:
        raise InputError(f"{source} must be an archive that `publish` made; got one without {MANIFEST}") from error
    content: Any = manifest.get("content") if isinstance(manifest, dict) else None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{source}: {MANIFEST} must have the format {FORMAT!r}; got {content!r:.60}")
    if manifest.get("sha256") != _digest(content):
        raise InputError(f"{source}: {MANIFEST} is damaged: its checksum does not fit.")
    return {name: (size, digest) for name, (size, digest) in content["files"].items()}


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.create_system = 3  # Unix, whatever wrote it
    member.external_attr = 0o644 << 16
    archive.writestr(member, data, zipfile.ZIP_STORED if pathlib.Path(name).suffix in _STORED else zipfile.ZIP_DEFLATED)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
