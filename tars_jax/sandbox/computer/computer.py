"""Computers: each a container and its guest, opened and given back by who started the isolation."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation, Snapshot
from tars_jax.sandbox.computer.followed_program import FollowedProgram
from tars_jax.sandbox.computer.forks import FORKS, SavedComputer, open_all, save
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.home import File, Given, put, read_home
from tars_jax.sandbox.computer.isolation import open_isolation, take_over_left
from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.reattachment import can_keep, write_kept_isolation
from tars_jax.sandbox.computer.recording import CallRecording
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Sought, Unreadable
from tars_jax.sandbox.concurrency import finish_or_undo
from tars_jax.sandbox.failures import SandboxFailure


@dataclasses.dataclass(eq=False)
class Computer:
    """A session: `machine` starts programs in it. Its end is that of all that runs there."""

    guest: ContainedGuest
    origin: str = "new"  # or how it was forked: one of FORKS
    _computers: Computers | None = None
    _begun_from: Snapshot | None = None  # the files that its record begins with; None: those of a new one

    @property
    def container(self) -> Container:
        return self.guest.container

    @property
    def machine(self) -> GuestMachine:
        return self.guest.machine

    async def put(self, files: Given, folders: Sequence[str] = ()) -> None:
        """Writes files and folders below the home folder, as the agent's own.

        Raises InputError for a path that does not lie there, SandboxFailure.
        """
        await put(self.machine, files, folders)

    async def start(self, argv: Sequence[str]) -> None:
        """A program in the background, which nobody hears. Raises InputError, SandboxFailure."""
        await self.machine.start(argv)

    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> FollowedProgram:
        """Runs the text of a Python program, whose lines are kept out here. Raises InputError, SandboxFailure."""
        return await FollowedProgram.start(self.machine, program, *arguments, stdin=stdin)

    async def home(self, leaving_out: Collection[str] = ()) -> tuple[dict[str, File], frozenset[str]]:
        """The files and the folders below the home folder, as `read_home` finds them. Raises Unreadable."""
        try:
            folder = self.container.open_folder(self.machine.home)
            return await asyncio.to_thread(read_home, folder, leaving_out)
        except OSError as error:
            if await self.container.wait(0) is not None:
                raise SandboxFailure("container", f"it has ended: {error}") from error
            raise Unreadable(f"the home folder cannot be read: {error}") from error

    async def kept(
        self, leaving_out: Collection[str] = (), seeking: Collection[Sought] = ()
    ) -> tuple[dict[str, File], frozenset[str], list[str]]:
        """`home`, and where else files hold what is sought: absolute paths, or below the home. Raises Unreadable.

        All at one moment, for which programs stand still; where they cannot, what moves meanwhile is sought before and
        after.
        """
        if not seeking:
            return *await self.home(leaving_out), []
        still = self.container.readable_when_paused
        found = set() if still else await self._found(seeking)
        if still:
            await self.container.pause()
        try:
            files, folders = await self.home(leaving_out)
            found |= await self._found(seeking)
        finally:
            if still:
                await self.container.resume()
        paths = {path.removeprefix(f"{self.machine.home}/") for path in found}
        return files, folders, sorted(paths - {*files})

    async def _found(self, seeking: Collection[Sought]) -> set[str]:
        try:
            return set(await asyncio.to_thread(self.container.find, seeking))
        except OSError as error:
            raise Unreadable(f"what lies outside of the home folder cannot be read: {error}") from error

    async def processes(self) -> list[Process]:
        """Processes that run inside besides the guest."""
        return await asyncio.to_thread(self.container.processes)

    async def ports(self) -> frozenset[int]:
        """The TCP ports that programs inside listen at."""
        return await asyncio.to_thread(self.container.ports)

    async def fork(self, count: int = 1, way: str = "") -> list[Computer]:
        """Makes `count` copies, each with an `origin` that says how it was made. They share nothing that either can
        change.

        `way`: "live", with all programs as they are; "replay", by doing again what was called; "files", without
        programs. Empty: by files where no program runs, else the way of these computers. Shells and other parts go on
        in a copy with programs as their snapshots say (part.py).
        Raises SandboxFailure where that cannot be, "diverged" where a replay came to something else; Broken for files
        that cannot be read or copied; InputError for another way.
        """
        if type(count) is not int or count < 1:
            raise InputError(f"count of forks must be a whole number of at least 1; got {count!r}")
        saved = await self.save(way)
        try:
            guests = await open_all(count, saved.open)
        finally:
            await saved.remove()
        return [Computer(guest, saved.way, self._of_computers(), saved.begun_from) for guest in guests]

    async def save(self, way: str = "", at: Callable[[], None] = lambda: None) -> SavedComputer:
        """Saves this moment for `Computers.open_saved`, also when this computer has ended. `way` and errors as of
        `fork`.

        `at` is called at the moment itself, where programs are in the copy: what the host knows of them belongs to it.
        """
        if way and way not in FORKS:
            raise InputError(f"way of a fork must be one of {', '.join(FORKS)}; got {way!r}")
        computers = self._of_computers()
        if not way:
            way = computers.forks if (await self.machine.client.call("running"))[0]["programs"] else "files"
        if way == "live" and computers.forks != "live" and (why := await computers.isolation().why_not_live()):
            raise InputError(f"way of a fork must be one that works here; got live: {why}")
        record = computers.forks == "replay"
        work = save(computers.isolation(), self.guest, way, self._begun_from, record=record, at=at)
        return await finish_or_undo(work, lambda saved: saved.remove())

    async def snapshot(self, name: str) -> Snapshot:
        """Takes a snapshot of its files as they are now. Raises SandboxFailure."""
        remove = self._of_computers().isolation().remove_snapshot
        return await finish_or_undo(self.container.snapshot(name), remove)

    async def opened(self, saved: SavedComputer) -> Computer:
        """A computer that goes on from a moment of this one, which `save` has kept. Raises SandboxFailure."""
        return await self._of_computers().open_saved(saved)

    async def suspend(self) -> str:
        """Suspends the computer: until `resume` it takes no processor, and where programs can be copied live no
        memory: "disk", else "paused".

        Calls are refused meanwhile on "disk", and wait when "paused". Raises SandboxFailure.
        """
        if self._of_computers().forks == "live":
            await self.guest.suspend(f"suspended {self.container.id}")
            return "disk"
        await self.container.pause()
        return "paused"

    async def resume(self) -> None:
        """Resumes the computer; a second call does nothing. Raises SandboxFailure."""
        if self._of_computers().forks == "live":
            await self.guest.resume()
        else:
            await self.container.resume()

    def _of_computers(self) -> Computers:
        assert self._computers is not None, "made by Computers.open or fork"
        return self._computers

    async def close(self) -> None:
        """Closes the computer; a second call does nothing."""
        await self.guest.__aexit__()


class Computers:
    """An async context manager over one kind of isolation; computers that were not closed end with it."""

    def __init__(self, isolation: str = "auto", forks: str = "auto", kept_in: Path | None = None) -> None:
        """`kept_in`: a file in which this process leaves what the next one with the same file needs to `adopt` its
        computers, should it be killed (see `keep`).

        `isolation`: a kind of `open_isolation`; auto is the first that works here.

        `forks`: how computers with programs are forked, one of FORKS; auto is live where that works, else replay, for
        which all that is called in them is recorded. Raises InputError for another.
        """
        if forks != "auto" and forks not in FORKS:
            raise InputError(f"forks must be auto, {', '.join(FORKS)}; got {forks!r}")
        self._kind, self.forks, self.why_not_live = isolation, forks, ""
        self._kept_in = kept_in
        self._isolation: Isolation | None = None

    async def __aenter__(self) -> Self:
        """`forks` is then the way, and `why_not_live` says why another than live was taken.

        Raises InputError where no kind of isolation works, or `forks` is live and that does not.
        """
        self._isolation = isolation = await self._begun()
        if self.forks in ("auto", "live"):
            self.why_not_live = await isolation.why_not_live()
            if self.forks == "live" and self.why_not_live:
                await self.__aexit__()
                raise InputError(f"forks must be one of {', '.join(FORKS)} that works; got live: {self.why_not_live}")
            self.forks = "replay" if self.why_not_live else "live"
        return self

    async def _begun(self) -> Isolation:
        if self._kept_in is None:
            return await open_isolation(_shared_folder(), self._kind)
        isolation = await take_over_left(self._kept_in) or await open_isolation(_shared_folder(), self._kind)
        if can_keep(isolation):
            try:
                await write_kept_isolation(isolation, self._kept_in)
            except BaseException:
                await isolation.close()
                raise
        return isolation

    async def __aexit__(self, *_: object) -> None:
        isolation, self._isolation = self._isolation, None
        if isolation is not None:
            await isolation.close()
            if self._kept_in is not None:
                self._kept_in.unlink(missing_ok=True)

    @property
    def keeps(self) -> bool:
        """Whether computers can outlive this process."""
        return self._kept_in is not None and can_keep(self._isolation)

    async def keep(self, id: str, seconds: float) -> None:
        """Sets how long a container lives on without this process; 0: not at all. Other ids keep the files on the
        disk."""
        if self._kept_in is not None and can_keep(self._isolation):
            await self._isolation.reattachment.keep(id, seconds)

    async def adopt(self, spec: ContainerSpec, id: str, token: str) -> Computer:
        """The computer that the process before has left, by its container and its guest's token.

        Raises SandboxFailure where it has ended.
        """
        if not can_keep(self._isolation):
            raise SandboxFailure("container", "it has ended with its owner")
        recording = None
        if self.forks == "replay":
            recording = CallRecording()
            recording.whole = False  # what was called before is not known here
        guest = ContainedGuest(self._isolation, spec, adopted=id, token=token, recording=recording)
        await guest.__aenter__()
        return Computer(guest, "adopted", self)

    async def restore(self, spec: ContainerSpec, checkpoint: Checkpoint, token: str) -> Computer:
        """The computer that another process has suspended. Raises SandboxFailure; a checkpoint that is whole stays."""
        guest = ContainedGuest(self.isolation(), spec, checkpoint=checkpoint, token=token)
        try:
            await guest.__aenter__()
        except BaseException:
            if not checkpoint.is_whole:
                await self.isolation().remove_checkpoint(checkpoint)
            raise
        await self.isolation().remove_checkpoint(checkpoint)
        return Computer(guest, "adopted", self)

    def adopt_snapshot(self, snapshot: Snapshot) -> bool:
        """Whether one that the process before has taken is there: it is then as if taken here."""
        if not can_keep(self._isolation):
            return False
        files = [layer["file"] if layer["kind"] == "image" else layer["folder"] for layer in snapshot.layers]
        if not files or not all(Path(file).exists() for file in files):
            return False
        self._isolation.snapshots.adopt(snapshot)
        return True

    async def end_others(self) -> None:
        """Ends what the process before has left and nobody has adopted."""
        if can_keep(self._isolation):
            await self._isolation.end_others()

    async def open(self, spec: ContainerSpec | None = None, snapshot: Snapshot | None = None) -> Computer:
        """A computer whose guest answers, with the files of a snapshot if one is given.

        Raises SandboxFailure; InputError where the kind of isolation has no root.
        """
        if spec is not None and spec.root and (kind := self.isolation().name) != "namespaces":
            raise InputError(f"isolation must be namespaces where a computer's programs are root; got {kind}")
        recording = CallRecording() if self.forks == "replay" else None
        guest = ContainedGuest(self.isolation(), spec or ContainerSpec(), snapshot, recording=recording)
        await guest.__aenter__()
        return Computer(guest, "new", self, snapshot)

    async def open_saved(self, saved: SavedComputer) -> Computer:
        """A computer that goes on from a moment of another. Raises SandboxFailure."""
        return Computer(await saved.open(), saved.way, self, saved.begun_from)

    def isolation(self) -> Isolation:
        if self._isolation is None:
            raise RuntimeError("computers must be entered before one is opened")
        return self._isolation


def _shared_folder() -> Path:
    """This user's own, so that what a killed owner left is found. Raises InputError where it is somebody else's."""
    folder = Path(tempfile.gettempdir()) / f"tars_jax-computers-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise InputError(f"{folder} must be a folder of this user alone; got one of user {found.st_uid}")
    return folder
