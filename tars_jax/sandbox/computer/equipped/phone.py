"""A phone that is attached to a computer, as by a cable: the stand-in, or a device that ADB knows.

It is no program of the computer: files go between the two by `push` and `pull`, as they do between a phone and a desk.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.phone import Phone, PhoneConfig
from tars_jax.sandbox.phone.adb import load_adbutils
from tars_jax.sandbox.phone.adb_server import SHARED_SERVER, find_adb
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.sandbox.tools.files import Files

MOST_BYTES = 64 << 20  # of a file that goes between the two
MOST_SAVED = 1 << 20  # bytes of a stand-in that is saved


class ComputerPhone:
    """A phone in a computer, open until `close`. `phone` acts; its calls raise SandboxFailure with a kind of
    `sandbox/phone/failures.py`."""

    def __init__(self, machine: GuestMachine, phone: Phone, stand_in: StandIn | None) -> None:
        self.phone, self._stand_in = phone, stand_in
        self._files = Files(machine)

    @classmethod
    async def open(
        cls, machine: GuestMachine, size: tuple[int, int] = (360, 640), *, seed: int = 0, saved: bytes | None = None,
        config: PhoneConfig | None = None,
    ) -> Self:  # fmt: skip
        """A new stand-in of `size` pixels, or one as `saved` by another; with a `config`, the device that it names.

        Raises InputError without adb or the extra phone, SandboxFailure.
        """
        load_adbutils()
        if config is not None:
            return cls(machine, await Phone(config).start(), None)
        find_adb()
        device = StandInDevice(*size, seed=seed) if saved is None else pickle.loads(saved)
        stand_in = StandIn(device)
        try:
            port = await asyncio.to_thread(SHARED_SERVER.acquire)
        except BaseException:
            await asyncio.to_thread(stand_in.close)
            raise
        opened = cls(machine, Phone(PhoneConfig(serial=stand_in.serial, adb_port=port)), stand_in)
        try:
            await opened.phone.start()
        except BaseException:
            await opened.close()
            raise
        return opened

    def saved(self) -> bytes | None:
        """The stand-in with its apps and files, for `open` of this program alone: a pickle runs what it is made of.

        None for another device, and for a stand-in that holds more than MOST_SAVED bytes.
        """
        if self._stand_in is None:
            return None
        saved = self._stand_in.call(pickle.dumps)
        return saved if len(saved) <= MOST_SAVED else None

    def snapshot(self) -> bytes:
        """Like `saved`, for a stand-in that goes on by itself from this moment, for a copy of the computer.

        Raises InputError for another device, of which there is one.
        """
        saved = self.saved()
        if saved is None:
            raise InputError(f"a phone must be a stand-in with at most {MOST_SAVED} bytes of files to be copied")
        return saved

    async def push(self, path: str, to: str) -> int:
        """Copies a file of the computer, named from home on or from the root, to a path of the phone; its bytes.

        Raises InputError for a file that is not there or too large, and for a path that the phone refuses.
        """
        data = await self._files.read(path, limit=MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(f"path must be a file of at most {MOST_BYTES} bytes; got {path!r:.200}, which is larger")
        await self.phone.push(data, to)
        return len(data)

    async def pull(self, path: str, to: str) -> int:
        """The other way. Raises as `push`."""
        data = await self.phone.pull(path)
        await self._files.write(to, data)
        return len(data)

    async def close(self) -> None:
        """Closes the phone; a second call does nothing."""
        stand_in, self._stand_in = self._stand_in, None
        if stand_in is not None:
            await asyncio.to_thread(stand_in.close)
            await asyncio.to_thread(SHARED_SERVER.release)
