"""Open weights become a checkpoint of ours, which whatever starts from exported weights takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.model.config import DTYPES
from tars_jax.rules import Rule, one_of
from tars_jax.training.metrics import Progress
from tars_jax.training.open_weights import import_weights

RULES = {
    "source": Rule(
        lambda source: bool(source) and Path(source).is_dir(),
        "a folder of this machine with config.json and safetensors, such as "
        "`hf download Qwen/Qwen3-VL-2B-Instruct --local-dir FOLDER` leaves",
    ),
    "dtype": one_of(*DTYPES),
}


def run(config: Any, run_directory: Any) -> None:
    output = Path(config.output) if config.output else run_directory.path / "imported"
    progress: list[Progress] = []

    def on_tensor(done: int, tensors: int) -> None:
        progress.extend([] if progress else [Progress("import", tensors, "parameters")])
        progress[0].update(done)

    import_weights(config.source, output, config.dtype, on_tensor)
    print(f"{output}: imported from {config.source}")
