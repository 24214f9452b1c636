"""Harbor's task.toml, schema 1.0 to 1.4, as typed values. Other fields are ignored."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import read_toml

NEWEST = (1, 4)
PUBLIC, NONE, ALLOWLIST = "public", "no-network", "allowlist"
SHARED, SEPARATE = "shared", "separate"
FINAL = "final"
MAIN = "main"  # the service that is the agent's own; others are of Docker Compose
VERIFIER_S = 600.0
# Names in the file; seconds end with _sec there.
_NAMES = {
    "surroundings": "environment", "mode": "environment_mode", "servers": "mcp_servers",
    "strategy": "multi_step_reward_strategy",
}  # fmt: skip
Seconds = Annotated[float, Meta(ge=0, le=86400.0 * 30)]
Megabytes = Annotated[int, Meta(ge=1, le=1 << 30)]


def _name(own: str) -> str:
    return _NAMES.get(own) or re.sub("_s$", "_sec", own)


class _Table(msgspec.Struct, frozen=True, kw_only=True, rename=_name):
    """Sets fields again where the file may say them in more than one form."""


class Network(msgspec.Struct, frozen=True):
    mode: str = PUBLIC
    hosts: tuple[str, ...] = ()


class _Networked(_Table, frozen=True, kw_only=True):
    network_mode: Literal["no-network", "public", "allowlist"] | None = None
    allowed_hosts: tuple[str, ...] = ()
    user: str | int = ""  # a name, or a number

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "user", str(self.user))
        if self.allowed_hosts and self.network_mode != ALLOWLIST:
            wanted = f"names of hosts, where network_mode is {ALLOWLIST}"
            raise InputError(f"allowed_hosts must be {wanted}; got {list(self.allowed_hosts)}")

    @property
    def network(self) -> Network | None:
        """None: that of the surroundings."""
        return None if self.network_mode is None else Network(self.network_mode, self.allowed_hosts)

    def network_or(self, other: _Networked) -> dict[str, Any]:
        """The fields of its network, or else of another's."""
        chosen = other if self.network_mode is None else self
        return {"network_mode": chosen.network_mode, "allowed_hosts": chosen.allowed_hosts}


class Healthcheck(_Table, frozen=True, kw_only=True):
    command: str
    interval_s: Seconds = 5.0
    timeout_s: Seconds = 30.0
    start_period_s: Seconds = 0.0
    start_interval_s: Seconds = 5.0
    retries: Annotated[int, Meta(ge=1, le=10_000)] = 3


class Artifact(msgspec.Struct, frozen=True):
    source: str  # a path inside
    destination: str = ""  # below the folder of artifacts; empty: the source's own path
    service: str = MAIN

    def __post_init__(self) -> None:
        for name, value in (("source", self.source), ("destination", self.destination)):
            path = PurePosixPath(value)
            if ".." in path.parts or (name == "destination" and path.is_absolute()):
                wanted = "a path without .., and a relative one where it is a destination"
                raise InputError(f"{name} must be {wanted}; got {value!r}")

    @property
    def place(self) -> str:
        return self.destination.strip("/") or self.source.strip("/")


class _Producing(_Table, frozen=True, kw_only=True):
    artifacts: tuple[Artifact | str, ...] = ()

    @property
    def published(self) -> tuple[Artifact, ...]:
        return tuple(Artifact(each) if isinstance(each, str) else each for each in self.artifacts)

    def __post_init__(self) -> None:
        try:
            _ = self.published
        except InputError as error:
            raise InputError(f"artifacts.{error}") from error


class MCPServer(_Table, frozen=True, kw_only=True):
    name: str
    transport: Literal["stdio", "sse", "streamable-http", "http"] = "sse"
    url: str = ""
    command: str = ""
    args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.transport == "http":
            msgspec.structs.force_setattr(self, "transport", "streamable-http")
        needed = "command" if self.transport == "stdio" else "url"
        if not getattr(self, needed):
            raise InputError(f"{needed} must be given for {self.transport}; got nothing")


