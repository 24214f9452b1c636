"""Exceptions on the wire: SWE-ReX's client raises the class that the path names, of the message alone."""

from __future__ import annotations

import errno
from typing import Any

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.named_sessions import AlreadyOpen, NotOpen, TooMany

STATUS = 511
# Of what is raised below, the class that the client raises: the first kind that fits. A GuestError has its code's.
_CLASSES: tuple[tuple[type[Exception], str], ...] = (
    (NotOpen, "swerex.exceptions.SessionDoesNotExistError"),
    (AlreadyOpen, "swerex.exceptions.SessionExistsError"),
    (TooMany, "swerex.exceptions.SwerexException"),
    (GuestError, "builtins.OSError"),
    (UnicodeError, "builtins.UnicodeError"),  # its subclasses take five arguments
    (LookupError, "builtins.LookupError"),
    (Exception, "builtins.ValueError"),
)
_CODES = {
    "ENOENT": "FileNotFoundError", "ENOTDIR": "NotADirectoryError", "EISDIR": "IsADirectoryError",
    "EEXIST": "FileExistsError", "EACCES": "PermissionError", "EPERM": "PermissionError", "ETIMEDOUT": "TimeoutError",
    "input": "ValueError",
}  # fmt: skip
_ENDS = {errno.ENOENT: "No such file or directory", errno.EACCES: "Permission denied"}


class Transfer(Exception):
    """An error that the client is to raise."""

    def __init__(self, class_path: str, message: str, **extra_info: Any) -> None:
        super().__init__(message)
        self.class_path, self.message, self.extra_info = class_path, message, extra_info

    def to_json(self) -> dict[str, Any]:
        fields = {
            "message": self.message,
            "class_path": self.class_path,
            "traceback": "",
            "extra_info": self.extra_info,
        }
        return {"swerexception": fields}


def swerex(name: str, message: str, **extra_info: Any) -> Transfer:
    return Transfer(f"swerex.exceptions.{name}", message, **extra_info)


def transfer_of(error: Exception) -> Transfer:
    """How what was raised below goes to the client. `extra_info` says of a failure of infrastructure that it is one."""
    if isinstance(error, SandboxFailure):
        return swerex("SwerexException", f"infrastructure: {error}", infrastructure=True, kind=error.kind)
    if isinstance(error, GuestError) and (code := _code(error)) in _CODES:
        return Transfer(f"builtins.{_CODES[code]}", str(error))
    return Transfer(next(name for kind, name in _CLASSES if isinstance(error, kind)), str(error))


def _code(error: GuestError) -> str:
    """Exit code of an error; of a program that cannot be started, or a folder to begin in, the message alone says
    why."""
    if error.code == "input":
        for number, words in _ENDS.items():
            if str(error).endswith(f": {words}"):
                return errno.errorcode[number]
    return error.code
