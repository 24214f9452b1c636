"""Any environment by its name: what is known of its tasks before they are played, and the tasks of each stage."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import ActionError
from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, environments_in, load_environment
from tars_jax.pipelines.task_provider import TRAINING, VALUE, EvenSets
from tars_jax.rollout.curriculum import FrontierCurriculum
from tars_jax.rollout.episode_runner import ATTEMPTS, page_resources
from tars_jax.rollout.players import PrivilegedEnvironment, reference_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.sandbox.browser.service import browsers
from tars_jax.tasks.sampling import level_seed
from tars_jax.trajectory import ContextWindow, Step, Trajectory

MOST_PROBES, PROBES = 6, 24  # episodes that are begun to see what tasks look like: of each kind, of all of them
FEWEST_PROBES = 2  # of each kind, of which there may be many; as many are shown by a reference player
PROBED_AT_A_TIME = 2
Options = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class TaskShape:
    """What is known of the tasks of an environment before one is played."""

    name: str
    max_steps: int
    instruction: str  # the longest that was seen
    screenshot: tuple[int, int] | None  # height and width; None: observations are text alone
    answer: int = 0  # tokens of the longest answer of a demonstration that was seen; 0: there are none
    space: ActionSpace | None = None  # None: every GUI action
    varies: bool = False  # instructions differ from task to task, so that there may be longer ones
    needs_browser: bool = True
    begun: tuple[Task, ...] = ()  # those that were seen, with what the agent is told


def options_of(config: Any) -> list[Options]:
    """`config.environment_options`: a JSON object, or a list of them, each a kind of task. Raises InputError."""
    text = config.environment_options or "{}"
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"config.environment_options must be JSON; got {text!r:.80}: {error}") from error
    kinds = given if isinstance(given, list) else [given]
    if not kinds or not all(isinstance(kind, dict) for kind in kinds):
        raise InputError(f"config.environment_options must be a JSON object or a list of some; got {text!r:.80}")
    return kinds


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of task: an environment, as tasks name it, and its options."""

    environment: str
    options: Options
    spec: EnvironmentSpec

    @property
    def record(self) -> dict[str, Any]:
        return kind_of({"environment": self.environment, "options": self.options})


def kind_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """What the tasks of a kind have in common."""
    return {name: task[name] for name in ("environment", "options")}


