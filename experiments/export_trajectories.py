"""Recorded episodes become fine-tuning data for other trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.data.agentnet_folder import RECORDS, write_agentnet
from tars_jax.data.atif_writing import write_atif
from tars_jax.data.exporters import recorded, trajectory_files, write_jsonl, write_parquet
from tars_jax.training.progress import QUIET, Progress
from tars_jax.training.run_directory import RunDirectory

POSITIONAL = ("source",)


def run(config: Any, run_directory: RunDirectory) -> None:
    files = trajectory_files(Path(config.source), evaluations=config.evaluations)
    folder = Path(config.output) if config.output else run_directory.path
    found = recorded(Progress("export", len(files), "episodes", quiet=QUIET).each(files), config.verdict)
    if config.format == "parquet":
        written = folder / "trajectories.parquet"
        count = write_parquet(written, found)
    elif config.format == "atif":
        written = folder
        count = write_atif(folder, found)
    elif config.format == "agentnet":
        written = folder / RECORDS
        count = write_agentnet(folder, found)
    else:
        written = folder / "messages.jsonl"
        count = write_jsonl(folder, found, config.style)
    print(f"{written}: {count} of {len(files)} episodes")
