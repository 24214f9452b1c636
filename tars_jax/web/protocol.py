"""The wire's JSON: bodies read field by field, and the one form of every error (OpenAI's).

    {"error": {"message": ..., "type": ..., "param": "messages[0].content", "code": ...}}

Whatever a client sends ends here as a typed value or as a `RequestError` that names the field, what it got and what it
takes. A field that nobody reads is an error as well: a misspelt `temprature` must not be ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tars_jax import json_fields
from tars_jax.json_fields import short_repr

INTERNAL_ERROR = "internal_error"  # the code of a defect of the server
_TO_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)  # json.dumps would make one for each text
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
    return _TO_JSON.encode(value).encode()


def from_json(body: bytes) -> Any:
    """Raises RequestError for what is not JSON, as NaN and Infinity are not, or names a field of an object twice."""
    try:
        return _FROM_JSON.decode(body.decode(json.detect_encoding(body), "surrogatepass"))  # as json.loads does
    except RecursionError as error:
        raise RequestError("the body is nested too deeply") from error
    except ValueError as error:  # also bytes that are no text, and numbers with thousands of digits
        raise RequestError(f"the body is not JSON: {error}") from error


class RequestFields(json_fields.Fields):
    """A JSON object of a request: what is wrong with it is a RequestError that names the field as `param`, too."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise RequestError(f"{path or 'the body'} must be an object; got {short_repr(value)}", path or None)
        super().__init__(value, f"{path}." if path else "")

    def param(self, name: str) -> str:
        return self.prefix + name

    def error(self, name: str, wanted: str, **options: Any) -> RequestError:
        return RequestError(str(super().error(name, wanted)), self.param(name), **options)

    def done(self) -> None:
        """Refuses what was not read: a misspelt `temprature` must not be ignored."""
        for name in self.unread():
            raise RequestError(f"{short_repr(name)} is no field that this server knows", self.param(name))

    def token_ids(self, name: str, vocabulary: int) -> list[int]:
        value = self.array(name, required=True)
        for index, token in enumerate(value):
            if type(token) is not int or not 0 <= token < vocabulary:
                where = f"{self.param(name)}[{index}]"
                raise RequestError(f"{where} must be a token id below {vocabulary}; got {short_repr(token)}", where)
        return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two values counts, so neither does."""
    values = dict(pairs)
    if len(values) < len(pairs):
        for name, _ in pairs:
            if values.pop(name, values) is values:
                raise ValueError(f"{short_repr(name)} stands twice in one object")
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_FROM_JSON = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)