class EnvironmentTasks(EvenSets):
    """Tasks of `config.environment`, or of several: seeds are drawn, and no two sets share one.

    Each environment under each of the options is a kind of task: all alike for demonstrations and evaluation, and while
    PPO trains more often the less certain their outcome.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        self.kinds = [
            Kind(name, options, load_environment(name, options))
            for options in options_of(config)
            for name in environments_in(config.environment)
        ]

    @property
    def has_reference(self) -> bool:
        """Whether somebody can show how it is done."""
        own = bool(self._config.demonstrations.player)
        return own or all(kind.spec.reference is not None for kind in self.kinds)

    def training(self, state: Mapping[str, Any] | None) -> FrontierTasks:
        return FrontierTasks(self, self._config.seed, state)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return json.dumps(kind_of(task), sort_keys=True)

    def draw(self, split: str, stream: int, index: int, kind: Kind) -> Task:
        """Task `index` of a stream, of one kind."""
        spec, options = kind.spec, kind.options
        stream_seed = 10 * self._config.seed + stream
        task = Task(
            id=f"{spec.name}-{split}-{stream_seed}-{index}".replace("/", "."),
            environment=kind.environment,
            seed=level_seed(spec.name, split, index, stream_seed),
            options=options,
            max_steps=min(self._config.task.max_steps, spec.default_max_steps(options)),
            instruction=self._config.task.instruction,
        )
        verification, threshold = spec.verification(task), self._config.task.success_threshold
        if threshold:
            verification = dataclasses.replace(verification, threshold=float(threshold))
        return dataclasses.replace(task, verification=verification)

    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        return [self.draw(split, stream, index, self.kinds[index % len(self.kinds)]) for index in range(count)]


class FrontierTasks:
    """The training tasks of PPO."""

    def __init__(self, tasks: EnvironmentTasks, seed: int, state: Mapping[str, Any] | None) -> None:
        self._tasks, self._kinds = tasks, [kind.record for kind in tasks.kinds]
        self._curriculum = FrontierCurriculum(self._kinds, seed, state, kind_of=kind_of)

    def task(self, index: int) -> Task:
        kind = self._kinds.index(self._curriculum.options(index))
        return self._tasks.draw("train", TRAINING, index, self._tasks.kinds[kind])

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        self._curriculum.update(trajectories)
        return {"return": float(np.mean([trajectory.reward for trajectory in trajectories]))}

    def state(self) -> dict[str, Any]:
        return self._curriculum.state()


def probe(config: Any, writer: PromptWriter, kinds: Sequence[Sequence[Task]]) -> list[TaskShape]:
    """What the tasks of each kind look like: their episodes are begun, and where there is a reference player it plays
    some of them.

    Raises InputError where one cannot be begun.
    """
    return asyncio.run(_probed(config, writer, kinds))


def probes(config: Any) -> list[list[Task]]:
    """Tasks of each kind to `probe`: of a benchmark's many kinds fewer each."""
    tasks = EnvironmentTasks(config)
    count = max(FEWEST_PROBES, min(MOST_PROBES, PROBES // len(tasks.kinds)))
    return [[tasks.draw("train", VALUE, index, kind) for index in range(count)] for kind in tasks.kinds]


async def _probed(config: Any, writer: PromptWriter, kinds: Sequence[Sequence[Task]]) -> list[TaskShape]:
    specs = [load_environment(tasks[0].environment, tasks[0].options) for tasks in kinds]
    places, demonstrator = asyncio.Semaphore(PROBED_AT_A_TIME), _Demonstrator(writer, config.agent.grammar)

    async def look(spec: EnvironmentSpec, tasks: Sequence[Task], resources: EnvironmentResources) -> TaskShape:
        async with places:
            return await _look(spec, tasks, spec.checked(resources), demonstrator)

    async with contextlib.AsyncExitStack() as stack:
        resources = EnvironmentResources()
        if any(spec.needs_browser for spec in specs):
            settings = browser_config(config, 1, PROBED_AT_A_TIME)
            browser = browsers(settings)
            stack.push_async_callback(browser.close)
            await browser.start()
            resources = page_resources(browser, settings, PROBED_AT_A_TIME)
        looking = [look(spec, tasks, resources) for spec, tasks in zip(specs, kinds, strict=True)]
        return list(await asyncio.gather(*looking))


@dataclasses.dataclass(frozen=True)
class _Demonstrator:
    """How reference players write."""

    writer: PromptWriter
    grammar: str

    async def longest_answer(self, environment: CheckedEnvironment, first: Observation, task: Task) -> int:
        """Tokens, of an episode that has begun."""
        privileged = PrivilegedEnvironment(environment, first, environment.action_space)
        async with reference_player(self.writer, self.grammar, 1.0)(privileged, task) as player:
            played = await play_episode(
                privileged,
                first,
                player,
                self.writer,
                AgentConfig(self.grammar),
                id=task.id,
                task=task,
                instruction="",
                space=environment.action_space,
            )
        return max(longest_answer(window) for window in played.windows)


async def _look(
    spec: EnvironmentSpec, tasks: Sequence[Task], environment: CheckedEnvironment, demonstrator: _Demonstrator
) -> TaskShape:
    begun: list[tuple[Observation, Task]] = []
    answers = [0]
    try:
        for number, task in enumerate(tasks):
            observation = await _first(environment, task)
            told = environment.instruction or task.instruction
            begun.append((observation, dataclasses.replace(task, instruction=told)))
            if spec.reference is not None and number < FEWEST_PROBES:
                answers.append(await demonstrator.longest_answer(environment, observation, task))
        space = environment.action_space
    except ActionError as error:
        raise InputError(f"reference player of {spec.name} must call what can be called; {error}") from error
    except EnvironmentFailure as failure:
        raise InputError(f"{spec.name} must begin an episode before it is trained on; got {failure}") from failure
    finally:
        await environment.close()
    sizes = [pixels.shape[:2] for observation, _ in begun if (pixels := observation.pixels) is not None]
    instructions = {task.instruction for _, task in begun}
    return TaskShape(
        name=spec.name,
        max_steps=tasks[0].max_steps,
        instruction=max(instructions, key=len),
        screenshot=max(sizes, key=lambda size: size[0] * size[1]) if sizes else None,
        answer=max(answers),
        space=space,
        varies=len(instructions) > 1,
        needs_browser=spec.needs_browser,
        begun=tuple(task for _, task in begun),
    )


async def _first(environment: CheckedEnvironment, task: Task) -> Observation:
    """Retried where the environment fails, as in training."""
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(EnvironmentFailure):
            return await environment.reset(task)
    return await environment.reset(task)


def longest_answer(window: ContextWindow) -> int:
    """Tokens of the longest answer in a window."""
    return int(np.bincount(window.steps[window.action_mask]).max(initial=0))


def browser_config(config: Any, num_browsers: int, pages_per_browser: int) -> BrowserConfig:
    """Browsers whose pages are `config.browser.size` squared, where their environment asks for no size of its own."""
    side = config.browser.size
    return BrowserConfig(browsers=num_browsers, pages_per_browser=pages_per_browser, width=side, height=side)
