"""Output that is read as it comes and kept up to a number of bytes, so that no program can fill the memory."""

from __future__ import annotations


class Ring:
    """The last bytes of a stream, by their places in it: between `limit` and twice as many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.start = 0  # place of the first byte that is kept

    @property
    def end(self) -> int:
        return self.start + len(self._kept)

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            cut = len(self._kept) - self._limit
            del self._kept[:cut]
            self.start += cut

    def skip(self, count: int) -> None:
        """Skips bytes: what follows lies `count` bytes behind what has come."""
        self.start = self.end + count
        self._kept.clear()

    def read(self, offset: int, limit: int) -> tuple[int, bytes]:
        """Kept bytes from an offset on, and their true offset: later than asked where the middle is gone."""
        offset = min(max(offset, self.start), self.end)
        at = offset - self.start
        return offset, bytes(self._kept[at : at + limit])


class Ends:
    """The beginning and the end of a stream; what is between them is counted."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes of both together."""
        self._limit = limit
        self._room = limit - limit // 2  # at the beginning
        self._head = bytearray()
        self._tail = Ring(limit // 2)

    def add(self, data: bytes) -> None:
        if self._room:
            self._head += data[: self._room]
            data, self._room = data[self._room :], max(self._room - len(data), 0)
        self._tail.add(data)

    def skip(self, count: int) -> None:
        """Notes that `count` bytes are lost here."""
        self._room = 0
        self._tail.skip(count)

    def halves(self) -> tuple[bytes, int, bytes]:
        """The beginning, how many bytes are missing behind it, and the end."""
        start, tail = self._tail.read(self._tail.end - self._limit // 2, self._limit)
        return bytes(self._head), start, tail
