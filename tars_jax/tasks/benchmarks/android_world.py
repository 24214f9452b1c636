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
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, is_text, read_json
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.android_world.client import AndroidWorldClient, RequestRefused, check_address
from tars_jax.sandbox.phone.holding import hold
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask

FAMILY = "android_world"
STEPS = 20  # of a task that no metadata tells of
LEAST_STEPS = 10  # AndroidWorld's ten steps for each unit of complexity, of which no task has less than one
_ADDRESS = re.compile(r"(https?):/+(.*)")
_MOST_SEED, _MOST_COMBINATIONS = 2**31 - 1, 1000


@dataclasses.dataclass(frozen=True)
class Servers:
    """What the file says."""

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
        """What an environment has to know."""
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


def read_servers(path: Path) -> Servers:
    """Raises InputError that names the file and the field."""
    if match := _ADDRESS.fullmatch(str(path)):  # a path has one of an address's two slashes
        return Servers((check_address(f"{match[1]}://{match[2]}"),))
    values = read_json(path) if path.suffix == ".json" else _read_toml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold an object; got {type(values).__name__}")
    fields = Fields(values, f"{path}: ")
    addresses = _texts(fields, "servers") or ((fields.text("server"),) if "server" in values else ())
    if not addresses:
        raise fields.error("servers", "one or more addresses of servers")
    steps, groups = _read_metadata(path.parent / fields.text("metadata")) if "metadata" in values else ({}, {})
    given = fields.value("steps") or {}
    if not isinstance(given, dict) or not all(type(each) is int and each > 0 for each in given.values()):
        raise fields.error("steps", "an object of whole numbers of 1 or more, by names of tasks")
    left_out = fields.value("left_out") or {}
    if not isinstance(left_out, dict) or not all(is_text(each) and each for each in left_out.values()):
        raise fields.error("left_out", "an object of reasons, by names of tasks")
    indices = fields.array("instances")
    if not all(type(index) is int and index >= 0 for index in indices):
        raise fields.error("instances", "an array of whole numbers from 0")
    servers = Servers(
        tuple(check_address(address) for address in addresses),
        fields.text("token_variable", ""),
        fields.integer("seed", None, 0, _MOST_SEED),
        fields.integer("combinations", None, 1, _MOST_COMBINATIONS),
        fields.text("family", FAMILY),
        _texts(fields, "tasks"),
        tuple(indices),
        {**steps, **given},
        groups,
        left_out,
    )
    if unknown := fields.unread():
        known = (
            "servers, server, token_variable, seed, combinations, family, tasks, instances, metadata, steps, left_out"
        )
        raise InputError(f"{path}: a field must be one of {known}; got {unknown[0]!r}")
    return servers


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
    held = hold(client.address)
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


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    values = fields.array(name)
    if not all(is_text(value) and value for value in values):
        raise fields.error(name, "an array of texts")
    return tuple(values)


def _read_toml(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} must be a TOML file, or an address of a server; got {error.strerror}") from error
    except ValueError as error:  # of TOML, or of UTF-8
        raise InputError(f"{path} must be a whole TOML file; got {error}") from error


ANDROID_WORLD = Benchmark(
    name="android_world",
    title="AndroidWorld",
    version="HTTP form of 2025-06",
    read=read_tasks,
    environment="tars_jax.envs.benchmarks.android_world:PreparedPhone",
    max_steps=STEPS,
    results="tars_jax.evaluation.benchmarks.android_world:write_results",
)
