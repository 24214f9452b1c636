"""Lets two clients speak to one Chromium: Playwright's driver, and the manager itself for the calls of every step.

    python -I -S relay.py SOCKET CHROMIUM [FLAG ...]

The driver starts this program as its browser, with the debugging pipe on descriptors 3 (commands) and 4 (answers);
messages end with a zero byte. The relay starts Chromium on a pipe of its own and passes on what the driver sends there
and what the manager sends to SOCKET. A call through the driver costs twice the processor time; a debugging port would
be as cheap, but open to every user of the machine. When Chromium, the driver or the manager is gone, the relay ends the
whole process group. Runs as a script without the package.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

FIRST_ID = 1 << 30  # the manager's calls have ids from here; the driver counts from 1
CHUNK = 1 << 20
ATTACHED = b',"result":{"sessionId":"'
CREATE = b'"method":"Target.createTarget"'
ENDED = "it ended with"  # begins the relay's own line about a Chromium that never said a word to it
PATIENCE_S = 1.0
FRAMES_ON_REQUEST = "--enable-begin-frame-control"  # Chromium's flag for it


class Messages:
    """A stream of bytes, cut into messages."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        """The messages that `chunk` completes, each with its zero byte."""
        end = chunk.rfind(b"\0") + 1
        if not end:
            self._parts.append(chunk)
            return []
        whole = b"".join([*self._parts, chunk[:end]])
        self._parts = [chunk[end:]] if end < len(chunk) else []
        return [message + b"\0" for message in whole[:-1].split(b"\0")]


class Addressee:
    """Whether a message of Chromium is for the manager: an answer to its own call, or news of one of its sessions.

    A session begins with the answer to Target.attachToTarget or, below another session, with Target.attachedToTarget.
    """

    def __init__(self) -> None:
        self._sessions: set[bytes] = set()

    def is_manager(self, message: bytes) -> bool:
        if message.startswith(b'{"method":'):
            # ,"sessionId":"32 digits"} and the zero byte
            if message[-36:-35] != b'"' or message[-35:-3] not in self._sessions:
                return False
            if message.startswith(b'{"method":"Target.attachedToTarget"'):
                self._sessions.add(json.loads(message[:-1])["params"]["sessionId"].encode())
            return True
        if message.startswith(b'{"id":'):
            number = int(message[6 : message.index(b",")])
        else:
            number = json.loads(message[:-1]).get("id", 0)
        if number < FIRST_ID:
            return False
        if (at := message.find(ATTACHED, 0, 60)) >= 0:
            self._sessions.add(message[at + len(ATTACHED) : at + len(ATTACHED) + 32])
        return True


def write(descriptor: int, message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[os.write(descriptor, view) :]


def with_frames_on_request(message: bytes) -> bytes:
    """A command that makes a page, for one whose frames are asked for (frames.py): the driver has no word for it."""
    if CREATE not in message[:60]:
        return message
    command = json.loads(message[:-1])
    command["params"]["enableBeginFrameControl"] = True
    return json.dumps(command).encode() + b"\0"


def relay(
    driver_in: int, driver_out: int, manager: int, browser_in: int, browser_out: int, *, on_request: bool
) -> bool:
    """Passes messages on until one of the three is gone; returns whether Chromium ended without a message.

    `on_request`: the frames of pages are asked for.
    """
    addressee = Addressee()
    silent = True
    streams = {driver_in: Messages(), manager: Messages(), browser_out: Messages()}
    poll = select.poll()
    for descriptor in streams:
        poll.register(descriptor, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            chunk = os.read(descriptor, CHUNK)
            if not chunk:
                return silent and descriptor == browser_out
            silent = silent and descriptor != browser_out
            messages = streams[descriptor].cut(chunk)
            if descriptor == browser_out:
                for message in messages:
                    write(manager if addressee.is_manager(message) else driver_out, message)
            elif messages:
                if on_request:
                    messages = [with_frames_on_request(message) for message in messages]
                try:
                    write(browser_in, b"".join(messages))
                except BrokenPipeError:  # Chromium is gone, which its answers' end would tell next
                    return silent


def report_end(browser: subprocess.Popen[bytes]) -> None:
    """Adds to standard error how Chromium ended, and leaves the driver time to read all of it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = browser.wait(PATIENCE_S)
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        write(2, f"{ENDED} {how}\n".encode())
        time.sleep(0.1)


def main(path: str, command: list[str]) -> None:
    manager = socket.socket(socket.AF_UNIX)
    manager.connect(path)
    driver_in, driver_out = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in (3, 4))
    commands, browser_in = os.pipe()
    browser_out, answers = os.pipe()
    os.dup2(commands, 3)
    os.dup2(answers, 4)
    browser = subprocess.Popen([*command, "--remote-debugging-pipe"], pass_fds=(3, 4))
    for descriptor in {3, 4, commands, answers}:
        os.close(descriptor)
    on_request = FRAMES_ON_REQUEST in command
    try:
        if relay(driver_in, driver_out, manager.fileno(), browser_in, browser_out, on_request=on_request):
            report_end(browser)
    except OSError:
        pass  # one of the three went away in the middle of a message
    finally:
        if os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main(sys.argv[1], sys.argv[2:])
