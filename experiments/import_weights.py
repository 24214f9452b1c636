"""Open weights become a checkpoint of ours, which whatever starts from exported weights takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax.training.open_weights import import_weights
from tars_jax.training.progress import counting


def run(config: Any, run_directory: Any) -> None:
    output = Path(config.output) if config.output else run_directory.path / "imported"
    import_weights(config.source, output, config.dtype, counting("import", "parameters"))
    print(f"{output}: imported from {config.source}")
