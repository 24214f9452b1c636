"""Context of a run, which the stages of an experiment share: the model, the engine, the browser and the run
directory."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import jax

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import load_environment
from tars_jax.evaluation.live_report import LiveReport
from tars_jax.inference.engine import Engine
from tars_jax.judges.judge_coverage import require_decidable
from tars_jax.judges.registry import judge_of
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.fleet import open_fleet, open_policy
from tars_jax.pipelines.harness import serving_engine
from tars_jax.pipelines.judges import open_judge
from tars_jax.pipelines.probing import TaskShape
from tars_jax.pipelines.rollout_server import has_server, open_server, patient_player
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.sandbox_counts import counts_since, sum_counts
from tars_jax.pipelines.sections import agent_config, engine_config, num_hosts, run_browsers, sandbox_of
from tars_jax.pipelines.task_sources import listed_tasks
from tars_jax.pipelines.windows import require_room
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import WHOLE, Share
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.harness_episode import ChatPolicy, HarnessPlayer
from tars_jax.rollout.players import Player, SessionSource, engine_player
from tars_jax.rollout.stream_metrics import EngineCounts
from tars_jax.rollout.timeline import Timeline, TrackOwner
from tars_jax.rollout.unjudged import Unjudged, judged_of
from tars_jax.training import processes
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.progress import Moment, Progress, working
from tars_jax.training.run_directory import RunDirectory
from tars_jax.training.weight_sync import to_local_devices
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.folders import mark_evaluation


def _unseen(moment: Moment) -> None:
    """Only the process that leads writes the run's page."""


class SamplingPolicy(Protocol):
    """Samples with the weights that it was handed last: an engine here, or one in an actor."""

    @property
    def version(self) -> int: ...

    @property
    def sessions(self) -> SessionSource: ...

    def set_weights(self, parameters: Parameters, version: int) -> None: ...

    def statistics(self) -> EngineCounts: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...


