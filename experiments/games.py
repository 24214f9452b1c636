"""One agent learns several games at once, then report.html with a curve and a score for each game.

Levels of every game are drawn from `config.levels`: evenly for demonstrations and evaluation, by recent success while
PPO trains (`FrontierCurriculum`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.curves import game_curves
from tars_jax.pipelines.agent import Evaluated, finish, train_agent
from tars_jax.pipelines.games import Games
from tars_jax.pipelines.job_checks import PPO_EXTENSIONS, check
from tars_jax.pipelines.mixture import Mixture
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.suite_play import played_scales
from tars_jax.tasks.library import load_playable
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
EXTENSIONS = PPO_EXTENSIONS


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    with RunContext(config, run_directory) as context:
        games = Games(context.config)
        scales = played_scales(context, games, config.task.scale_episodes) if config.task.scale_episodes else {}
        evaluated = train_agent(context, games)
        if run_directory.is_main_process:
            finish_games(context, games.names, evaluated, games.mixture, scales)


def finish_games(
    context: RunContext,
    names: Sequence[str],
    evaluated: Evaluated,
    mixture: Mixture | None = None,
    scales: Mapping[str, float] = {},
) -> None:
    """With a score and a curve for each game; `scales`: what scripted players score, for a line in each curve."""
    finish(
        context,
        evaluated,
        "games",
        title="Several games, one agent",
        subtitle="A nano agent, trained from scratch on all of them together, in a real Chromium",
        parts={name: load_playable(name).title for name in names},
        curves=[
            *game_curves([(load_playable(name).name, load_playable(name).title) for name in names]),
            *DEFAULT_CURVES,
        ],
        mixture=mixture,
        more=scales,
    )
