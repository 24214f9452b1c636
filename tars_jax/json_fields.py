"""JSON objects read field by field: what one lacks or has wrong is said with the name of the field."""

from __future__ import annotations

import json
import math
import os
import pathlib
import reprlib
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tars_jax import InputError

TOO_DEEP = "lists or objects that nest too deep"


class Fields:
    """A JSON object. A field that is null counts as absent; `prefix` stands before each name in an error.

    Methods raise what `error` gives, an InputError, for a field that is not as they say.
    """

    def __init__(self, values: Mapping[str, Any], prefix: str = "") -> None:
        self.values, self.prefix, self._read = values, prefix, set[str]()

    def error(self, name: str, wanted: str) -> Exception:
        got = short_repr(self.values[name]) if self.values.get(name) is not None else "nothing"
        return InputError(f"{self.prefix}{name} must be {wanted}; got {got}")

    def names(self) -> list[str]:
        return list(self.values)

    def value(self, name: str) -> Any:
        self._read.add(name)
        return self.values.get(name)

    def ignore(self, names: Collection[str]) -> None:
        self._read.update(names)

    def unread(self) -> list[str]:
        """Fields that nobody asked for."""
        return [name for name in self.values if name not in self._read]

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self.value(name)
        if value is None:
            return default
        if not is_number(value) or not low <= value <= high:
            raise self.error(name, f"a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, name: str, default: int | None, low: int, high: int) -> int | None:
        value = self.value(name)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= high:
            raise self.error(name, f"a whole number from {low} to {high}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.value(name)
        if value is not None and type(value) is not bool:
            raise self.error(name, "true or false")
        return default if value is None else value

    def text(self, name: str, default: str | None = None) -> str:
        """A string that has a UTF-8 form; required when there is no default."""
        value = self.value(name)
        if value is None and default is not None:
            return default
        if not is_text(value):
            raise self.error(name, "text")
        return value

    def optional_text(self, name: str, most: int | None = None) -> str | None:
        """None, or a string of at most so many characters."""
        text = None if self.value(name) is None else self.text(name)
        if text is not None and most is not None and len(text) > most:
            raise self.error(name, f"at most {most} characters")
        return text

    def array(self, name: str, *, required: bool = False) -> list[Any]:
        value = self.value(name)
        if value is None and not required:
            return []
        if not isinstance(value, list):
            raise self.error(name, "an array")
        return value

    def of_type(self, name: str, kind: type) -> Any:
        """Value of exactly this type of Python's."""
        if type(value := self.value(name)) is not kind:
            raise self.error(name, f"a value of type {kind.__name__}")
        return value


def without_nulls(value: Any) -> Any:
    """The same, at any depth without the fields of objects that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def short_repr(value: Any) -> str:
    """A value in an error message, cut to a readable length."""
    try:
        return reprlib.repr(value)
    except ValueError:  # of more digits than Python writes
        return f"{type(value).__name__} with a number of thousands of digits"


def is_text(value: Any) -> bool:
    """Whether it is a string without halves of surrogate pairs, which no tokenizer reads."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def is_number(value: Any) -> bool:
    """One that a float can hold, as JSON may have integers that none can."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def read_json(path: str | os.PathLike[str], *, each_once: bool = False) -> Any:
    """The value in a JSON file; raises InputError that names the file if it is missing, cut short or no JSON.

    `each_once`: it is no JSON where an object has a name twice, as of two values nobody knows which one counts.
    """
    try:
        return json.loads(pathlib.Path(path).read_bytes(), object_pairs_hook=_each_once if each_once else None)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} must be a JSON file; got {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path} must be a whole JSON file; got {TOO_DEEP}") from error
    except ValueError as error:  # json.JSONDecodeError, or bytes that are no UTF-8
        raise InputError(f"{path} must be a whole JSON file; got {error}") from error


def read_object_text(text: str, field: str) -> dict[str, Any]:
    """The JSON object that a field of a config holds as text; empty: none of its fields. Raises InputError."""
    try:
        value = json.loads(text or "{}", object_pairs_hook=_each_once)
    except RecursionError as error:
        raise InputError(f"{field} must be a JSON object; got {TOO_DEEP}") from error
    except ValueError as error:
        raise InputError(f"{field} must be a JSON object; got {text!r:.100}: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{field} must be a JSON object; got {text!r:.100}")
    return value


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a TOML file; raises InputError that names the file if it is missing, cut short or no TOML."""
    try:
        return tomllib.loads(pathlib.Path(path).read_text("utf-8-sig"))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} must be a TOML file; got {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path} must be a whole TOML file; got {TOO_DEEP}") from error
    except ValueError as error:  # of TOML, or of UTF-8
        raise InputError(f"{path} must be a whole TOML file; got {error}") from error


def read_object(path: str | os.PathLike[str], *fields: str) -> dict[str, Any]:
    """The JSON object in a file, as `read_json`; raises InputError also if it is no object or lacks one of `fields`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold a JSON object; got {type(value).__name__}")
    for field in fields:
        if field not in value:
            raise InputError(f"{path} must have the fields {', '.join(fields)}; got none named {field}")
    return value


def read_json_lines(
    path: str | os.PathLike[str], what: str = "an object of JSON"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The object of each line of a file, and where it stands, as "FILE:NUMBER"; lines of blanks are passed over.

    Lines end with a line feed alone: texts may hold any other character that ends lines elsewhere (U+2028, U+0085). A
    byte order mark at the beginning belongs to no line. `what`: what a line must be, for errors.

    Raises InputError that names the file, or the file and the line: also for a name that an object has twice, as of
    two values nobody knows which one counts.
    """
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                where = f"{path}:{number}"
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                    if not text.strip():
                        continue
                    value = json.loads(text, object_pairs_hook=_each_once)
                except RecursionError as error:
                    raise InputError(f"{where} must be {what}; got {TOO_DEEP}") from error
                except ValueError as error:  # of UTF-8, too
                    raise InputError(f"{where} must be {what}; {error}") from error
                if not isinstance(value, dict):
                    raise InputError(f"{where} must be {what}; got {short_repr(value)}")
                yield where, value
    except OSError as error:
        raise InputError(f"{path} must be a file of lines, each {what}; got {error.strerror}") from error


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{short_repr(twice)} stands in it twice")
    return values
