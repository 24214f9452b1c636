"""A benchmark of others, played by a contestant: tasks from its files, all attempts, its own result files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import EnvironmentSpec, load_environment
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.benchmark_report import curve_of, report_of, result_of
from tars_jax.evaluation.figures import draw_budgets, save_figure
from tars_jax.evaluation.scoring import SUCCESS_UNIT
from tars_jax.files import write_atomic
from tars_jax.judges import Judge, JudgeFailure, as_played, judge_of
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.contestants import PERSON, REFERENCE, Contestant, open_contestant
from tars_jax.pipelines.environments import options_of
from tars_jax.pipelines.judges import named_judge
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.plugins import Plugins
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.ledger import stored_numbers, trajectory_path
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.catalog import load_benchmark, read_benchmark
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory
from tars_jax.trajectory.folders import mark_evaluation

_WRITERS = Plugins("results of a benchmark", "tars_jax.benchmark_results")
MOST_LISTED = 20  # tasks that are left out, on the terminal; the report has all


def evaluate_benchmark(config: Any, run_directory: RunDirectory) -> int:
    """Plays, and writes result.json, report.md, budget.svg and, below `benchmark`, the benchmark's own files. Returns
    the exit status: 1 where every episode was lost."""
    options = benchmark_options(config)
    tasks = read_tasks(config, options)
    spec = load_environment(config.suite, options)
    if config.checkpoint == PERSON:
        raise InputError("config.checkpoint must not be person, who plays games alone, but for games15; got person")
    if config.checkpoint == REFERENCE and spec.reference is None:
        raise InputError(f"config.checkpoint must not be reference, as {config.suite} has no reference player")
    longest = config.max_steps or tasks.budget()
    with open_contestant(config, longest) as contestant:
        folder = run_directory.path / "trajectories" / "played"
        played = play_benchmark(config, folder, contestant, tasks, spec, options)
    about = BenchmarkRun(tasks.benchmark, config.model or config.checkpoint, Path(config.tasks), options, config.seed)
    result = result_of(played, tasks.left_out, about)
    write_json(run_directory.path / "result.json", result)
    for path in write_results(run_directory.path / "benchmark", played, about):
        print(f"{tasks.benchmark.title}: {path}")
    if not any(each.counts for each in played):
        unjudged = sum(bool(each.trajectory.cannot_say) for each in played)
        what = f"all {len(played)} episodes were lost"
        if unjudged:
            what = f"of {len(played)} episodes {unjudged} have no verdict and {len(played) - unjudged} were lost"
        print(f"nothing was measured: {what}; --config.run={run_directory.path} plays lost ones again")
        return 1
    page = report_of(played, tasks.left_out, about)
    write_atomic(run_directory.path / "report.md", page.encode())
    curve = curve_of([each for each in played if each.counts])
    title = f"{tasks.benchmark.title}, {about.agent}"
    save_figure(draw_budgets({SUCCESS_UNIT: curve}, SUCCESS_UNIT, title), run_directory.path / "budget.svg")
    print(f"\n{page}\nreport: {run_directory.path / 'report.md'}")
    return 0


def benchmark_options(config: Any) -> dict[str, Any]:
    """Options of the environment, as the config's fields say them. Raises InputError where they say one twice."""
    if not config.judge and config.judge_options != "{}":
        raise InputError(f"config.judge must name the judge of judge_options; got '' and {config.judge_options!r:.100}")
    [options, *more] = options_of(config)
    if more:
        raise InputError("config.environment_options must be one JSON object for a benchmark; got a list")
    fields = {"tasks": config.tasks, "names": list(config.names), "interface": config.interface}
    given = {name: value for name, value in fields.items() if value}
    if config.time_limit:
        given["time_limit"] = config.time_limit
    if twice := sorted(given.keys() & options.keys()):
        raise InputError(f"config.environment_options must leave out what config.{twice[0]} says; got both")
    return {**options, **given}