class RunContext(RunSpec):
    """Everything that is opened once and closed at the end, whatever happens. Use as a context manager.

    `plays`: it opens browsers; a stage that learns from recorded trajectories alone needs none. `page_at`: the folder
    of its page while it runs, where that is not the run's own.
    """

    @working("prepare")
    def __init__(
        self,
        config: Any,
        run: RunDirectory,
        *,
        plays: bool = True,
        shapes: Sequence[TaskShape] | None = None,
        page_at: Path | None = None,
    ) -> None:
        super().__init__(config, shapes)
        config = self.config
        if plays:
            require_room(config, self.writer, self.shapes)
        self.run, self.path, self._plays = run, run.path, plays
        self.share = Share(processes.number(), processes.count())
        tokenizer, agent = self.tokenizer, config.agent
        constraints, constraint = self.constraints, agent.grammar if agent.constrained else None
        self._timeline = Timeline(run.own)
        self.activity = Activity(self._timeline)
        engine = engine_config(config, constraint)
        self._has_programs = any(shape.asked for shape in self.shapes)
        self._chat: ChatPolicy | None = None
        if self._has_programs and (has_server(config) or num_hosts(config)):
            raise InputError(
                "server.address must be '' and fleet.hosts 0 for a harness, which asks the engine of this process"
            )
        needs_browser = any(shape.needs_browser for shape in self.shapes)
        browser = run_browsers(config) if needs_browser else None
        loop, sandbox = agent_config(agent, engine, vision=self.model.vision), sandbox_of(config)
        self._judge = judge = open_judge(config)
        known = listed_tasks(config) or [task for shape in self.shapes for task in shape.begun]
        own = {task.id: load_environment(task.environment, task.options).judge for task in known}
        require_decidable((task, judge_of(task, judge, own[task.id])) for task in known)
        self.rollouts: Rollouts | Fleet
        self.policy: SamplingPolicy
        if has_server(config):
            if self.share != WHOLE or num_hosts(config):
                raise InputError("server.address must be '' for a run of several processes or hosts, which each sample")
            self.policy = open_server(config, self.model, tokenizer, self.parent, run.path, self.answer_pattern)
            self.rollouts = Rollouts(browser, self.writer, loop, config.browser.pages, self.activity, judge, sandbox)
        elif num_hosts(config):
            if self.share != WHOLE:
                raise InputError(
                    f"fleet.hosts must be 0 in a run of several processes, each of which plays; got {num_hosts(config)}"
                )
            self.policy = open_policy(config, self.model, engine, tokenizer, constraints)
            self.rollouts = open_fleet(config, browser, self.writer, loop, self.activity, judge)
        else:
            self.policy = self.engine = Engine(
                self.model,
                to_local_devices(self.parameters),
                engine,
                constraints=constraints,
                image=tokenizer.image,
                stop=tokenizer.end,
                seed=config.seed,
                span=functools.partial(self.activity.span, TrackOwner.ENGINE, 0),
            )
            self.rollouts = Rollouts(browser, self.writer, loop, config.browser.pages, self.activity, judge, sandbox)
        self.metrics = MetricsWriter(run.own, config.loggers if run.is_main_process else ())
        self._open = contextlib.ExitStack()
        self.page = LiveReport(run, page_at)
        self._last_record = time.monotonic()
        self._lost: dict[str, int] = {}  # episodes since then, by the stages that have played
        self._last_counts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.set_mesh(self.mesh))
            stack.enter_context(self.metrics)
            stack.enter_context(self._timeline)
            if self._judge is not None:
                stack.callback(self._judge.close)
            if self._plays:
                stack.enter_context(self.rollouts)
            stack.enter_context(self.policy)
            if self._has_programs:
                asked = [shape.asked.images > 0 for shape in self.shapes if shape.asked is not None]
                serving = serving_engine(self.engine, self.tokenizer, self.parameters, self.config, pictures=any(asked))
                self._chat = stack.enter_context(serving)
            if self.run.is_main_process:
                stack.enter_context(self.page)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def progress(self, stage: str, total: int, unit: str, **options: Any) -> Progress:
        """A progress line of a stage, which the run's page follows."""
        return Progress(stage, total, unit, watch=self.page.show if self.run.is_main_process else _unseen, **options)

    def policy_player(self) -> Player:
        """Plays by the policy's weights of the moment."""
        player = engine_player(self.policy.sessions, self.config.seed)
        if (chat := self._chat) is not None:
            return HarnessPlayer(player, lambda task: chat, self.config.seed)
        return patient_player(self.config, player) if has_server(self.config) else player

    def sync_weights(self, parameters: Parameters, version: int) -> None:
        """Weights to what samples; on the devices of each process."""
        self.policy.set_weights(to_local_devices(parameters), version)

    def play(
        self,
        stage: str,
        tasks: Sequence[Task],
        player: Player,
        samples: int = 1,
        *,
        compiles: bool = True,
        evaluation: bool = False,
    ) -> list[Trajectory]:
        """Plays each task so often into the run directory, with a progress line; what was played is read back.
        `compiles`: the player is a policy. `evaluation`: nothing is to learn from these, and their folder says so.

        Of several processes each plays its share, and gets what all have played. Raises InputError where none is left.
        """
        own = sum(map(self.share.has, range(len(tasks))))
        compiles = compiles and self.run.finished(stage) is None
        progress = self.progress(stage, own * samples, "episodes", compiles=compiles)
        solved: list[bool] = []

        def on_finish(done: int, trajectory: Trajectory) -> None:
            solved.append(trajectory.succeeded)
            progress.update(done, success=sum(solved) / len(solved))

        folder = self.path / "trajectories" / stage
        if evaluation:
            mark_evaluation(folder)
        played = self.rollouts.play(tasks, player, folder, on_finish, samples, self.share)
        if self.share != WHOLE:
            processes.gather(stage)
            played = self.rollouts.play(tasks, player, folder, samples=samples)
        self.rollouts.unjudged.require_admitted()
        if dropped := self.rollouts.unjudged.dropped:
            print(
                f"{stage}: {len(dropped)} tasks are left out, which their judge cannot tell: {', '.join(dropped[:5])}"
            )
        if lost := self.rollouts.lost:
            self._lost[stage] = lost
            print(
                f"{stage}: {lost} of {len(tasks) * samples} episodes were lost and count nowhere; the last one: "
                f"{self.rollouts.last_loss:.500}",
                flush=True,
            )
        if tasks and not played:
            raise InputError(
                f"All {len(tasks) * samples} episodes of the stage {stage} were lost; see {folder}. "
                f"The last one: {self.rollouts.last_loss:.1000}"
            )
        return played

    def record(self, stage: str, result: Mapping[str, Any]) -> None:
        """Marks a stage as finished, once, with the time that it took and what the sandbox went through.

        `judged` says of how many episodes each judge was asked, and of how many it cannot say: those that this process
        has counted, unless `result` says it. A stage that went on where an extended run had finished it counts with
        what it had cost before.
        """
        tally, self.rollouts.unjudged = self.rollouts.unjudged.tally, Unjudged()
        lost, self._lost = sum(self._lost.values()), {}
        now, counts = time.monotonic(), self.rollouts.infrastructure
        if self.run.finished(stage) is None:
            earlier = self.run.earlier(stage)
            seconds = now - self._last_record + earlier.get("seconds", 0.0)
            added = sum_counts([earlier.get("infrastructure", {}), counts_since(counts, self._last_counts)])
            result = {**({"lost_episodes": lost} if lost else {}), **judged_of(tally), **result}
            self.run.finish(stage, {**result, "seconds": seconds, "infrastructure": added})
            if self.run.is_main_process:
                self.page.look()
        self._last_record, self._last_counts = now, counts
