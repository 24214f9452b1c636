"""Redaction of what should not leave a machine: absolute paths, host and user names, addresses.

Paths are replaced where that keeps the meaning; whatever is found after that stops the publication.
"""

from __future__ import annotations

import getpass
import pathlib
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError

ELSEWHERE, ADDRESS = "ELSEWHERE", "ADDRESS"  # stand for a folder outside of the run and for a server
_ABSOLUTE = re.compile(r"(?:^|(?<==))/(?:[^/\s]+/)+(?=[^/\s]*)")
_SERVER = re.compile(r"\b(?:https?|wss?|grpc)://[^\s\"'<>]+|\b\d{1,3}(?:\.\d{1,3}){3}:\d+\b")
_SHORTEST = 4  # a name of fewer letters is part of other words


class Redactor:
    """Knows the places and names of this machine.

    Args:
        places: folders, and what stands for each.
    """

    def __init__(self, places: Mapping[pathlib.Path, str]) -> None:
        known = {**places, pathlib.Path(sys.prefix): "ENVIRONMENT", pathlib.Path.home(): "HOME"}
        paths = {str(form): name for place, name in known.items() for form in (place.absolute(), place.resolve())}
        longest_first = sorted((path for path in paths if path != "/"), key=len, reverse=True)
        self._places = {path: paths[path] for path in longest_first}
        self._place = re.compile(r"(?<![\w+/])(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)")
        self._learned: dict[str, str] = {}
        host, user = (re.escape(name) for name in (platform.node(), getpass.getuser()))
        names = [rf"\b{host}\b"] if len(platform.node()) >= _SHORTEST and platform.node() != "localhost" else []
        names += [rf"\b{user}@", r"(?<!\w)/(?:home|Users)/\w+", r"\b\d{1,3}(?:\.\d{1,3}){3}:\d+\b"]
        self._private = re.compile("|".join([*names, self._place.pattern]))

    def value(self, value: Any) -> Any:
        """Plain data with paths and addresses replaced; `text` knows them from then on."""
        if isinstance(value, Mapping):
            return {name: self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(member) for member in value]
        if not isinstance(value, str):
            return value
        shown = _SERVER.sub(ADDRESS, _ABSOLUTE.sub(f"{ELSEWHERE}/", self._without_places(value)))
        if shown != value:
            self._learned[value] = shown
        return shown

    def text(self, text: str) -> str:
        """A text without the known places, and with what `value` has replaced."""
        for found in sorted(self._learned, key=len, reverse=True):
            text = text.replace(found, self._learned[found])
        return self._without_places(text)

    def require_none(self, name: str, data: bytes) -> None:
        """Raises InputError if a member of an archive is text and still says something private."""
        try:
            found = self._private.search(data.decode())
        except UnicodeDecodeError:
            return
        if found:
            raise InputError(f"{name} holds {found[0]!r}, which is not for others; nothing is published.")

    def _without_places(self, text: str) -> str:
        return self._place.sub(lambda found: self._places[found[0]], text)
