"""The password of an address, http://any:PASSWORD@host: the way to give a token that every client has."""

from __future__ import annotations

import base64
import binascii


def password(given: str) -> str:
    """Password of the text behind `Basic` in the header Authorization; empty: there is none."""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
