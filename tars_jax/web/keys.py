"""The file that holds a server's key alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tars_jax import InputError


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
