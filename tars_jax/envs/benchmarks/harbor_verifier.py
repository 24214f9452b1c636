"""Harbor's verifier: tests come when the agent is done, and what they leave in /logs/verifier is the reward.

Tests run in a computer that begins with the files as the agent has left them. None of the agent's programs is there:
what listens at a port of the agent's own computer is reached at the same port (`forwarding.py`), and what still runs
there can write no reward. /tests and /logs/verifier are made anew first, whatever was put there. Programs of the system
are the image's, also where the agent has replaced or removed them; what it has added is there, but for what every
program would load or find in the place of the image's.

Where there is no reward and the same tests give one on the image as it was, it is the agent that has broken them: 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import shlex
import weakref
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.harbor_computer import (
    TESTS,
    VERIFIER_LOGS,
    ImagePaths,
    OpenedComputer,
    Premises,
    allowed,
    collect_artifacts,
    empty_folder,
    failure,
    open_computer,
    put_artifacts,
    put_folder,
)
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.forwarding import PortForward
from tars_jax.sandbox.computer.outbound import Outbound
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Unreadable
from tars_jax.sandbox.failures import Broken, SandboxFailure
from tars_jax.tasks.benchmarks.harbor.config import Network
from tars_jax.tasks.benchmarks.harbor.folder import HarborTask, TaskStage, resolved

APART, LIVE = "apart", "live"
WAYS = (APART, LIVE)
STDOUT = f"{VERIFIER_LOGS}/test-stdout.txt"
MOST_SAID = 20_000  # bytes of the tests' output that are kept, its end
_LARGEST_REWARD = 1 << 16
MOST_REWARD = 1e6  # sums of what is larger are no numbers any more
MOST_PORTS = 32  # of an agent's computer that tests reach
_names = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class StageRewards:
    """Rewards of one stage."""

    values: Mapping[str, float]
    said: str  # the end of what the tests wrote
    artifacts: Mapping[str, bytes]


async def grade(
    premises: Premises, opened: OpenedComputer, task: HarborTask, stage: TaskStage, way: str
) -> StageRewards:  # fmt: skip
    """Grades the files that an agent has left in an opened computer, which goes on.

    `way`: APART, or LIVE for tests within the agent's own computer, beside its programs.
    Raises EnvironmentFailure where there is no reward: the tests took too long, or wrote none that is a number.
    """
    computer = opened.computer
    try:
        for hook in stage.collect:
            await computer.machine.run(["bash", "-c", hook.command], cwd=opened.workdir, timeout_s=hook.timeout_s)
        await computer.container.pause()
        try:
            artifacts = collect_artifacts(computer, stage.artifacts)
        finally:
            await computer.container.resume()
        async with _verifier(premises, opened, task, stage, artifacts, way) as (place, bundled):
            own = place.computer
            if not bundled:
                await empty_folder(own, TESTS)
                for given in stage.tests:
                    if given.is_dir():
                        await put_folder(own, given, TESTS)
            await empty_folder(own, VERIFIER_LOGS)
            await _run_tests(premises, place, stage, stage.verifier.network or task.config.surroundings.network)
            await own.container.pause()  # so that nothing is written while it is read
            try:
                return StageRewards(_rewards(own), _said(own), artifacts)
            except EnvironmentFailure as lost:
                raise EnvironmentFailure(lost.kind, str(lost), {"said": _said(own)}) from lost
            finally:
                await own.container.resume()
    except Broken as broken:  # by what the agent did: its own failure
        return StageRewards({"reward": 0.0}, str(broken), {})
    except (InputError, SandboxFailure, Unreadable) as error:
        raise failure(error) from error


async def grade_or_zero(
    premises: Premises, opened: OpenedComputer, task: HarborTask, stage: TaskStage, way: str
) -> StageRewards:
    """Grades as `grade` does; 0 where there is no reward, and would be one had the agent done nothing. Raises as
    `grade`."""
    try:
        return await grade(premises, opened, task, stage, way)
    except EnvironmentFailure as lost:
        if not await _graded_untouched(premises, task, stage):
            raise
        return StageRewards(
            {"reward": 0.0}, f"no reward on what the agent has left, though one on the image: {lost}", {}
        )


_untouched: weakref.WeakKeyDictionary[Computers, dict[tuple[str, str], bool]] = weakref.WeakKeyDictionary()


async def _graded_untouched(premises: Premises, task: HarborTask, stage: TaskStage) -> bool:
    """Whether the tests of a stage give a reward on the image; found out once for the same computers."""
    known = _untouched.setdefault(premises.computers, {})
    key = (str(task.environment), stage.name)
    if key not in known:
        try:
            fresh = await open_computer(premises, task.environment, task.config.surroundings)
        except (InputError, SandboxFailure) as error:
            raise failure(error) from error
        try:
            await grade(premises, fresh, task, stage, APART)
            known[key] = True
        except EnvironmentFailure:
            known[key] = False
        finally:
            await fresh.computer.close()
    return known[key]


@contextlib.asynccontextmanager
async def _verifier(
    premises: Premises,
    opened: OpenedComputer,
    task: HarborTask,
    stage: TaskStage,
    artifacts: Mapping[str, bytes],
    way: str,
) -> AsyncIterator[tuple[OpenedComputer, bool]]:
    """Opens the computer in which tests run; the flag says whether they are there already."""
    computer, computers = opened.computer, premises.computers
    if stage.separate:
        context, bundled, asked = task.verifier_context(stage)
        place = await open_computer(premises, context, asked)
        try:
            await put_artifacts(place.computer, stage.artifacts, artifacts)
            yield place, bundled
        finally:
            await place.computer.close()
    elif way == LIVE:
        yield opened, False
    else:
        snapshot = await computer.snapshot(f"left by an agent {id(computer)} {next(_names)}")
        try:
            room = dataclasses.replace(computer.guest.spec, user=None, system_restored=True)
            own = await _opened_with(computers, room, snapshot)
            try:
                own.machine.variables = {"PYTHONNOUSERSITE": "1", **opened.variables}
                await _without_covers(own, opened.found)
                async with contextlib.AsyncExitStack() as stack:
                    for port in sorted(await computer.ports())[:MOST_PORTS]:
                        await stack.enter_async_context(PortForward.between(own.machine, computer.machine, port))
                    yield dataclasses.replace(opened, computer=own), False
            finally:
                await own.close()
        finally:
            await computers.isolation().remove_snapshot(snapshot)


_COVERS = """
import json, os, sys
programs, loaded = json.load(sys.stdin)
for folder in ("/usr/local/sbin", "/usr/local/bin"):
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        covered = any(os.path.lexists(f"/usr/{each}/{name}") for each in ("sbin", "bin"))
        if covered and f"{folder}/{name}" not in programs:
            os.unlink(f"{folder}/{name}")
