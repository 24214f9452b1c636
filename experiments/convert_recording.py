"""A recording of another tool becomes one of ours, or one of ours a capture of openadapt-capture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.exchange.agentnet import import_agentnet, is_agentnet_recording
from tars_jax.annotation.exchange.openadapt import import_openadapt, is_openadapt
from tars_jax.annotation.exchange.openadapt_writing import export_openadapt
from tars_jax.annotation.in_situ.events import SourceGone
from tars_jax.annotation.in_situ.recording import HEAD, read_recording
from tars_jax.pipelines.config import naming
from tars_jax.training.run_directory import RunDirectory

POSITIONAL = ("source",)


def run(config: Any, run_directory: RunDirectory) -> None:
    source = Path(config.source)
    output = Path(config.output) if config.output else run_directory.path / "recording"
    if (source / HEAD).is_file():
        file = export_openadapt(read_recording(source), output)
        print(f"{file}: a capture of openadapt-capture")
        return
    if is_openadapt(source):
        with naming("config.source", "source"):
            import_openadapt(source, output)
    elif is_agentnet_recording(source):
        with naming("config.source", "source"):
            import_agentnet(source, output)
    else:
        raise InputError(
            f"config.source must be a recording of ours ({HEAD}), of AgentNetTool (metadata.json, events.jsonl) or of "
            f"openadapt-capture (recording.db); got {config.source!r}"
        )
    recording = read_recording(output)
    for lost in (event for event in recording.events if isinstance(event, SourceGone)):
        print(f"left out: {lost.source}: {lost.message}")
    print(f"{output}: {len(recording.events)} events")
