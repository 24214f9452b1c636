"""New games: written by an author, admitted only after they were played.

For each game: the author writes it, it becomes a folder below RUN/attempts, the inspection plays it; an admitted one is
copied to RUN/games, otherwise the author hears the complaints and may try again. Games with a result are not written
anew: a killed run goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import GaveUp, InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.config import InspectionConfig
from tars_jax.data.game_synthesis.author import Author, ModelAuthor
from tars_jax.data.game_synthesis.inspection import Play, inspect
from tars_jax.data.game_synthesis.source import write_game
from tars_jax.data.game_synthesis.templates import TemplateAuthor
from tars_jax.environment import Task
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.json_fields import read_json
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.pipelines.serving import read_key
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import random_player, reference_player
from tars_jax.training.progress import QUIET, Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory


def run(config: Any, run_directory: RunDirectory) -> None:
    author: Author = TemplateAuthor(config.seed)
    key = read_key(config.api_key_file)
    if config.author != "templates":
        author = ModelAuthor(config.author, config.model, key, config.max_tokens)
    writer = PromptWriter(load_tokenizer(), image_tokens=1)
    browser = browsers_for(config, config.browser.pages, config.screen, config.screen)
    players = {
        "reference": reference_player(writer, "text", 1.0),
        "careless": reference_player(writer, "text", 0.0),
        "chance": random_player(writer, "text"),
    }
    made = {}
    with Rollouts(browser, writer, AgentConfig(), workers=config.browser.pages, sandbox=sandbox_of(config)) as rollouts:

        def play(player: str, tasks: Sequence[Task], folder: Path) -> list[Trajectory]:
            episodes = Progress(f"  {player}", len(tasks), "episodes", quiet=QUIET)
            return rollouts.play(tasks, players[player], folder, lambda done, _: episodes.update(done))

        progress = Progress("synthesize", config.games, "games", min_seconds=0)
        for number in range(config.games):
            file = run_directory.path / "attempts" / str(number) / "result.json"
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                write_json(file, attempt(config, run_directory.path, author, number, play))
            made[number] = read_json(file)
            if made[number]["admitted"]:
                keep(made[number]["name"], file.parent / str(made[number]["attempts"]), run_directory.path / "games")
            progress.update(number + 1, said=f"game {number}: {said(made[number])}")
    admitted = [each["name"] for each in made.values() if each["admitted"]]
    write_json(run_directory.path / "result.json", {"admitted": admitted, "games": made, "seed": config.seed})
    print(f"{len(admitted)} of {len(made)} games admitted: {run_directory.path / 'games'}")
    print(json.dumps({"admitted": admitted}))


def attempt(config: Any, path: Path, author: Author, number: int, play: Play) -> dict[str, Any]:
    """What became of game `number` after at most `config.attempts` attempts.

    Raises GaveUp where the author answered none of them: of such a game nothing is known.
    """
    complaints: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()  # said of the endpoint, which no author can mend
    offered, declined = None, False
    for count in range(1, config.attempts + 1):
        place = path / "attempts" / str(number) / str(count)
        shutil.rmtree(place, ignore_errors=True)  # of a killed run
        try:
            source = author.write(number, complaints)
            if source == offered:
                continue  # as a template's: what was said of it holds
            offered = source
            folder = write_game(source, place)
            if (path / "games" / source.name).exists():
                raise InputError(f"a game's name must be new; got {source.name!r}")
        except GaveUp:
            raise
        except (PolicyUnavailable, Declined) as error:
            unanswered, declined = (str(error),), isinstance(error, Declined)
            continue
        except InputError as error:
            complaints = (str(error),)
            continue
        checks = InspectionConfig(seed=config.seed, **config.inspection)
        found = inspect(folder, play, place / "episodes", checks)
        complaints = found.complaints
        if found.admitted:
            return {"admitted": True, "name": source.name, "attempts": count, "success": dict(found.figures)}
    if offered is None and not complaints and not declined:
        raise GaveUp(f"The author has not answered {config.attempts} times: {'; '.join(unanswered)}.")
    return {"admitted": False, "name": "", "attempts": config.attempts, "complaints": [*complaints, *unanswered]}


def keep(name: str, place: Path, games: Path) -> None:
    """Copies the admitted game in `place`, and its kit, to `games`, whole or not at all; after its result is written,
    so that a run which is killed here finds the game's name free or taken by the game itself."""
    if (games / name).exists():
        return
    shutil.copytree(place / "kit", games / "kit", dirs_exist_ok=True)
    shutil.copytree(place / name, place / "copy", dirs_exist_ok=True)
    (place / "copy").rename(games / name)


def said(result: dict[str, Any]) -> str:
    if not result["admitted"]:
        return f"turned down after {result['attempts']} attempts: {'; '.join(result['complaints'])}"
    shown = ", ".join(f"{player} {share:.0%}" for player, share in result["success"].items())
    return f"{result['name']} admitted ({shown})"
