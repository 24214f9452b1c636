"""Merges agents that were trained from one start: equation 5 of the UI-TARS-2 report, on exported weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.rules import Rule
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.progress import counting


def _weights(values: tuple[Any, ...]) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(value >= 0 for value in values) and (not values or abs(sum(values) - 1) < 1e-6)


WEIGHTS = Rule(_weights, "a number of 0 or more for each checkpoint, which sum to 1, or () for the default")
RULES = {
    "checkpoints": Rule(
        lambda paths: len(paths) >= 2 and all(isinstance(path, str) for path in paths),
        "two or more folders of exported weights: --config.checkpoints=RUN_A/policy,RUN_B/policy",
    ),
    "weights": WEIGHTS,
    "groups.vision": WEIGHTS,
    "groups.experts": WEIGHTS,
}


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
