"""Computers in the place of Harbor's containers: opened with a task's files, healthy, and read from outside."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import io
import json
import os
import posixpath
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import unpack
from tars_jax.sandbox.computer.images import Image, Images
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Unreadable, walk
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.files import Files
from tars_jax.tasks.benchmarks.harbor.config import NONE, PUBLIC, Artifact, Healthcheck, Network, Surroundings
from tars_jax.tasks.benchmarks.harbor.folder import resolved
from tars_jax.web.network import EVERY, Hosts

TESTS = "/tests"
AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS = "/logs/agent", "/logs/verifier", "/logs/artifacts"
MEMORY_MB, STORAGE_MB, PROCESSES = 2048, 10240, 2048  # where a task says nothing
MOST_ARTIFACTS = 1 << 20  # bytes of one episode that are kept


@dataclasses.dataclass(frozen=True)
class Premises:
    """Computers and images with which tasks are played."""

    computers: Computers
    made: dict[str, Any]  # of `NearComputers`
    # Programs reach the hosts that a phase's policy names, builds all public ones, from bases that are near, too.
    online: bool = False

    @property
    def images(self) -> Images:
        """Images that were built for these computers, by anybody."""
        name = f"images {'online' if self.online else ''}"
        if name not in self.made:
            self.made[name] = Images(self.computers, Hosts([EVERY]) if self.online else None, self.online)
        images: Images = self.made[name]
        return images


@dataclasses.dataclass(frozen=True)
class ImagePaths:
    """Paths of an image that come before the system's programs, or are loaded into each of them."""

    programs: Sequence[str]  # paths
    loaded: Mapping[str, str | None]  # texts by paths; None: there is none


_FIND = """
import json, os
programs = [f"{f}/{n}" for f in ("/usr/local/sbin", "/usr/local/bin") if os.path.isdir(f) for n in os.listdir(f)]
paths = ["/etc/ld.so.preload", *(f"/etc/{n}/sitecustomize.py" for n in os.listdir("/etc") if n.startswith("python"))]
read = lambda path: open(path, errors="surrogateescape").read() if os.path.isfile(path) else None
print(json.dumps([programs, {path: read(path) for path in paths}]))
"""


@dataclasses.dataclass(frozen=True)
class OpenedComputer:
    """A task's opened computer."""

    computer: Computer
    workdir: str
    variables: Mapping[str, str]  # of its programs, but for those that name a way out
    found: ImagePaths  # before an agent came


def allowed(network: Network) -> Hosts:
    """Hosts that a network policy lets programs reach. Raises InputError for an entry that the proxy has no form for,
    or that is of this machine or its network."""
    entries = {PUBLIC: [EVERY], NONE: []}.get(network.mode, list(network.hosts))
    return Hosts([f"[{entry}]" if entry.count(":") > 1 else entry for entry in entries], public=True)


def room_of(asked: Surroundings) -> ContainerSpec:
    """Resources of this machine that a task's computer may take: no more processors than there are."""
    cpus = None if asked.cpus is None else min(asked.cpus, os.cpu_count() or 1)
    return ContainerSpec(
        memory_mib=max(asked.memory_mb or MEMORY_MB, 256), processes=PROCESSES,
        disk_mib=max(asked.storage_mb or STORAGE_MB, 256), cpus=cpus, root=True,
    )  # fmt: skip


async def open_computer(premises: Premises, folder: Path, asked: Surroundings) -> OpenedComputer:
    """Opens a computer with the files of a build context.

    Raises InputError for a Dockerfile that cannot be carried out, SandboxFailure.
    """
    room, images = room_of(asked), premises.images
    image: Image = await images.built(folder, spec=room, timeout_s=asked.build_timeout_s)
    computer = await images.open(image, room)
    try:
        workdir = posixpath.normpath(posixpath.join("/", asked.workdir or image.workdir))
        variables = {**image.environment, **resolved(asked.env, "environment.env:")}
        computer.machine.variables = variables
        await make_folders(computer, (workdir, AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS, TESTS))
        ran = await computer.machine.run([computer.machine.python, "-I", "-S", "-c", _FIND])
        if ran.status != 0:
            raise SandboxFailure(
                "guest", f"its programs cannot be listed: {ran.stderr.decode(errors='replace')[-200:]}"
            )
        found = ImagePaths(*json.loads(ran.stdout))
    except BaseException:
        await computer.close()
        raise
    return OpenedComputer(computer, workdir, variables, found)


