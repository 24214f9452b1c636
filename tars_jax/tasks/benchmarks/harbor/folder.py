"""A task folder of Harbor: its files, its steps, and why it cannot be played here, if it cannot."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tars_jax import InputError
from tars_jax.sandbox.computer.images import checked
from tars_jax.tasks.benchmarks.harbor.config import (
    ALLOWLIST,
    MAIN,
    SEPARATE,
    SHARED,
    AgentPhase,
    Artifact,
    Collect,
    Healthcheck,
    Network,
    Surroundings,
    TaskConfig,
    VerifierPhase,
    read_config,
)
from tars_jax.tasks.benchmarks.harbor.network import asks_internet
from tars_jax.web.network import Hosts

CONFIG = "task.toml"
TEST, SOLVE = "test.sh", "solve.sh"
PUBLISHED = Artifact("/logs/artifacts")  # what every episode may leave there
_ROOTS = ("", "root", "0")
_TEMPLATE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class TaskStage:
    """A stage of a task, asked at once: the whole task, or one of its steps."""

    name: str  # empty: the whole task
    instruction: str
    agent: AgentPhase
    verifier: VerifierPhase  # the task's, where the step says nothing
    separate: bool  # the verifier has surroundings of its own
    tests: tuple[Path, ...]  # folders that come to /tests, in this order
    test: str  # the script's path below /tests
    solution: Path | None  # the folder that comes to /solution
    workdir: Path | None = None  # files that come to the working folder before it
    healthcheck: Healthcheck | None = None
    min_reward: Mapping[str, float] = dataclasses.field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = (PUBLISHED,)
    collect: tuple[Collect, ...] = ()


@dataclasses.dataclass(frozen=True)
class HarborTask:
    folder: Path
    config: TaskConfig
    stages: tuple[TaskStage, ...]

    @property
    def environment(self) -> Path:
        return self.folder / "environment"

    def verifier_context(self, stage: TaskStage) -> tuple[Path, bool, Surroundings]:
        """A separate verifier's build context, whether the tests are in its image, and what it may take."""
        own = stage.verifier.surroundings or self.config.surroundings
        for folder in reversed(stage.tests):
            if (folder / "Dockerfile").is_file():
                return folder, True, own
        return self.environment, False, own

    @property
    def time_limit(self) -> float | None:
        """Time limit of all stages together, seconds; None: there is none."""
        limits = [stage.agent.timeout_s for stage in self.stages]
        return None if None in limits else sum(limit for limit in limits if limit is not None)


def read_task(folder: Path) -> HarborTask:
    """Raises InputError that names the file and the field."""
    if (folder / CONFIG).is_symlink():
        raise InputError(f"{folder / CONFIG} must be a file of the task; got a link")
    config = read_config(folder / CONFIG)
    if not config.steps:
        return HarborTask(folder, config, (_whole(folder, config),))
    return HarborTask(folder, config, tuple(_stage(folder, config, at) for at in range(len(config.steps))))


def _whole(folder: Path, config: TaskConfig) -> TaskStage:
    return TaskStage(
        "", _instruction(folder / "instruction.md"), config.agent, config.verifier, config.verifier.mode == SEPARATE,
        (folder / "tests",), TEST, _there(folder / "solution"), artifacts=_published(config.published),
        collect=config.verifier.collect,
    )  # fmt: skip


def _stage(folder: Path, config: TaskConfig, at: int) -> TaskStage:
    step = config.steps[at]
    own = folder / "steps" / step.name
    has_test = (own / "tests" / TEST).is_file()
    tests = tuple(each for each in (folder / "tests", own / "tests") if each.is_dir())
    mode = step.verifier.mode or config.verifier.mode or SHARED
    limit = config.agent.timeout_s if step.agent.timeout_s is None else step.agent.timeout_s
    agent = msgspec.structs.replace(
        step.agent,
        user=step.agent.user or config.agent.user,
        timeout_s=limit,
        **step.agent.network_or(config.agent),
    )
    verifier = msgspec.structs.replace(
        step.verifier,
        user=step.verifier.user or config.verifier.user,
        **step.verifier.network_or(config.verifier),
        env={**config.verifier.env, **step.verifier.env},
        surroundings=step.verifier.surroundings or config.verifier.surroundings,
    )
    return TaskStage(
        step.name, _instruction(own / "instruction.md"),
        agent, verifier,
        mode == SEPARATE, tests or (own / "tests",), TEST,
        _there(own / "solution") if has_file(own / "solution", SOLVE) else _there(folder / "solution"),
        _there(own / "workdir"), step.healthcheck, step.least_rewards, _published((*config.published, *step.published)),
        (*config.verifier.collect, *step.verifier.collect),
    ) if has_test or has_file(folder / "tests", TEST) else _without_test(own)  # fmt: skip


def _without_test(own: Path) -> TaskStage:
    raise InputError(f"{own / 'tests' / TEST} must be there, or one for all steps; got neither")


