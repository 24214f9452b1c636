"""What a shell's terminal has said since the last result: the output of a command, and the prompt that ends it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.guest.kept import Ends
from tars_jax.sandbox.shell import prompt
from tars_jax.sandbox.shell.text import aside, shown, unfinished

AT_ONCE = 16_000  # bytes of output that are cleaned between other work
KEPT_PER_CHARACTER = 16  # bytes, as escape sequences and lines written over come on top
LONGEST_PROMPT = 8192  # bytes


class Transcript:
    def __init__(self, secret: str, limit: int, clean: bool) -> None:
        """`secret`: of the prompts. `limit`: characters of a result. `clean`: without escape sequences."""
        self._secret, self._pattern = secret, prompt.pattern(secret)
        self._limit, self._clean = limit, clean
        self.offset = 0  # of what comes next, in all that the terminal says
        self.number = 0  # of the last command
        self.typed = b""  # for that command
        self.traps = False  # whether the last prompt listed some
        self._process = 0  # whose prompt the last one was
        self._known = set[int]()  # processes that were shells
        self._held = b""  # output in which the beginning of a prompt may be
        self.forget()

    def snapshot(self) -> dict[str, Any]:
        return {
            "secret": self._secret, "number": self.number, "process": self._process, "known": sorted(self._known),
            "traps": self.traps, "offset": self._told_to[0], "held": self._told_to[1].decode("latin-1"),
        }  # fmt: skip

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], limit: int, clean: bool) -> Transcript:
        """What was not told when the snapshot was taken is told again. Raises KeyError, TypeError, ValueError for what
        is none."""
        transcript = cls(snapshot["secret"], limit, clean)
        transcript.offset, transcript.number = snapshot["offset"], snapshot["number"]
        transcript._process, transcript._known = snapshot["process"], set(snapshot["known"])
        transcript.traps, transcript._held = snapshot["traps"], snapshot["held"].encode("latin-1")
        transcript.forget()
        return transcript

    def add(self, start: int, data: bytes) -> None:
        """What the terminal has said from a place on, `offset` or later."""
        if start > self.offset:  # more has come than the guest keeps
            self._ends.add(self._held)
            self._ends.skip(start - self.offset)
            self._held = b""
        self.offset = start + len(data)
        self._held += data

    def find_prompt(self) -> prompt.ShellPrompt | None:
        """The prompt that ends the command, if it has come. What precedes it is output."""
        while match := self._pattern.search(self._held):
            found = prompt.parse(match)
            self._ends.add(self._held[: match.start()])
            self._held = self._held[match.end() :]
            # Before the command, the lines that bring it have prompts; and the end of a shell within a shell has one
            # of the number that was then.
            if found.number == self.number or (found.process in self._known and found.process != self._process):
                self._process, self.traps = found.process, found.traps
                self._known.add(found.process)
                return found
        mark = self._held.find(b"\x1e", max(0, len(self._held) - LONGEST_PROMPT))
        end = len(self._held) if mark < 0 else mark
        self._ends.add(self._held[:end])
        self._held = self._held[end:]
        return None

    def end(self) -> None:
        """No prompt comes any more: what looked like the beginning of one was output."""
        self._ends.add(self._held)
        self._held = b""

    def forget(self, rest: bytes = b"") -> None:
        """All has been told but for the rest, and what comes from here on."""
        self._ends = Ends(self._limit * KEPT_PER_CHARACTER)
        self._ends.add(rest)
        self._told_to = self.offset, rest + self._held

    async def take(self, *, whole: bool) -> str:
        """The output, which is told with this; what of its end is not all there stays, unless this is the `whole`."""
        head, missing, tail, rest = self._written(whole=whole)
        work = functools.partial(shown, head, missing, tail, self._limit, clean=self._clean)
        # A terminal's commands cost so much each that those of a whole output would hold up everybody else.
        text = await aside(work) if len(head) + len(tail) > AT_ONCE else work()
        self.forget(rest)
        return text

    def last(self) -> str:
        """The end of the output, which stays to be told."""
        head, _, tail, _ = self._written(whole=True)
        return shown((head + tail)[-AT_ONCE:], 0, b"", self._limit, clean=self._clean)

    def _written(self, *, whole: bool) -> tuple[bytes, int, bytes, bytes]:
        """Both ends of what was written, how many bytes are missing between them, and what is left for later."""
        head, missing, tail = self._ends.halves()
        last = tail or head
        rest = b"" if whole else last[len(last) - unfinished(last, self._clean) :]
        kept = len(last) - len(rest)
        head, tail = (head, tail[:kept]) if tail else (head[:kept], b"")
        for ours in (prompt.TOLD, self.typed):  # which set -v tells
            head, tail = (part.replace(ours, b"") if ours else part for part in (head, tail))
        return head, missing, tail, rest
