"""What the stages of an experiment share: the model, the engine, the browser and the run directory."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import jax

from experiments.fleet import open_fleet, open_policy
from experiments.sections import (
    agent_config,
    chat_format,
    configured,
    engine_config,
    num_hosts,
    rewards_of,
    well_formed,
)
from experiments.starts import starting_point
from tars_jax import InputError
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference import Engine
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.players import Player, Sessions, engine_player
from tars_jax.rollout.share import WHOLE, Share
from tars_jax.rollout.stream_metrics import EngineCounts
from tars_jax.rollout.timeline import Part, Timeline
from tars_jax.rollout.workers import Rollouts
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.task import Task
from tars_jax.training import processes
from tars_jax.training.handover import to_own_devices
from tars_jax.training.metrics import MetricsWriter, Progress
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.run_directory import RunDirectory
from tars_jax.training.state import fresh_parameters
from tars_jax.trajectory import Trajectory


class Workbench:
    """What a config says of the model, its prompts and its rows; nothing is opened."""

    def __init__(self, config: Any) -> None:
        self.config = config
        model, tokenizer, self.parent = starting_point(config.model.preset)
        self.model, self.tokenizer = configured(model, config.model), tokenizer
        self.mesh = make_mesh(config.mesh.to_dict())
        rows, columns = self.model.vision.token_grid(config.browser.size, config.browser.size)
        self.writer = PromptWriter(tokenizer, rows * columns, config.agent.show_budget, chat_format(tokenizer))
        self.packer = Packer(self.model, PackingConfig(**config.packing.to_dict()), image=tokenizer.image)
        self.rewards = rewards_of(config.reward, config.engine.max_new_tokens)

    @functools.cached_property
    def parameters(self) -> Parameters:
        """Weights of the right shapes and shardings: what is loaded from files is laid out like them."""
        return fresh_parameters(self.model, jax.random.key(self.config.seed), self.mesh)


class Policy(Protocol):
    """Samples with the weights that it was handed last: an engine here, or one in an actor."""

    @property
    def version(self) -> int: ...

    @property
    def sessions(self) -> Sessions: ...

    def set_weights(self, parameters: Parameters, version: int) -> None: ...

    def statistics(self) -> EngineCounts: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...


class Lab(Workbench):
    """Everything that is opened once and closed at the end, whatever happens. Use as a context manager.

    `plays`: it opens browsers; a stage that learns from recorded trajectories alone needs none.
    """

    def __init__(self, config: Any, run: RunDirectory, *, plays: bool = True) -> None:
        super().__init__(config)
        self.run, self.path, self._plays = run, run.path, plays
        self.share = Share(processes.number(), processes.count())
        tokenizer, agent, size = self.tokenizer, config.agent, config.browser.size
        constraint = agent.grammar if agent.constrained else None
        self._timeline = Timeline(run.own)
        self.activity = Activity(self._timeline)
        engine = engine_config(config, constraint)
        constraints = well_formed([constraint] if constraint else [], tokenizer, self.model.vocabulary)
        pages = -(-2 * config.browser.pages // config.browser.browsers)  # half of them between two episodes
        browser = BrowserConfig(browsers=config.browser.browsers, pages_per_browser=pages, width=size, height=size)
        loop = agent_config(agent, engine)
        self.rollouts: Rollouts | Fleet
        if num_hosts(config):
            if self.share != WHOLE:
                raise InputError(f"fleet.hosts is {num_hosts(config)}, a run of several processes takes 0: each plays.")
            self.policy: Policy = open_policy(config, self.model, engine, tokenizer, constraints)
            self.rollouts = open_fleet(config, browser, self.writer, loop, self.activity)
        else:
            self.policy = self.engine = Engine(
                self.model,
                to_own_devices(self.parameters),
                engine,
                constraints=constraints,
                image=tokenizer.image,
                stop=tokenizer.end,
                seed=config.seed,
                span=functools.partial(self.activity.span, Part.ENGINE, 0),
            )
            self.rollouts = Rollouts(browser, self.writer, loop, workers=config.browser.pages, activity=self.activity)
        self.metrics = MetricsWriter(run.own)
        self._open = contextlib.ExitStack()
        self._last_record = time.monotonic()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.set_mesh(self.mesh))
            stack.enter_context(self.metrics)
            stack.enter_context(self._timeline)
            if self._plays:
                stack.enter_context(self.rollouts)
            stack.enter_context(self.policy)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def policy_player(self) -> Player:
        """Plays by the engine's weights of the moment."""
        return engine_player(self.policy.sessions, self.config.seed)

    def hand_over(self, parameters: Parameters, version: int) -> None:
        """Weights to what samples; on the devices of each process."""
        self.policy.set_weights(to_own_devices(parameters), version)

    def play(self, stage: str, tasks: Sequence[Task], player: Player, samples: int = 1) -> list[Trajectory]:
        """Plays each task so often into the run directory, with a progress line; what was played is read back.

        Of several processes each plays its share, and gets what all have played. Raises InputError where none is left.
        """
        own = sum(map(self.share.has, range(len(tasks))))
        progress = Progress(stage, own * samples, "episodes")
        solved: list[bool] = []

        def on_finish(done: int, trajectory: Trajectory) -> None:
            solved.append(trajectory.solved)
            progress.update(done, success=sum(solved) / len(solved))

        folder = self.path / "trajectories" / stage
        played = self.rollouts.play(tasks, player, folder, on_finish, samples, self.share)
        if self.share != WHOLE:
            processes.gather(stage)
            played = self.rollouts.play(tasks, player, folder, samples=samples)
        if tasks and not played:
            raise InputError(f"All episodes of the stage {stage} were lost to the sandbox; see {folder}.")
        return played

    def record(self, stage: str, result: Mapping[str, Any]) -> None:
        """Marks a stage as finished, once, with the time that it took."""
        now = time.monotonic()
        if self.run.finished(stage) is None:
            self.run.finish(stage, {**result, "seconds": now - self._last_record})
        self._last_record = now