def has_file(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _there(folder: Path) -> Path | None:
    return folder if folder.is_dir() else None


def _published(artifacts: tuple[Artifact, ...]) -> tuple[Artifact, ...]:
    if any(each.source.rstrip("/") == PUBLISHED.source and each.service == MAIN for each in artifacts):
        return artifacts
    return (PUBLISHED, *artifacts)


def _instruction(path: Path) -> str:
    try:
        if path.is_symlink():
            raise InputError(f"{path} must be a file of the task; got a link")
        return path.read_text()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be text in UTF-8; got {error}") from error


def resolved(env: Mapping[str, str], where: str) -> dict[str, str]:
    """Variables whose values may be of this machine's: `${NAME}` and `${NAME:-default}`. Raises InputError."""
    values = {}
    for name, value in env.items():
        template = _TEMPLATE.fullmatch(value)
        if template is None:
            values[name] = value
        elif (found := os.environ.get(template[1], template[2])) is not None:
            values[name] = found
        else:
            raise InputError(f"{where} {name} needs the variable {template[1]}, which this machine has not set")
    return values


def why_left_out(task: HarborTask, *, online: bool = False) -> str:
    """The reason why a task cannot be played in a computer without containers; empty: it can, as far as can be told
    before.

    `online`: programs reach the hosts that phases name, and bases serve that this machine is only near to.
    """
    return next(_reasons(task, online), "")


def _reasons(task: HarborTask, online: bool) -> Iterator[str]:
    yield from _of_links(task)
    surroundings = task.config.surroundings
    yield from _of_surroundings(surroundings, "environment")
    if not has_file(task.environment, "Dockerfile"):
        image = f", but the image {surroundings.docker_image}" if surroundings.docker_image else ""
        yield f"it has no environment/Dockerfile{image}"
    yield from _of_image(task.environment, online)
    for stage in task.stages:
        yield from _of_stage(task, stage, f"step {stage.name}: " if stage.name else "", online)


def _of_links(task: HarborTask) -> Iterator[str]:
    """Paths that lead out of a task's folder: no file of this machine's own may be read or put into its computer."""
    root = task.folder.resolve()
    folders = [task.environment]
    for stage in task.stages:
        folders += [*stage.tests, *(each for each in (stage.solution, stage.workdir) if each is not None)]
    for folder in folders:
        for path in (folder, folder / TEST, folder / SOLVE, folder / "setup.sh"):
            if not path.resolve().is_relative_to(root):
                yield f"{path.relative_to(task.folder)} is a link that leads out of the task's folder"


def _of_image(folder: Path, online: bool) -> Iterator[str]:
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if has_file(folder, name):
            yield f"{folder.name}/{name} asks for several containers"
    try:
        dockerfile = checked(folder, near=online)
    except InputError as error:
        yield str(error)
        return
    for each in () if online else dockerfile.instructions:
        if each.name == "RUN" and (by := asks_internet(" ".join(" ".join((*each.words, each.stdin)).split()))):
            by = by.partition(", ")[2]
            yield f"{dockerfile.where}, line {each.line}: RUN asks the internet ({by}), which no build has here"


def _of_surroundings(asked: Surroundings, where: str) -> Iterator[str]:
    if asked.os != "linux":
        yield f"{where}.os is {asked.os}, and computers here are Linux"
    if asked.accelerators:
        yield f"{where} asks for {asked.accelerators}, which computers here have not"
    for server in asked.servers:
        if server.transport != "stdio":
            yield f"the MCP server {server.name} is at {server.url}, and a computer has no container beside it"
    try:
        resolved(asked.env, f"{where}.env:")
    except InputError as error:
        yield str(error)


def _of_stage(task: HarborTask, stage: TaskStage, where: str, online: bool) -> Iterator[str]:
    general = task.config.surroundings.network
    for phase, user, network in (
        ("agent", stage.agent.user, stage.agent.network),
        ("verifier", stage.verifier.user, stage.verifier.network),
    ):
        if user not in _ROOTS:
            yield f"{where}the {phase} is to be the user {user}, and a computer has root alone"
        yield from _of_network(network or general, f"{where}the {phase}", online)
    for service in (*(each.service for each in stage.artifacts), *(hook.service for hook in stage.collect)):
        if service != MAIN:
            yield f"{where}it collects from the service {service}, and a computer is one container"
    if stage.separate:
        context, _, own = task.verifier_context(stage)
        yield from _of_surroundings(own, "verifier.environment")
        yield from _of_image(context, online)
    tests = [folder / stage.test for folder in stage.tests if has_file(folder, stage.test)]
    if not tests:
        yield f"{where}tests/{stage.test} is missing"
    solution = [] if stage.solution is None else [stage.solution / SOLVE]
    for script in () if online else (*tests[-1:], *solution):
        if line := asks_internet(script.read_text(errors="replace") if script.is_file() else ""):
            path = script.relative_to(task.folder)
            yield f"{path} asks the internet ({line}), and computers have loopback alone"
    for name, env in (("verifier", stage.verifier.env), ("solution", task.config.solution.env)):
        try:
            resolved(env, f"{name}.env:")
        except InputError as error:
            yield str(error)


def _of_network(network: Network, who: str, online: bool) -> Iterator[str]:
    if online and (ranges := [host for host in network.hosts if "/" in host]):
        yield f"{who} needs the range {ranges[0]}, and names and single addresses alone are allowed here"
    elif online:
        try:
            Hosts([f"[{host}]" if host.count(":") > 1 else host for host in network.hosts], public=True)
        except InputError as error:
            yield f"{who} needs a host that is none: {error}"
    elif network.mode == ALLOWLIST:
        yield f"{who} needs {', '.join(network.hosts) or 'hosts'}, and computers have loopback alone"
