"""What a task.toml of Harbor says, schema 1.0 to 1.4, read into plain values. Other fields are ignored."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, is_number, is_text

NEWEST = (1, 4)
PUBLIC, NONE, ALLOWLIST = "public", "no-network", "allowlist"
SHARED, SEPARATE = "shared", "separate"
MEAN, FINAL = "mean", "final"
MAIN = "main"  # the service that is the agent's own; others are of Docker Compose
VERIFIER_S = 600.0
_DAY_S = 86400.0 * 30


@dataclasses.dataclass(frozen=True)
class Network:
    mode: str = PUBLIC
    hosts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Healthcheck:
    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3


@dataclasses.dataclass(frozen=True)
class Artifact:
    source: str  # a path inside
    destination: str = ""  # below the folder of artifacts; empty: the source's own path
    service: str = MAIN

    @property
    def place(self) -> str:
        return self.destination.strip("/") or self.source.strip("/")


@dataclasses.dataclass(frozen=True)
class MCPServer:
    """Of MCP."""

    name: str
    transport: str
    url: str
    command: str
    args: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """[environment], and [verifier.environment]."""

    os: str = "linux"
    docker_image: str = ""
    build_timeout_s: float = 600.0
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    accelerators: str = ""  # what of them it asks for
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)  # templates of this machine's variables
    servers: tuple[MCPServer, ...] = ()
    skills_dir: str = ""
    healthcheck: Healthcheck | None = None
    workdir: str = ""
    network: Network = Network()


@dataclasses.dataclass(frozen=True)
class AgentPhase:
    timeout_s: float | None = None
    user: str = ""
    network: Network | None = None  # None: that of the surroundings


@dataclasses.dataclass(frozen=True)
class Collect:
    command: str
    timeout_s: float = 60.0
    service: str = MAIN
    user: str = ""


@dataclasses.dataclass(frozen=True)
class VerifierPhase:
    timeout_s: float = VERIFIER_S
    user: str = ""
    network: Network | None = None
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mode: str = ""  # SHARED, SEPARATE; empty: the task's, or what `surroundings` implies
    surroundings: Surroundings | None = None
    collect: tuple[Collect, ...] = ()


@dataclasses.dataclass(frozen=True)
class StepConfig:
    name: str
    agent: AgentPhase = AgentPhase()
    verifier: VerifierPhase = VerifierPhase()
    min_reward: Mapping[str, float] = dataclasses.field(default_factory=dict)  # by the reward's name
    healthcheck: Healthcheck | None = None
    artifacts: tuple[Artifact, ...] = ()


@dataclasses.dataclass(frozen=True)
class TaskConfig:
    name: str = ""  # org/name; empty: the folder's
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    surroundings: Surroundings = Surroundings()
    agent: AgentPhase = AgentPhase()
    verifier: VerifierPhase = VerifierPhase()
    solution_env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    strategy: str = MEAN
    steps: tuple[StepConfig, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


def read_config(path: Path) -> TaskConfig:
    """Raises InputError that names the file and the field; for one of a newer schema, too."""
    try:
        values = tomllib.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (OSError, ValueError) as error:  # of TOML, or of UTF-8
        raise InputError(f"{path} must be a whole TOML file; got {error}") from error
    fields = Fields(values, f"{path}: ")
    _check_version(fields)
    metadata = fields.value("metadata") or {}
    if not isinstance(metadata, dict):
        raise fields.error("metadata", "a table")
    steps = tuple(_step(_table(each, f"{path}: steps[{at}].")) for at, each in enumerate(fields.array("steps")))
    names = [step.name.casefold() for step in steps]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: names of steps must differ; got {twice[0]!r} twice")
    strategy = fields.text("multi_step_reward_strategy", MEAN)
    if strategy not in (MEAN, FINAL):
        raise fields.error("multi_step_reward_strategy", f"{MEAN} or {FINAL}")
    task = _sub(fields, "task")
    return TaskConfig(
        task.text("name", ""), metadata, _surroundings(_sub(fields, "environment")), _agent(_sub(fields, "agent")),
        _verifier(_sub(fields, "verifier")), _texts(_sub(fields, "solution"), "env"), strategy, steps,
        _artifacts(fields),
    )  # fmt: skip


def _check_version(fields: Fields) -> None:
    name = "schema_version" if fields.value("schema_version") is not None else "version"
    text = fields.text(name, "1.0")
    parts = text.split(".")
    if not all(part.isdecimal() for part in parts):
        raise fields.error(name, "as 1.4 is")
    if tuple(int(part) for part in parts[:2]) > NEWEST:
        raise fields.error(name, f"at most {'.'.join(map(str, NEWEST))}, the newest that is known here")


def _sub(fields: Fields, name: str) -> Fields:
    return _table(fields.value(name) or {}, f"{fields.prefix}{name}.")


def _table(value: Any, prefix: str) -> Fields:
    if not isinstance(value, dict):
        raise InputError(f"{prefix.removesuffix('.')} must be a table; got {value!r:.60}")
    return Fields(value, prefix)


def _texts(fields: Fields, name: str) -> dict[str, str]:
    value = fields.value(name) or {}
    if not isinstance(value, dict) or not all(is_text(text) for text in value.values()):
        raise fields.error(name, "a table of texts")
    return value


def _seconds(fields: Fields, name: str, default: float) -> float:
    return fields.number(name, default, 0.0, _DAY_S)


def _user(fields: Fields) -> str:
    value = fields.value("user")
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise fields.error("user", "a name or a number")
    return str(value)


def _network(fields: Fields) -> Network | None:
    mode, hosts = fields.value("network_mode"), fields.array("allowed_hosts")
    if mode is None and not hosts:
        return None
    if mode not in (PUBLIC, NONE, ALLOWLIST):
        raise fields.error("network_mode", f"{NONE}, {PUBLIC} or {ALLOWLIST}")
    if not all(is_text(host) for host in hosts) or (hosts and mode != ALLOWLIST):
        raise fields.error("allowed_hosts", f"names of hosts, where network_mode is {ALLOWLIST}")
    return Network(mode, tuple(hosts))


def _healthcheck(fields: Fields) -> Healthcheck | None:
    if fields.value("healthcheck") is None:
        return None
    own = _sub(fields, "healthcheck")
    return Healthcheck(
        own.text("command"), _seconds(own, "interval_sec", 5.0), _seconds(own, "timeout_sec", 30.0),
        _seconds(own, "start_period_sec", 0.0), _seconds(own, "start_interval_sec", 5.0),
        own.integer("retries", 3, 1, 10_000) or 3,
    )  # fmt: skip


def _surroundings(fields: Fields) -> Surroundings:
    network = _network(fields)
    internet = fields.value("allow_internet")  # what schemas before 1.2 say
    if network is None:
        network = Network(NONE if internet is False else PUBLIC)
    accelerators = [f"{name} = {value!r}" for name in ("gpus", "tpu") if (value := fields.value(name))]
    cpus = fields.value("cpus")
    if cpus is not None and not (is_number(cpus) and cpus > 0):
        raise fields.error("cpus", "a number above 0")
    return Surroundings(
        fields.text("os", "linux").lower(), fields.text("docker_image", ""),
        _seconds(fields, "build_timeout_sec", 600.0), cpus, _megabytes(fields, "memory"),
        _megabytes(fields, "storage"), ", ".join(accelerators), _texts(fields, "env"),
        tuple(_server(_table(each, f"{fields.prefix}mcp_servers.")) for each in fields.array("mcp_servers")),
        fields.text("skills_dir", ""), _healthcheck(fields), fields.text("workdir", ""), network,
    )  # fmt: skip


def _megabytes(fields: Fields, name: str) -> int | None:
    """`memory_mb`, or `memory` as earlier schemas have it: 2G, 512M."""
    if (number := fields.integer(f"{name}_mb", None, 1, 1 << 30)) is not None:
        return number
    text = fields.value(name)
    if text is None:
        return None
    scale = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}.get(str(text).strip().upper()[-1:], 0.0)
    try:
        size = float(str(text).strip()[:-1]) * scale
    except ValueError:
        size = 0.0
    if not (math.isfinite(size) and size > 0):
        raise fields.error(name, "a size as 2G or 512M")
    return max(1, int(size))


def _server(fields: Fields) -> MCPServer:
    transport = fields.text("transport", "sse")
    args = fields.array("args")
    if not all(is_text(each) for each in args):
        raise fields.error("args", "a list of texts")
    server = MCPServer(
        fields.text("name"), "streamable-http" if transport == "http" else transport, fields.text("url", ""),
        fields.text("command", ""), tuple(args),
    )  # fmt: skip
    if server.transport not in ("stdio", "sse", "streamable-http"):
        raise fields.error("transport", "stdio, sse or streamable-http")
    if not (server.command if server.transport == "stdio" else server.url):
        raise fields.error("command" if server.transport == "stdio" else "url", f"given for {server.transport}")
    return server


def _agent(fields: Fields) -> AgentPhase:
    has_limit = fields.value("timeout_sec") is not None
    return AgentPhase(_seconds(fields, "timeout_sec", 0.0) if has_limit else None, _user(fields), _network(fields))


def _verifier(fields: Fields) -> VerifierPhase:
    mode = fields.text("environment_mode", "")
    own = None if fields.value("environment") is None else _surroundings(_sub(fields, "environment"))
    if mode not in ("", SHARED, SEPARATE) or (mode == SHARED and own is not None):
        raise fields.error("environment_mode", f"{SHARED}, or {SEPARATE}, which a table environment implies")
    if not mode and own is not None:
        mode = SEPARATE
    hooks = [_table(each, f"{fields.prefix}collect.") for each in fields.array("collect")]
    collect = tuple(
        Collect(hook.text("command"), _seconds(hook, "timeout_sec", 60.0), hook.text("service", MAIN), _user(hook))
        for hook in hooks
    )  # fmt: skip
    return VerifierPhase(
        _seconds(fields, "timeout_sec", VERIFIER_S), _user(fields), _network(fields), _texts(fields, "env"), mode, own,
        collect,
    )  # fmt: skip


def _step(fields: Fields) -> StepConfig:
    name = fields.text("name")
    if not name.strip() or name in (".", "..") or "/" in name or "\\" in name or len(name.encode()) > 255:
        raise fields.error("name", "the name of a folder below steps")
    least = fields.value("min_reward")
    rewards = {"reward": least} if is_number(least) else {} if least is None else least
    if not isinstance(rewards, dict) or not all(is_number(value) for value in rewards.values()):
        raise fields.error("min_reward", "a number, or a table of them by the names of rewards")
    return StepConfig(
        name, _agent(_sub(fields, "agent")), _verifier(_sub(fields, "verifier")), rewards, _healthcheck(fields),
        _artifacts(fields),
    )  # fmt: skip


def _artifacts(fields: Fields) -> tuple[Artifact, ...]:
    found = []
    for each in fields.array("artifacts"):
        own = _table({"source": each} if isinstance(each, str) else each, f"{fields.prefix}artifacts.")
        artifact = Artifact(own.text("source"), own.text("destination", ""), own.text("service", MAIN))
        for name, value in (("source", artifact.source), ("destination", artifact.destination)):
            path = PurePosixPath(value)
            if ".." in path.parts or (name == "destination" and path.is_absolute()):
                raise own.error(name, "a path without .., and a relative one where it is a destination")
        found.append(artifact)
    return tuple(found)
