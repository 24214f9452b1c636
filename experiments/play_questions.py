"""Questions over an encyclopedia, played by who knows their proofs and by chance: what each one solves by an interface.

Episodes are kept one by one: a run that was killed plays only those that it lacks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import SDK, Observation, Task
from tars_jax.envs.browsing_players import random_move
from tars_jax.envs.registry import load_environment
from tars_jax.evaluation.statistics import wilson_interval
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import DemonstratorSession, Player, PrivilegedEnvironment, reference_player
from tars_jax.rollout.unjudged import CANNOT_SAY
from tars_jax.tasks.browsing.question import read_questions
from tars_jax.tasks.games.moves import Move
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

ENVIRONMENT = "browsing"
SIZE = 640, 480  # of pages, width and height in pixels
TEXT_TOKENS = 1024  # of what calls say, in the trajectories


def run(config: Any, run_directory: RunDirectory) -> None:
    writer = PromptWriter(load_tokenizer(), image_tokens=1, max_observation_tokens=TEXT_TOKENS)
    players = {
        "reference": (reference_player(writer, "text", config.skill), config.reference_episodes),
        "random": (random_player(writer), config.random_episodes),
    }
    with naming("config.questions", "questions"):
        asked = list(read_questions(config.questions))
    random.Random(f"played {config.seed}").shuffle(asked)
    result: dict[str, Any] = {"questions": len(asked), "seed": config.seed, "interface": config.interface}
    browser = None if config.interface == SDK else browsers_for(config, config.browser.pages, *SIZE)
    # By the embedded judge of answers, with the questions' references.
    with Rollouts(browser, writer, AgentConfig(), workers=config.browser.pages, sandbox=sandbox_of(config)) as rollouts:
        for name, (player, wanted) in players.items():
            tasks = [task_of(config, number, asked[number % len(asked)].id) for number in range(wanted)]
            if not tasks:
                continue
            progress = Progress(name, len(tasks), "episodes")
            folder = run_directory.path / "trajectories" / name

            def on_finish(done: int, _: Trajectory, progress: Progress = progress) -> None:
                progress.update(done)

            played = rollouts.play(tasks, player, folder, on_finish)
            solved = sum(bool(each.success) for each in played)
            ended = Counter(str(each.outcome.value) for each in played)
            steps = sum(len(each.steps) for each in played) / max(len(played), 1)
            low, high = wilson_interval(solved, len(played))
            unsaid = sum(counts[CANNOT_SAY] for counts in rollouts.unjudged.tally.values())
            result[name] = {
                "episodes": len(played), "solved": solved, "interval": [low, high], "mean_steps": round(steps, 1),
                "outcomes": dict(ended), CANNOT_SAY: unsaid,
            }  # fmt: skip
            print(f"{name}: {solved} of {len(played)} solved [{100 * low:.1f}, {100 * high:.1f}], {steps:.1f} steps")
            if unsaid:
                print(f"{name}: the judge cannot say of {unsaid} more")
    write_json(run_directory.path / "result.json", result)


def task_of(config: Any, number: int, question: str) -> Task:
    options = {"questions": config.questions, "question": question, "interface": config.interface}
    seed = config.seed * 1_000_003 + number
    task = Task(f"{question}-{number}", ENVIRONMENT, seed, options, config.max_steps)
    return dataclasses.replace(task, verification=load_environment(ENVIRONMENT, options).verification(task))


def random_player(writer: PromptWriter) -> Player:
    def play(observation: Observation, rng: random.Random, skill: float) -> Move:
        return random_move(observation.info["state"], rng)

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield DemonstratorSession(play, privileged, task, writer, "text", 1.0)

    return session
