"""AndroidWorld's tasks, as a server of its HTTP form has them.

`tasks` is the address of a server (http://127.0.0.1:5000), or a TOML or JSON file:

    servers = ["http://127.0.0.1:5000", "http://127.0.0.1:5001"]  # one episode at a time each
    token_variable = "TOKEN"        # of the environment, for servers that ask for a token
    seed = 30                       # of the instances' parameters; left out: as the server has them
    combinations = 1                # instances of each task
    tasks = ["ContactsAddContact"]  # left out: all
    instances = [0]                 # left out: all
    metadata = "task_metadata.json" # AndroidWorld's own, beside this file: budgets and difficulty
    steps = {ContactsAddContact = 12}
    left_out = {ClockStopWatchPausedVerify = "is a success before the first step"}
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import is_text, read_json, read_toml
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.android_world.client import AndroidWorldClient, RequestRefused, check_address
from tars_jax.sandbox.phone.phone_lock import lock_phone
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask

FAMILY = "android_world"
STEPS = 20  # of a task that no metadata tells of
LEAST_STEPS = 10  # AndroidWorld's ten steps for each unit of complexity, of which no task has less than one
_ADDRESS = re.compile(r"(https?):/+(.*)")
_MOST_SEED, _MOST_COMBINATIONS = 2**31 - 1, 1000


@dataclasses.dataclass(frozen=True)
class Servers:
    """Servers of AndroidWorld, as their file names them."""

    addresses: tuple[str, ...]
    token_variable: str = ""
    seed: int | None = None
    combinations: int | None = None
    family: str = FAMILY
    tasks: tuple[str, ...] = ()
    instances: tuple[int, ...] = ()
    steps: Mapping[str, int] = dataclasses.field(default_factory=dict)
    groups: Mapping[str, str] = dataclasses.field(default_factory=dict)
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Servers as an environment's option."""
        return {
            "addresses": list(self.addresses), "token_variable": self.token_variable, "seed": self.seed,
            "combinations": self.combinations, "family": self.family,
        }  # fmt: skip

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Servers:
        return cls(**{**record, "addresses": tuple(record["addresses"])})

    def client(self, address: str) -> AndroidWorldClient:
        """Raises InputError where the variable of the token is not set."""
        token = os.environ.get(self.token_variable, "") if self.token_variable else ""
        if self.token_variable and not token:
            raise InputError(f"the environment must have {self.token_variable}, the token of {address}; got none")
        return AndroidWorldClient(address, token)

    def prepare(self, client: AndroidWorldClient) -> None:
        """The instances that the file asks for. Raises SandboxFailure, Refused."""
        if self.seed is not None or self.combinations is not None:
            seed, combinations = self.seed, self.combinations
            client.reinitialize(1 if combinations is None else combinations, 30 if seed is None else seed, self.family)


Name = Annotated[str, Meta(min_length=1)]
Steps = Annotated[int, Meta(ge=1)]


class _File(msgspec.Struct, frozen=True):
    """As it is written at the top of this file; `server` is one alone."""

    servers: tuple[Name, ...] = ()
    server: str = ""
    token_variable: str = ""
    seed: Annotated[int, Meta(ge=0, le=_MOST_SEED)] | None = None
    combinations: Annotated[int, Meta(ge=1, le=_MOST_COMBINATIONS)] | None = None
    family: str = FAMILY
    tasks: tuple[Name, ...] = ()
    instances: tuple[Annotated[int, Meta(ge=0)], ...] = ()
    metadata: str = ""
    steps: Mapping[str, Steps] = {}
    left_out: Mapping[str, Name] = {}