async def make_folders(computer: Computer, paths: Sequence[str]) -> None:
    for path in paths:
        await Files(computer.machine).make_folder(path)


_EMPTY = """
import os, shutil, sys
above, path = os.path.dirname(sys.argv[1]), sys.argv[1]
for each in (above, path):
    if os.path.islink(each) or (os.path.lexists(each) and not os.path.isdir(each)):
        os.unlink(each)
    elif each == path and os.path.isdir(each):
        shutil.rmtree(each)
os.makedirs(path)
"""


async def empty_folder(computer: Computer, path: str) -> None:
    """Makes an empty folder, whatever was there by its name: a link goes, not where it leads.

    Raises SandboxFailure, InputError.
    """
    machine = computer.machine
    ran = await machine.run([machine.python, "-I", "-S", "-c", _EMPTY, path])
    if ran.status != 0:
        raise SandboxFailure("guest", f"{path} could not be made: {ran.stderr.decode(errors='replace')[-200:]}")


async def put_folder(computer: Computer, folder: Path, target: str) -> None:
    """All files of a folder of this machine, below one inside that is there."""
    buffer = io.BytesIO()

    def pack() -> None:
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path in sorted(folder.iterdir()):
                tar.add(path, path.name)

    await asyncio.to_thread(pack)
    await unpack(computer.machine, buffer.getvalue(), target)


async def check_health(computer: Computer, check: Healthcheck | None, workdir: str) -> None:
    """Waits until the command ends with 0. Raises EnvironmentFailure where it does not, by the check's own rules."""
    if check is None:
        return
    clock = asyncio.get_running_loop().time
    grace, failures = clock() + check.start_period_s, 0
    while True:
        early = clock() < grace
        ran = await computer.machine.run(["bash", "-c", check.command], cwd=workdir, timeout_s=check.timeout_s or 1.0)
        if ran.status == 0 and not ran.timed_out:
            return
        failures += not early
        if failures >= check.retries:
            said = (ran.stderr or ran.stdout).decode(errors="replace").strip()[-200:]
            raise EnvironmentFailure("environment", f"its health check failed {failures} times: {said or ran.status}")
        await asyncio.sleep(check.start_interval_s if early else check.interval_s)


def collect_artifacts(computer: Computer, artifacts: Sequence[Artifact]) -> dict[str, bytes]:
    """Files by their places in a folder of artifacts, read from outside: no link is followed, no program asked.

    Of two for one place the first one is kept, as Harbor does.
    """
    found: dict[str, bytes] = {}
    left = MOST_ARTIFACTS
    for artifact in artifacts:
        for place, data in _files(computer, artifact, left):
            if place not in found:
                found[place] = data
                left -= len(data)
    return found


def _files(computer: Computer, artifact: Artifact, most: int) -> list[tuple[str, bytes]]:
    source = posixpath.normpath(posixpath.join("/", artifact.source))
    with contextlib.suppress(OSError):
        data = computer.container.read(source, most + 1)
        return [(artifact.place, data)] if len(data) <= most else []
    found: list[tuple[str, bytes]] = []
    with contextlib.suppress(OSError, Unreadable):
        for path, opened in walk(computer.container.open_folder(source)):
            if opened is not None:
                with open(opened, "rb") as file:
                    data = file.read(most + 1)
                if len(data) <= most:
                    found.append((f"{artifact.place}/{path}", data))
                    most -= len(data)
    return found


def as_json(files: Mapping[str, bytes]) -> dict[str, Any]:
    return {path: base64.b64encode(data).decode() for path, data in files.items()}


async def put_artifacts(computer: Computer, artifacts: Sequence[Artifact], files: Mapping[str, bytes]) -> None:
    """Puts collected artifacts into another computer, at the paths where they were found."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for artifact in artifacts:
            source = artifact.source.strip("/")
            for path, data in files.items():
                if path == artifact.place or path.startswith(f"{artifact.place}/"):
                    member = tarfile.TarInfo(source + path.removeprefix(artifact.place))
                    member.size, member.mode = len(data), 0o755
                    tar.addfile(member, io.BytesIO(data))
    await unpack(computer.machine, buffer.getvalue(), "/")


def failure(error: InputError | SandboxFailure | Unreadable) -> EnvironmentFailure:
    """Converts an error of the machine or of the task's own files to a failure of the environment."""
    return EnvironmentFailure("verifier", str(error))
