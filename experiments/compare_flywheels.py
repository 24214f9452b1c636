"""Finished flywheels and their controls in one table and one figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation.figures import save_figure
from tars_jax.evaluation.flywheel_comparison import FlywheelRun, by_control, by_name, draw_figure, table
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_object
from tars_jax.training.progress import working


def run(config: Any, run_directory: Any) -> None:
    found = []
    for name in config.runs:
        file = Path(name) / "result.json"
        if not file.exists():
            raise InputError(f"config.runs must be directories of finished flywheels; got {name}, without result.json")
        found.append(FlywheelRun.of(read_object(file), file))
    if config.names and len(config.names) != len(found):
        raise InputError(f"config.names must be {len(found)}, one for each of config.runs; got {len(config.names)}")
    groups = by_name(found, config.names) if config.names else by_control(found)
    figure = Path(config.output) if config.output else run_directory.path / "flywheels.svg"
    said = table(groups)
    with working("draw"):
        save_figure(draw_figure(groups, config.title), figure)
    write_atomic(figure.with_suffix(".md"), f"{said}\n".encode())
    print(said)
    print(figure)
