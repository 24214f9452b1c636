"""A computer at one moment, from which others go on: with its programs, by what was done in it, or with its files."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import Awaitable, Callable
from typing import Protocol

from tars_jax import InputError
from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.container import Checkpoint, Isolation, Snapshot
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.home import read_home
from tars_jax.sandbox.computer.recording import CallRecording, replay
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Unreadable
from tars_jax.sandbox.failures import Broken, SandboxFailure

FORKS = ("live", "replay", "files")  # the ways
AT_A_TIME = 4  # forks that are made
_names = itertools.count(1)


class SavedComputer(Protocol):
    """A saved computer, which lasts until `remove`; computers that were opened from it live on."""

    way: str  # one of FORKS
    begun_from: Snapshot | None  # the files that the record of what is opened begins with

    @property
    def bytes(self) -> int:
        """That it takes on this machine's disk."""
        ...

    async def open(self) -> ContainedGuest:
        """A computer's guest that goes on from here. Raises SandboxFailure."""
        ...

    async def remove(self) -> None: ...


async def save(
    isolation: Isolation, guest: ContainedGuest, way: str, begun_from: Snapshot | None, *, record: bool,
    at: Callable[[], None] = lambda: None,
) -> SavedComputer:  # fmt: skip
    """Raises SandboxFailure; Broken for files that cannot be read or copied; InputError for a way it has not.

    Args:
        begun_from: the files that the guest's record begins with; None: those of a new computer.
        record: what is called in those that go on from here.
        at: called at the moment, where programs are in the copy.
    """
    spec = dataclasses.replace(guest.spec, user=None)
    if way == "live":
        checkpoint = await guest.checkpoint(f"checkpoint {next(_names)}", at)
        return SavedLive(isolation, spec, guest.token, checkpoint)
    if way == "files":
        snapshot = await guest.container.snapshot(f"fork {next(_names)}")
        return SavedFiles(isolation, spec, snapshot, record=record)
    recording = guest.machine.client.recording
    if recording is None:
        raise InputError(
            "way of a fork must not be replay where the session is not recorded; got one of forks=live or files"
        )
    await guest.container.pause()
    try:
        at()
        same = dataclasses.replace(spec, user=guest.container.spec.user)  # whom answers may name
        return SavedRecord(isolation, same, recording.copied(), begun_from, await _home(guest))
    finally:
        await guest.container.resume()


class SavedLive:
    """Saved files and running programs."""

    way = "live"
    begun_from: Snapshot | None = None

    def __init__(self, isolation: Isolation, spec: ContainerSpec, token: str, checkpoint: Checkpoint) -> None:
        self._isolation, self._spec, self._token, self.checkpoint = isolation, spec, token, checkpoint

    @property
    def bytes(self) -> int:
        return self.checkpoint.bytes + self.checkpoint.snapshot.bytes

    async def open(self) -> ContainedGuest:
        guest = ContainedGuest(self._isolation, self._spec, checkpoint=self.checkpoint, token=self._token)
        return await guest.__aenter__()

    async def remove(self) -> None:
        await self._isolation.remove_checkpoint(self.checkpoint)


class SavedFiles:
    """Files, and no program. Where what is called in the forks is recorded, the files stay: a replay begins there."""

    way = "files"

    def __init__(self, isolation: Isolation, spec: ContainerSpec, snapshot: Snapshot, *, record: bool) -> None:
        self._isolation, self._spec, self._snapshot, self._record = isolation, spec, snapshot, record
        self.begun_from = snapshot if record else None

    @property
    def bytes(self) -> int:
        return self._snapshot.bytes

    async def open(self) -> ContainedGuest:
        recording = CallRecording() if self._record else None
        return await ContainedGuest(self._isolation, self._spec, self._snapshot, recording=recording).__aenter__()

    async def remove(self) -> None:
        if not self._record:
            await self._isolation.remove_snapshot(self._snapshot)


class SavedRecord:
    """A record of calls, to be repeated on a copy of the files that the computer began with."""

    way = "replay"

    def __init__(
        self, isolation: Isolation, spec: ContainerSpec, recording: CallRecording, begun_from: Snapshot | None,
        home: object,
    ) -> None:  # fmt: skip
        self._isolation, self._spec, self._recording, self._home = isolation, spec, recording, home
        self.begun_from = begun_from
        self.bytes = 0

    async def open(self) -> ContainedGuest:
        """Raises SandboxFailure "diverged" where an answer or the home folder is another than it was."""
        guest = await ContainedGuest(self._isolation, self._spec, self.begun_from).__aenter__()
        try:
            await replay(self._recording, guest.machine.client, GuestError)
            if await _home(guest) != self._home:
                raise SandboxFailure("diverged", "the same calls left other files in the home folder")
        except BaseException:
            await guest.__aexit__()
            raise
        guest.machine.client.recording = self._recording.copied()
        return guest

    async def remove(self) -> None:
        """Does nothing: a record takes no more than memory."""


async def _home(guest: ContainedGuest) -> object:
    """Raises Broken where nobody can read it."""
    try:
        return await asyncio.to_thread(read_home, guest.container.open_folder(guest.machine.home))
    except (Unreadable, OSError) as error:
        raise Broken(f"home folders cannot be compared: {error}") from error


async def open_all(count: int, make: Callable[[], Awaitable[ContainedGuest]]) -> list[ContainedGuest]:
    """All, or none: what was made is ended where one fails."""
    places = asyncio.Semaphore(AT_A_TIME)

    async def one() -> ContainedGuest:
        async with places:
            return await make()

    tasks = [asyncio.create_task(one()) for _ in range(count)]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        for made in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(made, ContainedGuest):
                with contextlib.suppress(SandboxFailure):
                    await made.__aexit__()
        raise