def read_tasks(config: Any, options: Mapping[str, Any]) -> BenchmarkTasks:
    """Reads the tasks that can be played; the others are reported first, each with its reason. Raises InputError."""
    if not config.tasks:
        raise InputError(f"config.tasks must be where the tasks of {config.suite} are; got ''")
    load_benchmark(config.suite)
    with naming("config.tasks", "tasks", names="config.names"):
        tasks = read_benchmark(config.suite, config.tasks, options.get("names", ()))
    for number, (id, why) in enumerate(tasks.left_out.items()):
        if number == MOST_LISTED:
            print(f"... and {len(tasks.left_out) - MOST_LISTED} more, which report.md lists")
            break
        print(f"left out: {id}: {why}", flush=True)
    return tasks


def tasks_to_play(config: Any, tasks: BenchmarkTasks, spec: EnvironmentSpec, options: Mapping[str, Any]) -> list[Task]:
    """Tasks to play, one for each task of the benchmark, in its order."""
    made = [
        Task(
            entry.id.replace("/", "."), config.suite, config.seed, {**options, "task": entry.id},
            config.max_steps or tasks.budget(entry.id),
        )
        for entry in tasks.tasks
    ]  # fmt: skip
    return [Task(**{**vars(task), "verification": spec.verification(task)}) for task in made]


def play_benchmark(
    config: Any, folder: Path, contestant: Contestant, tasks: BenchmarkTasks, spec: EnvironmentSpec,
    options: Mapping[str, Any],
) -> list[Attempt]:  # fmt: skip
    """Every attempt at every task, with those that were lost. What lies in `folder` is not played again, unless it was
    lost."""
    wanted = tasks_to_play(config, tasks, spec, options)
    attempts = config.attempts or tasks.benchmark.attempts
    judge = named_judge(config.judge, config.judge_options, "config") if config.judge else None
    mark_evaluation(folder)
    settle_lost(folder, judge, spec, config.browser.pages)
    progress = Progress("played", len(wanted) * attempts, "episodes", compiles=contestant.compiles)

    def on_finish(done: int, trajectory: Trajectory) -> None:
        if not trajectory.outcome.carries_reward:
            why = trajectory.cannot_say or trajectory.metadata["infrastructure_failures"][-1]
            what = "has no verdict" if trajectory.cannot_say else "is lost"
            print(f"played: episode {trajectory.id} {what}: {why:.500}", flush=True)
        progress.update(done)

    workers = min(config.browser.pages, len(wanted) * attempts)
    browser = browsers_for(config, workers, contestant.screen, contestant.screen) if spec.needs_browser else None
    with Rollouts(
        browser, contestant.writer, contestant.agent, workers=workers, judge=judge, sandbox=sandbox_of(config)
    ) as rollouts:
        rollouts.play(wanted, contestant.player, folder, on_finish, samples=attempts)
    return [
        Attempt(
            tasks.of(wanted[number // attempts]), number % attempts, load_trajectory(trajectory_path(folder, number))
        )
        for number in range(len(wanted) * attempts)
    ]


def settle_lost(folder: Path, judge: Judge | None, spec: EnvironmentSpec, at_once: int) -> None:
    """Settles a resumed run: episodes lost to the infrastructure are played again, and those that a judge missed are
    judged."""
    waiting: dict[Path, Trajectory] = {}
    for number in stored_numbers(folder):
        path = trajectory_path(folder, number)
        kept = load_trajectory(path)
        if (played := as_played(kept)) is not None:
            waiting[path] = played
        elif not kept.outcome.carries_reward and not kept.cannot_say:
            path.unlink()
    if waiting:
        print(f"played: {len(waiting)} episodes are judged that a judge was away for", flush=True)
        asyncio.run(_judge_now(waiting, judge, spec, at_once))


async def _judge_now(
    waiting: Mapping[Path, Trajectory], judge: Judge | None, spec: EnvironmentSpec, at_once: int
) -> None:
    """Judges waiting episodes; those that the judge is still unavailable for stay as they are."""
    places = asyncio.Semaphore(at_once)

    async def settle(path: Path, played: Trajectory) -> None:
        task = Task.from_json(played.task)
        who = judge_of(task, judge, spec.judge)
        async with places:
            with contextlib.suppress(JudgeFailure):
                save_trajectory(path, played if who is None else await who.judged(played, task))

    await asyncio.gather(*(settle(path, played) for path, played in waiting.items()))


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """The benchmark's own result files, below `folder`."""
    if not about.benchmark.results:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = _WRITERS.load(about.benchmark.results)(folder, played, about)
    return written
