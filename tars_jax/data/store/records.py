"""An episode as the store keeps it: a trajectory file without pixels, and each screenshot once, under its checksum.

    STORE/episodes/3f/3f09....episode     the trajectory; where a screenshot was stands its checksum
    STORE/images/a1/a1c4....png

Names are SHA-256 of the content, so the same episode is the same file, and whoever reads one knows whether it is whole.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.store.events import LARGEST, checked_event, is_integer
from tars_jax.data.store.incoming_checks import STRICT, check_episode, check_names, is_strict
from tars_jax.data.store.verdicts import own_verdict
from tars_jax.json_fields import is_text, short_repr, without_nulls
from tars_jax.launcher import LAUNCHER
from tars_jax.pictures import read_picture
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import NewerFormat, decode_trajectory, encode_trajectory

SOURCES = ("policy", "demonstration", "annotation", "imported")
PURPOSES = ("training", "evaluation")
ORIGIN = "origin"  # of a stored trajectory's metadata
HELD_OUT = "held_out"  # of that of one which left a store that holds its task out
FLUSHED_ONE_BY_ONE = 8
_MARK = b"sha256:"
_NAMES = ("weights", "parent", "run", "stage")  # of an origin


@dataclasses.dataclass(frozen=True)
class Origin:
    """Origin of an episode."""

    source: str = "policy"  # one of SOURCES
    weights: str = ""  # id of the checkpoint that played it (`tars_jax.training.checkpoint.Lineage`)
    cycle: int = 0  # of the flywheel; 0 is its cold start
    parent: str = ""  # id of the stored episode that this one corrects or goes on from
    run: str = ""  # the run directory
    purpose: str = "training"  # or evaluation: no training set takes it
    stage: str = ""  # of the cycle, which had it played: attempts, value_episodes, ppo, ...

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source must be one of {', '.join(SOURCES)}; got {self.source!r}")
        if self.purpose not in PURPOSES:
            raise InputError(f"purpose must be one of {', '.join(PURPOSES)}; got {self.purpose!r}")
        if not is_integer(self.cycle) or self.cycle < 0:
            raise InputError(f"cycle must be a whole number from 0 to {LARGEST}; got {self.cycle!r}")
        for field in _NAMES:
            if not is_text(getattr(self, field)):
                raise InputError(f"{field} must be text that has a UTF-8 form; got {short_repr(getattr(self, field))}")


@dataclasses.dataclass(frozen=True)
class StoredRecord:
    """A trajectory in the store's form."""

    id: str  # SHA-256 of `content`
    content: bytes
    images: Mapping[str, bytes]  # by checksum
    trajectory: Trajectory  # as it is read back: with its origin, and checksums in the place of screenshots


