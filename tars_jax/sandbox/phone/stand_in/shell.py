"""The stand-in's command line: words and quotes, ; && || |, > >> and 2>; programs are those of `commands/` alone."""

from __future__ import annotations

import asyncio
import dataclasses
import string
from collections.abc import Awaitable, Callable

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.commands import COMMANDS
from tars_jax.sandbox.phone.stand_in.commands.command import CommandOutput
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice

OPERATORS = ("&&", "||", "2>&1", "2>", ">>", ";", "|", ">", "<", "&", "\n")
LONGEST_LINE = 1 << 20
READERS = ("cat", "base64", "md5sum", "wc")  # they read the input where no file is named
LONGEST_SLEEP = 600.0
Input = Callable[[], Awaitable[bytes]]


class BadLine(Exception):
    """A line that is no command."""


@dataclasses.dataclass(frozen=True)
class Word:
    """A word or an operator; what stood in quotes is never an operator."""

    text: str
    operator: bool = False


def split(line: str, status: int = 0) -> list[Word]:
    """The words of a line. `status` is what $? stands for. Raises BadLine."""
    if len(line) > LONGEST_LINE:
        raise BadLine("the line is too long")
    words: list[Word] = []
    word: str | None = None
    at = 0

    def end() -> None:
        nonlocal word
        if word is not None:
            words.append(Word(word))
            word = None

    while at < len(line):
        letter = line[at]
        operator = next((sign for sign in OPERATORS if line.startswith(sign, at)), None)
        if operator and not (operator[0] == "2" and word is not None):
            end()
            words.append(Word(";" if operator == "\n" else operator, operator=True))
            at += len(operator)
        elif letter in string.whitespace:
            end()
            at += 1
        elif letter == "'":
            close = line.find("'", at + 1)
            if close < 0:
                raise BadLine("no closing quote")
            word, at = (word or "") + line[at + 1 : close], close + 1
        elif letter == '"':
            piece, at = _double(line, at + 1, status)
            word = (word or "") + piece
        elif letter == "\\":
            word, at = (word or "") + line[at + 1 : at + 2], at + 2
        elif line.startswith("$?", at):
            word, at = (word or "") + str(status), at + 2
        elif letter == "`" or line.startswith("$(", at):
            raise BadLine("the stand-in's shell runs no command inside another")
        else:
            word, at = (word or "") + letter, at + 1
    end()
    return words


def _double(line: str, at: int, status: int) -> tuple[str, int]:
    piece = ""
    while at < len(line):
        if line[at] == '"':
            return piece, at + 1
        if line[at] == "\\" and line[at + 1 : at + 2] in ("\\", '"', "$", "`"):
            piece, at = piece + line[at + 1], at + 2
        elif line.startswith("$?", at):
            piece, at = piece + str(status), at + 2
        else:
            piece, at = piece + line[at], at + 1
    raise BadLine("no closing quote")


@dataclasses.dataclass(frozen=True)
class Line(CommandOutput):
    """A line of commands: their output, and the status of the last one."""

    shown: bytes = b""  # to either, command by command, as a terminal shows it

    def then(self, one: CommandOutput) -> Line:
        shown = self.shown + one.stdout + one.stderr
        return Line(self.stdout + one.stdout, self.stderr + one.stderr, one.status, shown)


async def run(device: StandInDevice, line: str, read_input: Input) -> Line:
    result = Line()
    try:
        words = split(line)
        connector, at = ";", 0
        while at < len(words):
            end = at
            while end < len(words) and not (words[end].operator and words[end].text in (";", "&&", "||", "&")):
                end += 1
            skipped = (connector == "&&" and result.status) or (connector == "||" and not result.status)
            if end > at and not skipped:
                # $? is the status of what ran before, so the words are read again with it.
                again = split(line, result.status)[at:end]
                one = await _pipeline(device, again, read_input)
                result = result.then(one)
                if again[0].text == "exit":
                    break
            connector, at = (words[end].text if end < len(words) else ";"), end + 1
    except BadLine as error:
        return result.then(CommandOutput(b"", f"/system/bin/sh: {error}\n".encode(), 1))
    return result


async def _pipeline(device: StandInDevice, words: list[Word], read_input: Input) -> CommandOutput:
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.operator and word.text == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    out, errors = b"", b""
    for index, part in enumerate(parts):
        one = await _one(device, part, read_input if index == 0 else None, out)
        out, errors = one.stdout, errors + one.stderr
    return CommandOutput(out, errors, one.status)


async def _one(device: StandInDevice, words: list[Word], read_input: Input | None, given: bytes) -> CommandOutput:
    argv, targets, joined = [], dict[str, str](), False
    rest = iter(words)
    for word in rest:
        if not word.operator:
            argv.append(word.text)
        elif word.text == "2>&1":
            joined = True
        else:
            target = next(rest, None)
            if target is None or target.operator:
                raise BadLine(f"{word.text} must be followed by a file")
            targets[word.text] = target.text
    if not argv:
        raise BadLine("a command must stand there")
    try:
        if "<" in targets:
            given = device.storage.read(targets["<"])
        elif read_input is not None and argv[0] in READERS and all(arg.startswith("-") for arg in argv[1:]):
            given = await read_input()
        result = await _program(device, argv, given)
        if joined:
            result = CommandOutput(result.stdout + result.stderr, b"", result.status)
        for sign, path in targets.items():
            if sign == "<":
                continue
            content = result.stderr if sign == "2>" else result.stdout
            if path != "/dev/null":
                before = device.storage.read(path) if sign == ">>" and device.storage.find(path) else b""
                device.storage.write(path, before + content, device.now() // 1000)
            result = CommandOutput(
                result.stdout if sign == "2>" else b"", b"" if sign == "2>" else result.stderr, result.status
            )
    except OSError as error:
        return CommandOutput(b"", f"{argv[0]}: {error.filename}: {error.strerror}\n".encode(), 1)
    return result


async def _program(device: StandInDevice, argv: list[str], given: bytes) -> CommandOutput:
    if argv[0] == "sleep":
        try:
            seconds = min(LONGEST_SLEEP, max(0.0, float(argv[1])))
        except (IndexError, ValueError):
            return CommandOutput(b"", b"usage: sleep SECONDS\n", 1)
        await asyncio.sleep(seconds)
        device.pass_time(round(seconds * 1000))
        return CommandOutput()
    command = COMMANDS.get(argv[0].removeprefix("/system/bin/"))
    if command is None:
        return CommandOutput(b"", f"/system/bin/sh: {argv[0]}: inaccessible or not found\n".encode(), 127)
    try:
        return command(device, argv[1:], given)
    except InputError as error:
        return CommandOutput(b"", f"{argv[0]}: {error}\n".encode(), 1)
