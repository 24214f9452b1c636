"""Dockerfiles carried out in computers, each content once: what comes of it is a snapshot that computers begin with.

images = Images(computers)
image = await images.built(task / "environment")
computer = await images.open(image, ContainerSpec(memory_mib=2048))
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer import base_images
from tars_jax.sandbox.computer.build_context import context_digest, copied
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.dockerfile import Dockerfile, DockerInstruction, below, fill, read_dockerfile
from tars_jax.sandbox.computer.guest.identity import PATH
from tars_jax.sandbox.computer.home import unpack
from tars_jax.sandbox.computer.outbound import Outbound
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.network import Hosts

BUILD_S = 600.0
_SAID = 600  # characters of a program's last words that a message repeats
_OURS = {"PATH": PATH}  # where our own programs are found
_names = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Image:
    """An image, which lasts as long as its `Images`."""

    key: str  # of what it was built from
    snapshot: Snapshot
    environment: Mapping[str, str]  # of all programs
    workdir: str


def checked(folder: Path, near: bool = False) -> Dockerfile:
    """The Dockerfile of a build context, if it can be carried out here as far as that can be told before.

    `near`: bases serve, too, that this machine's programs are only alike (base_images.py).
    Raises InputError with the file and the line.
    """
    dockerfile = read_dockerfile(folder)
    if why := base_images.why_not(dockerfile.base, near):
        raise dockerfile.error(dockerfile.base_line, why)
    for instruction in dockerfile.instructions:
        if instruction.name == "COPY" and "$" not in "".join(instruction.words):
            copied(folder, instruction, instruction.words[:-1], "/", False, dockerfile)
    return dockerfile


class Images:
    """Images of one `Computers`, which must be entered."""

    def __init__(self, computers: Computers, hosts: Hosts | None = None, near: bool = False) -> None:
        """`hosts`: that RUN reaches by the usual variables (outbound.py); None: no network at all.

        `near`: as of `checked`.
        """
        self._computers, self._hosts, self._near = computers, hosts, near
        self._building: dict[str, asyncio.Task[Image]] = {}
        self._asking: Counter[str] = Counter()

    async def built(
        self, folder: Path, *, spec: ContainerSpec | None = None, timeout_s: float = BUILD_S
    ) -> Image:  # fmt: skip
        """`folder`: the build context. `spec`: what the building computer may take; `timeout_s`: in all.

        Raises InputError for a Dockerfile that cannot be carried out, with the line and what its program said;
        SandboxFailure for a machine that failed. Who asks again then begins again.
        """
        dockerfile = await asyncio.to_thread(checked, folder, self._near)
        digest = await asyncio.to_thread(context_digest, folder)
        key = hashlib.sha256(json.dumps([dockerfile.text, digest]).encode()).hexdigest()
        task = self._building.get(key)
        if task is None:
            work = self._build(key, folder, dockerfile, spec or ContainerSpec(), timeout_s)
            task = self._building[key] = asyncio.create_task(work)
        self._asking[key] += 1
        try:
            return await asyncio.shield(task)
        except BaseException:
            if self._asking[key] == 1 and not task.done():  # nobody waits for it any more
                task.cancel()
                await asyncio.wait([task])
            if task.done() and self._building.get(key) is task:
                del self._building[key]
            raise
        finally:
            self._asking[key] -= 1

    async def open(self, image: Image, spec: ContainerSpec) -> Computer:
        """A computer with the image's files and variables; its programs are root. Raises SandboxFailure."""
        computer = await self._computers.open(dataclasses.replace(spec, root=True), image.snapshot)
        computer.machine.variables = image.environment
        return computer

    async def close(self) -> None:
        """Computers that began with the images live on."""
        tasks, self._building = list(self._building.values()), {}
        for task in tasks:
            if not task.done():
                task.cancel()
        for done in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(done, Image):
                await self._computers.isolation().remove_snapshot(done.snapshot)

    async def _build(
        self, key: str, folder: Path, dockerfile: Dockerfile, spec: ContainerSpec, timeout_s: float
    ) -> Image:  # fmt: skip
        computer = await self._computers.open(dataclasses.replace(spec, root=True))
        try:
            async with contextlib.AsyncExitStack() as way:
                outbound = None
                if self._hosts is not None and any(each.name == "RUN" for each in dockerfile.instructions):
                    outbound = await way.enter_async_context(Outbound(computer.machine, self._hosts))
                build = _Build(computer, folder, dockerfile, asyncio.get_running_loop().time() + timeout_s, outbound)
                for instruction in dockerfile.instructions:
                    await build.do(instruction)
            snapshot = await computer.snapshot(f"image {key[:12]} {os.getpid()} {next(_names)}")
            return Image(key, snapshot, build.environment, build.workdir)
        finally:
            await computer.close()


