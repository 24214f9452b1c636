"""Weights on their way to servers that read them from a folder under the same path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tars_jax.model.policy import Parameters

KEPT = 2  # those in use, and those before, which a server may just be reading


class WeightFolders:
    """Numbered folders below one, the oldest of which go."""

    def __init__(self, folder: Path, write: Callable[[Path, Parameters], object]) -> None:
        self._folder, self._write = folder.absolute(), write
        self._written: list[Path] = []

    def written(self, parameters: Parameters) -> Path:
        """Where the weights of a policy lie now; a value head does not go with it."""
        number = 0 if not self._written else int(self._written[-1].name.rpartition("-")[2]) + 1
        target = self._folder / f"weights-{number}"
        shutil.rmtree(target, ignore_errors=True)
        self._write(target, without_values(parameters))
        self._written.append(target)
        return target

    def forget(self) -> None:
        """Those that no server reads any more."""
        while len(self._written) > KEPT:
            shutil.rmtree(self._written.pop(0), ignore_errors=True)


def without_values(parameters: Parameters) -> Parameters:
    return {name: leaf for name, leaf in parameters.items() if name != "scalar_head"}
