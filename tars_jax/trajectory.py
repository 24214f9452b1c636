"""The shared words: what an agent did, exactly as it was sampled.

Axes: T tokens of a context window, S steps of a trajectory, L layers with experts, K experts of a token.

A `Trajectory` is a list of `ContextWindow`s (what the policy read and wrote, token by token) and a list of `Step`s
(what the environment saw of it). Windows are append-only, and nothing in them is ever tokenised again.
"""

from __future__ import annotations

import dataclasses
import enum
import errno
import hashlib
import io
import json
import math
import os
import pathlib
import zipfile
import zlib
from typing import Any

import numpy as np

from tars_jax import InputError


class Outcome(enum.Enum):
    """How an episode ended. Only the first three carry a reward; what failed is retried, then masked."""

    FINISHED = "finished"
    TRUNCATED = "truncated"
    REJECTED = "rejected"
    FAILED = "failed"

    @property
    def carries_reward(self) -> bool:
        return self is not Outcome.FAILED


@dataclasses.dataclass(frozen=True)
class Step:
    """One ReAct cycle: the screenshot that was seen, the thought and action it led to, and what came of it."""

    screenshot: bytes  # PNG, as the policy saw it
    response: str  # the sampled text, thought and action
    thought: str  # empty where the response did not parse
    action: str  # the parsed call in the text grammar; empty where the response did not parse
    point: tuple[float, float] | None  # where it pointed, 0..1000 of width and height
    reward: float
    think_tokens: int
    valid: bool  # the response followed the grammar
    info: dict[str, Any]  # the simulator's own state before the action: for verification and analysis only


@dataclasses.dataclass(frozen=True)
class ContextWindow:
    """One append-only context of the policy, with what was recorded while it grew."""

    tokens: np.ndarray  # [T] int32
    action_mask: np.ndarray  # [T] bool: sampled by the policy in this window
    log_probs: np.ndarray  # [T] float32: of the sampled tokens at sampling time, 0 elsewhere
    versions: np.ndarray  # [T] int32: the policy version that sampled the token, -1 elsewhere
    steps: np.ndarray  # [T] int32: the step that a token belongs to, -1 for the preamble
    images: tuple[int, ...]  # the steps whose screenshots stand in this window, in order
    routes: np.ndarray | None = None  # [T, L, K] int16: the experts that each token went to, -1 where none was recorded


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """One episode."""

    id: str
    task: dict[str, Any]
    windows: tuple[ContextWindow, ...]
    steps: tuple[Step, ...]
    outcome: Outcome
    reward: float  # the verifier's verdict on the whole episode, without shaping
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    final_screenshot: bytes = b""  # PNG, what the last action led to: for who judges; empty where it was not kept

    @property
    def solved(self) -> bool:
        """What every success rate counts: a verdict above zero."""
        return self.reward > 0

    @property
    def num_action_tokens(self) -> int:
        return int(sum(window.action_mask.sum() for window in self.windows))


# Trajectory files: an npz (so `numpy.load` reads it) with a JSON header and the screenshots beside the arrays. Its zip
# comment ends with the SHA-256 of everything before, so that no damage goes unseen.

FORMAT = "tars_jax trajectory 1"
_COLUMNS = {"tokens": "int32", "action_mask": "bool", "log_probs": "float32", "versions": "int32", "steps": "int32"}
_LEAST = {"tokens": 0, "versions": -1, "routes": -1}
_ROUNDING = 1e-3  # above 0, of the logarithm of a probability of 1
_HEADER = "header.json"
_CHECKSUM = b"sha256:"
_DIGEST_SIZE = 64
_FIELDS: dict[str, type] = {"id": str, "task": dict, "outcome": str, "reward": float, "metadata": dict}
_STEP_FIELDS: dict[str, type] = {
    "response": str,
    "thought": str,
    "action": str,
    "reward": float,
    "think_tokens": int,
    "valid": bool,
    "info": dict,
}


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


