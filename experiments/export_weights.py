"""A checkpoint of ours becomes a directory that `transformers` loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.pipelines.config import naming
from tars_jax.training.open_weights import export_weights
from tars_jax.training.progress import counting


def run(config: Any, run_directory: Any) -> None:
    output = Path(config.output) if config.output else run_directory.path / "exported"
    with naming("config.checkpoint", "checkpoint", output="config.output"):
        export_weights(
            config.checkpoint,
            output,
            dtype=config.dtype or None,
            shard_bytes=config.shard_megabytes * 2**20,
            on_file=counting("export", "files"),
        )
    print(f"{output}: exported from {config.checkpoint}")
