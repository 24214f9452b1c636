"""`settings`, `content`, `getprop` and `setprop`: the phone's state as text, which verifiers read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, failed, option, said
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.device.tables import NAMES

CONDITION = re.compile(r"""\s*(\w+)\s*=\s*(?:'([^']*)'|"([^"]*)"|(\S+))\s*""")


def settings(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    args = args[2:] if args[:1] == ["--user"] else args
    match args:
        case ["get", table, name]:
            return said(device.tables.table(table).get(name, "null"))
        case ["put", table, name, value, *_]:
            device.put_setting(table, name, value)
            return CommandOutput()
        case ["delete", table, name]:
            return said(f"Deleted {int(device.tables.delete(table, name))} rows")
        case ["list", table]:
            return said("\n".join(f"{name}={value}" for name, value in sorted(device.tables.table(table).items())))
    return failed("usage: settings get|put|delete|list system|secure|global [NAME [VALUE]]", 255)


def content(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    uri = (option(args, "--uri") or "").removeprefix("content://").rstrip("/")
    if args[:1] != ["query"]:
        return failed(f"content: the stand-in answers query alone; got {' '.join(args[:1])[:80]!r}", 255)
    rows = _rows(device, uri)
    if rows is None:
        return failed(
            f"Error while accessing provider:{uri.partition('/')[0]}\n[ERROR] Unsupported URI: content://{uri}"
        )
    where, projection = option(args, "--where"), option(args, "--projection")
    if where is not None:
        conditions = [CONDITION.fullmatch(part) for part in re.split(r"\s+AND\s+", where, flags=re.IGNORECASE)]
        if None in conditions:
            return failed("content: where must be NAME='VALUE', with AND between several; " + f"got {where[:80]!r}")
        wanted = {one[1]: next(value for value in one.groups()[1:] if value is not None) for one in conditions if one}
        rows = [row for row in rows if all(str(row.get(name)) == value for name, value in wanted.items())]
    if projection is not None:
        rows = [{name: row.get(name) for name in projection.split(":")} for row in rows]
    if not rows:
        return said("No result found.")
    lines = (", ".join(f"{name}={'NULL' if value is None else value}" for name, value in row.items()) for row in rows)
    return said("\n".join(f"Row: {index} {line}" for index, line in enumerate(lines)))


def _rows(device: StandInDevice, uri: str) -> Sequence[Mapping[str, object]] | None:
    if uri.startswith("settings/") and uri.removeprefix("settings/") in NAMES:
        values = device.tables.table(uri.removeprefix("settings/"))
        return [{"_id": index + 1, "name": name, "value": values[name]} for index, name in enumerate(sorted(values))]
    for app in device.apps():
        if uri in app.tables:
            return app.rows(uri)
    return None


def getprop(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    if args:
        return said(device.properties.get(args[0], args[1] if len(args) > 1 else ""))
    return said("\n".join(f"[{name}]: [{value}]" for name, value in sorted(device.properties.items())))


def setprop(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    if len(args) != 2 or args[0].startswith(("ro.", "tars_jax.")) or len(device.properties) > 1000 or len(args[1]) > 91:
        return failed(f"Failed to set property '{args[0][:80] if args else ''}'")
    device.properties[args[0][:200]] = args[1]
    return CommandOutput()


COMMANDS: dict[str, Command] = {"settings": settings, "content": content, "getprop": getprop, "setprop": setprop}
