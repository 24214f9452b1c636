"""What programs wrote, as text: bounded, of a terminal without escape sequences and with lines as they were left."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tars_jax.sandbox.computer.guest_machine import Ran

T = TypeVar("T")

MOST_OUTPUT = 2 << 20  # bytes of stdout, and of stderr, that most APIs give back of a program
# Commands of a terminal: with parameters (colors, cursor), with a text up to BEL or ESC \ (titles, links), the rest.
# One without an end ends with its line.
_ERASE = re.compile(r"\x1b\[[02]?K")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
LONGEST_BEGUN = 256  # bytes of a terminal's command that are waited for
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]")
_WRITTEN_OVER = re.compile("[\r\b\x18]")
_PIECE = 1 << 14  # characters
_ASIDE = ThreadPoolExecutor(1, "texts")  # one, as each more is another that the event loop waits for
_ERASED = "\x18"  # what the cursor stands on and behind it


def cleaned(text: str) -> str:
    """Without escape sequences; a line that was written over shows what it showed last."""
    for command, shown_as in ((_ERASE, _ERASED), (_ESCAPES, "")):
        text = "".join(command.sub(shown_as, piece) for piece in _pieces(text, "\x1b"))
    if _WRITTEN_OVER.search(text):
        text = _written_over(text)
    return "".join(_CONTROLS.sub("", piece) for piece in _pieces(text))


def _pieces(text: str, before: str = "") -> Iterator[str]:
    """In order, most of them short: an expression holds the interpreter, and so all other threads, until it is through.

    `before`: a character that a piece begins with, where one can be cut.
    """
    at = 0
    while at < len(text):
        end = text.find(before, at + _PIECE) if len(text) > at + _PIECE else -1
        end = len(text) if end < 0 else end
        yield text[at:end]
        at = end


def _written_over(text: str) -> str:
    *whole, last = text.split("\n")
    lines = [line.rstrip("\r") for line in whole] + [last]  # "\r+\n" as an expression would be quadratic
    return "\n".join([_settled(line) if _WRITTEN_OVER.search(line) else line for line in lines])


def _settled(line: str) -> str:
    shown: list[str] = []
    cursor = 0
    for character in line:
        if character == "\r":
            cursor = 0
        elif character == "\b":
            cursor = max(cursor - 1, 0)
        elif character == _ERASED:
            del shown[cursor:]
        else:
            shown[cursor : cursor + 1] = character
            cursor += 1
    return "".join(shown)


def cut(text: str, limit: int, missing: int = 0, at: int | None = None) -> str:
    """At most about `limit` characters: whole lines of the beginning and the end, and a mark between them.

    `missing`: bytes that are gone already, between `at` (a place in the text) and what follows it.
    """
    if len(text) <= limit and not missing:
        return text
    middle = len(text) // 2 if at is None else at
    head, tail = text[:middle], text[middle:]
    half = limit // 2
    if len(head) > half or missing:
        end = head.rfind("\n", 0, half) + 1 if len(head) > half else len(head)
        end = end or min(half, len(head))  # one line longer than all
        missing += len(head[end:].encode(errors="replace"))
        head = head[:end]
    if len(tail) > half:
        start = tail.find("\n", len(tail) - half - 1) + 1
        start = start if 0 < start < len(tail) else len(tail) - half
        missing += len(tail[:start].encode(errors="replace"))
        tail = tail[start:]
    if not missing:
        return head + tail
    return f"{head}{'' if head.endswith(chr(10)) or not head else chr(10)}[... {missing:,} bytes cut ...]\n{tail}"


def unfinished(data: bytes, commands: bool = True) -> int:
    """How many bytes at the end of a stream begin what is not all there: a character, or a command of a terminal."""
    end = data[-LONGEST_BEGUN:]
    if commands and (begun := _BEGUN.search(end)):
        return len(begun[0])
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(end[-3:])
    return len(decoder.getstate()[0])


def joined(head: bytes, missing: int, tail: bytes, errors: str = "replace") -> tuple[str, int, str]:
    """The two ends of a stream as text, and how many bytes are missing between them: with a character that was cut."""
    if not missing:
        return (head + tail).decode(errors=errors), 0, ""
    whole = len(head) - unfinished(head, commands=False)
    first = next((place for place in range(min(4, len(tail))) if tail[place] & 0xC0 != 0x80), 0)
    missing += len(head) - whole + first
    return head[:whole].decode(errors=errors), missing, tail[first:].decode(errors=errors)


def outputs(ran: Ran, limit: int = MOST_OUTPUT, errors: str = "backslashreplace") -> tuple[str, str]:
    """stdout and stderr of a program that ran with that limit, each with a mark where it was cut."""
    return _output(ran.stdout, ran.stdout_cut, limit, errors), _output(ran.stderr, ran.stderr_cut, limit, errors)


def _output(data: bytes, missing: int, limit: int, errors: str) -> str:
    half = limit - limit // 2
    head, missing, tail = joined(data[:half], missing, data[half:], errors)
    return cut(head + tail, 8 * limit, missing, len(head))


def shown(head: bytes, missing: int, tail: bytes, limit: int, *, clean: bool = True) -> str:
    """The two ends of a stream as a result tells them, in at most `limit` characters."""
    first, missing, second = joined(head, missing, tail)
    if clean:
        first, second = cleaned(first), cleaned(second)
    return cut(first + second, limit, missing, len(first) if missing else None)


async def aside(work: Callable[[], T]) -> T:
    """What a long output comes to, while the event loop goes on with other work."""
    return await asyncio.get_running_loop().run_in_executor(_ASIDE, work)
