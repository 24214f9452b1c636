"""Text input of a phone: `input text` where it can, else the ADB keyboard, else the clipboard of Clipper.

Android's `input text` types what the keys of a keyboard make, which is ASCII. For the rest people install
com.android.adbkeyboard (ADBKeyBoard) or ca.zgrs.clipper (Clipper, which AndroidWorld uses), and so does the stand-in.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator

from tars_jax import InputError
from tars_jax.sandbox.phone.adb import Adb

ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"
CLIPPER = "ca.zgrs.clipper"
PASTE = "279"
PIECE = 200  # characters of one `input text`: more take it longer than a call may
LONGEST = 10_000
KEYBOARD_SECONDS = 5.0


class TextInput:
    """Types on one phone. After each text the phone has the keyboard that it had before."""

    def __init__(self, adb: Adb) -> None:
        self._adb = adb
        self._before = ""  # the keyboard to put back
        self._way: str | None = None  # for what is not ASCII

    async def type(self, text: str) -> None:
        """Types into what has the focus; each newline is a press of Enter. Raises InputError, SandboxFailure."""
        if len(text) > LONGEST:
            raise InputError(f"text must have at most {LONGEST} characters; got {len(text)}")
        if any((letter < " " and letter not in "\n\t") or letter == "\x7f" for letter in text):
            raise InputError(f"text must be without control characters but newline and tab; got {text[:80]!r}")
        try:
            for index, line in enumerate(text.split("\n")):
                if index:
                    await self._checked("input", "keyevent", "KEYCODE_ENTER")
                await self._line(line)
        finally:
            await self._restore()

    async def _restore(self) -> None:
        before, self._before = self._before, ""
        if before:
            await self._adb.shell("ime", "set", before)

    async def _line(self, line: str) -> None:
        if not self._before and line.isascii() and line.isprintable():
            for piece in pieces(line):
                await self._checked("input", "text", piece)
        elif line:
            await self._any_letters(line)

    async def _any_letters(self, line: str) -> None:
        if self._way is None:
            self._way = await self._find_way()
        if self._way == ADB_KEYBOARD:
            await self._use_adb_keyboard()
            # base64, as a broadcast's text loses characters on its way through some shells.
            coded = base64.b64encode(line.encode()).decode()
            await self._checked("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", coded)
        else:
            await self._checked("am", "broadcast", "-a", "clipper.set", "--es", "text", line)
            await self._checked("input", "keyevent", PASTE)

    async def _find_way(self) -> str:
        if ADB_KEYBOARD in (await self._adb.shell("ime", "list", "-s", "-a")).text.split():
            return ADB_KEYBOARD
        if f"package:{CLIPPER}" in (await self._adb.shell("pm", "list", "packages", CLIPPER)).text.split():
            return CLIPPER
        raise InputError(
            "text must be printable ASCII on a phone that has neither com.android.adbkeyboard nor ca.zgrs.clipper; "
            "install one of them to type all letters"
        )

    async def _use_adb_keyboard(self) -> None:
        if self._before:
            return
        before = (await self._adb.shell("settings", "get", "secure", "default_input_method")).text.strip()
        if before == ADB_KEYBOARD:
            return
        await self._checked("ime", "enable", ADB_KEYBOARD)
        self._before = before
        await self._checked("ime", "set", ADB_KEYBOARD)
        deadline = time.monotonic() + KEYBOARD_SECONDS
        while ADB_KEYBOARD not in (await self._adb.shell("dumpsys", "input_method")).text:
            if time.monotonic() > deadline:
                return  # a dump that does not say it; the keyboard has had its time
            await asyncio.sleep(0.1)

    async def _checked(self, *argv: str) -> None:
        result = await self._adb.shell(*argv)
        if result.status:
            said = (result.stderr or result.stdout).decode("utf-8", "replace").strip()
            raise InputError(f"the phone must take {argv[0]} {argv[1]}; it said {said[:300]!r}")


def pieces(line: str) -> Iterator[str]:
    """A line in parts for `input text`: it reads %s as a space, so a % that stands before an s ends its part."""
    for word in line.replace("%s", "%\0s").split("\0"):
        for start in range(0, len(word), PIECE):
            yield word[start : start + PIECE].replace(" ", "%s")
