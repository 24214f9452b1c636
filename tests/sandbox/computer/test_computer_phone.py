"""A phone attached to a computer in one process: part of its spec, copied with it, ended with it."""

from __future__ import annotations

import asyncio
import os
import shutil

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.computer.equipped.phone import ComputerPhone
from tars_jax.sandbox.computer.home import File
from tars_jax.sandbox.failures import SandboxFailure

pytest.importorskip("adbutils")
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(shutil.which("adb") is None, reason="needs adb"),
]


def test_a_phone_of_a_computer_and_its_copy() -> None:
    async def use() -> None:
        async with Computers() as computers:
            spec = ComputerSpec(parts=("shell", "phone"), phone_size=(180, 320), seed=3)
            equipped = await EquippedComputer.open(computers, spec)
            assert equipped.phone is not None
            await equipped.computer.put({"a b.txt": File("plüm\n".encode())})
            assert await equipped.phone.push("a b.txt", "/sdcard/Download/x.txt") == 6
            assert await equipped.phone.pull("/sdcard/Download/x.txt", "back.txt") == 6
            files, _ = await equipped.computer.home()
            assert files["back.txt"].data == files["a b.txt"].data
            with pytest.raises(InputError, match="No such file"):
                await equipped.phone.push("gone", "/sdcard/x")
            await equipped.phone.phone.open_app("Notes")
            before = np.asarray(await equipped.phone.phone.screenshot())
            copied = await ComputerPhone.open(equipped.computer.machine, saved=equipped.phone.snapshot())
            await copied.phone.press_home()
            assert (np.asarray(await equipped.phone.phone.screenshot()) == before).all()
            assert await copied.pull("/sdcard/Download/x.txt", "other.txt") == 6
            await copied.close()
            await equipped.close()
            await equipped.close()
            with pytest.raises(SandboxFailure):
                await equipped.phone.phone.screenshot()

    asyncio.run(use())
