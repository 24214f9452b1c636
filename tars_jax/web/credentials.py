"""Credentials of a server: the file of its key, its TLS certificate, and the token as the password of an address.

http://any:PASSWORD@host is the way to give a token that every client has.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import os
import secrets
import ssl
from pathlib import Path

from tars_jax import InputError


def password(given: str) -> str:
    """Password of the text behind `Basic` in the header Authorization; empty: there is none."""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def read_or_make_key(file: Path) -> str:
    """The key in a file, which is made for its owner alone where there is none. Raises InputError."""
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
                new.write(secrets.token_urlsafe(24))
            try:
                os.link(partial, file)  # of two that begin at once, one makes it
            except FileExistsError:
                pass
            finally:
                partial.unlink()
        key = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} must be a file with a key, or a place for one; got {error}") from error
    if len(key) < 8 or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{file} must hold a key of 8 ASCII characters or more; got another")
    return key


@dataclasses.dataclass(frozen=True)
class Certificate:
    """PEM files. Raises InputError for those that no server can use, an encrypted key among them."""

    chain: Path  # the certificate, and those between it and what its clients trust
    key: Path

    def __post_init__(self) -> None:
        try:
            # Without a password OpenSSL would ask for one at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.chain, self.key, password="")
        except OSError as error:  # also ssl.SSLError
            raise InputError(
                "server: certificate and key must be PEM files of a chain and of its key, not encrypted; "
                f"got {self.chain} and {self.key}: {error.strerror or error}"
            ) from error
