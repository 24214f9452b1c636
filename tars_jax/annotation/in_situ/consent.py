"""The person at the terminal: agrees, allows applications, and says what the recorder shall do."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterable
from typing import TextIO

from tars_jax import InputError

CONSENT = (
    "I agree that my mouse and keyboard, my screen and my voice are recorded while I use the applications that I "
    "allow, and I know how to pause, to take back and to delete it."
)
HELP = (
    "pause, resume, secret (begins or ends one), discard N (the last N minutes), allow NAME, stop; "
    "each a line, then Enter"
)


def ask_consent(answers: TextIO = sys.stdin) -> str:
    """The sentence that the person agreed to. Raises InputError where they did not."""
    print(f"{CONSENT}\nType yes to agree: ", end="", flush=True)
    answer = answers.readline()
    if answer.strip().lower() != "yes":
        raise InputError(f"the answer must be yes for anything to be recorded; got {answer.strip()!r}")
    return CONSENT


def choose_applications(open_now: Iterable[str], answers: TextIO = sys.stdin) -> tuple[str, ...]:
    """The applications that may be recorded, of those that are open, asked one by one. Raises InputError for none."""
    chosen = []
    for name in sorted(set(open_now)):
        print(f"Record {name}? [y/N] ", end="", flush=True)
        if answers.readline().strip().lower() in ("y", "yes"):
            chosen.append(name)
    if not chosen:
        raise InputError("config.allow must name the applications that may be recorded, such as firefox; got none")
    return tuple(chosen)


class TypedLines:
    """Lines that the person types while it runs, read in a thread of its own."""

    def __init__(self, answers: TextIO = sys.stdin) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(answers,), name="terminal", daemon=True).start()

    def take(self) -> list[tuple[str, str]]:
        """(command, argument) of each line since the last call."""
        found = []
        while not self._lines.empty():
            command, _, argument = self._lines.get().strip().partition(" ")
            if command:
                found.append((command.lower(), argument.strip()))
        return found

    def _read(self, answers: TextIO) -> None:
        for line in answers:
            self._lines.put(line)


def why_not_command(command: str, argument: str) -> str:
    """The reason why a line cannot be carried out; empty where it can."""
    match command:
        case "pause" | "resume" | "secret" | "stop":
            return ""
        case "allow":
            return "" if argument else "allow must name an application; got nothing"
        case "discard":
            try:
                is_number = 0 < float(argument) < 1e6
            except ValueError:
                is_number = False
            return "" if is_number else f"discard must name a number of minutes above 0; got {argument!r}"
    return f"the line must be one of: {HELP}; got {command!r}"
