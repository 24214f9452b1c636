"""How the command is called: in a checkout by its script, from a wheel by the name that pip gave it."""

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


def resume_command(experiment: str, run: pathlib.Path, root: pathlib.Path = SHIPPED.parents[1]) -> str:
    """What goes on with a run, as a shell takes it where the user stands. `root`: of the checkout."""
    folder = from_here(run)
    words = [_program(root), experiment, f"--config={folder}/config.json", f"--config.run={folder}"]
    return f"{_path_of_script()}{shlex.join(words)}"


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


def _path_of_script() -> str:
    """`python elsewhere/mine.py` finds beside that file what it brings by name (`mine:Large`). Nothing else looks
    there, so the folder is put on the path; "" where the user stands in it, or where no such file was run."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or getattr(main, "__spec__", None) is not None or not file.endswith(".py"):
        return ""
    folder = pathlib.Path(file).absolute().parent
    if folder == pathlib.Path.cwd():
        return ""
    path = os.pathsep.join(filter(None, (from_here(folder), os.environ.get("PYTHONPATH"))))
    return f"PYTHONPATH={shlex.quote(path)} "
