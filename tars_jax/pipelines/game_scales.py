"""Scores of scripted players on the held-out tasks of a run of games, to compare its agent with."""

from __future__ import annotations

from tars_jax.pipelines.games import Games, mean_score, of_game
from tars_jax.pipelines.run_context import RunContext
from tars_jax.rollout.players import person_player, reference_player
from tars_jax.tasks.library import load_playable

SCALES = ("reference", "person")  # scripted players whose scores stand beside an agent's


def played_scales(context: RunContext, games: Games, episodes: int) -> dict[str, float]:
    """Scores of the best scripted player of each game, and of one with a person's pace and errors, in `episodes` of the
    held-out tasks of each: SIDE/GAME_score of a result."""
    writer, grammar = context.writer, context.config.agent.grammar
    players = dict(zip(SCALES, (reference_player(writer, grammar, 1.0), person_player(writer, grammar)), strict=True))
    tasks = games.held_out(episodes * len(games.names))
    found: dict[str, float] = {}
    for side, player in players.items():
        played = context.play(side, tasks, player, compiles=False, evaluation=True)
        for name in games.names:
            if its := of_game(played, name):
                found[f"{side}/{load_playable(name).name}_score"] = mean_score(its)
        context.record(side, {"episodes": len(played)})
    return found
