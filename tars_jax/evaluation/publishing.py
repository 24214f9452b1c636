"""A finished run as members of an archive: what others need to read it, to check it and to run it again.

Private words of the machine are replaced (`redaction.py`); the clock and the machine's order of files enter nothing, so
the same run gives the same members.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import pathlib
import subprocess
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation.comparison import FinishedRun, draw_comparison
from tars_jax.evaluation.curves import DEFAULT_CURVES
from tars_jax.evaluation.redaction import Redactor
from tars_jax.json_fields import read_object
from tars_jax.launcher import resume_command
from tars_jax.training.metrics import METRICS_FILE, read_metrics
from tars_jax.training.recorded_updates import UPDATES_FILE, RecordedUpdates, read_updates
from tars_jax.trajectory.files import encode_trajectory, load_trajectory
from tars_jax.trajectory.folders import MARK

PATCH, LOCK = "changes.patch", "requirements.lock"
_RECORDS = ("stages.json", "result.json", UPDATES_FILE)
_TEXTS = (METRICS_FILE, "report.html", "report.md", "budget.svg")

Members = dict[str, bytes | pathlib.Path]


@dataclasses.dataclass(frozen=True)
class Published:
    """A run and what of it becomes members of the archive."""

    experiment: str
    config: dict[str, Any]
    starts: list[dict[str, Any]]  # what ran it, each time that it was started or resumed
    result: dict[str, Any]
    updates: RecordedUpdates | None
    members: Members


def members_of_run(run: pathlib.Path, root: pathlib.Path, *, checkpoint: str, trajectories: str) -> Published:
    """Members of a run's archive: everything but README.md.

    Args:
        root: the repository's, for the lock file of the commit that ran.
        checkpoint: `none`, the final `policy`, or `all` weights and states that the run has kept.
        trajectories: `none`, those that the `updates` took, with the weights before the first update, or `all`.

    Raises InputError for a run that has not finished or lacks what is asked for, and where something private would be
    published.
    """
    config = read_object(run / "config.json", "experiment", "config")
    if not (run / "result.json").is_file():
        again = resume_command(config["experiment"], run)
        raise InputError(f"{run} has not finished: it holds no result.json; finish it first: {again}")
    starts = read_object(run / "environment.json", "starts")["starts"]
    code = starts[-1]["code"]
    redact = Redactor({run: "RUN", root: "."})
    shown = redact.value(config)
    members: Members = {
        "config.json": _json(shown),
        "environment.json": _json({"starts": [redact.value(_without_patch(start)) for start in starts]}),
        LOCK: _lock_of(code.get("commit"), root),
    }
    if code.get("patch"):
        members[PATCH] = code["patch"].encode(errors="surrogateescape")
    members |= {name: _json(redact.value(read_object(run / name))) for name in _RECORDS if (run / name).is_file()}
    for name in (name for name in _TEXTS if (run / name).is_file()):
        members[name] = redact.text((run / name).read_text(encoding="utf-8")).encode()
    result = read_object(run / "result.json")
    if {"score_before", "score_after", "episodes", "seed"} <= result.keys() and METRICS_FILE in members:
        members["figures/curves.png"] = _figure(FinishedRun({}, read_metrics(run / METRICS_FILE), result))
    updates = read_updates(run / UPDATES_FILE) if (run / UPDATES_FILE).exists() else None
    members |= _episodes(run, trajectories, updates, redact)
    members |= _weights(run, checkpoint, updates if trajectories != "none" else None)
    for name, member in members.items():
        redact.require_none(name, member if isinstance(member, bytes) else member.read_bytes())
    return Published(shown["experiment"], shown["config"], starts, redact.value(result), updates, members)


def _weights(run: pathlib.Path, checkpoint: str, updates: RecordedUpdates | None) -> Members:
    """Files of the chosen checkpoints, and of the weights that the updates began with."""
    folders = {run / folder for folder in updates.starts.folders} if updates else set()
    if checkpoint == "policy":
        folders.add(run / "policy")
    if checkpoint == "all":
        folders |= {file.parent for file in run.rglob("checkpoint.json")}
    for folder in folders:
        if not (folder / "checkpoint.json").is_file():
            raise InputError(f"config.source must be a run that has kept its weights; got {run} without {folder}")
    return {
        path.relative_to(run).as_posix(): path for folder in folders for path in folder.rglob("*") if path.is_file()
    }


def _episodes(run: pathlib.Path, trajectories: str, updates: RecordedUpdates | None, redact: Redactor) -> Members:
    """Trajectories as they lie in the run, without the words of what failed while they were played."""
    if trajectories == "none":
        return {}
    paths = sorted((run / "trajectories").rglob("*.trajectory"))
    if trajectories == "updates":
        if updates is None:
            raise InputError(f"config.trajectories must be all, as {run} has no {UPDATES_FILE}; got updates")
        folder = run / "trajectories" / "ppo"
        paths = [folder / f"{index:08d}.trajectory" for batch in updates.episodes for index in batch]
    marks = {path.parent / MARK for path in paths if (path.parent / MARK).is_file()}
    published: Members = {mark.relative_to(run).as_posix(): b"" for mark in marks}
    return published | {(name := path.relative_to(run).as_posix()): _publishable(path, name, redact) for path in paths}


def _publishable(path: pathlib.Path, name: str, redact: Redactor) -> bytes | pathlib.Path:
    """The file, or what it holds with the machine's words replaced: in its task, as a game may be given as a folder,
    and in what failed. What page and policy said stays as it is, since a replay compares it.

    Raises InputError if something private is left in it: as a file it is compressed, and `require_none` reads none.
    """
    trajectory = load_trajectory(path)
    failures = trajectory.metadata.get("infrastructure_failures", [])
    task = redact.value(trajectory.task)
    kinds = {"infrastructure_failures": [str(failure).partition(":")[0] for failure in failures]} if failures else {}
    cleaned = dataclasses.replace(trajectory, task=task, metadata={**trajectory.metadata, **kinds})
    said = [(step.response, step.thought, step.action, step.info) for step in cleaned.steps]
    words = json.dumps([cleaned.id, cleaned.task, cleaned.metadata, said], ensure_ascii=False)
    redact.require_none(name, words.encode(errors="replace"))
    return path if not failures and task == trajectory.task else encode_trajectory(cleaned, str(path))


def _figure(run: FinishedRun) -> bytes:
    curves = [curve for curve in DEFAULT_CURVES if curve.section == DEFAULT_CURVES[0].section]
    picture = io.BytesIO()
    draw_comparison([run], curves, "").savefig(picture, format="png", dpi=110, metadata={"Software": None})
    return picture.getvalue()


def _lock_of(commit: str | None, root: pathlib.Path) -> bytes:
    """The lock file of a commit; that of the working tree where git does not know it, or is not there."""
    if commit:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            return subprocess.run(["git", "show", f"{commit}:{LOCK}"], cwd=root, capture_output=True, check=True).stdout
    return (root / LOCK).read_bytes()


def _without_patch(start: dict[str, Any]) -> dict[str, Any]:
    return {**start, "code": {name: value for name, value in start["code"].items() if name != "patch"}}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
