"""A server's TLS certificate."""

from __future__ import annotations

import dataclasses
import ssl
from pathlib import Path

from tars_jax import InputError


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
