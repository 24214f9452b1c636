"""A finished run becomes a small archive with a README that says how to run it again."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation.publishing import members_of_run
from tars_jax.evaluation.publishing_readme import readme
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import naming
from tars_jax.training.archive import write_archive
from tars_jax.training.progress import QUIET, counting
from tars_jax.training.run_directory import RunDirectory

POSITIONAL = ("source",)


def run(config: Any, run_directory: RunDirectory) -> None:
    source = Path(config.source)
    output = Path(config.output) if config.output else source.absolute().with_name(f"{source.absolute().name}.zip")
    if os.path.isdir(output) or not os.path.isdir(output.parent):
        raise InputError(f"config.output must be a file in a folder that exists; got {config.output!r}")
    with naming("config.source", "source"):
        published = members_of_run(source, ROOT, checkpoint=config.checkpoint, trajectories=config.trajectories)
    name = f"{source.absolute().name}.zip"  # not the output's: the same run gives the same bytes, wherever they go
    members = {**published.members, "README.md": readme(published, name, _about(published.experiment))}
    write_archive(output, published.experiment, members, counting("publish", "files", quiet=QUIET))
    print(f"{output}: {len(members)} files, {output.stat().st_size / 1e6:.1f} MB")


def _about(experiment: str) -> str:
    """The first paragraph of the experiment's own docstring."""
    module = ROOT / "experiments" / f"{experiment}.py"
    words = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) if module.exists() else None
    return (words or "").partition("\n\n")[0]
