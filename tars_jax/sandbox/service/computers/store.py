"""What is known of leased computers on the disk: who leased which, so that a restart can say what became of them.

FOLDER/.lock        held by the process that uses the folder
FOLDER/ID.json      lease and spec
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.sandbox.service.computers.spec import ComputerSpec, read_spec
from tars_jax.sandbox.sessions.leased import Lease
from tars_jax.sandbox.sessions.locked_folder import lock_folder
from tars_jax.web.protocol import Fields, RequestError

log = logging.getLogger(__name__)
NAME = re.compile(r"[0-9a-f]{16}\.json")


class LeaseFiles:
    """Raises InputError when another process has the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = lock_folder(folder, "computers")

    def save(self, id: str, lease: Lease, spec: ComputerSpec) -> None:
        """Raises OSError; the file is then as it was."""
        value = {"lease": dataclasses.asdict(lease), "spec": spec.to_json()}
        write_atomic(self._folder / f"{id}.json", json.dumps(value, indent=1).encode())

    def remove(self, id: str) -> None:
        (self._folder / f"{id}.json").unlink(missing_ok=True)

    def find(self) -> Iterator[tuple[str, Lease, ComputerSpec]]:
        """Those of the process before. What cannot be read is left out and removed: nobody could use it."""
        for file in sorted(self._folder.iterdir()):
            if not NAME.fullmatch(file.name):
                continue
            try:
                value = json.loads(file.read_bytes())
                given = value["lease"]
                lease = Lease(str(given["owner"]), float(given["seconds"]), str(given["token_sha256"]))
                spec = read_spec(Fields(value["spec"]))
            except (OSError, ValueError, KeyError, TypeError, InputError, RequestError) as error:
                log.warning("the lease of computer %s is unreadable: %s", file.stem, error)
                with contextlib.suppress(OSError):
                    file.unlink()
                continue
            yield file.stem, lease, spec

    def close(self) -> None:
        self._lock.close()
