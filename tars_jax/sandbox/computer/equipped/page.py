"""A page of the sandbox's browser upon a computer: its localhost is the computer's, and so are its files.

What it downloads lies in ~/Downloads, where shells find it, and a dialog for files takes files of the computer. Its
time is virtual, as that of every page (../browser); that of the computer's programs is not.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import posixpath
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tars_jax import InputError
from tars_jax.sandbox.browser.downloads import Downloads
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.site import PageSpec, Site
from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.tools.files import Files
from tars_jax.web.network import Hosts

log = logging.getLogger(__name__)

BLANK = Site(Path(__file__).with_name("blank_site"))
HOSTS = Hosts((), localhost=True)
MOST_BYTES = 64 << 20  # of all that one page downloads, and of the files that one dialog gets
ARRIVAL_S = 10.0  # for a download to arrive that the page has begun, real seconds
READ = "({title: document.title, url: location.href, dialog: __clock.controls.fileDialog()})"


class ComputerPage:
    """A page of a computer's browser, open until `close`. Calls raise as those of `Page`, and SandboxFailure where the
    computer is gone."""

    def __init__(self, machine: GuestMachine, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._files, self._folder = Files(machine), folder
        self._home = machine.home
        self._downloads = Downloads(Path(folder.name, "downloads"), MOST_BYTES)
        self._brought: dict[int, str] = {}  # the path in the computer of each download; empty: it took none
        self._page: Page | None = None

    @classmethod
    async def open(
        cls, browsers: BrowserManager, machine: GuestMachine, size: tuple[int, int] = (1280, 720), *,
        accepts_dialogs: bool = False,
    ) -> ComputerPage:  # fmt: skip
        """An empty page of `size` pixels; dialogs of its sites are dismissed, or accepted. Raises SandboxFailure."""

        async def to_port(port: int) -> Streams:
            try:
                return await machine.connect(port)
            except GuestError as error:
                raise ConnectionRefusedError(str(error)) from error

        folder = tempfile.TemporaryDirectory(prefix="tars_jax-page-", ignore_cleanup_errors=True)
        try:
            shown = cls(machine, folder)
            shown._page = await browsers.open(
                PageSpec(BLANK, *size, accepts_dialogs=accepts_dialogs), lambda kind, said: None,
                downloads=shown._downloads, loopback=to_port,
            )  # fmt: skip
        except BaseException:
            folder.cleanup()
            raise
        return shown

    @property
    def page(self) -> Page:
        assert self._page is not None, "made by ComputerPage.open"
        return self._page

    @property
    def downloads(self) -> dict[int, str]:
        """The paths of what was downloaded, by number."""
        return {number: path for number, path in self._brought.items() if path}

    async def start(self, *, seed: int) -> PageObservation:
        """The page as it is, at time 0; its data is the title and the address."""
        return await self.page.start("0", seed=seed, read=READ)

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float, rate: float = math.inf) -> PageObservation:
        """Like `Page.act`; what has been downloaded is in the computer then. The data is the title and the address."""
        shown = await self.page.act(events, advance_ms=advance_ms, rate=rate, read=READ)
        await self._bring()
        return shown

    async def navigate(self, address: str) -> None:
        """Opens an address of the computer; `act` waits for what it loads. Raises InputError for any other."""
        url = address if "://" in address else f"http://{address}"
        try:
            allowed = urlsplit(url).scheme == "http" and HOSTS.allows_url(url)
        except ValueError:
            allowed = False
        if not allowed:
            raise InputError(
                f"address must be one of this computer, such as http://localhost:8000/; got {address!r:.200}"
            )
        await self.page.navigate(url)

    async def back(self) -> None:
        """Goes back, where there is a page to go back to; when time goes on, so that `act` shows it."""
        await self.page.evaluate("setTimeout(() => history.back(), 0), 0")

    async def choose_files(self, paths: Sequence[str]) -> None:
        """Answers the page's dialog with files of the computer, named from home on or from the root.

        Raises InputError for one that is not there, and where no dialog is open.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))  # the page reads them when it sends them
        chosen, left = [], MOST_BYTES
        for number, path in enumerate(paths):
            data = await self._files.read(path, limit=left + 1)
            if (left := left - len(data)) < 0:
                raise InputError(f"files of a dialog must be at most {MOST_BYTES} bytes; got more with {path!r:.200}")
            chosen.append(folder / str(number) / posixpath.basename(path))  # two may have the same name
            chosen[-1].parent.mkdir()
            await asyncio.to_thread(chosen[-1].write_bytes, data)
        await self.page.choose_files(chosen)

    async def close(self) -> None:
        """Closes the page; a second call does nothing."""
        try:
            await self.page.close()
        finally:
            self._folder.cleanup()

    async def _bring(self) -> None:
        """Copies what has come into the computer, as a browser there would have saved it."""
        last = time.monotonic() + ARRIVAL_S  # what takes longer comes with a later call
        while self._downloads.coming and time.monotonic() < last:
            await asyncio.sleep(0.02)
        for download in self._downloads.kept:
            if download.number not in self._brought:
                file = self._downloads.file(download.number)
                assert file is not None
                self._brought[download.number] = await self._save(
                    download.name, await asyncio.to_thread(file.read_bytes)
                )

    async def _save(self, name: str, data: bytes) -> str:
        """Its path; a name that is taken gets a number. Empty where the computer does not take it: its disk is full."""
        stem, ending = posixpath.splitext(name)
        folder = f"{self._home}/Downloads"
        try:
            await self._files.make_folder(folder)
            for number in itertools.count():
                path = f"{folder}/{f'{stem} ({number}){ending}' if number else name}"
                if not await self._files.exists(path):
                    await self._files.write(path, data)
                    return path
        except GuestError as error:
            log.warning("a download was not saved: %s", error)
        return ""
