"""Merges agents that were trained from one start: equation 5 of the UI-TARS-2 report, on exported weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.progress import counting


def run(config: Any, run_directory: Any) -> None:
    output = Path(config.output) if config.output else run_directory.path / "merged"
    merge_checkpoints(
        config.checkpoints,
        output,
        config.weights,
        config.groups.to_dict(),
        unrelated=config.unrelated,
        on_tensor=counting("merge", "tensors"),
    )
    print(f"{output}: {len(config.checkpoints)} checkpoints merged")
