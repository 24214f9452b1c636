"""Exceptions on the wire: SWE-ReX's client raises the class that the path names, of the message alone."""

from __future__ import annotations

import errno
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure

STATUS = 511
_ERRNOS = {
    "ENOENT": "FileNotFoundError", "ENOTDIR": "NotADirectoryError", "EISDIR": "IsADirectoryError",
    "EEXIST": "FileExistsError", "EACCES": "PermissionError", "EPERM": "PermissionError", "ETIMEDOUT": "TimeoutError",
    "input": "ValueError",
}  # fmt: skip


class Transfer(Exception):
    """What the client is to raise."""

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


def transfer_of(error: InputError | SandboxFailure | ValueError | LookupError) -> Transfer:
    """How what was raised below goes to the client. `extra_info` says of a failure of infrastructure that it is one."""
    if isinstance(error, SandboxFailure):
        return swerex("SwerexException", f"infrastructure: {error}", infrastructure=True, kind=error.kind)
    if isinstance(error, GuestError):
        name = _ERRNOS.get(error.code, "OSError")
        if error.code == "input" and str(error).endswith(f": {_words(errno.ENOENT)}"):
            name = "FileNotFoundError"  # a program or a folder to begin in
        elif error.code == "input" and str(error).endswith(f": {_words(errno.EACCES)}"):
            name = "PermissionError"
        return Transfer(f"builtins.{name}", str(error))
    if isinstance(error, UnicodeError):  # its subclasses take five arguments
        return Transfer("builtins.UnicodeError", str(error))
    return Transfer("builtins.LookupError" if isinstance(error, LookupError) else "builtins.ValueError", str(error))


def _words(number: int) -> str:
    return {errno.ENOENT: "No such file or directory", errno.EACCES: "Permission denied"}[number]
