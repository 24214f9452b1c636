"""A recording of a person at work becomes steps with thoughts, which somebody looks over on a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

import tars_jax.evaluation
from tars_jax import InputError
from tars_jax.annotation.in_situ.annotated import RecordingAnnotation, load_annotation, save_annotation, trajectory_of
from tars_jax.annotation.in_situ.draft_annotation import read_annotation, voice_seconds
from tars_jax.annotation.in_situ.recording import PersonRecording, read_recording
from tars_jax.annotation.in_situ.review.app import ReviewedRecording
from tars_jax.annotation.in_situ.speech import Transcriber, transcriber
from tars_jax.annotation.in_situ.tasks import cut_tasks
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.pipelines.config import naming
from tars_jax.training.progress import QUIET, counting
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory.files import save_trajectory
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.running import serve

POSITIONAL = ("recording",)
ANNOTATION, DATASET = "annotation.json", "dataset"


def run(config: Any, run_directory: RunDirectory) -> None:
    if config.review:
        listen_address(config)
    with naming("config.recording", "recording"):
        recording = read_recording(Path(config.recording))
    file = run_directory.path / ANNOTATION
    annotation = load_annotation(file) if file.exists() else _annotated(config, recording)
    if annotation.id != recording.head.id:
        raise InputError(f"{file} must be of recording {recording.head.id!r}; got {annotation.id!r}")
    save_annotation(file, annotation)
    print(_summary(annotation), flush=True)

    def write(reviewed: RecordingAnnotation) -> str:
        return _write(reviewed, recording, run_directory.path / DATASET, 60 * config.rest_minutes)

    if not config.review:
        print(write(annotation))
        return
    key = read_or_make_key(run_directory.path / "key")
    style = (Path(tars_jax.evaluation.__file__).parent / "report.css").read_text(encoding="utf-8")
    review = ReviewedRecording(annotation, recording, file, write, style)
    serve(
        review.app(key), listen_address(config),
        lambda where: print(f"annotate_recording: look at it at {where}/{key}/\nCtrl-C ends it.", flush=True),
        lambda words: print(f"\nannotate_recording: {words}", flush=True),
    )  # fmt: skip
    if not (run_directory.path / DATASET).exists():
        print(f"No data is written yet; --config.run={run_directory.path} goes on from here.")


def _annotated(config: Any, recording: PersonRecording) -> RecordingAnnotation:
    seconds = voice_seconds(recording)
    by = _transcriber(config) if seconds else None
    shown = counting("listened", "seconds of voice", quiet=QUIET) if by else None
    total = max(1, round(seconds))
    found = read_annotation(
        Path(config.recording), by,
        (lambda words, second: shown(min(total, round(second)), total)) if shown else None,
    )  # fmt: skip
    return msgspec.structs.replace(found, task=config.task) if config.task else found


def _transcriber(config: Any) -> Transcriber | None:
    if config.speech == "none":
        return None
    with naming("config.speech", "speech"):
        return transcriber(config.speech, model=config.speech_model, key=os.environ.get(config.key_variable, ""))


def _summary(annotation: RecordingAnnotation) -> str:
    thoughts = sum(bool(step.thought) for step in annotation.kept)
    unsaid = [step.cannot_say for step in annotation.steps if not step.kept and not step.deleted]
    lines = [
        f"{annotation.id}: {len(annotation.kept)} steps, {thoughts} with a thought; "
        f"{sum(each.role == 'apart' for each in annotation.sentences)} sentences of other things are kept apart"
    ]
    lines += [f"left out: {each}" for each in unsaid]
    return "\n".join([*lines, *annotation.notes])


def _write(annotation: RecordingAnnotation, recording: PersonRecording, folder: Path, rest_s: float) -> str:
    tasks = cut_tasks(annotation, rest_s) or [annotation]  # of which none is kept: the error says so
    trajectories = [trajectory_of(task, lambda name: _frame(recording, name)) for task in tasks]
    folder.mkdir(exist_ok=True)
    for task, trajectory in zip(tasks, trajectories, strict=True):
        save_trajectory(folder / f"{_file_name(task.id)}.trajectory", trajectory)
    state = "each looked at" if annotation.is_reviewed else "nobody has looked at them"
    steps = sum(len(trajectory.steps) for trajectory in trajectories)
    return f"{folder}: {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'}, {steps} steps, {state}"


def _frame(recording: PersonRecording, name: str) -> bytes:
    try:
        return recording.file("frames", name).read_bytes()
    except OSError as error:
        raise InputError(f"{recording.file('frames', name)} must be a picture; got {error.strerror}") from error


def _file_name(id: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in id)[:64] or "recording"
