"""Computers of this machine for Harbor's own command, in place of containers of Docker.

    harbor run -p TASKS -a oracle -e tars_jax.sandbox.compat.harbor.environment:HarborComputer

Imported by Harbor (0.26, Python 3.12 or later) in its own Python, in which the standard library is all else that this
needs. How, and what is not there: docs/benchmarks/harbor.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.config import ResourceMode
from harbor.utils.path_filter import filter_paths_by_patterns

from tars_jax import InputError
from tars_jax.sandbox.compat.harbor.asked import ROOT, ComputerOptions, allowed_entries, is_excluded, users, why_not
from tars_jax.sandbox.compat.harbor.commands import run_command
from tars_jax.sandbox.compat.harbor.owner import leave, shared_images
from tars_jax.sandbox.compat.harbor.reach import Reach
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.images import Images, checked
from tars_jax.sandbox.computer.launching import GONE
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.transfers import list_files, put_file, put_folder, take_file, take_folder
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.network import Hosts

MEMORY_MIB, DISK_MIB = 2048, 10240  # where a task says nothing
BUILD_S = 86_400.0  # Harbor bounds a start by itself


class HarborComputer(BaseEnvironment):
    """A trial's computer: a container of this machine's, made by environment/Dockerfile.

    Failures of the machine are SandboxFailure, what a task asks for and cannot have is InputError: Harbor writes both
    down as the trial's exception, and no reward.
    """

    options_model = ComputerOptions
    options: ComputerOptions

    _computer: Computer | None = None
    _reach: Reach | None = None
    _workdir: str = "/"

    @staticmethod
    def type() -> str:
        return "tars-computer"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Without network=policy there is no network in any phase: what a policy allows is not there."""
        allows = self.options.network == "policy"
        return EnvironmentCapabilities(
            disable_internet=True, dynamic_network_policy=True, network_allowlist=allows,
            network_allowlist_hostnames=allows, network_allowlist_wildcard_hostnames=allows,
            network_allowlist_ipv4_addresses=allows, network_allowlist_ipv6_addresses=allows,
        )  # fmt: skip

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True, fractional_cpus=True)

    @classmethod
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        """Opens the isolation once. Raises SystemExit with the reason where none works here."""
        super().preflight(kwargs)
        if why := why_not():
            raise SystemExit(why)

    # What Harbor calls these for while it makes a trial would end all other trials, too. `start` ends this one alone.

    def _validate_definition(self) -> None:
        """Does nothing: `start` tells what cannot be used."""

    def _validate_gpu_support(self) -> None:
        """Does nothing: `start` tells what cannot be used."""

    def _validate_tpu_support(self) -> None:
        """Does nothing: `start` tells what cannot be used."""

    def _validate_windows_support(self) -> None:
        """Does nothing: `start` tells what cannot be used."""

    def validate_network_policy_support(self, network_policy: NetworkPolicy | None = None) -> None:
        """Before the start told by `start`."""
        if self._computer is not None:
            super().validate_network_policy_support(network_policy)

    def _check(self) -> None:
        """Raises InputError for what a task asks for and cannot have here, and Harbor's own errors."""
        super()._validate_gpu_support()
        super()._validate_tpu_support()
        super()._validate_windows_support()
        for policy in (self.network_policy, *self._phase_network_policies):
            super().validate_network_policy_support(policy)
            Hosts(allowed_entries(policy), public=True)
        if (compose := self.environment_dir / "docker-compose.yaml").exists():
            raise InputError(f"environment must be one Dockerfile, as a computer is one container; got {compose}")
        if not (self.environment_dir / "Dockerfile").exists():
            image = self.task_env_config.docker_image
            raise InputError(
                f"{self.environment_dir}/Dockerfile must be there, as images are built here and not fetched; got "
                f"{f'docker_image = {image!r}' if image else 'nothing'}"
            )
        checked(self.environment_dir, self.options.bases == "near")
        if others := users(self.environment_dir.parent / "task.toml") - set(ROOT):
            raise InputError(f"user must be root, as all programs of a computer are; got {', '.join(map(str, others))}")

    def _binds(self) -> dict[str, Path]:
        """Mounts that a user has asked for, by their place inside."""
        binds = {}
        for mount in self._host_mounts:
            if mount["type"] != "bind" or not mount.get("read_only"):
                raise InputError(f"mounts of a computer must be binds that are read_only; got {dict(mount)}")
            binds[mount["target"]] = Path(mount["source"])
        return binds

    def _spec(self) -> ContainerSpec:
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT)
        memory = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT)
        return ContainerSpec(
            memory_mib=memory or MEMORY_MIB, processes=self.options.processes,
            disk_mib=self._effective_storage_mb or DISK_MIB, cpus=float(cpus) if cpus else None, binds=self._binds(),
        )  # fmt: skip

    async def start(self, force_build: bool) -> None:
        """Builds the image, once in a run of Harbor however often it is asked for, and opens a computer on it.

        Raises InputError, SandboxFailure.
        """
        self._check()
        images = await self._images()
        try:
            await self._open(images)
        except SandboxFailure as failure:  # of all computers: those that come find others
            if GONE not in str(failure):
                raise
            leave(images)
            await self._open(await self._images())
        self._reach = Reach(self._started().machine)
        await self._reach.show(self.options.ports)
        await self._set_hosts(self.network_policy)
        await self.ensure_dirs(self._mount_targets(writable_only=True))

    async def _images(self) -> Images:
        return await shared_images(network=self.options.network == "policy", near=self.options.bases == "near")

    async def _open(self, images: Images) -> None:
        spec = self._spec()
        image = await images.built(self.environment_dir, spec=spec, timeout_s=BUILD_S)
        self._computer = await images.open(image, spec)
        self._workdir = self.task_env_config.workdir or image.workdir

    async def stop(self, delete: bool) -> None:
        """Ends all that runs there. Nothing can be kept of a computer, so `delete` has no say."""
        computer, self._computer = self._computer, None
        reach, self._reach = self._reach, None
        try:
            if reach is not None:
                await reach.close()
        finally:
            if computer is not None:
                if not delete:
                    self.logger.warning("A computer ends with its trial: --no-delete keeps nothing of it.")
                await computer.close()

    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        await self._set_hosts(network_policy)

    async def _set_hosts(self, policy: NetworkPolicy) -> None:
        """What programs reach from now on; what they have open ends."""
        if self.options.network == "none":
            if policy.network_mode != NetworkMode.NO_NETWORK:
                self.logger.debug(  # of most tasks, so it is for the trial's own log
                    f"network_mode is {policy.network_mode.value}, but this computer has no network: what downloads "
                    "will fail. --ek network=policy keeps to the task's policy."
                )
            return
        assert self._reach is not None
        await self._reach.allow(allowed_entries(policy))

    async def exec(
        self, command: str, cwd: str | None = None, env: Mapping[str, str] | None = None,
        timeout_sec: int | None = None, user: str | int | None = None,
    ) -> ExecResult:  # fmt: skip
        """Runs a line of bash. Raises InputError for another user than root, RuntimeError where its time is over."""
        if (who := self._resolve_user(user)) not in ROOT:
            raise InputError(f"user must be root, as all programs of a computer are; got {who!r}")
        computer = self._started()
        variables = {**(await self._reach.variables() if self._reach else {}), **(self._merge_env(env) or {})}
        done = await run_command(
            computer, command, cwd=cwd or self._workdir, env=variables, timeout_s=timeout_sec
        )  # fmt: skip
        if done.timed_out:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if emit := self._output_callback():
            for text, stream in ((stdout, "stdout"), (stderr, "stderr")):
                if text:
                    await emit(text, stream)
        status = done.status if done.status >= 0 else 128 - done.status  # as shells tell a signal
        return ExecResult(stdout=stdout or None, stderr=stderr or None, return_code=status)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await put_file(self._started(), Path(source_path), str(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await put_folder(self._started(), Path(source_dir), str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await take_file(self._started(), str(source_path), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await take_folder(self._started(), str(source_dir), Path(target_dir))

    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:  # fmt: skip
        await take_folder(self._started(), source_dir, Path(target_dir), lambda path: not is_excluded(path, exclude))

    async def download_dir_filtered(
        self, *, source_dir: str, target_dir: Path | str, include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None, protect: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        paths = await list_files(self._started(), source_dir)
        wanted = {*filter_paths_by_patterns(paths, include=include, exclude=exclude), *(protect or ())}
        await take_folder(self._started(), source_dir, Path(target_dir), wanted.__contains__)

    def _started(self) -> Computer:
        if self._computer is None:
            raise RuntimeError("a computer must be started before it is used; got none, or one that was stopped")
        return self._computer
