"""Computers in which a repository stands at its commit, prepared once: the agent's, and a fresh one for its tests."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.harbor_computer import Premises
from tars_jax.envs.benchmarks.swe_bench.repository import at_commit, only_git
from tars_jax.envs.benchmarks.swe_bench.testing import TESTBED
from tars_jax.envs.shared_computers import NearComputers
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.home import unpack
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.benchmarks.swe_bench import CONDA, environment_of, repository

PROCESSES, DISK_MB = 2048, 10240
LARGEST_PATCH, LARGEST_NEW = 8 << 20, 1 << 20  # bytes in all, and of one new file
_names = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Prepared:
    snapshot: Snapshot
    variables: Mapping[str, str]
    git: Path  # an archive of `.git` as it was


class Preparing:
    """Prepares the computers of one place."""

    def __init__(self, premises: Premises) -> None:
        self._premises, self._computers = premises, premises.computers
        self._folder = Path(tempfile.mkdtemp(prefix="tars_jax-swe_bench-"))
        weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._made: dict[tuple[str, str, str], asyncio.Task[Prepared]] = {}

    async def made(self, folder: Path, record: Mapping[str, Any], room: ContainerSpec) -> Prepared:
        """`folder`: where the data lie. Raises EnvironmentFailure, SandboxFailure; who asks again begins again."""
        key = (str(folder), f"{record['repo']} {record.get('version')}", record["base_commit"])
        task = self._made.get(key)
        if task is None:
            task = self._made[key] = asyncio.create_task(self._make(folder, record, room))
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._made.get(key) is task:
                del self._made[key]
            raise

    async def open(self, prepared: Prepared, room: ContainerSpec) -> Computer:
        computer = await self._computers.open(room, prepared.snapshot)
        computer.machine.variables = prepared.variables
        return computer

    async def patch_of(self, computer: Computer, prepared: Prepared, commit: str) -> tuple[str, str]:
        """Patch of an agent's changes to the working tree of its computer; and why it is empty, or what is left out.

        It is told in a copy of that computer in which the system's programs are as they were. Raises SandboxFailure.
        """
        snapshot = await computer.snapshot(f"swe_bench patch {os.getpid()} {next(_names)}")
        try:
            restored = dataclasses.replace(computer.guest.spec, user=None, system_restored=True)
            try:
                copy = await self._computers.open(restored, snapshot)
            except (InputError, SandboxFailure):
                await (await self._computers.open(restored)).close()  # else the machine is at fault
                return "", "no computer begins with what the agent has left"
            try:
                return await _patch(copy, prepared, commit)
            except (InputError, OSError) as error:  # no /testbed, no folder to write to
                return "", f"its patch cannot be told: {error}"
            finally:
                await copy.close()
        finally:
            await self._computers.isolation().remove_snapshot(snapshot)

    async def _make(self, folder: Path, record: Mapping[str, Any], room: ContainerSpec) -> Prepared:
        archive = await asyncio.to_thread(at_commit, repository(folder, record["repo"]), record["base_commit"])
        number = next(_names)
        git = self._folder / f"{number}.tar"
        await asyncio.to_thread(git.write_bytes, only_git(archive))
        context, variables = environment_of(folder, record), {}
        if context is None:
            computer = await self._computers.open(room)
        else:
            images = self._premises.images
            try:
                image = await images.built(context, spec=room)
            except InputError as error:
                raise EnvironmentFailure("environment", str(error)) from error
            variables = dict(image.environment)
            computer = await images.open(image, room)
        try:
            await computer.machine.run(["mkdir", "-p", TESTBED])
            await unpack(computer.machine, archive, TESTBED)
            snapshot = await computer.snapshot(f"swe_bench {os.getpid()} {number}")
        finally:
            await computer.close()
        return Prepared(snapshot, variables, git)


async def preparing(near: NearComputers) -> Preparing:
    """Preparation for these computers, shared by all that use them."""
    name, computers = "swe_bench", await near.entered()
    if name not in near.made:
        near.made[name] = Preparing(Premises(computers, near.made))
    found: Preparing = near.made[name]
    return found


def container_spec(memory_mb: int) -> ContainerSpec:
    binds = {CONDA: Path(CONDA)} if os.path.isdir(CONDA) else {}
    return ContainerSpec(
        memory_mib=memory_mb, processes=PROCESSES, disk_mib=DISK_MB, shared_memory_mib=256, root=True, binds=binds
    )  # fmt: skip


_DIFF = """
git add -A || exit 3
git diff --cached --name-only --diff-filter=A -z "$1" | while IFS= read -r -d '' file; do
    [ "$(stat -c %s -- "$file" 2>/dev/null || echo 0)" -le "$2" ] || { git rm -q --cached -- "$file"; echo "$file"; }
done
git diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv --no-renames "$1" > "$3"
"""


async def _patch(computer: Computer, prepared: Prepared, commit: str) -> tuple[str, str]:
    """Changes of the working tree, new files included, and what is left out of them, in words. Its `.git` plays no
    part. Raises SandboxFailure, InputError."""
    machine = computer.machine
    place = f"/tmp/.patch-{os.urandom(6).hex()}"
    variables = {
        "GIT_DIR": f"{place}/.git", "GIT_WORK_TREE": TESTBED, "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_ATTR_NOSYSTEM": "1",
    }  # fmt: skip
    ran = await machine.run(["mkdir", "-p", place])
    await unpack(machine, await asyncio.to_thread(prepared.git.read_bytes), place)
    argv = ["bash", "-c", _DIFF, "diff", commit, str(LARGEST_NEW), f"{place}/patch"]
    ran = await machine.run(argv, env=variables, cwd=TESTBED, timeout_s=600)
    if ran.status != 0:
        return "", f"git could not tell its patch: {ran.stderr.decode(errors='replace').strip()[-200:]}"
    data = computer.container.read(f"{place}/patch", LARGEST_PATCH + 1)
    if len(data) > LARGEST_PATCH:
        return "", f"its patch has more than {LARGEST_PATCH >> 20} MiB"
    left_out = ran.stdout.decode(errors="replace").split("\n")[:-1]
    why = f"new files above {LARGEST_NEW >> 20} MiB are not in its patch: {', '.join(left_out)[:300]}"
    return data.decode(errors="replace"), why if left_out else ""
