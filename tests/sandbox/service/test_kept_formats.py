"""What another version has kept says so in a sentence, and is not misread; what says no format is of the first."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from tars_jax.sandbox.computer.adopting import introduce
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.service.computers.opening import OpensComputers
from tars_jax.sandbox.service.computers.snapshots import FILE, NamedSnapshots
from tars_jax.sandbox.service.computers.spec import ComputerRequest

SNAPSHOT = {
    "owner": "ann", "name": "one", "created": 1.0, "spec": ComputerRequest().to_json(),
    "snapshot": {"name": "s", "layers": [], "bytes": 7},
}  # fmt: skip


class Keeper:
    """Has the files of every snapshot."""

    def adopt_snapshot(self, snapshot: Snapshot) -> bool:
        return True

    async def keep(self, id: str, seconds: float) -> None:
        pass


@pytest.mark.parametrize(
    ("kept", "names"),
    [
        ([SNAPSHOT], ["one"]),
        ({"format": 1, "snapshots": [SNAPSHOT]}, ["one"]),
        ({"format": 2, "snapshots": {"of": "another form"}}, []),
    ],
)
def test_snapshots_say_their_format(
    kept: Any, names: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text(json.dumps(kept))
    keeper = Keeper()
    snapshots = NamedSnapshots(cast(OpensComputers, keeper))
    asyncio.run(snapshots.go_on(cast(Computers, keeper), tmp_path))
    assert [each.name for each in snapshots.of("ann")] == names
    if names:
        assert json.loads((tmp_path / FILE).read_text()) == {"format": 1, "snapshots": [SNAPSHOT]}
    else:
        assert "kept by another version, in format 2; this one reads 1" in caplog.text
        assert json.loads((tmp_path / FILE).read_text()) == kept


@pytest.mark.parametrize(("protocol", "is_ours"), [({}, True), ({"protocol": 1}, True), ({"protocol": 2}, False)])
def test_a_launcher_says_its_protocol(protocol: dict[str, int], is_ours: bool, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()

        def answer() -> None:
            launcher, _ = listener.accept()
            with launcher, open(os.devnull) as lock:
                launcher.recv(256)
                socket.send_fds(launcher, [b"."], [lock.fileno()])
                launcher.sendall(json.dumps({"adopted": [], "descriptors": 1, **protocol}).encode() + b"\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            if not is_ours:
                with pytest.raises(OSError, match="launcher is of another version, with protocol 2; this one has 1"):
                    introduce(tmp_path, "secret")
            else:
                connection, adopted, lock = introduce(tmp_path, "secret")
                connection.close()
                os.close(lock)
                assert adopted == []
        finally:
            thread.join()
