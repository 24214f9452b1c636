"""A checkpoint of ours becomes a directory that `transformers` loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.model.config import DTYPES
from tars_jax.rules import Rule, at_least, one_of
from tars_jax.training.metrics import Progress
from tars_jax.training.open_weights import export_weights

RULES = {
    "checkpoint": Rule(bool, "a folder of exported weights: --config.checkpoint=RUN/policy"),
    "dtype": one_of("", *DTYPES),
    "shard_megabytes": at_least(1),
}


def run(config: Any, run_directory: Any) -> None:
    output = Path(config.output) if config.output else run_directory.path / "exported"
    progress: list[Progress] = []

    def on_file(done: int, files: int) -> None:
        progress.extend([] if progress else [Progress("export", files, "files")])
        progress[0].update(done)

    export_weights(
        config.checkpoint,
        output,
        dtype=config.dtype or None,
        shard_bytes=config.shard_megabytes * 2**20,
        on_file=on_file,
    )
    print(f"{output}: exported from {config.checkpoint}")