for path, text in loaded.items():
    if os.path.lexists(path):
        os.unlink(path)
    if text is not None:
        with open(path, "w", errors="surrogateescape") as file:
            file.write(text)
"""


async def _without_covers(computer: Computer, known: ImagePaths) -> None:
    """Takes away what the agent has put where it is found before a program of the image's, or loaded into each.

    `known`: what the image has there. Raises Broken where the agent's files let nobody.
    """
    machine = computer.machine
    given = json.dumps([sorted(known.programs), dict(known.loaded)]).encode()
    ran = await machine.run([machine.python, "-I", "-S", "-c", _COVERS], given)
    if ran.status != 0:
        raise Broken(f"the system of the agent's computer: {ran.stderr.decode(errors='replace')[-200:]}")


async def _opened_with(computers: Computers, room: ContainerSpec, snapshot: Snapshot) -> Computer:
    """Raises Broken where it is the agent's files that no computer can begin with; SandboxFailure."""
    try:
        return await computers.open(room, snapshot)
    except (SandboxFailure, InputError) as error:
        await (await computers.open(room)).close()
        raise Broken(f"no computer begins with what the agent has left: {error}") from error


async def _run_tests(premises: Premises, place: OpenedComputer, stage: TaskStage, network: Network) -> None:
    """Their exit status says nothing."""
    machine = place.computer.machine
    script = f"{TESTS}/{stage.test}"
    env = resolved(stage.verifier.env, "verifier.env:")
    command = f"chmod +x {shlex.quote(script)}; ({shlex.quote(script)}) > {STDOUT} 2>&1"
    limit = stage.verifier.timeout_s
    async with contextlib.AsyncExitStack() as stack:
        if premises.online:
            outbound = await stack.enter_async_context(Outbound(machine, allowed(network)))
            env |= await outbound.variables()
        ran = await machine.run(["bash", "-c", command], cwd=place.workdir, env=env, timeout_s=limit)
    if ran.timed_out:
        said = {"said": _said(place.computer)}
        raise EnvironmentFailure("verifier", f"the tests had not ended after {limit:g} s", said)


def _said(computer: Computer) -> str:
    try:
        return computer.container.read(STDOUT, 64 << 20)[-MOST_SAID:].decode(errors="replace")
    except OSError:
        return ""


def _rewards(computer: Computer) -> dict[str, float]:
    """reward.json before reward.txt, read from outside. Raises EnvironmentFailure for what is no reward."""
    for name, read in (("reward.json", _of_json), ("reward.txt", lambda text: {"reward": float(text)})):
        try:
            text = computer.container.read(f"{VERIFIER_LOGS}/{name}", _LARGEST_REWARD).decode()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise EnvironmentFailure("verifier", f"{name} must be a file of text; got {error}") from error
        if not text.strip():
            raise EnvironmentFailure("verifier", f"{name} must hold a reward; got an empty file")
        try:
            values = read(text)
        except (ValueError, RecursionError, OverflowError) as error:
            raise EnvironmentFailure("verifier", f"{name} must hold a reward; got {text[:80]!r}") from error
        if bad := [key for key, value in values.items() if not math.isfinite(value)]:
            raise EnvironmentFailure(
                "verifier", f"{name} must hold finite numbers; got {values[bad[0]]} of {bad[0]:.80}"
            )
        if bad := [key for key, value in values.items() if abs(value) > MOST_REWARD]:
            got = f"{values[bad[0]]:g} of {bad[0]:.80}"
            raise EnvironmentFailure("verifier", f"{name} must hold numbers of at most {MOST_REWARD:g}; got {got}")
        return values
    raise EnvironmentFailure("verifier", f"the tests must write {VERIFIER_LOGS}/reward.txt or reward.json; got neither")


def _of_json(text: str) -> dict[str, float]:
    values: Any = json.loads(text)
    if not isinstance(values, dict):  # an empty one is 0 in all, as Harbor has it
        raise ValueError("no object of numbers")
    if not all(isinstance(value, int | float) for value in values.values()):
        raise ValueError("not only numbers")
    return {str(name): float(value) for name, value in values.items()}