class Surroundings(_Networked, frozen=True, kw_only=True):
    """[environment], and [verifier.environment]."""

    os: str = "linux"
    docker_image: str = ""
    build_timeout_s: Seconds = 600.0
    cpus: Annotated[float, Meta(gt=0)] | None = None
    memory_mb: Megabytes | None = None
    storage_mb: Megabytes | None = None
    memory: Any = None  # as earlier schemas have it: 2G, 512M
    storage: Any = None
    gpus: Any = None
    tpu: Any = None
    allow_internet: Any = None  # what schemas before 1.2 say
    env: Mapping[str, str] = {}  # templates of this machine's variables
    servers: tuple[MCPServer, ...] = ()
    skills_dir: str = ""
    healthcheck: Healthcheck | None = None
    workdir: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        msgspec.structs.force_setattr(self, "os", self.os.lower())
        for name in ("memory", "storage"):
            if getattr(self, f"{name}_mb") is None and (size := getattr(self, name)) is not None:
                msgspec.structs.force_setattr(self, f"{name}_mb", _megabytes(name, size))

    @property
    def network(self) -> Network:
        return super().network or Network(NONE if self.allow_internet is False else PUBLIC)

    @property
    def accelerators(self) -> str:
        """The accelerators that the task asks for, in words."""
        return ", ".join(f"{name} = {value!r}" for name in ("gpus", "tpu") if (value := getattr(self, name)))


def _megabytes(name: str, size: Any) -> int:
    text = str(size).strip()
    scale = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}.get(text.upper()[-1:], 0.0)
    try:
        found = float(text[:-1]) * scale
    except ValueError:
        found = 0.0
    if not (math.isfinite(found) and found > 0):
        raise InputError(f"{name} must be a size as 2G or 512M; got {size!r}")
    return max(1, int(found))


class AgentPhase(_Networked, frozen=True, kw_only=True):
    timeout_s: Seconds | None = None


class Collect(_Networked, frozen=True, kw_only=True):
    command: str
    timeout_s: Seconds = 60.0
    service: str = MAIN


class VerifierPhase(_Networked, frozen=True, kw_only=True):
    timeout_s: Seconds = VERIFIER_S
    env: Mapping[str, str] = {}
    mode: Literal["shared", "separate"] | None = None  # None: the task's, or what `surroundings` implies
    surroundings: Surroundings | None = None
    collect: tuple[Collect, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.surroundings is not None:
            if self.mode == SHARED:
                wanted = f"{SHARED}, or {SEPARATE}, which a table environment implies"
                raise InputError(f"environment_mode must be {wanted}; got both")
            msgspec.structs.force_setattr(self, "mode", SEPARATE)


class StepConfig(_Producing, frozen=True, kw_only=True):
    name: str
    agent: AgentPhase = AgentPhase()
    verifier: VerifierPhase = VerifierPhase()
    min_reward: float | Mapping[str, float] = {}  # by the reward's name
    healthcheck: Healthcheck | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.name
        if not name.strip() or name in (".", "..") or "/" in name or "\\" in name or len(name.encode()) > 255:
            raise InputError(f"name must be the name of a folder below steps; got {name!r}")

    @property
    def least_rewards(self) -> Mapping[str, float]:
        return self.min_reward if isinstance(self.min_reward, Mapping) else {"reward": self.min_reward}


class _Task(_Table, frozen=True, kw_only=True):
    name: str = ""  # org/name; empty: the folder's


class _Solution(_Table, frozen=True, kw_only=True):
    env: Mapping[str, str] = {}


class TaskConfig(_Producing, frozen=True, kw_only=True):
    schema_version: str | None = None
    version: str = "1.0"  # as earlier ones call it
    task: _Task = _Task()
    metadata: Mapping[str, Any] = {}
    surroundings: Surroundings = Surroundings()
    agent: AgentPhase = AgentPhase()
    verifier: VerifierPhase = VerifierPhase()
    solution: _Solution = _Solution()
    strategy: Literal["mean", "final"] = "mean"
    steps: tuple[StepConfig, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        name = "version" if self.schema_version is None else "schema_version"
        text = self.version if self.schema_version is None else self.schema_version
        parts = text.split(".")
        if not all(part.isdecimal() for part in parts):
            raise InputError(f"{name} must be as 1.4 is; got {text!r}")
        if tuple(int(part) for part in parts[:2]) > NEWEST:
            newest = ".".join(map(str, NEWEST))
            raise InputError(f"{name} must be at most {newest}, the newest that is known here; got {text!r}")
        names = [step.name.casefold() for step in self.steps]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"names of steps must differ; got {twice[0]!r} twice")


def read_config(path: Path) -> TaskConfig:
    """Raises InputError that names the file and the field; for one of a newer schema, too."""
    return decoded(read_toml(path), TaskConfig, f"{path}: ", unknown=None)
