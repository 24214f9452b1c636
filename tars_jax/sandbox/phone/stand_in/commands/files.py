"""Programs for files and texts, and the few small ones that scripts begin with."""

from __future__ import annotations

import base64
import datetime
import hashlib
import stat

from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, failed, said
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice


def _plain(args: list[str]) -> list[str]:
    return [arg for arg in args if not (arg.startswith("-") and len(arg) > 1)]


def echo(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    newline = args[:1] != ["-n"]
    return CommandOutput((" ".join(args if newline else args[1:]) + ("\n" if newline else "")).encode())


def cat(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    return CommandOutput(b"".join(map(device.storage.read, args)) if args else given)


def ls(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    lines = []
    for path in _plain(args) or ["/"]:
        entry = device.storage.find(path)
        names = [path] if entry is not None and entry.content is not None else device.storage.names(path)
        for name in names:
            if any(arg.startswith("-") and "l" in arg for arg in args):
                found = device.storage.find(name if name == path else f"{path}/{name}")
                assert found is not None
                when = datetime.datetime.fromtimestamp(found.modified, datetime.UTC)
                lines.append(f"{stat.filemode(found.mode)} 1 shell shell {found.size:8d} {when:%Y-%m-%d %H:%M} {name}")
            else:
                lines.append(name)
    return CommandOutput("".join(f"{line}\n" for line in lines).encode())


def mkdir(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    for path in _plain(args):
        if device.storage.find(path) and "-p" not in args:
            return failed(f"mkdir: '{path}': File exists")
        device.storage.make_folder(path, device.now() // 1000)
    return CommandOutput()


def rm(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    flags = "".join(arg for arg in args if arg.startswith("-"))
    for path in _plain(args):
        entry = device.storage.find(path)
        if entry is None and "f" in flags:
            continue
        if entry is not None and entry.content is None and "r" not in flags.lower():
            return failed(f"rm: {path}: is a directory")
        device.storage.remove(path)
    return CommandOutput()


def touch(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    for path in _plain(args):
        if device.storage.find(path) is None:
            device.storage.write(path, b"", device.now() // 1000)
    return CommandOutput()


def cp(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    names = _plain(args)
    if len(names) != 2:
        return failed("usage: cp SOURCE TARGET")
    target = device.storage.find(names[1])
    inside = target is not None and target.content is None
    path = f"{names[1]}/{names[0].rpartition('/')[2]}" if inside else names[1]
    device.storage.write(path, device.storage.read(names[0]), device.now() // 1000)
    return CommandOutput()


def mv(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    result = cp(device, args, given)
    if result.status == 0:
        device.storage.remove(_plain(args)[0])
    return result


def _texts(device: StandInDevice, paths: list[str], given: bytes) -> bytes:
    return b"".join(map(device.storage.read, paths)) if paths else given


def wc(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    content = _texts(device, _plain(args), given)
    counts = {"-l": content.count(b"\n"), "-w": len(content.split()), "-c": len(content)}
    return said(" ".join(str(count) for flag, count in counts.items() if flag in args or not set(args) & set(counts)))


def grep(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    """Lines with a fixed text."""
    names, flags = _plain(args), "".join(arg[1:] for arg in args if arg.startswith("-"))
    if not names:
        return failed("usage: grep TEXT [FILE...]", 2)
    wanted = names[0].lower() if "i" in flags else names[0]
    lines = _texts(device, names[1:], given).decode("utf-8", "replace").splitlines()
    found = [line for line in lines if (wanted in (line.lower() if "i" in flags else line)) != ("v" in flags)]
    text = f"{len(found)}\n" if "c" in flags else "".join(f"{line}\n" for line in found)
    return CommandOutput(text.encode(), b"", 0 if found else 1)


def _lines(args: list[str]) -> tuple[int, list[str]]:
    count, names, rest = 10, [], iter(args)
    for arg in rest:
        number = next(rest, "") if arg == "-n" else arg.lstrip("-n") if arg.startswith("-") else None
        if number is None:
            names.append(arg)
        elif number.isdigit():
            count = int(number)
    return count, names


def head(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    count, names = _lines(args)
    return CommandOutput(b"".join(_texts(device, names, given).splitlines(keepends=True)[:count]))


def tail(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    count, names = _lines(args)
    return CommandOutput(b"".join(_texts(device, names, given).splitlines(keepends=True)[-count:] if count else []))


def base64_(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    content = _texts(device, _plain(args), given)
    if "-d" in args:
        try:
            return CommandOutput(base64.b64decode(content, validate=False))
        except ValueError as error:
            return failed(f"base64: {error}")
    return CommandOutput(base64.encodebytes(content))


def md5sum(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    hashes = {path: hashlib.md5(device.storage.read(path), usedforsecurity=False) for path in _plain(args)}
    return CommandOutput("".join(f"{each.hexdigest()}  {path}\n" for path, each in hashes.items()).encode())


def date(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    """The phone's clock, in UTC; its formats are those of strftime."""
    wanted = next((arg[1:] for arg in args if arg.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    return said(str(device.now() // 1000) if wanted == "%s" else device.date().strftime(wanted))


def leave(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    return CommandOutput(status=int(args[0]) & 255 if args and args[0].isdigit() else 0)


COMMANDS: dict[str, Command] = {
    "echo": echo, "cat": cat, "ls": ls, "mkdir": mkdir, "rm": rm, "touch": touch, "cp": cp, "mv": mv, "wc": wc,
    "grep": grep, "head": head, "tail": tail, "base64": base64_, "md5sum": md5sum, "date": date, "exit": leave,
    "true": lambda device, args, given: CommandOutput(),
    "false": lambda device, args, given: CommandOutput(status=1),
    "pwd": lambda device, args, given: said("/"),
    "wait": lambda device, args, given: CommandOutput(),
    "sync": lambda device, args, given: CommandOutput(),
    "whoami": lambda device, args, given: said("shell"),
    "id": lambda device, args, given: said("uid=2000(shell) gid=2000(shell) groups=2000(shell)"),
    "uname": lambda device, args, given: said("stand-in"),
}  # fmt: skip
