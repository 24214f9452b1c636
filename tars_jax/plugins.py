"""Plug-ins: what a user brings is named by package.module:attribute, or by an installed entry point.

JUDGES = Plugins("judge", "tars_jax.judges")
judge = JUDGES.load("mine.rewards:exact")           # or the name of an entry point of that group
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import importlib.metadata
import pathlib
import sys
import sysconfig
import traceback
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError

_LONGEST = 300  # characters of an exception's words
_OURS = pathlib.Path(__file__).resolve().parent
_PACKAGES = {"site-packages", "dist-packages"}


@dataclasses.dataclass(frozen=True)
class Plugins:
    """Things of one kind that anybody may bring."""

    kind: str  # in messages
    group: str  # of the entry points

    def load(self, name: str, ours: Mapping[str, Any] | None = None) -> Any:
        """Loads what `name` stands for: one of `ours`, package.module:attribute, or an entry point of the group.

        Raises InputError where there is nothing of that name.
        """
        ours = ours or {}
        if name in ours:
            return ours[name]
        if ":" in name:
            return self._attribute(name)
        entry_points = self.entry_points()
        if name in entry_points:
            return self._attribute(entry_points[name].value)
        known = [*ours, *entry_points]
        listed = f"one of {', '.join(known)}, " if known else ""
        raise InputError(
            f"{self.kind} must be {listed}package.module:attribute, or an entry point of {self.group}; "
            f"got {name!r}{did_you_mean(name, known)}"
        )

    def entry_points(self) -> Mapping[str, importlib.metadata.EntryPoint]:
        """Entry points of all installed packages, by name."""
        return _entry_points(self.group, tuple(sys.path))

    def _attribute(self, name: str) -> Any:
        module_name, _, path = name.partition(":")
        try:
            value: Any = importlib.import_module(module_name)
        except (ImportError, ValueError) as error:  # ValueError: of an empty name
            about = f"{self.kind} {name!r}: {module_name!r} must be a module that can be imported"
            raise InputError(f"{about}; got {type(error).__name__}: {error}") from error
        found = getattr(value, "__file__", None)
        place = f"{module_name} ({found})" if found else module_name  # it may be another than was meant
        for part in path.split("."):
            if not hasattr(value, part):
                raise InputError(
                    f"{self.kind} {name!r}: {part!r} must be an attribute of {place}{_instead(part, value)}"
                )
            value = getattr(value, part)
        return value


@functools.lru_cache(maxsize=32)
def _entry_points(group: str, path: tuple[str, ...]) -> Mapping[str, importlib.metadata.EntryPoint]:
    """Looking through what is installed takes a while, and `path` says when that may have changed."""
    return {each.name: each for each in importlib.metadata.entry_points(group=group)}


def describe_error(error: BaseException) -> str:
    """What somebody's own code has raised, and in which line of it: KeyError: 'word' (mine.py:12). What it called of
    ours or of libraries is not what they look for."""
    said = f"{type(error).__name__}: {error}"[:_LONGEST]
    lines = [(pathlib.Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    others = [(file, line) for file, line in lines if file.is_absolute() and not _is_library(file)]
    if not (own := [(file, line) for file, line in others if not _PACKAGES & set(file.parts)] or others):
        return said
    file, line = own[-1]
    here = pathlib.Path.cwd()
    return f"{said} ({file.relative_to(here) if here in file.parents else file}:{line})"


def _is_library(file: pathlib.Path) -> bool:
    """Ours, or of Python itself."""
    standard = pathlib.Path(sysconfig.get_path("stdlib"))
    return _OURS in file.resolve().parents or (standard in file.parents and not _PACKAGES & set(file.parts))


def did_you_mean(name: str, known: list[str]) -> str:
    """Behind a name that is not known: the one that may be meant."""
    guess = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {guess[0]!r}?)" if guess else ""


def _instead(part: str, owner: Any) -> str:
    guess = difflib.get_close_matches(part, [each for each in dir(owner) if not each.startswith("_")], 1)
    return f"; it has {guess[0]!r}" if guess else ""
