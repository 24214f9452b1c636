"""The command's name: in a checkout its script, from a wheel the name that pip gave it."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import sys

SHIPPED = pathlib.Path(__file__).resolve().parent / "checkout"  # what a wheel has of the checkout
INSTALLED = SHIPPED.is_dir()
LAUNCHER = "tars-jax" if INSTALLED else "./launch/local.sh"  # as a command that a user may type
POD = "TARS_JAX_POD"  # set by launch/pod.sh: this process is one of several of a run
GIVEN_PATH = "TARS_JAX_PYTHONPATH"  # set by launch/machine.sh: what PYTHONPATH was, which scripts take away


def resume_command(experiment: str, run: pathlib.Path, root: pathlib.Path = SHIPPED.parents[1]) -> str:
    """Command that resumes a run, as a shell takes it where the user stands. `root`: of the checkout."""
    folder = from_here(run)
    words = [_program(root), experiment, f"--config={folder}/config.json", f"--config.run={folder}"]
    return f"{_path()}{shlex.join(words)}"


def given_path() -> str:
    """PYTHONPATH as the user has set it."""
    return os.environ.get(GIVEN_PATH, os.environ.get("PYTHONPATH", ""))


def from_here(path: pathlib.Path) -> str:
    """Relative to where the user stands, if it lies below."""
    absolute = path.absolute()
    here = pathlib.Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


def _program(root: pathlib.Path) -> str:
    """A script of the checkout; of a wheel the command, by its place where the shell would find none or another."""
    if not INSTALLED:
        found = root / "launch" / ("pod.sh" if os.environ.get(POD) else "local.sh")
    else:
        found = pathlib.Path(sys.executable).with_name(LAUNCHER)
        usual = shutil.which(LAUNCHER)
        if not found.exists() or (usual is not None and os.path.samefile(found, usual)):
            return LAUNCHER
    place = from_here(found)
    return place if os.path.isabs(place) else f"./{place}"


def _path() -> str:
    """`python elsewhere/mine.py` finds beside that file what it brings by name (`mine:Large`), where nothing else
    looks: the folder is put on the path, before what this process was given for it. "" where there is neither."""
    script = _script()
    beside = "" if script is None or script.parent == pathlib.Path.cwd() else from_here(script.parent)
    path = os.pathsep.join(filter(None, (beside, given_path())))
    return f"PYTHONPATH={shlex.quote(path)} " if path else ""


def _script() -> pathlib.Path | None:
    """The file that Python was started with; a command that pip made is none, nor is `-m`."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or getattr(main, "__spec__", None) is not None or not file.endswith(".py"):
        return None
    return pathlib.Path(file).absolute()