class _Build:
    def __init__(
        self, computer: Computer, folder: Path, dockerfile: Dockerfile, end: float, outbound: Outbound | None
    ) -> None:  # fmt: skip
        self._outbound = outbound
        self._machine, self._folder, self._dockerfile, self._end = computer.machine, folder, dockerfile, end
        self.environment: dict[str, str] = dict(base_images.variables(dockerfile.base))
        self._arguments: dict[str, str] = {}
        self._known = computer.container.spec.variables(computer.container.home, "")
        self.workdir = "/"

    async def do(self, instruction: DockerInstruction) -> None:
        words = instruction.words
        if instruction.name == "RUN":
            await self._run(instruction)
        elif instruction.name == "COPY":
            await self._copy(instruction)
        elif instruction.name == "WORKDIR":
            self.workdir = below(self.workdir, self._filled(words[0]))
            await self._must(instruction, ["mkdir", "-p", self.workdir])
        elif instruction.name == "ENV":
            before = {**self._known, **self._arguments, **self.environment}  # names of one ENV do not see each other
            self.environment |= {key: fill(value, before) for key, _, value in (each.partition("=") for each in words)}
        else:
            for word in words:
                name, _, value = word.partition("=")
                self._arguments[name] = self._filled(value)

    def _filled(self, text: str) -> str:
        return fill(text, {**self._known, **self._arguments, **self.environment})

    async def _must(self, instruction: DockerInstruction, argv: list[str], stdin: bytes = b"") -> None:
        """Raises InputError for a program that does not end well."""
        rest = self._end - asyncio.get_running_loop().time()
        way = await self._outbound.variables() if self._outbound and instruction.name == "RUN" else {}
        variables = {**way, **self._arguments, **self.environment}
        if instruction.name != "RUN":  # a program of ours, whatever the image says
            variables |= _OURS
        cwd = self.workdir if instruction.name == "RUN" else "/"
        try:
            ran = await self._machine.run(
                argv, stdin, env=variables, cwd=cwd, timeout_s=max(rest, 0.1), limit=1 << 16, merge=True
            )
        except InputError as error:
            raise self._dockerfile.error(
                instruction.line, f"{instruction.name} could not be started: {error}"
            ) from error
        if ran.status == 0 and not ran.timed_out:
            return
        said = " ".join(ran.stdout.decode(errors="replace").split())[-_SAID:]
        what = "must end within the build's time" if ran.timed_out else f"must end with 0; got {ran.status}"
        raise self._dockerfile.error(instruction.line, f"{instruction.name} {what}{said and f' ({said})'}")

    async def _run(self, instruction: DockerInstruction) -> None:
        await self._must(instruction, list(instruction.words), instruction.stdin.encode())

    async def _copy(self, instruction: DockerInstruction) -> None:
        words = [self._filled(word) for word in instruction.words]
        target = below(self.workdir, words[-1])
        into = words[-1].endswith("/") or words[-1] in (".", "..")
        if not into:
            ran = await self._machine.run(["test", "-d", target], env=_OURS)
            into = ran.status == 0
        archive = await asyncio.to_thread(
            copied, self._folder, instruction, words[:-1], target, into, self._dockerfile
        )  # fmt: skip
        try:
            await unpack(self._machine, archive, "/")
        except SandboxFailure as failure:
            raise self._dockerfile.error(instruction.line, f"COPY could not be done: {failure}") from failure
