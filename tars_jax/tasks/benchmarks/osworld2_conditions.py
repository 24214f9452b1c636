"""Conditions of tasks of OSWorld 2.0's kind over the state, as plain data.

{file = "report.txt", matches = "total: 42"}      {page = "orders.0.total", equals = 42}
{only_changed = ["report.txt", "out/*"]}          {answer = "(?i)paris"}       {typed = "hunter2"}
{judge = "Is the letter polite?", of = "letter.txt"}
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_number, is_text, short_repr
from tars_jax.sandbox.computer.home import File, Tree
from tars_jax.tasks.benchmarks.osworld2_patterns import check, found, some

SUBJECTS = ("file", "page", "only_changed", "answer", "asked", "visited", "typed", "command", "judge")
PATTERNS = ("answer", "asked", "visited", "typed", "command")  # subjects that are a regular expression themselves
TESTS: Mapping[str, tuple[str, ...]] = {
    "file": ("equals", "matches", "exists", "changed"),
    "page": ("equals", "matches", "at_least", "at_most", "changed"),
    "judge": ("of",),
}


@dataclasses.dataclass(frozen=True)
class ObservedState:
    """The state, and what was done so far."""

    files: Tree = dataclasses.field(default_factory=dict)  # below the home folder of a computer
    page: Any = None  # what the page's own expression says of it
    answer: str | None = None  # what `finished` said
    asked: tuple[str, ...] = ()  # of the user
    visited: tuple[str, ...] = ()  # addresses that the page had
    typed: tuple[str, ...] = ()  # all of it as one text
    command: tuple[str, ...] = ()  # of a shell
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)  # what else is there: folder, fifo, link to x
    unread: str = ""  # why not all of it could be read; empty: it could
    looked_at: frozenset[str] = frozenset()  # files that were read all the same, or are not there

    def part(self, path: str) -> Any:
        """A part of the page's state, by names and numbers with dots between them; None where there is none."""
        found = self.page
        for name in path.split("."):
            if isinstance(found, list) and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                return None
        return found


@dataclasses.dataclass(frozen=True)
class StateCondition:
    """One subject, and one test of it."""

    subject: str
    of: Any  # a path, a regular expression, globs, or a question to a judge
    test: str = ""
    wanted: Any = None

    def holds(self, seen: ObservedState, first: ObservedState) -> bool | None:
        """Whether it is so now; None: that cannot be told. Not of a judge's.

        `first`: what was there before anything was done. It may block, as `osworld2_patterns.found` does.
        """
        match self.subject:
            case "file":
                if seen.unread and self.of not in seen.looked_at:
                    return None
                return self._file(seen.files.get(self.of), first.files.get(self.of))
            case "page":
                return self._page(seen.part(self.of), first.part(self.of))
            case "only_changed":
                return None if seen.unread else all(self._may_change(path) for path in _changed(seen, first))
            case "answer":
                return seen.answer is not None and found(self.of, seen.answer)
            case "judge":
                raise AssertionError("a judge is asked by the environment")
        said: tuple[str, ...] = getattr(seen, self.subject)
        return some(tuple(found(self.of, each) for each in said))

    def _may_change(self, path: str) -> bool:
        """A folder may where something may within it."""
        parts = path.rstrip("/").split("/")
        globs = [*self.of]
        if path.endswith("/"):
            globs += ["/".join(glob.split("/")[: len(parts)]) for glob in self.of if glob.count("/") >= len(parts)]
        return any(fnmatch.fnmatchcase(path.rstrip("/"), glob) for glob in globs)

    def evidence(self, seen: ObservedState) -> str:
        """Evidence that a judge is shown."""
        if self.wanted == "answer":
            return seen.answer or ""
        file = seen.files.get(self.wanted)
        return "" if file is None else file.text

    def _file(self, file: File | None, before: File | None) -> bool | None:
        match self.test:
            case "exists":
                return (file is not None) is self.wanted
            case "changed":
                return (file != before) is self.wanted
            case "equals":
                return file is not None and _lines(file.text) == _lines(self.wanted)
        return file is not None and found(self.wanted, file.text, re.MULTILINE)

    def _page(self, value: Any, before: Any) -> bool | None:
        match self.test:
            case "changed":
                return (value != before) is self.wanted
            case "at_least":
                return is_number(value) and value >= self.wanted
            case "at_most":
                return is_number(value) and value <= self.wanted
            case "matches":
                return isinstance(value, str) and found(self.wanted, value)
        return bool(value == self.wanted) and isinstance(value, bool) is isinstance(self.wanted, bool)


