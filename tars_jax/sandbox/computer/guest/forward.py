"""A port inside whose connections lead to one place outside, by frames over stdin and stdout.

python3 forward.py [PORT]        (stdin and stdout are one stream; without PORT, any that is free)

A frame is HEAD (connection, kind, bytes of data) and its data. First comes LISTENING with the port as text.
"""

import contextlib
import os
import queue
import socket
import struct
import sys
import threading

HEAD = struct.Struct(">IBI")
LISTENING, OPENED, DATA, ENDED, CLOSED = range(5)  # ENDED: no more comes from that side; CLOSED: nor is anything taken
PIECE = 1 << 16
WAITING = 1024  # pieces that a connection has not taken yet, before everybody waits for it


class Forward:
    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._writing = threading.Lock()
        self._incoming: dict[int, queue.Queue[bytes | None]] = {}

    def say(self, connection: int, kind: int, data: bytes = b"") -> None:
        frame = memoryview(HEAD.pack(connection, kind, len(data)) + data)
        with self._writing:
            while frame:
                frame = frame[os.write(self._target, frame) :]

    def listen(self, port: int) -> None:
        listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.say(0, LISTENING, str(listener.getsockname()[1]).encode())
        number = 0
        while True:
            peer, _ = listener.accept()
            number += 1
            self._incoming[number] = queue.Queue(WAITING)
            self.say(number, OPENED)
            for work in (self._outward, self._inward):
                threading.Thread(target=work, args=(number, peer), daemon=True).start()

    def _outward(self, number: int, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := peer.recv(PIECE):
                self.say(number, DATA, data)
        self.say(number, ENDED)

    def _inward(self, number: int, peer: socket.socket) -> None:
        incoming = self._incoming[number]
        with contextlib.suppress(OSError):
            while (data := incoming.get()) is not None:
                peer.sendall(data)
        del self._incoming[number]  # what still comes is nobody's
        with contextlib.suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
        self.say(number, CLOSED)

    def read(self) -> None:
        """Reads frames from the outside until they end."""
        with os.fdopen(self._source, "rb") as stream:
            while len(head := stream.read(HEAD.size)) == HEAD.size:
                number, kind, size = HEAD.unpack(head)
                data = stream.read(size)
                if (incoming := self._incoming.get(number)) is not None:
                    incoming.put(data if kind == DATA else None)


def main() -> None:
    forward = Forward(os.dup(0), os.dup(1))
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    threading.Thread(target=forward.listen, args=(port,), daemon=True).start()
    forward.read()


if __name__ == "__main__":
    main()
