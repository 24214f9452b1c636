"""Downloads of a page: kept by number below one folder, up to a number of bytes and of files; the rest is cancelled.

    3           the file of download 3
    3.json      its record: what it is called, where it came from, its size and digest
    incoming/   files on their way, named by the browser

No name that a page gives becomes the name of a file here. A page that goes its way again downloads the same once more:
the same bytes under the same name are one download.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

from tars_jax.sandbox.browser.connection import DevToolsConnection, DevToolsSession, ProtocolError
from tars_jax.sandbox.browser.page_events import LONGEST_TEXT, Report
from tars_jax.sandbox.browser.site import Site

log = logging.getLogger(__name__)

INCOMING = "incoming"
MOST_FILES = 100
LONGEST_NAME = 200  # characters


@dataclasses.dataclass(frozen=True)
class Download:
    number: int  # from 1 on
    name: str  # as the page or the host calls it, without what leads elsewhere
    url: str
    bytes: int
    sha256: str


class Downloads:
    """The folder of one session. `limit`: bytes of all its files together."""

    def __init__(self, folder: Path, limit: int) -> None:
        """Raises OSError where the disk does not give or take them."""
        self.folder, self.limit = folder, limit
        self.coming: dict[str, dict[str, Any]] = {}  # what is on its way, by the browser's id
        (folder / INCOMING).mkdir(parents=True, exist_ok=True)
        for left in (folder / INCOMING).iterdir():  # by a browser that was killed
            left.unlink()
        records = sorted(folder.glob("*.json"), key=lambda words: int(words.stem))
        self._kept = {download.number: download for download in map(_recorded, records)}

    @property
    def kept(self) -> list[Download]:
        return list(self._kept.values())

    @property
    def room(self) -> int:
        """Bytes that may come yet."""
        return 0 if len(self._kept) >= MOST_FILES else self.limit - sum(each.bytes for each in self._kept.values())

    def get(self, number: int) -> Download | None:
        return self._kept.get(number)

    def file(self, number: int) -> Path | None:
        return self.folder / str(number) if number in self._kept else None

    def take(self, file: Path, name: str, url: str) -> Download:
        """Moves in a file that is complete. Raises OSError where that cannot be; there is then none of it."""
        words = file.with_name(f"{file.name}.json")
        try:
            digest = _digest(file)
            for download in self._kept.values():
                if (download.name, download.sha256) == (name, digest):
                    file.unlink()
                    return download
            number = max(self._kept, default=0) + 1
            download = Download(number, name, url, file.stat().st_size, digest)
            words.write_text(json.dumps(dataclasses.asdict(download)))
            file.rename(self.folder / str(number))
            words.rename(self.folder / f"{number}.json")  # whole, or the file is none
        except OSError:
            for left in (file, words):
                left.unlink(missing_ok=True)
            raise
        self._kept[number] = download
        return download


def _recorded(words: Path) -> Download:
    """A download from its record; one whose record the disk has damaged keeps its number and its bytes."""
    file = words.with_suffix("")
    try:
        return Download(**json.loads(words.read_bytes()))
    except (ValueError, TypeError) as error:
        log.warning("%s is no record of a download: %s; the file is kept", words, error)
        return Download(int(words.stem), "download", "", file.stat().st_size, _digest(file))


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


class Downloader:
    """Brings what one page downloads to its folder, and tells `report` of each when it is there or will not be."""

    def __init__(self, downloads: Downloads, site: Site, report: Report) -> None:
        self._downloads, self._site, self._report = downloads, site, report
        self._coming = downloads.coming
        self._ending: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def begin(self, connection: DevToolsConnection, context: str) -> None:
        """Takes downloads from now on, for the pages of a browser context."""
        self._connection, self._context = connection, context
        self._session: DevToolsSession = await connection.attach_to_browser()
        connection.listen(self._session.id, self._heard)
        await self._session.send(
            "Browser.setDownloadBehavior",
            {
                "behavior": "allowAndName", "browserContextId": context, "eventsEnabled": True,
                "downloadPath": str((self._downloads.folder / INCOMING).absolute()),
            },
        )  # fmt: skip

    def end(self) -> None:
        """The page is over: so are its downloads that are on their way."""
        for guid in self._coming:
            self._begin(self._drop(guid))
        self._coming.clear()
        self._begin(self._connection.detach(self._session.id))

    def _heard(self, event: dict[str, Any] | None) -> None:
        if event is None:
            return
        values = event["params"]
        guid = values.get("guid", "")
        if event["method"] == "Browser.downloadWillBegin":
            url = values["url"][:LONGEST_TEXT]
            self._coming[guid] = {"url": url, "name": plain_name(values["suggestedFilename"]), "bytes": 0}
        elif event["method"] == "Browser.downloadProgress" and (coming := self._coming.get(guid)) is not None:
            coming["bytes"] = max(values["receivedBytes"], values["totalBytes"])
            if sum(each["bytes"] for each in self._coming.values()) > self._downloads.room:
                self._lost(guid, "there is no room for it")
                self._begin(self._drop(guid))
            elif values["state"] == "completed":
                self._begin(self._take(guid))
            elif values["state"] == "canceled":
                self._cancelled(guid)

    def _cancelled(self, guid: str) -> None:
        """By the page or by the host; a link to a file of the site ends so, as the browser asks nobody here for it."""
        file = self._site.find(self._coming[guid]["url"])
        if file is None:
            self._lost(guid, "it was cancelled")
        elif file.stat().st_size > self._downloads.room:
            self._lost(guid, "there is no room for it")
        else:
            self._begin(self._take(guid, file))

    def _lost(self, guid: str, why: str) -> None:
        coming = self._coming.pop(guid)
        self._report("download", {"url": coming["url"], "name": coming["name"], "kept": False, "why": why})

    async def _take(self, guid: str, copied: Path | None = None) -> None:
        async with self._turn:
            coming = self._coming[guid]
            file = self._downloads.folder / INCOMING / guid
            try:
                if copied is not None:
                    await asyncio.to_thread(shutil.copyfile, copied, file)
                taken = await asyncio.to_thread(self._downloads.take, file, coming["name"], coming["url"])
            except OSError as error:
                file.unlink(missing_ok=True)
                self._lost(guid, error.strerror or str(error))
                return
            del self._coming[guid]
            self._report("download", {**dataclasses.asdict(taken), "kept": True})

    async def _drop(self, guid: str) -> None:
        await self._session.send("Browser.cancelDownload", {"guid": guid, "browserContextId": self._context})
        for file in (self._downloads.folder / INCOMING).glob(f"{guid}*"):
            file.unlink(missing_ok=True)

    def _begin(self, work: Any) -> None:
        async def quietly() -> None:
            with contextlib.suppress(ProtocolError, ConnectionError, KeyError):  # the page or the browser is gone
                await work

        task = asyncio.ensure_future(quietly())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def plain_name(given: str) -> str:
    """A name that can be shown and sent: one part of a path, no control characters, no halves of surrogate pairs."""
    last = given.replace("\\", "/").rpartition("/")[2].encode(errors="replace").decode()
    name = "".join(character for character in last if character.isprintable()).strip()[-LONGEST_NAME:]
    return "download" if name in ("", ".", "..") else name
