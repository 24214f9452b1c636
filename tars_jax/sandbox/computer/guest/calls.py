"""A call of the host, what it may say, and its answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

NOTHING: Any = object()
Send = Callable[[dict[str, Any], bytes | bytearray], None]


class CallError(Exception):
    """A call that cannot be carried out. `code`: "input" for a call that makes no sense, or the name of an errno."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message

    @classmethod
    def of(cls, error: OSError, what: str) -> CallError:
        name = errno.errorcode.get(error.errno or 0, "OSError")
        return cls(name, f"{what}: {error.strerror or error}")


class Call:
    """`answer` or `fail` is called once, in the loop's thread."""

    def __init__(self, message: dict[str, Any], data: bytes, send: Send) -> None:
        self.id, self.name, self.data = message.get("id"), message.get("call"), data
        self._arguments = {name: value for name, value in message.items() if name not in ("id", "call")}
        self._send: Send | None = send

    def answer(self, ok: dict[str, Any] | None = None, data: bytes | bytearray = b"") -> None:
        if self._send is not None:
            send, self._send = self._send, None
            send({"id": self.id, "ok": ok or {}}, data)

    def fail(self, error: CallError) -> None:
        if self._send is not None:
            send, self._send = self._send, None
            send({"id": self.id, "error": {"code": error.code, "message": error.message}}, b"")

    def text(self, name: str, default: Any = NOTHING) -> Any:
        value = self._value(name, default)
        if value is default and default is not NOTHING:
            return default
        if not isinstance(value, str) or "\0" in value:
            raise self._wrong(name, "text without zero bytes", value)
        return value

    def number(self, name: str, default: Any = NOTHING, least: float = 0, most: float = 1e9) -> Any:
        value = self._value(name, default)
        if value is default and default is not NOTHING:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self._wrong(name, f"a number from {least:g} to {most:g}", value)
        return value

    def whole(self, name: str, default: Any = NOTHING, least: int = 0, most: int = 1 << 62) -> Any:
        value = self._value(name, default)
        if value is default and default is not NOTHING:
            return default
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(name, f"a whole number from {least} to {most}", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._value(name, default)
        if type(value) is not bool:
            raise self._wrong(name, "true or false", value)
        return value

    def words(self, name: str) -> list[str]:
        value = self._value(name, NOTHING)
        if not isinstance(value, list) or not value or not all(isinstance(x, str) and "\0" not in x for x in value):
            raise self._wrong(name, "an array of texts without zero bytes", value)
        return value

    def texts(self, name: str) -> dict[str, str]:
        value = self._value(name, {})
        if not isinstance(value, dict) or not all(isinstance(x, str) and "\0" not in x for x in value.values()):
            raise self._wrong(name, "an object of texts without zero bytes", value)
        if wrong := [key for key in value if not key or "=" in key or "\0" in key]:
            raise self._wrong(name, "an object of variables with names", wrong[0])
        return value

    def check_read(self, *names: str) -> None:
        """Checks that there are no arguments but those that were read."""
        if unknown := sorted(self._arguments.keys() - set(names)):
            raise CallError(
                "input", f"an argument of {self.name} must be one of {', '.join(names)}; got {unknown[0]!r}"
            )

    def _value(self, name: str, default: Any) -> Any:
        value = self._arguments.get(name)
        if value is not None:
            return value
        if default is NOTHING:
            raise CallError("input", f"{name} must be given to {self.name}; got nothing")
        return default

    def _wrong(self, name: str, wanted: str, value: Any) -> CallError:
        return CallError("input", f"{name} must be {wanted}; got {value!r:.80}")


def encodable(argument: str) -> bytes:
    """A text as the operating system takes it. Raises CallError for one that no program can be given."""
    try:
        return os.fsencode(argument)
    except UnicodeEncodeError:
        raise CallError("input", f"text must have a UTF-8 form; got {argument!r:.80}") from None
