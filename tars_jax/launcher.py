"""How the command is called: in a checkout by its script, from a wheel by the name that pip gave it."""

from __future__ import annotations

import os
import pathlib
import shlex

SHIPPED = pathlib.Path(__file__).resolve().parent / "checkout"  # what a wheel has of the checkout
INSTALLED = SHIPPED.is_dir()
LAUNCHER = "tars-jax" if INSTALLED else "./launch/local.sh"  # as a command that a user may type
POD = "TARS_JAX_POD"  # set by launch/pod.sh: this process is one of several of a run


def resume_command(experiment: str, run: pathlib.Path, root: pathlib.Path = SHIPPED.parents[1]) -> str:
    """What goes on with a run, as a shell takes it where the user stands. `root`: of the checkout."""
    folder, launcher = from_here(run), LAUNCHER
    if not INSTALLED:
        launcher = from_here(root / "launch" / ("pod.sh" if os.environ.get(POD) else "local.sh"))
        launcher = launcher if os.path.isabs(launcher) else f"./{launcher}"
    return shlex.join([launcher, experiment, f"--config={folder}/config.json", f"--config.run={folder}"])


def from_here(path: pathlib.Path) -> str:
    """Relative to where the user stands, if it lies below."""
    absolute = path.absolute()
    here = pathlib.Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)
