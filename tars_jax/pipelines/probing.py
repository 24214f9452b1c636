"""Probing: the shape of an environment's tasks, found out by playing a little, before anything is compiled."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import ActionError
from tars_jax.agent.grammar_plain import PLAIN, require_text_call
from tars_jax.agent.loop import AgentConfig, BegunEpisode, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment
from tars_jax.pipelines.environments import EnvironmentTasks, TaskKind
from tars_jax.pipelines.harness import Asked, looked_at
from tars_jax.pipelines.sections import browser_config, sandbox_of
from tars_jax.pipelines.task_provider import VALUE
from tars_jax.rollout.episode_runner import ATTEMPTS, page_resources
from tars_jax.rollout.players import Player, PrivilegedEnvironment, demonstrating_player, random_player
from tars_jax.sandbox.browser.service import browsers
from tars_jax.sandbox.failures import LASTING
from tars_jax.training.progress import working
from tars_jax.trajectory import ContextWindow

MOST_PROBES, PROBES = 6, 24  # episodes that are begun to see what tasks look like: of each kind, of all of them
# Of each kind, of which there may be many; as many are played, and all that tell how long windows are.
FEWEST_PROBES = 2
PROBED_AT_A_TIME = 2
KINDS_BY_CHANCE, STEPS_BY_CHANCE = 6, 200  # that chance plays at most: kinds of tasks, steps of an episode
EPISODES_BY_CHANCE, SECONDS_BY_CHANCE = 100, 5.0  # at most, where the first ones earn nothing: how many do?


@dataclasses.dataclass(frozen=True)
class ProbedEpisodes:
    """Measurements of episodes that chance or a demonstrator has played."""

    steps: float = 1.0  # of an episode, on average
    text: int = 0  # tokens of the longest text of an observation
    shortest: int = 0  # and of the shortest
    answer: tuple[int, ...] = ()  # the tokens of the longest answer
    reward: float = 0.0  # the largest of a step
    rewarded: float = 0.0  # the share of steps that earned or cost something, of the episode that has most
    size: float = 0.0  # the largest return of an episode, whatever its sign
    episodes: int = 1
    earned: int = 0  # of these episodes, how many earned or cost something


@dataclasses.dataclass(frozen=True)
class TaskShape:
    """Facts about the tasks of an environment before one is played."""

    name: str
    max_steps: int
    instruction: str  # the longest that was seen
    screenshot: tuple[int, int] | None  # height and width; None: observations are text alone
    answer: int = 0  # tokens of the longest answer of a demonstration that was seen; 0: there are none
    space: ActionSpace | None = None  # None: every GUI action
    varies: bool = False  # instructions differ from task to task, so that there may be longer ones
    needs_browser: bool = True
    begun: tuple[Task, ...] = ()  # those that were seen, with what the agent is told
    seen: ProbedEpisodes = ProbedEpisodes()
    shown: ProbedEpisodes | None = None  # episodes of the player who shows how; None: there is none
    says_max_steps: bool = True  # false: `max_steps` is ours, as the environment has none
    asked: Asked | None = None  # of a harness: what its program asks; None: an agent loop of ours plays


def callable_in(shapes: Sequence[TaskShape]) -> ActionSpace | None:
    """Action space of all calls in some of these tasks; None: every GUI action. Raises InputError as
    `ActionSpace.joined`."""
    spaces = [shape.space for shape in shapes if shape.space is not None]
    return ActionSpace.joined(spaces) if len(spaces) == len(shapes) else None


def probe(config: Any, writer: PromptWriter, kinds: Sequence[Sequence[Task]], chance: bool = False) -> list[TaskShape]:
    """Finds the shape of the tasks of each kind: their episodes are begun, and where there is a reference player it
    plays some of them; with `chance`, a random one does, too.

    Raises InputError where one cannot be begun.
    """
    with working("probe"):
        return asyncio.run(_probed(config, writer, kinds, chance))


def probes(config: Any) -> list[list[Task]]:
    """Tasks of each kind to `probe`: of a benchmark's many kinds fewer each."""
    tasks = EnvironmentTasks(config)
    count = max(FEWEST_PROBES, min(MOST_PROBES, PROBES // len(tasks.kinds)))

    def of_kind(kind: TaskKind) -> list[Task]:
        telling = [] if kind.spec.levels is None else kind.spec.levels.telling()
        longest = [tasks.level(kind, f"{kind.spec.name}-longest-{seed}", seed) for seed in telling]
        return [*longest, *(tasks.draw("train", VALUE, index, kind) for index in range(count - len(longest)))]

    return [of_kind(kind) for kind in tasks.kinds]


async def _probed(config: Any, writer: PromptWriter, kinds: Sequence[Sequence[Task]], chance: bool) -> list[TaskShape]:
    specs = [load_environment(tasks[0].environment, tasks[0].options) for tasks in kinds]
    shows = config.get("demonstrations") or {}
    own_player = shows.get("player", "") if shows.get("episodes") != 0 else ""
    places, trial = asyncio.Semaphore(PROBED_AT_A_TIME), _Trial(writer, config.agent.grammar, own_player)

    async def look(
        spec: EnvironmentSpec, tasks: Sequence[Task], resources: EnvironmentResources, chance: bool
    ) -> TaskShape:
        async with places:
            if spec.harness is not None:
                return await _look_at_program(spec, tasks, config)
            return await _look(spec, tasks, spec.checked(resources), trial, chance)

    async with contextlib.AsyncExitStack() as stack:
        sandbox = sandbox_of(config)
        resources = EnvironmentResources(sandbox=sandbox)
        if any(spec.needs_browser for spec in specs):
            settings = browser_config(config, 1, PROBED_AT_A_TIME)
            browser = browsers(settings, sandbox)
            stack.push_async_callback(browser.close)
            await browser.start()
            resources = page_resources(browser, settings, PROBED_AT_A_TIME, sandbox)
        apart = -(-len(kinds) // KINDS_BY_CHANCE)
        looking = [
            look(spec, tasks, resources, chance and number % apart == 0)
            for number, (spec, tasks) in enumerate(zip(specs, kinds, strict=True))
        ]
        return list(await asyncio.gather(*looking))


@dataclasses.dataclass
class _Witness:
    """An environment, and what was seen in it."""

    environment: BegunEpisode
    seen: list[Transition] = dataclasses.field(default_factory=list)

    async def step(self, actions: Sequence[Any]) -> Transition:
        transition = await self.environment.step(actions)
        self.seen.append(transition)
        return transition


@dataclasses.dataclass(frozen=True)
class _Trial:
    """Plays scripted players' episodes and takes notes of them."""

    writer: PromptWriter
    grammar: str
    own_player: str  # the name of who shows how; empty: the environment's own player, where it has one

    async def played(
        self, environment: CheckedEnvironment, first: Observation, task: Task, player: Player
    ) -> tuple[tuple[int, ...], list[Transition]]:
        """The tokens of the longest answer, and what followed on each. InputError for a space that cannot be called."""
        if self.grammar == PLAIN:
            require_text_call(environment.action_space)
        witness = _Witness(environment)
        privileged = PrivilegedEnvironment(witness, first, environment.action_space)
        async with player(privileged, task) as session:
            played = await play_episode(
                privileged,
                first,
                session,
                self.writer,
                AgentConfig(self.grammar),
                id=task.id,
                task=task,
                instruction="",
                space=environment.action_space,
            )
        return max(map(longest_answer, played.windows), key=len), witness.seen

    async def by_demonstrator(self, environment: CheckedEnvironment, first: Observation, task: Task) -> ProbedEpisodes:
        """Measurements of an episode that has begun, played by the demonstrator."""
        player = demonstrating_player(self.own_player, self.writer, self.grammar, 1.0)
        return self.seen(first, *await self.played(environment, first, task, player))

    async def by_chance(self, environment: CheckedEnvironment, task: Task) -> ProbedEpisodes:
        """Measurements of a new episode, played by chance; of its beginning alone, where a random call breaks the
        environment."""
        first = await _first(environment, task)
        short = dataclasses.replace(task, max_steps=min(task.max_steps, STEPS_BY_CHANCE))
        answer, followed = tuple[int, ...](), list[Transition]()
        with contextlib.suppress(EnvironmentFailure, ActionError):
            player = random_player(self.writer, self.grammar)
            answer, followed = await self.played(environment, first, short, player)
        return self.seen(first, answer, followed)

    def seen(self, first: Observation, answer: tuple[int, ...], followed: Sequence[Transition]) -> ProbedEpisodes:
        """Measurements of one episode: its first observation, its longest answer, and what followed on each."""
        rewards = [transition.reward for transition in followed] or [0.0]
        lengths = [self.writer.length(text) for text in (first.text, *(each.observation.text for each in followed))]
        return ProbedEpisodes(
            steps=max(1, len(followed)),
            text=max(lengths),
            shortest=min(lengths),
            answer=answer,
            reward=max(rewards),
            rewarded=sum(reward != 0 for reward in rewards) / len(rewards),
            size=abs(sum(rewards)),
            earned=int(any(rewards)),
        )


async def _look(
    spec: EnvironmentSpec, tasks: Sequence[Task], environment: CheckedEnvironment, trial: _Trial, chance: bool
) -> TaskShape:
    begun: list[tuple[Observation, Task]] = []
    shown, seen = list[ProbedEpisodes](), list[ProbedEpisodes]()
    played = FEWEST_PROBES if spec.levels is None else max(FEWEST_PROBES, len(spec.levels.telling()))
    try:
        for number, task in enumerate(tasks):
            observation = await _first(environment, task)
            told = environment.instruction or task.instruction
            begun.append((observation, dataclasses.replace(task, instruction=told)))
            if (spec.reference is not None or trial.own_player) and number < played:
                shown.append(await trial.by_demonstrator(environment, observation, task))
            if chance and number < played:
                seen.append(await trial.by_chance(environment, task))
        quick = spec.levels is None and not spec.needs_browser
        if quick and seen and not any(each.earned for each in seen):
            until = time.monotonic() + SECONDS_BY_CHANCE
            while len(seen) < EPISODES_BY_CHANCE and time.monotonic() < until:
                seed = tasks[0].seed + 2 * len(seen)  # even ones train
                seen.append(await trial.by_chance(environment, dataclasses.replace(tasks[0], seed=seed)))
        space = environment.action_space
    except ActionError as error:
        player = f"player {trial.own_player}" if trial.own_player else "reference player"
        raise InputError(f"{player} of {spec.name} must call what can be called; {error}") from error
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
        answer=max((len(each.answer) for each in shown), default=0),
        shown=_together(shown) if shown else None,
        space=space,
        varies=len(instructions) > 1,
        needs_browser=spec.needs_browser,
        says_max_steps=spec.says_max_steps,
        begun=tuple(task for _, task in begun),
        seen=_together(seen)
        if seen
        else ProbedEpisodes(text=max(trial.writer.length(first.text) for first, _ in begun)),
    )


async def _look_at_program(spec: EnvironmentSpec, tasks: Sequence[Task], config: Any) -> TaskShape:
    """Shape of a harness's tasks: its program plays, and is answered by the demonstrator, or with nothing said."""
    looked = await looked_at(spec, tasks[:FEWEST_PROBES], config)
    seen = [
        ProbedEpisodes(
            each.answers, each.first, each.first, each.answer, each.reward, 1 / each.answers, abs(each.reward)
        )
        for each in looked
    ]
    asked = Asked(
        tokens=max(each.tokens for each in looked),
        first=max(each.first for each in looked),
        images=max(each.images for each in looked),
        turns=max(each.turns for each in looked),
    )
    return TaskShape(
        name=spec.name,
        max_steps=tasks[0].max_steps,
        instruction="",
        screenshot=None,
        answer=max(len(each.answer) for each in looked) if spec.answered_by else 0,
        varies=True,
        needs_browser=False,
        begun=tuple(tasks),
        seen=_together(seen),
        shown=_together(seen) if spec.answered_by else None,
        asked=asked,
    )


def _together(seen: Sequence[ProbedEpisodes]) -> ProbedEpisodes:
    return ProbedEpisodes(
        steps=sum(each.steps for each in seen) / len(seen),
        text=max(each.text for each in seen),
        shortest=min(each.shortest for each in seen),
        answer=max((each.answer for each in seen), key=len),
        reward=max(each.reward for each in seen),
        rewarded=max(each.rewarded for each in seen),
        size=max(each.size for each in seen),
        episodes=sum(each.episodes for each in seen),
        earned=sum(each.earned for each in seen),
    )


async def _first(environment: CheckedEnvironment, task: Task) -> Observation:
    """Retried where the environment fails, as in training, unless it has waited for what it lacks."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await environment.reset(task)
        except EnvironmentFailure as failure:
            if failure.kind in LASTING:
                raise
    return await environment.reset(task)


def longest_answer(window: ContextWindow) -> tuple[int, ...]:
    """The tokens of the longest answer in a window."""
    steps, tokens = window.steps[window.action_mask], window.tokens[window.action_mask]
    longest = np.bincount(steps, minlength=1).argmax()
    return tuple(tokens[steps == longest].tolist())
