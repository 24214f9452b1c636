"""Trajectories as others take them: JSONL of chat messages with image files, and Parquet.

An episode becomes one conversation: the instruction and what was seen in the user's turns, what the policy wrote in the
assistant's. It is the text of the steps that is written, not their tokens: what a learner of ours needs, to the last
token, are the trajectory files themselves. Steps that nobody is to imitate are named beside the messages, as
`context_steps`. What is no conversation is left out, and counted in the log: an episode that failed or has no step, and
one of which nobody knows what was asked.
"""

from __future__ import annotations

import base64
import collections
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.held_out import marks_of, of_evaluation
from tars_jax.data.images import ImageFiles
from tars_jax.data.recorded import instruction_of, with_verdict
from tars_jax.data.store.records import flush
from tars_jax.trajectory import Step, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS, context_of
from tars_jax.trajectory.files import load_trajectory
from tars_jax.trajectory.folders import is_evaluation

log = logging.getLogger(__name__)
ROWS = 64  # episodes of a row group of Parquet; their images are in memory together

Content = list[dict[str, Any]]
ShowImage = Callable[[bytes], dict[str, Any]]  # a PNG to the part of a message that shows it


def trajectory_files(source: Path, *, evaluations: bool = False) -> list[Path]:
    """Trajectory files of a run directory, of its `trajectories`, or of one folder; by folder and number; those of
    evaluations only where `evaluations` asks for them.

    Raises InputError where there are none.
    """
    top = source / "trajectories" if (source / "trajectories").is_dir() else source
    files = sorted(top.rglob("*.trajectory"))
    if not files:
        raise InputError(
            f"config.source must be a run directory or a folder of trajectories such as RUN/trajectories/ppo; "
            f"got {str(source)!r}."
        )
    held_out = {folder for folder in {file.parent for file in files} if not evaluations and is_evaluation(folder)}
    kept = [file for file in files if file.parent not in held_out]
    if not kept:
        raise InputError(
            f"config.evaluations must be True where all {len(files)} episodes of {str(source)!r} are of evaluations"
        )
    if left_out := len(files) - len(kept):
        print(f"{left_out} of evaluations are left out: --config.evaluations=True takes them, too")
    return kept


def recorded(files: Iterable[Path], verdict: str) -> Iterator[Trajectory]:
    """Recorded trajectories, one at a time, that carry a reward and have the verdict ("any", "solved", "failed")."""
    for file in files:
        trajectory = load_trajectory(file)
        if trajectory.outcome.carries_reward:
            marked = of_evaluation(trajectory) if is_evaluation(file.parent) else trajectory
            yield from with_verdict([marked], verdict)


def conversations(
    trajectories: Iterable[Trajectory], show_image: ShowImage
) -> Iterator[tuple[Trajectory, list[dict[str, Any]]]]:
    """Each episode that is one, with its messages."""
    left_out: collections.Counter[str] = collections.Counter()
    for trajectory in trajectories:
        if not trajectory.outcome.carries_reward:
            left_out["it failed"] += 1
        elif not trajectory.steps:
            left_out["it has no step"] += 1
        else:
            try:
                messages = conversation(trajectory, show_image)
            except InputError:
                left_out["nobody says what was asked"] += 1
            else:
                yield trajectory, messages
    if left_out:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in left_out.most_common())
        log.warning("%d episodes are left out, as they are no conversations: %s", left_out.total(), reasons)


def conversation(trajectory: Trajectory, show_image: ShowImage) -> list[dict[str, Any]]:
    """The episode as chat messages: {"role", "content"}, a content being parts of text and images.

    Raises InputError where the task is of no environment that is known here.
    """
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(trajectory.steps):
        told: Content = [] if number else [{"type": "text", "text": writable(instruction_of(trajectory))}]
        messages.append({"role": "user", "content": [*told, *_observation(step, show_image)]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": writable(step.response)}]})
    return messages


def _observation(step: Step, show_image: ShowImage) -> Content:
    text: Content = [{"type": "text", "text": writable(step.text)}] if step.text else []
    return [*text, *([show_image(step.screenshot)] if step.screenshot else [])]


def writable(text: str) -> str:
    """A policy may write half a surrogate pair, which is no UTF-8."""
    return _bytes(text).decode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def export_fields(trajectory: Trajectory) -> dict[str, Any]:
    """Fields beside the messages of an exported episode."""
    return {
        "id": writable(trajectory.id),
        "task": trajectory.task,
        "outcome": trajectory.outcome.value,
        "reward": trajectory.reward,
        "success": trajectory.success,
        "actions": [writable(step.action) for step in trajectory.steps],
        **marks_of(trajectory),
        CONTEXT_STEPS: context_of(trajectory),
    }


def write_jsonl(folder: Path, trajectories: Iterable[Trajectory], style: str = "qwen") -> int:
    """FOLDER/messages.jsonl, a conversation a line; returns how many.

    Args:
      style: "qwen" names image files of FOLDER/images, each image once; "openai" has them in the lines, as data URLs,
        and gives an answer that is context the weight 0.
    """
    folder.mkdir(parents=True, exist_ok=True)
    images = ImageFiles(folder) if style == "qwen" else None

    def shown(png: bytes) -> dict[str, Any]:
        return _as_url(png) if images is None else {"type": "image", "image": f"images/{images.keep(png).name}"}

    count = 0
    partial = folder / ".messages.jsonl.partial"
    with open(partial, "wb") as lines:
        for trajectory, messages in conversations(trajectories, shown):
            for step in context_of(trajectory) if style == "openai" else ():
                messages[2 * step + 1]["weight"] = 0
            line = json.dumps({"messages": messages, **export_fields(trajectory)}, ensure_ascii=False)
            lines.write(_bytes(line) + b"\n")
            count += 1
    flush([*(images.kept if images else ()), partial])  # together: one by one a disk takes as long for each
    os.replace(partial, folder / "messages.jsonl")
    return count


def _as_url(png: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(png).decode()}"}}


def write_parquet(file: Path, trajectories: Iterable[Trajectory]) -> int:
    """Writes one row an episode; returns how many. `messages` have a part {"type": "image"} for each of `images`, in
    their order, which are {"bytes", "path"} as Hugging Face's `datasets` has images; `task` is JSON.

    Raises InputError where pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(
            "config.format=parquet needs pyarrow: install the extra parquet, tars_jax[parquet]."
        ) from error
    part = pa.struct([("type", pa.string()), ("text", pa.string())])
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.list_(part))]))),
            ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
            ("actions", pa.list_(pa.string())),
            ("task", pa.string()),
            ("outcome", pa.string()),
            ("reward", pa.float64()),
            ("success", pa.bool_()),
            ("purpose", pa.string()),
            ("held_out", pa.bool_()),
            (CONTEXT_STEPS, pa.list_(pa.int64())),
        ]
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    count = 0
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        rest = _rows(trajectories)
        while rows := list(islice(rest, ROWS)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    os.replace(partial, file)
    return count


def _rows(trajectories: Iterable[Trajectory]) -> Iterator[dict[str, Any]]:
    images: list[dict[str, Any]] = []

    def counted(png: bytes) -> dict[str, Any]:
        images.append({"bytes": png, "path": None})
        return {"type": "image", "text": None}

    for trajectory, messages in conversations(trajectories, counted):
        row = export_fields(trajectory)
        yield {**row, "messages": messages, "images": images[:], "task": json.dumps(row["task"])}
        images.clear()
