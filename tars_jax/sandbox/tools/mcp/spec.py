"""MCP servers of others as an experiment names them, and the library that they need."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, is_text, shown

MOST_SERVERS = 16
MOST_TOOLS = 64  # of one server, unless its `tools` names those that are wanted
START_S = 60.0
CALL_S = 60.0


def check_library() -> None:
    """Raises InputError where the extra `mcp` is not installed."""
    if importlib.util.find_spec("mcp") is None:
        raise InputError("MCP needs the package mcp, which the extra mcp brings: pip install 'tars_jax[mcp]'")


def check_servers(servers: Sequence[ServerSpec], parts: Sequence[str]) -> None:
    """Raises InputError where servers are named without the part `mcp`, or the part without servers."""
    if bool(servers) != ("mcp" in parts):
        got = f"{len(servers)} servers and the parts {', '.join(parts)}"
        raise InputError(f"mcp must name servers where it is among the parts, and only there; got {got}")


@dataclasses.dataclass(frozen=True)
class ServerSpec:
    """A server that runs inside of a computer.

    With a port it is spoken to by streamable HTTP there; its command, if it has one, is started first. Without one, it
    is spoken to by the stdin and stdout of its command.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cwd: str = ""  # empty: the home folder
    port: int = 0
    path: str = "/mcp"
    tools: tuple[str, ...] = ()  # those of its tools that become functions; empty: all
    show: tuple[str, ...] = ()  # folders of this machine that the computer shows, at the same place, to read
    start_s: float = START_S
    call_s: float = CALL_S

    @property
    def binds(self) -> dict[str, Path]:
        """For `ContainerSpec.binds`."""
        return {path: Path(path) for path in self.show}


def read_specs(servers: Any) -> tuple[ServerSpec, ...]:
    """The servers of an option `mcp`: a list of objects with the fields of `ServerSpec`. Raises InputError."""
    if not isinstance(servers, list | tuple):
        raise InputError(f"mcp must be a list of servers; got {shown(servers)}")
    if len(servers) > MOST_SERVERS:
        raise InputError(f"mcp must have at most {MOST_SERVERS} servers; got {len(servers)}")
    specs = tuple(_read_spec(each, f"mcp[{index}].") for index, each in enumerate(servers))
    names = [spec.name for spec in specs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"names of mcp must differ; got {twice[0]!r} twice")
    return specs


def _read_spec(value: Any, prefix: str) -> ServerSpec:
    if not isinstance(value, Mapping):
        raise InputError(f"{prefix.rstrip('.')} must be an object with a name and a command; got {shown(value)}")
    fields = Fields(value, prefix)
    name = fields.text("name")
    if not name or len(name) > 40 or not name.replace("_", "").replace("-", "").isalnum() or not name.isascii():
        raise fields.error("name", "at most 40 letters, digits, _ and -")
    env = fields.value("env") or {}
    if not isinstance(env, Mapping) or not all(is_text(text) for pair in env.items() for text in pair):
        raise fields.error("env", "an object of texts")
    spec = ServerSpec(
        name, fields.text("command", ""), _texts(fields, "args"), dict(env), fields.text("cwd", ""),
        fields.integer("port", 0, 0, 65535) or 0, fields.text("path", "/mcp"), _texts(fields, "tools"),
        _texts(fields, "show"), fields.number("start_s", START_S, 0.1, 600), fields.number("call_s", CALL_S, 0.1, 600),
    )  # fmt: skip
    if not spec.command and not spec.port:
        raise fields.error("command", "the program that serves, where there is no port")
    if not spec.path.startswith("/"):
        raise fields.error("path", "a path of its address, as /mcp")
    for folder in spec.show:
        if not folder.startswith("/") or not Path(folder).exists():
            raise InputError(f"{prefix}show must name absolute paths of this machine; got {folder!r}")
    if unknown := fields.unread():
        known = ", ".join(field.name for field in dataclasses.fields(ServerSpec))
        raise InputError(f"{prefix.rstrip('.')}: a field must be one of {known}; got {unknown[0]!r}")
    return spec


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    value = fields.value(name)
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(is_text(each) for each in value):
        raise fields.error(name, "a list of texts")
    return tuple(value)
