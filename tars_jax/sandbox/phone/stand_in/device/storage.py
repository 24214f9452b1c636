"""The stand-in's files: kept in memory, so that no path leads to the machine that it runs on."""

from __future__ import annotations

import dataclasses
import posixpath
import stat

LIMIT = 256 << 20  # bytes of all files together
ENTRIES = 20_000
FOLDERS = ("/data/local/tmp", "/sdcard/Download", "/sdcard/Documents", "/sdcard/Pictures", "/system/bin")


@dataclasses.dataclass
class StoredFile:
    """A file, or a folder where `content` is None."""

    content: bytes | None
    mode: int
    modified: int  # seconds since 1970

    @property
    def size(self) -> int:
        return 4096 if self.content is None else len(self.content)


class Storage:
    """Files and folders by absolute path. Raises OSError as a file system does, with the path and the reason."""

    def __init__(self, now: int) -> None:
        self._entries = {"/": StoredFile(None, stat.S_IFDIR | 0o755, now)}
        self._used = 0
        for folder in FOLDERS:
            self.make_folder(folder, now)

    @staticmethod
    def normal(path: str) -> str:
        """The one form of a path; /storage/emulated/0 is /sdcard."""
        path = posixpath.normpath("/" + path).replace("//", "/")
        for other in ("/storage/emulated/0", "/mnt/sdcard"):
            if path == other or path.startswith(other + "/"):
                path = "/sdcard" + path[len(other) :]
        return path

    def find(self, path: str) -> StoredFile | None:
        return self._entries.get(self.normal(path))

    def read(self, path: str) -> bytes:
        entry = self.find(path)
        if entry is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if entry.content is None:
            raise IsADirectoryError(21, "Is a directory", path)
        return entry.content

    def write(self, path: str, content: bytes, now: int, mode: int = 0o660) -> None:
        """Makes the folders above, too, as adb's push does."""
        name = self.normal(path)
        old = self._entries.get(name)
        if old is not None and old.content is None:
            raise IsADirectoryError(21, "Is a directory", path)
        used = self._used + len(content) - (len(old.content or b"") if old else 0)
        if used > LIMIT or len(self._entries) >= ENTRIES:
            raise OSError(28, "No space left on device", path)
        self.make_folder(posixpath.dirname(name), now)
        self._entries[name] = StoredFile(content, stat.S_IFREG | (mode & 0o777), now)
        self._used = used

    def make_folder(self, path: str, now: int) -> None:
        name = self.normal(path)
        missing = []
        while name not in self._entries:
            missing.append(name)
            name = posixpath.dirname(name)
        if self._entries[name].content is not None:
            raise NotADirectoryError(20, "Not a directory", path)
        if len(self._entries) + len(missing) > ENTRIES:
            raise OSError(28, "No space left on device", path)
        for folder in missing:
            self._entries[folder] = StoredFile(None, stat.S_IFDIR | 0o771, now)

    def remove(self, path: str) -> None:
        """A file, or a folder with all that is in it."""
        name = self.normal(path)
        if name not in self._entries:
            raise FileNotFoundError(2, "No such file or directory", path)
        for other in [other for other in self._entries if other == name or other.startswith(name.rstrip("/") + "/")]:
            if other != "/":
                self._used -= len(self._entries.pop(other).content or b"")

    def names(self, path: str) -> list[str]:
        """Names of what is in a folder, sorted."""
        name = self.normal(path)
        entry = self._entries.get(name)
        if entry is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if entry.content is not None:
            raise NotADirectoryError(20, "Not a directory", path)
        return sorted(
            posixpath.basename(other) for other in self._entries if other != "/" and posixpath.dirname(other) == name
        )
