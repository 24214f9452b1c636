"""Interactive annotation: a policy proposes, people decide, on live sessions of any environment (UI-TARS-2, 2.4.2).

1. the policy, and the tasks of the environment, those that it failed first;
2. the page, with a key for each person, until Ctrl-C;
3. trajectories that others train on, preference pairs, and the command that trains on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import tars_jax.evaluation
from tars_jax.annotation.interactive.app import AnnotationApp
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.people import People
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.service import AnnotationService, failures_in
from tars_jax.annotation.interactive.storage import PREFERENCES, TRAJECTORIES
from tars_jax.annotation.interactive.tasks import TaskBoard
from tars_jax.data.recorded import recorded_trajectories
from tars_jax.environment import ActionSpace, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.launcher import LAUNCHER, from_here
from tars_jax.pipelines.annotating import AnnotatedPolicy, newest_weights, open_annotated
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.pipelines.serving import read_key
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser.service import browsers
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.running import serve

# People come and go, a policy gets better, and who asks when is a matter of the day.
RENEWED = (
    "annotators", "checkpoint", "model", "api_key_file", "candidates", "answer_seconds", "failures", "lease_seconds",
    "host", "port", "browser.pages", *(f"gate.{field.name}" for field in dataclasses.fields(AskingGate)),
    "gate.minutes",
    "gate.value_checkpoint",
)  # fmt: skip
FOLDER = "annotation"


def run(config: Any, run_directory: RunDirectory) -> None:
    address = dataclasses.replace(listen_address(config), stop_seconds=2.0)
    sandbox_of(config)  # also where it cannot be
    read_key(config.api_key_file)
    folder = run_directory.path / FOLDER
    people = People(folder / "keys", config.annotators)
    tasks = _tasks(config)
    steps = max(task.max_steps for task in tasks)
    failures = failures_in(recorded_trajectories(config.failures)) if config.failures else {}
    print(f"annotate: {len(tasks)} tasks of {config.environment}; opening the policy ...", flush=True)
    with open_annotated(config, run_directory.path, steps) as opened:
        print(f"annotate: {opened.about}", flush=True)
        pages = _Pages(config, tasks, opened)
        gate = from_section(AskingGate, config.gate)
        service = AnnotationService(
            folder,
            Setting(opened.writer, opened.agent, opened.policy, gate, opened.value),
            pages.make,
            TaskBoard(tasks, failures, config.lease_seconds),
            minutes=config.gate.minutes,
            refresh=opened.refresh,
        )
        style = (Path(tars_jax.evaluation.__file__).parent / "report.css").read_text(encoding="utf-8")
        app = AnnotationApp(service, people, style).app(pages.open)
        serve(app, address, lambda where: _announce(where, people), _say, plain=True)
    print(_closing(config, folder), flush=True)


def _tasks(config: Any) -> list[Task]:
    """Of those to train on: held-out ones are nobody's to learn from."""
    config = config.copy_and_resolve_references()
    with config.unlocked():
        config.mixture = {"weights": ()}
        config.demonstrations = {"player": ""}
    return EnvironmentTasks(config).practice(config.num_tasks)


class _Pages:
    """What environments need while the server runs: browsers, where one of them has pages."""

    def __init__(self, config: Any, tasks: list[Task], opened: AnnotatedPolicy) -> None:
        self._config, self._opened = config, opened
        self._kinds = {(task.environment, str(task.options)): task for task in tasks}.values()
        self._specs = {task.id: load_environment(task.environment, task.options) for task in tasks}
        self._resources = EnvironmentResources(sandbox=sandbox_of(config))

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Raises SandboxFailure where no browser starts."""
        async with contextlib.AsyncExitStack() as stack:
            if any(spec.needs_browser for spec in self._specs.values()):
                pages, sandbox = self._config.browser.pages, sandbox_of(self._config)
                browser = browsers_for(self._config, pages, self._opened.screen, self._opened.screen)
                manager = browsers(browser, sandbox)
                await manager.start()
                stack.push_async_callback(manager.close)
                self._resources = page_resources(manager, browser, pages, sandbox)
            if self._opened.prepare is not None:
                self._opened.prepare([await self._space(task) for task in self._kinds])
            yield

    async def _space(self, task: Task) -> ActionSpace:
        """Of the environment before its first episode, which has that of any."""
        environment = self.make(task)
        try:
            return await asyncio.to_thread(lambda: environment.action_space)
        finally:
            await environment.close()

    def make(self, task: Task) -> CheckedEnvironment:
        return self._specs[task.id].checked(self._resources)


def _announce(address: str, people: People) -> None:
    lines = [f"annotate: open {address}/#key={people.keys[people.all[0].name]}"]
    for person in people.all[1:]:
        lines.append(f"  {person.name} ({person.role}): {address}/#key={people.keys[person.name]}")
    print("\n".join([*lines, "Ctrl-C ends it; what is decided is kept."]), flush=True)


def _say(words: str) -> None:
    print(f"\nannotate: {words}", flush=True)


def _closing(config: Any, folder: Path) -> str:
    stored = folder / TRAJECTORIES
    count = len(list(stored.glob("*.trajectory")))
    if not count:
        where = shlex.quote(str(from_here(folder.parent)))
        again = f"{LAUNCHER} annotate --config={where}/config.json --config.run={where}"
        return f"annotate: no episode is finished yet; go on with:\n  {again}"
    pairs = folder / PREFERENCES
    counted = len(pairs.read_text(encoding="utf-8").splitlines()) if pairs.exists() else 0
    where = from_here(stored)
    flags = [f"--config.environment={config.environment}"]
    if config.environment_options not in ("", "{}"):
        flags.append(f"--config.environment_options={config.environment_options}")
    if config.checkpoint and Path(config.checkpoint).is_dir():
        flags.append(f"--config.model.preset={from_here(newest_weights(Path(config.checkpoint)))}")
    flags += [f"--config.demonstrations.datasets={where},", "--config.demonstrations.episodes=0"]
    command = " ".join([LAUNCHER, "train", *map(shlex.quote, flags)])
    return (
        f"annotate: {count} episode{'' if count == 1 else 's'} in {where}, {counted} preference pairs in "
        f"{from_here(pairs)}\ntrain on them: {command}\nin a flywheel:  --config.annotation.datasets={where},"
    )