def read_condition(values: Mapping[str, Any], where: str) -> StateCondition:
    """Raises InputError for what is none; `where` stands before the field."""
    subjects = [name for name in SUBJECTS if name in values]
    if len(subjects) != 1:
        raise InputError(f"{where} must have one of {', '.join(SUBJECTS)}; got {', '.join(subjects) or 'none'}")
    [subject] = subjects
    of, tests = values[subject], TESTS.get(subject, ())
    if unknown := sorted(values.keys() - {subject, *tests}):
        raise InputError(f"{where}: beside {subject} must be {' or '.join(tests) or 'nothing'}; got {unknown[0]!r}")
    if subject == "only_changed":
        if not isinstance(of, list) or not all(is_text(each) and each for each in of):
            raise InputError(f"{where}.only_changed must be an array of paths; got {short_repr(of)}")
        for each in of:
            _check_below(each, f"{where}.only_changed")
        return StateCondition(subject, tuple(of))
    if not is_text(of) or not of:
        raise InputError(f"{where}.{subject} must be text; got {short_repr(of)}")
    if subject == "file":
        _check_below(of, f"{where}.file")
    if subject in PATTERNS:
        return StateCondition(subject, _pattern(of, f"{where}.{subject}"))
    given = [name for name in tests if name in values]
    if len(given) != 1:
        raise InputError(f"{where} must have one of {', '.join(tests)}; got {', '.join(given) or 'none'}")
    [test] = given
    if test == "of" and is_text(values[test]):
        _check_below(values[test], f"{where}.of")
    return StateCondition(subject, of, test, _wanted(subject, test, values[test], f"{where}.{test}"))


def _changed(seen: ObservedState, first: ObservedState) -> list[str]:
    """Paths of what is not as it was; folders end with a slash."""
    changed = [path for path in {*seen.files, *first.files} if seen.files.get(path) != first.files.get(path)]
    return changed + [
        path + "/" * ("folder" in (seen.places.get(path), first.places.get(path)))
        for path in {*seen.places, *first.places} if seen.places.get(path) != first.places.get(path)
    ]  # fmt: skip


def _check_below(path: str, where: str) -> None:
    if path[:1] == "/" or "\0" in path or ".." in path.split("/"):
        raise InputError(f"{where} must lie below the home folder; got {path!r}")


def _wanted(subject: str, test: str, wanted: Any, where: str) -> Any:
    if test in ("exists", "changed"):
        if type(wanted) is not bool:
            raise InputError(f"{where} must be true or false; got {short_repr(wanted)}")
    elif test in ("at_least", "at_most"):
        if not is_number(wanted):
            raise InputError(f"{where} must be a number; got {short_repr(wanted)}")
    elif (test != "equals" or subject == "file") and not is_text(wanted):
        raise InputError(f"{where} must be text; got {short_repr(wanted)}")
    return _pattern(wanted, where) if test == "matches" else wanted


def _pattern(text: str, where: str) -> str:
    if wrong := check(text):
        raise InputError(f"{where} must be a regular expression; got {text!r:.100}: {wrong}")
    return text


def _lines(text: str) -> list[str]:
    """Whatever white space ends lines and the whole."""
    return [line.rstrip() for line in text.rstrip().split("\n")]
