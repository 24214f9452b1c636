"""Open weights become a checkpoint of ours, which whatever starts from exported weights takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.model.config import DTYPES
from tars_jax.rules import Rule, one_of
from tars_jax.training.open_weights import import_weights
from tars_jax.training.progress import counting

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
    import_weights(config.source, output, config.dtype, counting("import", "parameters"))
    print(f"{output}: imported from {config.source}")
