"""MCP servers of others as an experiment names them, and the library that they need."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import short_repr

MOST_SERVERS = 16
MOST_TOOLS = 64  # of one server, unless its `tools` names those that are wanted
START_S = 60.0
CALL_S = 60.0
NAME = "at most 40 letters, digits, _ and -"
Seconds = Annotated[float, Meta(ge=0.1, le=600)]


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

    name: Annotated[str, Meta(pattern=r"^(?=.*[A-Za-z0-9])[A-Za-z0-9_-]{1,40}$", description=NAME)]
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cwd: str = ""  # empty: the home folder
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    path: Annotated[str, Meta(pattern="^/", description="a path of its address, as /mcp")] = "/mcp"
    tools: tuple[str, ...] = ()  # those of its tools that become functions; empty: all
    show: tuple[str, ...] = ()  # folders of this machine that the computer shows, at the same place, to read
    start_s: Seconds = START_S
    call_s: Seconds = CALL_S

    def __post_init__(self) -> None:
        if not self.command and not self.port:
            raise InputError("command must be the program that serves, where there is no port; got nothing")

    @property
    def binds(self) -> dict[str, Path]:
        """Bind mounts for `ContainerSpec.binds`."""
        return {path: Path(path) for path in self.show}


def read_specs(servers: Any) -> tuple[ServerSpec, ...]:
    """The servers of an option `mcp`: a list of objects with the fields of `ServerSpec`. Raises InputError."""
    if not isinstance(servers, list | tuple):
        raise InputError(f"mcp must be a list of servers; got {short_repr(servers)}")
    if len(servers) > MOST_SERVERS:
        raise InputError(f"mcp must have at most {MOST_SERVERS} servers; got {len(servers)}")
    specs = decoded(list(servers), tuple[ServerSpec, ...], "mcp")
    names = [spec.name for spec in specs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"names of mcp must differ; got {twice[0]!r} twice")
    for index, spec in enumerate(specs):
        for folder in spec.show:
            if not folder.startswith("/") or not Path(folder).exists():
                raise InputError(f"mcp[{index}].show must name absolute paths of this machine; got {folder!r}")
    return specs