class UnreadableFile(InputError):
    """A file that is there and that the system does not give: it may be whole."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def record_of(trajectory: Trajectory, origin: Origin) -> StoredRecord:
    """Raises InputError for a trajectory that contradicts itself, for one that could not be read back, and for one with
    a screenshot that is no picture."""
    if not isinstance(trajectory, Trajectory):
        raise InputError(f"an episode must be a Trajectory; got {short_repr(trajectory)}")
    source = f"trajectory {short_repr(trajectory.id)}"
    check_episode(trajectory, source)
    check_names({name: getattr(origin, name) for name in _NAMES}, f"{source}: origin: ")
    images: dict[str, bytes] = {}

    def kept(png: bytes, where: str) -> bytes:
        if not png:
            return b""
        if (name := digest(png)) not in images:
            read_picture(png, f"{source}: {where}")
            images[name] = png
        return _MARK + name.encode()

    stored = dataclasses.replace(
        trajectory,
        metadata={**trajectory.metadata, ORIGIN: dataclasses.asdict(origin)},
        steps=tuple(
            dataclasses.replace(step, screenshot=kept(step.screenshot, f"the screenshot of step {number}"))
            for number, step in enumerate(trajectory.steps)
        ),
        final_screenshot=kept(trajectory.final_screenshot, "the final screenshot"),
    )
    content = encode_trajectory(stored, source)
    record = StoredRecord(digest(content), content, images, decode_record(content, source))
    said = [verdict.to_json() for verdict in own_verdict(record.trajectory)]
    checked_event({"add": row_of(record, origin, said)}, source)
    return record


def read_record(folder: Path, id: str) -> Trajectory:
    """The episode with its screenshots. Raises InputError that names the file which is missing or damaged."""
    stored = decode_record(read_checked(episode_file(folder, id), id), str(episode_file(folder, id)))
    pictures: dict[bytes, bytes] = {b"": b""}
    for mark in marks_of(stored):
        name = mark.removeprefix(_MARK).decode()
        pictures[mark] = read_checked(image_file(folder, name), name)
    steps = tuple(dataclasses.replace(step, screenshot=pictures[step.screenshot]) for step in stored.steps)
    return dataclasses.replace(stored, steps=steps, final_screenshot=pictures[stored.final_screenshot])


def decode_record(content: bytes, source: str) -> Trajectory:
    """Decodes a record, with checksums in the place of screenshots. Raises InputError for what is no record."""
    stored = decode_trajectory(content, source)
    for mark in marks_of(stored):
        if not mark.startswith(_MARK) or len(mark) != len(_MARK) + 64:
            raise InputError(f"{source}: a screenshot must be the checksum of an image; got {mark!r:.40}")
    origin_of(stored, source)
    return stored


def origin_of(stored: Trajectory, source: str) -> Origin:
    given: Any = stored.metadata.get(ORIGIN)
    known = {field.name for field in dataclasses.fields(Origin)}
    if isinstance(given, dict) and (more := sorted(given.keys() - known)):
        raise NewerFormat(
            f"{source}: field metadata.{ORIGIN} must have {', '.join(sorted(known))}; got {more[0]!r}, of a newer "
            "version of tars_jax"
        )
    try:
        return Origin(**given)
    except (TypeError, InputError) as error:
        raise InputError(f"{source}: field metadata.{ORIGIN} must be an episode's origin; {error}") from error


def image_names(stored: Trajectory) -> list[str]:
    """Checksums of the images of a decoded record."""
    return [mark.removeprefix(_MARK).decode() for mark in marks_of(stored)]


def marks_of(stored: Trajectory) -> list[bytes]:
    shown = [*(step.screenshot for step in stored.steps), stored.final_screenshot]
    return list(dict.fromkeys(mark for mark in shown if mark))


def task_key(task: Mapping[str, Any]) -> str:
    """Key of a task: environment, seed and options; of recorded ones their id.

    By value, however JSON writes it: 1.0 is 1, and an option that is null is none. Raises InputError for what names no
    task.
    """
    return task_keys(task)[0]


def task_keys(task: Mapping[str, Any]) -> tuple[str, ...]:
    """The task's key and, where it is another one, that of earlier versions, which told 1.0 in options from 1."""
    if not isinstance(task, Mapping):
        raise InputError(
            f"a task must be an object of its fields, such as environment and seed; got {short_repr(task)}"
        )
    environment, seed, options = task.get("environment"), _whole(task.get("seed")), task.get("options")
    if not environment or not is_text(environment):
        raise InputError(f"environment of a task must be text that has a UTF-8 form; got {short_repr(environment)}")
    if not is_integer(seed):
        raise InputError(
            f"seed of a task must be a whole number from {-LARGEST - 1} to {LARGEST}; got {short_repr(seed)}"
        )
    if not is_strict(options):
        raise InputError(f"options of a task must be {STRICT}; got {short_repr(options)}")
    id = [task.get("id")] if environment == "recorded" else []
    if not all(map(is_text, id)):
        raise InputError(f"id of a recorded task must be text that has a UTF-8 form; got {short_repr(id[0])}")
    earlier = options
    if isinstance(options, Mapping) and "level" in options:
        earlier = {**options, "level": _whole(options["level"])}
    told = [[environment, seed, each, *id] for each in (_whole(without_nulls(options)), earlier)]
    return tuple(dict.fromkeys(digest(json.dumps(each, sort_keys=True).encode())[:32] for each in told))


