"""Requests of a task and of a user of Harbor's command to a computer, in Harbor's words and in ours."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import threading
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkMode, NetworkPolicy
from pydantic import Field

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computers

ISOLATION = "namespaces"  # in which programs are root
ROOT: tuple[str | int | None, ...] = (None, "root", 0, "0")


class ComputerOptions(EnvironmentOptions):
    """Options that `--ek NAME=VALUE` sets."""

    processes: int = Field(default=1024, ge=4, description="Processes and threads that a computer may have at a time.")
    bases: Literal["same", "near"] = Field(
        default="same",
        description="Of FROM: same: this machine's versions alone. near: others of Debian and Python, and Ubuntu.",
    )
    network: Literal["none", "policy"] = Field(
        default="none",
        description="none: loopback alone. policy: public hosts as the task's network policy allows, by http_proxy.",
    )
    ports: list[Annotated[int, Field(ge=1, le=65535)]] = Field(
        default_factory=list,
        description="Ports of this machine's loopback that are there inside, too, such as [8000] of a model.",
    )


def allowed_entries(policy: NetworkPolicy) -> list[str]:
    """Entries of our allow-list: an IPv6 address stands in brackets there."""
    if policy.network_mode == NetworkMode.PUBLIC:
        return ["*"]
    return [f"[{host}]" if ":" in host else host for host in policy.allowed_hosts]


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """As tar has --exclude: a pattern is of any part of a path, and whatever lies below goes with it."""
    parts = path.split("/")
    pieces = {"/".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)}
    pieces |= {f"./{'/'.join(parts[:j])}" for j in range(1, len(parts) + 1)}
    return any(fnmatch.fnmatchcase(piece, pattern.rstrip("/")) for piece in pieces for pattern in patterns)


def users(file: Path) -> set[str | int]:
    """All that a task names anywhere: an agent that could not be started as its user would be judged all the same."""
    found: set[str | int] = set()

    def look(value: Any) -> None:
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(each)
        if isinstance(value, dict) and isinstance(value.get("user"), str | int):
            found.add(value["user"])

    with contextlib.suppress(FileNotFoundError):  # Harbor has read it
        tables = tomllib.loads(file.read_text())
        look({name: tables.get(name) for name in ("agent", "verifier", "solution", "steps")})
    return found


def why_not() -> str:
    """Why computers cannot be opened here; empty where they can. In a thread, as a loop may run in this one."""
    found = [""]

    async def try_it() -> None:
        async with Computers(ISOLATION, forks="files"):
            pass

    def run() -> None:
        try:
            asyncio.run(try_it())
        except InputError as error:
            found[0] = str(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]
