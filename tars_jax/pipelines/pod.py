"""Beginning and end of an experiment that several processes share."""

from __future__ import annotations

import os
import pathlib
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import NoReturn

import ml_collections

from tars_jax import InputError
from tars_jax.launcher import LAUNCHER
from tars_jax.training import processes
from tars_jax.training.run_directory import Extension, RunDirectory


def shared_run_directory(
    name: str, config: ml_collections.ConfigDict, path: pathlib.Path, allowed: str, extensions: Mapping[str, Extension]
) -> RunDirectory:
    """Meets the other processes; the leader makes `path`, the leader's, and the others follow it.

    Raises InputError where they do not meet, where the directory cannot be made, and where one process is `allowed`
    process.
    """
    processes.join()
    if processes.count() > 1 and allowed != "many":
        raise InputError(f"{name} runs in one process, and there are {processes.count()}; {LAUNCHER} starts one.")
    path = pathlib.Path(processes.broadcast(str(path.absolute())))
    made = processes.run_on_main_process(lambda: RunDirectory.create(path, config.to_dict(), name, extensions))
    return made or RunDirectory.follow(path, processes.number())


def end_with(main: Callable[[list[str]], int]) -> NoReturn:
    """Runs the command and ends the process. One that fails does not wait for the others, as jax does at an exit: they
    end when they miss it.
    """
    try:
        code = main(sys.argv[1:])
    except Exception:
        traceback.print_exc()
        code = 1
    if code == 0:
        sys.exit(0)
    sys.stdout.flush()
    sys.stderr.flush()
    if processes.is_main_process():
        time.sleep(1)  # all others are ended with it; those that fail for the same reason may say so
    os._exit(code)