def encode_trajectory(trajectory: Trajectory, source: str = "trajectory") -> bytes:
    """The content of a trajectory file. `source` stands in error messages."""
    _check(trajectory, source)
    final = [trajectory.final_screenshot] if trajectory.final_screenshot else []
    screenshots = list(dict.fromkeys([*(step.screenshot for step in trajectory.steps), *final]))
    number = {screenshot: index for index, screenshot in enumerate(screenshots)}
    header = {
        "format": FORMAT,
        **{name: getattr(trajectory, name) for name in _FIELDS},
        "outcome": trajectory.outcome.value,
        "reward": float(trajectory.reward),
        "windows": [_window_record(window) for window in trajectory.windows],
        "steps": [
            {
                **{name: getattr(step, name) for name in _STEP_FIELDS},
                "reward": float(step.reward),
                "point": step.point,
                "screenshot": number[step.screenshot],
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

        add(_HEADER, json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), zipfile.ZIP_DEFLATED)
        for name, dtype in _COLUMNS.items():
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


def decode_trajectory(data: bytes, source: str = "trajectory") -> Trajectory:
    """The inverse of `encode_trajectory`. Raises InputError naming `source`."""
    content, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if not content.endswith(_CHECKSUM) or hashlib.sha256(content).hexdigest().encode() != digest:
        raise InputError(f"{source}: damaged, truncated or not a trajectory file: its checksum does not fit.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(members[_HEADER])
        columns = {name: _array(members[f"{name}.npy"], 1) for name in _COLUMNS}
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RuntimeError) as error:  # of depth and methods, too
        raise InputError(f"{source}: not a trajectory file: {error}.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        got = header.get("format") if isinstance(header, dict) else header
        raise InputError(f"{source}: field format is {got!r}, it takes {FORMAT!r}.")

    steps = []
    for index, record in enumerate(_field(source, header, "steps", list)):
        where = f"steps[{index}]."
        fields = {name: _field(source, record, name, kind, where) for name, kind in _STEP_FIELDS.items()}
        screenshot = _screenshot(source, record, "screenshot", members, where)
        point = None if record.get("point") is None else tuple(_field(source, record, "point", list, where))
        if point is not None and [type(x) in (int, float) for x in point] != [True, True]:
            raise InputError(f"{source}: field {where}point is {point!r:.60}, it takes two numbers.")
        steps.append(Step(screenshot=screenshot, point=point, **fields))

    windows, start = [], 0
    for index, record in enumerate(_field(source, header, "windows", list)):
        length = _field(source, record, "length", int, f"windows[{index}].")
        if length < 0:
            raise InputError(f"{source}: field windows[{index}].length is {length}, it takes at least 0.")
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
            raise InputError(f"{source}: field {name} has shape {column.shape}, the windows take {(start,)}.")

    fields = {name: _field(source, header, name, kind) for name, kind in _FIELDS.items()}
    outcomes = [outcome.value for outcome in Outcome]
    if fields["outcome"] not in outcomes:
        raise InputError(f"{source}: field outcome is {fields['outcome']!r}, it takes one of {', '.join(outcomes)}.")
    fields["outcome"] = Outcome(fields["outcome"])
    if "final_screenshot" in header:
        fields["final_screenshot"] = _screenshot(source, header, "final_screenshot", members)
    trajectory = Trajectory(windows=tuple(windows), steps=tuple(steps), **fields)
    _check(trajectory, source)
    return trajectory


def _array(data: bytes, dimensions: int) -> np.ndarray:
    """Of an .npy file. Raises ValueError for anything else."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except EOFError as error:
        raise ValueError("an array is empty") from error
    if not isinstance(array, np.ndarray) or array.ndim != dimensions:
        raise ValueError(f"an array takes {dimensions} dimensions in an .npy file")
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
    value = record.get(name) if isinstance(record, dict) else None
    if type(value) is not kind:
        raise InputError(f"{source}: field {where}{name} is {value!r:.60}, it takes a value of type {kind.__name__}.")
    return value


def _check(trajectory: Trajectory, source: str) -> None:
    num_steps = len(trajectory.steps)
    rewards = {"reward": trajectory.reward}
    rewards |= {f"steps[{index}].reward": step.reward for index, step in enumerate(trajectory.steps)}
    for name, reward in rewards.items():
        if not math.isfinite(reward):
            raise InputError(f"{source}: field {name} is {reward}, it takes a finite number.")
    for index, step in enumerate(trajectory.steps):
        if step.think_tokens < 0:
            raise InputError(f"{source}: field steps[{index}].think_tokens is {step.think_tokens}, it takes 0 or more.")
        if step.point is not None and not all(0 <= x <= 1000 for x in step.point):
            raise InputError(
                f"{source}: field steps[{index}].point is {step.point!r:.60}, it takes numbers of 0..1000."
            )
    for index, window in enumerate(trajectory.windows):
        for name, dtype in _COLUMNS.items():
            array = getattr(window, name)
            if array.shape != (len(window.tokens),) or array.dtype != dtype:
                raise InputError(
                    f"{source}: field windows[{index}].{name} is {array.dtype}{list(array.shape)}, "
                    f"it takes {dtype}[{len(window.tokens)}]."
                )
        log_probs = window.log_probs[window.action_mask]
        if not np.isfinite(log_probs).all() or log_probs.max(initial=0) > _ROUNDING:
            raise InputError(
                f"{source}: field windows[{index}].log_probs is not finite and 0 or less at sampled tokens."
            )
        routes = window.routes
        if routes is not None and (routes.ndim != 3 or len(routes) != len(window.tokens) or routes.dtype != np.int16):
            raise InputError(
                f"{source}: field windows[{index}].routes is {routes.dtype}{list(routes.shape)}, "
                f"it takes int16[{len(window.tokens)}, layers, experts of a token]."
            )
        for name, least in _LEAST.items():
            values = getattr(window, name)
            if values is not None and values.min(initial=least) < least:
                raise InputError(
                    f"{source}: field windows[{index}].{name} holds {values.min()}, it takes {least} or more."
                )
        if window.steps.size and not -1 <= window.steps.min() <= window.steps.max() < num_steps:
            raise InputError(f"{source}: field windows[{index}].steps names a step outside -1..{num_steps - 1}.")
        if not all(type(image) is int and 0 <= image < num_steps for image in window.images):
            raise InputError(f"{source}: field windows[{index}].images names a step outside 0..{num_steps - 1}.")


# Durable files

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)  # of OSErrors that need no other place, but space


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by `data`, whole or not at all, also across a power cut.

    Writes beside, fsyncs, renames, fsyncs the directory. Raises OSError (a full disk, for instance) with the old file
    untouched and the partial one removed.
    """
    target = pathlib.Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
