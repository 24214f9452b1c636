"""Trajectory files: an npz (so `numpy.load` reads it) with a JSON header and the screenshots beside the arrays.

Its zip comment ends with the SHA-256 of everything before, so that no damage goes unseen.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import re
import zipfile
import zlib
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.json_fields import Fields
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.checks import COLUMNS, check_trajectory

FORMAT = "tars_jax trajectory 2"
_FIRST_FORMAT = "tars_jax trajectory 1"  # without texts, and success was a reward above 0
_OURS = re.compile(r"tars_jax trajectory ([0-9]+)")
_HEADER = "header.json"
_CHECKSUM = b"sha256:"
_DIGEST_SIZE = 64
_FIELDS: dict[str, type] = {
    "id": str,
    "task": dict,
    "outcome": str,
    "reward": float,
    "metadata": dict,
    "final_text": str,
}
_STEP_FIELDS: dict[str, type] = {
    "response": str,
    "thought": str,
    "action": str,
    "reward": float,
    "think_tokens": int,
    "valid": bool,
    "info": dict,
    "text": str,
}


class NewerFormat(InputError):
    """Written by a newer version, in a form that this one does not know: whole, and not to be touched."""


def save_trajectory(path: str | os.PathLike[str], trajectory: Trajectory) -> None:
    """Writes one trajectory to `path`, whole or not at all; equal trajectories give equal bytes.

    `task`, `metadata` and each `info` must be JSON. Raises InputError for windows that contradict each other or the
    steps, OSError where the disk refuses.
    """
    write_atomic(path, encode_trajectory(trajectory, str(path)))


def load_trajectory(path: str | os.PathLike[str]) -> Trajectory:
    """Reads what `save_trajectory` wrote. Raises InputError naming the file, and the field where there is one."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a trajectory: {error.strerror}.") from error
    return decode_trajectory(data, str(path))


def load_outline(path: str | os.PathLike[str]) -> Trajectory:
    """The trajectory without steps, windows and screenshots; nothing but its header is read, so a checksum that does
    not fit goes unseen. Raises InputError as `load_trajectory` does."""
    source = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            header = archive.read(_HEADER)
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a trajectory: {error.strerror}.") from error
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RuntimeError) as error:
        raise InputError(f"{source}: not a trajectory file: {error}.") from error
    return Trajectory(windows=(), steps=(), **_own_fields(source, _read_header(source, header)))


