"""Signals for the programs of a website's computer. Not every system has pkill."""

from __future__ import annotations

from tars_jax.tasks.websites.session import WebsiteSession

SEND = """
import os, pathlib, re, signal, sys
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        words = (process / "cmdline").read_bytes().replace(bytes(1), b" ").decode()
        if int(process.name) != os.getpid() and re.search(sys.argv[2], words):
            os.kill(int(process.name), signal.Signals[sys.argv[1]])
    except OSError:
        pass
"""


async def send_signal(session: WebsiteSession, name: str, pattern: str) -> None:
    """To every program whose command line matches."""
    sent = await session.computer.machine.run(["python3", "-c", SEND, name, pattern])
    assert sent.status == 0, sent.stderr
