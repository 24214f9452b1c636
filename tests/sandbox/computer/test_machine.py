"""Programs on this machine itself, as the parts of a computer start them."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.machine import ThisMachine

pytestmark = pytest.mark.multiprocess


def test_programs_start_end_and_are_killed(tmp_path: Path) -> None:
    async def live() -> None:
        machine = ThisMachine(tmp_path)
        said = await machine.start(
            ["sh", "-c", "pwd; echo $WORD; echo wrong >&2; exit 3"], env={"WORD": "a b"}, output=str(tmp_path / "out")
        )
        assert await machine.wait(said) == 3
        assert machine.host_path(str(tmp_path / "out")).read_text().split("\n") == [str(tmp_path), "a b", "wrong", ""]
        children = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '60'])"]
        slow = await machine.start(children, cwd="/")
        assert await machine.wait(slow, timeout_s=0.1) is None
        await machine.kill(slow, signal.SIGTERM)
        assert await machine.wait(slow) == -signal.SIGTERM
        await machine.kill(slow)
        with pytest.raises(InputError, match="argv must name a program that can be started; got 'no-such'"):
            await machine.start(["no-such"])
        left = await machine.start(["sleep", "60"])
        await machine.close()
        assert await machine.wait(left) == -signal.SIGKILL

    asyncio.run(live())