def encode_trajectory(trajectory: Trajectory, source: str = "trajectory") -> bytes:
    """The content of a trajectory file. `source` stands in error messages.

    Raises InputError for what contradicts itself, and for an id, task, metadata or info that no JSON says.
    """
    check_trajectory(trajectory, source)
    final = [trajectory.final_screenshot] if trajectory.final_screenshot else []
    shown = [step.screenshot for step in trajectory.steps if step.screenshot]
    screenshots = list(dict.fromkeys([*shown, *final]))
    number = {screenshot: index for index, screenshot in enumerate(screenshots)}
    header = {
        "format": FORMAT,
        **{name: getattr(trajectory, name) for name in _FIELDS},
        "outcome": trajectory.outcome.value,
        "reward": float(trajectory.reward),
        "success": None if trajectory.success is None else bool(trajectory.success),
        "windows": [_window_record(window) for window in trajectory.windows],
        "steps": [
            {
                **{name: getattr(step, name) for name in _STEP_FIELDS},
                "reward": float(step.reward),
                "point": step.point,
                "screenshot": number.get(step.screenshot),
            }
            for step in trajectory.steps
        ],
        **({"final_screenshot": number[trajectory.final_screenshot]} if final else {}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:

        def add(name: str, data: bytes, compression: int) -> None:
            member = zipfile.ZipInfo(name)  # dated 1980: the clock must not enter the bytes
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, compression)

        add(_HEADER, _json(header, source), zipfile.ZIP_DEFLATED)
        for name, dtype in COLUMNS.items():
            array = io.BytesIO()
            column = [getattr(window, name) for window in trajectory.windows]
            np.save(array, np.concatenate([np.zeros(0, dtype), *column]))
            add(f"{name}.npy", array.getvalue(), zipfile.ZIP_DEFLATED)
        for index, window in enumerate(trajectory.windows):
            if window.routes is not None:
                array = io.BytesIO()
                np.save(array, window.routes)
                add(_routes_name(index), array.getvalue(), zipfile.ZIP_DEFLATED)
        for index, screenshot in enumerate(screenshots):
            add(_screenshot_name(index), screenshot, zipfile.ZIP_STORED)
        archive.comment = _CHECKSUM + b"0" * _DIGEST_SIZE
    content = buffer.getvalue()[:-_DIGEST_SIZE]
    return content + hashlib.sha256(content).hexdigest().encode()


def _json(header: dict[str, Any], source: str) -> bytes:
    try:
        return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: task, metadata, infos and texts must be JSON; {error}") from error


def decode_trajectory(data: bytes, source: str = "trajectory") -> Trajectory:
    """The inverse of `encode_trajectory`. Raises InputError naming `source`."""
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if not body.endswith(_CHECKSUM) or hashlib.sha256(body).hexdigest().encode() != digest:
        raise InputError(f"{source}: damaged, truncated or not a trajectory file: its checksum does not fit.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        content = members[_HEADER]
        columns = {name: _array(members[f"{name}.npy"], 1) for name in COLUMNS}
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RuntimeError) as error:  # of depth and methods, too
        raise InputError(f"{source}: not a trajectory file: {error}.") from error
    header = _read_header(source, content)

    steps = []
    for index, record in enumerate(_field(source, header, "steps", list)):
        where = f"steps[{index}]."
        fields = {name: _field(source, record, name, kind, where) for name, kind in _STEP_FIELDS.items()}
        screenshot = b""
        if not isinstance(record, dict) or record.get("screenshot", 0) is not None:
            screenshot = _screenshot(source, record, "screenshot", members, where)
        point = None if record.get("point") is None else tuple(_field(source, record, "point", list, where))
        if point is not None and [type(x) in (int, float) for x in point] != [True, True]:
            raise InputError(f"{source}: field {where}point must be two numbers; got {point!r:.60}")
        steps.append(Step(screenshot=screenshot, point=point, **fields))

    windows, start = [], 0
    for index, record in enumerate(_field(source, header, "windows", list)):
        length = _field(source, record, "length", int, f"windows[{index}].")
        if length < 0:
            raise InputError(f"{source}: field windows[{index}].length must be at least 0; got {length}")
        stop = start + length
        images = tuple(_field(source, record, "images", list, f"windows[{index}]."))
        own = {name: column[start:stop] for name, column in columns.items()}
        routes = None
        if record.get("routes"):
            try:
                routes = _array(members[_routes_name(index)], 3)
            except (KeyError, ValueError) as error:
                raise InputError(f"{source}: field windows[{index}].routes: {error}.") from error
        windows.append(ContextWindow(**own, images=images, routes=routes))
        start = stop
    for name, column in columns.items():
        if column.shape != (start,):
            raise InputError(
                f"{source}: field {name} must have shape {(start,)}, as the windows say; got {column.shape}"
            )

    fields = _own_fields(source, header)
    if "final_screenshot" in header:
        fields["final_screenshot"] = _screenshot(source, header, "final_screenshot", members)
    trajectory = Trajectory(windows=tuple(windows), steps=tuple(steps), **fields)
    check_trajectory(trajectory, source)
    return trajectory


def _read_header(source: str, data: bytes) -> dict[str, Any]:
    """As it is written now, whatever version wrote it."""
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: not a trajectory file: {error}.") from error
    if isinstance(header, dict) and header.get("format") == _FIRST_FORMAT:
        header = _from_first_format(header)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        got = header.get("format") if isinstance(header, dict) else header
        if isinstance(got, str) and (ours := _OURS.fullmatch(got)) and int(ours[1]) > int(FORMAT.split()[-1]):
            raise NewerFormat(
                f"{source}: field format must be {FORMAT!r} or older; got {got!r}, of a newer version of tars_jax"
            )
        raise InputError(f"{source}: field format must be {FORMAT!r} or {_FIRST_FORMAT!r}; got {got!r}.")
    return header


def _own_fields(source: str, header: dict[str, Any]) -> dict[str, Any]:
    """Fields of a trajectory besides its steps, windows and screenshots."""
    fields = {name: _field(source, header, name, kind) for name, kind in _FIELDS.items()}
    outcomes = [outcome.value for outcome in Outcome]
    if fields["outcome"] not in outcomes:
        raise InputError(f"{source}: field outcome must be one of {', '.join(outcomes)}; got {fields['outcome']!r}")
    fields["outcome"] = Outcome(fields["outcome"])
    if type(success := header.get("success")) not in (bool, type(None)):
        raise InputError(f"{source}: field success must be true, false or null; got {success!r:.60}.")
    fields["success"] = success
    return fields


def _from_first_format(header: dict[str, Any]) -> dict[str, Any]:
    """The header of an earlier file as it is written now."""
    steps = header.get("steps")
    if type(steps) is list:
        steps = [{"text": "", **step} if isinstance(step, dict) else step for step in steps]
    task = header.get("task")
    if isinstance(task, dict) and "game" in task:
        task = {("environment" if name == "game" else name): value for name, value in task.items()}
    reward = header.get("reward")
    success = reward > 0 if type(reward) is float else None
    return {**header, "format": FORMAT, "steps": steps, "task": task, "final_text": "", "success": success}


def _array(data: bytes, dimensions: int) -> np.ndarray:
    """Of an .npy file. Raises ValueError for anything else."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except EOFError as error:
        raise ValueError("an array is empty") from error
    if not isinstance(array, np.ndarray) or array.ndim != dimensions:
        raise ValueError(
            f"an array of an .npy file must have {dimensions} dimensions; got {getattr(array, 'ndim', 'none')}"
        )
    return array


def _window_record(window: ContextWindow) -> dict[str, Any]:
    record: dict[str, Any] = {"length": len(window.tokens), "images": list(window.images)}
    return record if window.routes is None else {**record, "routes": True}


def _routes_name(index: int) -> str:
    return f"routes/{index:04d}.npy"


def _screenshot_name(index: int) -> str:
    return f"screenshots/{index:04d}.png"


def _screenshot(source: str, record: Any, name: str, members: dict[str, bytes], where: str = "") -> bytes:
    picture = _screenshot_name(_field(source, record, name, int, where))
    if picture not in members:
        raise InputError(f"{source}: field {where}{name} names {picture}, which the file does not hold.")
    return members[picture]


def _field(source: str, record: Any, name: str, kind: type, where: str = "") -> Any:
    return Fields(record if isinstance(record, dict) else {}, f"{source}: field {where}").of_type(name, kind)