def _whole(value: Any) -> Any:
    """Floats that are whole numbers, as JSON of others has them, as these numbers, at any depth."""
    if isinstance(value, Mapping):
        return {name: _whole(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def start_key(trajectory: Trajectory) -> str:
    """Key of what the agent saw first, and was told: two tasks that begin alike may be the same level."""
    if not trajectory.steps:
        return ""
    first = trajectory.steps[0]
    told = trajectory.metadata.get("instruction") or trajectory.task.get("instruction") or ""
    parts = [trajectory.task.get("environment"), told, first.text, _mark_of(first.screenshot)]
    return digest(json.dumps(parts).encode())[:32]


def played_key(trajectory: Trajectory) -> str:
    """Key of a played episode: the task, what was seen and what was done, whoever recorded it under which name. Empty
    for one without steps."""
    if not trajectory.steps:
        return ""
    seen = [(_mark_of(step.screenshot), step.text, step.response, step.action) for step in trajectory.steps]
    end = (_mark_of(trajectory.final_screenshot), trajectory.final_text)
    return digest(json.dumps([task_key(trajectory.task), seen, end]).encode())[:32]


def _mark_of(screenshot: bytes) -> str:
    """A screenshot by its checksum, which is what a decoded record has in its place."""
    return (screenshot if screenshot.startswith(_MARK) else _MARK + digest(screenshot).encode()).decode()


def row_of(record: StoredRecord, origin: Origin, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Journal's row of a new episode; `verdicts` as `Verdict.to_json` writes them."""
    trajectory = record.trajectory
    return {
        "id": record.id,
        "task": task_key(trajectory.task),
        "start": start_key(trajectory),
        "played": played_key(trajectory),
        "environment": str(trajectory.task.get("environment", "")),
        "seed": _whole(trajectory.task["seed"]),
        "source": origin.source,
        "weights": origin.weights,
        "cycle": origin.cycle,
        "parent": origin.parent,
        "run": origin.run,
        "purpose": origin.purpose,
        "stage": origin.stage,
        "version": _version(trajectory),
        "outcome": trajectory.outcome.value,
        "reward": float(trajectory.reward),
        "steps": len(trajectory.steps),
        "tokens": trajectory.num_action_tokens,
        "time": round(time.time(), 3),
        "images": list(record.images),
        "verdicts": list(verdicts),
    }


def _version(trajectory: Trajectory) -> int:
    """The newest policy that sampled in it, as updates since `Origin.weights`; -1 where nobody sampled."""
    return max((int(window.versions.max(initial=-1)) for window in trajectory.windows), default=-1)


def episode_file(folder: Path, id: str) -> Path:
    return folder / "episodes" / id[:2] / f"{id}.episode"


def image_file(folder: Path, name: str) -> Path:
    return folder / "images" / name[:2] / f"{name}.png"


def read_checked(file: Path, name: str) -> bytes:
    """The file's content. Raises InputError where it is missing, or not what its name says."""
    try:
        content = file.read_bytes()
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError))
        raise (InputError if missing else UnreadableFile)(
            f"{file}: cannot be read: {error.strerror}; {LAUNCHER} store --config.action=check says more"
        ) from error
    if digest(content) != name:
        raise InputError(
            f"{file}: damaged: its content must have the checksum of its name; got {digest(content)[:16]}..."
        )
    return content


def write_new(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes those that are not there, or that are damaged, each whole or not at all; on the disk when this returns.

    Like `tars_jax.files.write_atomic`, but many files are flushed by one `sync` of the file systems: asked for each
    file by itself, a disk takes as long for every one.
    """
    new = {file: content for file, content in files if not _holds(file, content)}
    partials = {file: file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}.partial") for file in new}
    try:
        for folder in {file.parent for file in new}:
            folder.mkdir(parents=True, exist_ok=True)
        for file, partial in partials.items():
            partial.write_bytes(new[file])
        flush(partials.values())
        for file, partial in partials.items():
            os.replace(partial, file)
        flush({folder for file in new for folder in (file.parent, file.parent.parent)})
    except BaseException:
        for partial in partials.values():
            partial.unlink(missing_ok=True)
        raise


def _holds(file: Path, content: bytes) -> bool:
    try:
        return file.stat().st_size == len(content) and file.read_bytes() == content
    except OSError:
        return False


def flush(paths: Collection[Path]) -> None:
    """Files or folders are on the disk when this returns."""
    if len(paths) > FLUSHED_ONE_BY_ONE:
        os.sync()
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