def read_servers(path: Path) -> Servers:
    """Raises InputError that names the file and the field."""
    if match := _ADDRESS.fullmatch(str(path)):  # a path has one of an address's two slashes
        return Servers((check_address(f"{match[1]}://{match[2]}"),))
    given = decoded(read_json(path) if path.suffix == ".json" else read_toml(path), _File, f"{path}: ")
    addresses = given.servers or ((given.server,) if given.server else ())
    if not addresses:
        raise InputError(f"{path}: servers must be one or more addresses of servers; got nothing")
    steps, groups = _read_metadata(path.parent / given.metadata) if given.metadata else ({}, {})
    shared = {name: getattr(given, name) for name in ("token_variable", "seed", "combinations", "family", "tasks")}
    return Servers(
        tuple(map(check_address, addresses)), **shared, instances=given.instances, steps={**steps, **given.steps},
        groups=groups, left_out=given.left_out,
    )  # fmt: skip


def read_tasks(path: Path) -> Sequence[BenchmarkTask]:
    """All that the first server that answers has of them; it asks for each task's goal.

    Raises InputError for a file that is wrong, and where no server answers as one of AndroidWorld's.
    """
    servers = read_servers(path)
    failures = []
    for address in servers.addresses:
        client = servers.client(address)
        try:
            client.check()
            return _listed(servers, client, path)
        except (SandboxFailure, RequestRefused) as failure:
            failures.append(str(failure))
        finally:
            client.close()
    raise InputError(f"tasks must be of a server of AndroidWorld that answers; {'; '.join(failures)}")


def _listed(servers: Servers, client: AndroidWorldClient, path: Path) -> list[BenchmarkTask]:
    held = lock_phone(client.address)
    if held is not None:  # whoever plays on it has made these instances himself
        with contextlib.closing(held):
            servers.prepare(client)
    types = client.task_types()
    if unknown := [name for name in servers.tasks if name not in types]:
        raise InputError(f"{path}: tasks must be among the {len(types)} of {client.address}; got {unknown[0]!r}")
    listed = []
    for name in types:
        if servers.tasks and name not in servers.tasks:
            continue
        indices = range(client.instances(name))
        for index in indices if not servers.instances else servers.instances:
            if index not in indices:
                raise InputError(f"{path}: instances must be below {len(indices)}, as {name} has so many; got {index}")
            listed.append(_task(servers, client, name, index))
    return listed


def _task(servers: Servers, client: AndroidWorldClient, name: str, index: int) -> BenchmarkTask:
    left_out, goal = servers.left_out.get(name, ""), ""
    try:
        goal = client.goal(name, index)
    except RequestRefused as refused:
        left_out = left_out or f"its server has no goal for it: {refused}"
    return BenchmarkTask(
        id=f"{name}_{index}",
        instruction=goal,
        group=servers.groups.get(name) or _first_word(name),
        max_steps=servers.steps.get(name, STEPS),
        record={"task_type": name, "task_idx": index, "servers": servers.to_json()},
        left_out=left_out,
    )


def _first_word(name: str) -> str:
    """The app, as names of tasks begin with it: ContactsAddContact is of Contacts."""
    match = re.match(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return match[0] if match else name


def _read_metadata(path: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Budgets, twice what a person takes, and difficulties, by tasks."""
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and is_text(row.get("task_name")) for row in rows):
        raise InputError(f"{path} must be an array of objects with task_name; got another")
    steps, groups = {}, {}
    for row in rows:
        name, optimal = row["task_name"], row.get("optimal_steps")
        if not re.fullmatch(r"[1-9]\d{0,3}", str(optimal)):
            raise InputError(f"{path}: optimal_steps of {name} must be a whole number of 1 or more; got {optimal!r}")
        steps[name] = max(LEAST_STEPS, 2 * int(str(optimal)))
        groups[name] = str(row.get("difficulty", ""))
    return steps, groups


ANDROID_WORLD = Benchmark(
    name="android_world",
    title="AndroidWorld",
    version="HTTP form of 2025-06",
    read=read_tasks,
    environment="tars_jax.envs.benchmarks.android_world:AndroidWorldEnvironment",
    max_steps=STEPS,
    results="tars_jax.evaluation.benchmarks.android_world:write_results",
)
