"""The wire's JSON: bodies read field by field, and the one form of every error (OpenAI's).

    {"error": {"message": ..., "type": ..., "param": "messages[0].content", "code": ...}}

Whatever a client sends ends here as a typed value or as a `RequestError` that names the field, what it got and what it
takes. A field that nobody reads is an error as well: a misspelt `temprature` must not be ignored.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Collection, Mapping
from typing import Any

TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class RequestError(Exception):
    """A request that cannot be served, and the status that says so."""

    def __init__(
        self,
        message: str,
        param: str | None = None,
        *,
        status: int = 400,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.param, self.status, self.code = message, param, status, code
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        kind = TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def busy(message: str) -> RequestError:
    """Back-pressure: the same request may succeed in a moment."""
    return RequestError(message, status=429, code="busy", headers={"Retry-After": "1"})


def to_json(value: Any) -> bytes:
    """Plain ASCII, so that half a surrogate pair that a client sent can be quoted back."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def from_json(body: bytes) -> Any:
    """Raises RequestError for what is not JSON; NaN and Infinity are not."""
    try:
        return json.loads(body, parse_constant=_no_constant)
    except RecursionError as error:
        raise RequestError("the body is nested too deeply") from error
    except ValueError as error:  # also bytes that are no text, and numbers with thousands of digits
        raise RequestError(f"the body is not JSON: {error}") from error


def shown(value: Any) -> str:
    """A value in an error message, cut to a readable length."""
    return reprlib.repr(value)


class Fields:
    """A JSON object, read field by field. A field that is null counts as absent. `done` refuses what was not read."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise RequestError(f"{path or 'the body'} is {shown(value)}; it takes an object", path or None)
        self._values, self._path, self._read = value, path, set[str]()

    def param(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def error(self, name: str, takes: str, **options: Any) -> RequestError:
        got = f"got {shown(self._values[name])}" if self._values.get(name) is not None else "is missing"
        return RequestError(f"{self.param(name)} {got}; it takes {takes}", self.param(name), **options)

    def names(self) -> list[str]:
        return list(self._values)

    def value(self, name: str) -> Any:
        self._read.add(name)
        return self._values.get(name)

    def ignore(self, names: Collection[str]) -> None:
        self._read.update(names)

    def done(self) -> None:
        for name in self._values:
            if name not in self._read:
                raise RequestError(f"{shown(name)} is no field that this server knows", self.param(name))

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self.value(name)
        if value is None:
            return default
        if not _is_number(value) or not low <= value <= high:
            raise self.error(name, f"a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, name: str, default: int | None, low: int, high: int) -> int | None:
        value = self.value(name)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= high:
            raise self.error(name, f"a whole number from {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if value is not None and type(value) is not bool:
            raise self.error(name, "true or false")
        return bool(value)

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

    def token_ids(self, name: str, vocabulary: int) -> list[int]:
        value = self.array(name, required=True)
        for index, token in enumerate(value):
            if type(token) is not int or not 0 <= token < vocabulary:
                where = f"{self.param(name)}[{index}]"
                raise RequestError(f"{where} got {shown(token)}; it takes a token id below {vocabulary}", where)
        return value


def is_text(value: Any) -> bool:
    """Whether it is a string without halves of surrogate pairs, which no tokenizer reads."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
