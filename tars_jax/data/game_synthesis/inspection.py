"""Whether a new game may be played: it was, by its reference player, by a careless one and by chance.

Everything happens in the closed browser sandbox, as in training; what is found is a list of complaints that an author
can act upon. None means admitted.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.data.config import InspectionConfig
from tars_jax.environment import Task
from tars_jax.sandbox.browser import PageError
from tars_jax.tasks.games.catalog import load_game_at
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory

VERDICT: dict[str, tuple[type, ...]] = {
    "score": (int, float),
    "level": (int,),
    "lives": (int,),
    "done": (bool,),
    "success": (bool,),
}
QUICK_LOSS = 3  # steps
SAID = 2000  # characters of a page's error


# (one of PLAYERS, tasks, folder for the episodes) -> the episodes that the infrastructure did not lose
Play = Callable[[str, Sequence[Task], Path], list[Trajectory]]

PLAYERS = ("reference", "careless", "chance")  # the game's own player; its legal moves at random; any input anywhere


@dataclasses.dataclass(frozen=True)
class Inspection:
    complaints: tuple[str, ...]
    figures: Mapping[str, float]  # success of each player

    @property
    def admitted(self) -> bool:
        return not self.complaints


def inspect(folder: Path, play: Play, records: Path, config: InspectionConfig) -> Inspection:
    """Lets each of PLAYERS play the game in `folder`, the reference player twice, and that one the later levels, too;
    episodes are kept below `records`."""
    try:
        count = len(load_game_at(str(folder)).levels)
        tasks = _tasks(folder, range(1, min(config.levels, count) + 1), config.seeds, config.seed)
        sides = {}
        for name, player in {"again": PLAYERS[0], **dict(zip(PLAYERS, PLAYERS, strict=True))}.items():
            # One episode before the others, which are not waited for where the page hangs; it is read back with them.
            alone = play(player, tasks[:1], records / name)
            sides[name] = play(player, tasks, records / name) if alone else []
            if len(sides[name]) < len(tasks):
                said = _said_by_the_page(records / name)
                return Inspection(said or (f"the page failed or hung while it was played ({name})",), {})
        later = _tasks(folder, range(config.levels + 1, count + 1), 1, config.seed)
        further = play(PLAYERS[0], later, records / "later") if later else []
        if len(further) < len(later):
            said = _said_by_the_page(records / "later")
            return Inspection(said or ("the page failed or hung while its later levels were played",), {})
    except (InputError, ExceptionGroup) as error:
        refused = _refusals(error)
        if not refused:
            raise
        return Inspection(refused, {})
    again, good, careless, chance = sides.values()
    hardest = [each for each in careless if each.task["options"]["level"] == max(_levels(careless))]
    figures = {"reference": _success(good), "careless": _success(careless), "chance": _success(chance)}
    complaints = [
        *_begins([*good, *further]),
        *(complaint for played in (*sides.values(), further) for each in played for complaint in _keeps_the_form(each)),
        *([] if _same(good, again) else ["it is not deterministic: the same moves gave another screen or state"]),
        *_reference_wins([*good, *further]),
    ]
    if _success(hardest) > config.most_random:
        complaints.append(f"legal moves at random win {_success(hardest):.0%} of the hardest level: it is trivial")
    if _success(chance) > config.most_chance:
        complaints.append(f"clicks and keys anywhere win {_success(chance):.0%}: it is trivial")
    lost = [each.metadata["final"]["verdict"] for each in careless if len(each.steps) <= QUICK_LOSS]
    share = sum(verdict["done"] and not verdict["success"] for verdict in lost) / len(careless)
    if share > config.most_lost:
        complaints.append(f"legal moves at random lose {share:.0%} within {QUICK_LOSS} steps: it is a trap")
    return Inspection(tuple(dict.fromkeys(complaints)), figures)


def _refusals(error: Exception) -> tuple[str, ...]:
    """Refusals of a game, from an error or the group of the workers' errors."""
    if isinstance(error, ExceptionGroup):
        return tuple(dict.fromkeys(said for inner in error.exceptions for said in _refusals(inner)))
    return (str(error)[:SAID],) if isinstance(error, InputError) else ()


def _said_by_the_page(records: Path) -> tuple[str, ...]:
    """The errors of the game's own script, of which its episodes failed; none where they failed otherwise."""
    played = [load_trajectory(path).metadata for path in sorted(records.glob("*.trajectory"))]
    failures = [text for metadata in played for text in metadata["infrastructure_failures"]]
    said = (text.partition(": ") for text in failures)
    return tuple(dict.fromkeys(words[:SAID] for kind, _, words in said if kind == PageError.kind))


def _tasks(folder: Path, levels: range, each: int, seed: int) -> list[Task]:
    return [
        sample_task(str(folder), "eval", index, seed, {"level": level}) for level in levels for index in range(each)
    ]


def _begins(played: Sequence[Trajectory]) -> list[str]:
    """Checks the first states: nothing is won yet, and seeds differ."""
    found = []
    firsts = [each.steps[0] for each in played if each.steps]
    if len(firsts) < len(played):
        found.append("an episode was over before its first step")
    for verdict in (step.info["verdict"] for step in firsts):
        if verdict.get("score") != 0 or verdict.get("done") or verdict.get("success"):
            found.append(f"an episode must begin with score 0, not done; got {json.dumps(verdict)}")
    if len({step.screenshot for step in firsts}) < len(firsts) * 0.5:
        found.append("different seeds look the same")
    return found


def _keeps_the_form(trajectory: Trajectory) -> list[str]:
    """Checks the form of every verdict of an episode, and how one follows another."""
    infos = [*(step.info for step in trajectory.steps), trajectory.metadata["final"]]
    found = []
    for info in infos:
        verdict, state = info["verdict"], info["state"]
        found += [
            f"it tried to reach {where}; a game reaches nothing but its folder"
            for where in state.get("tried to reach", ())
        ]
        for field, kinds in VERDICT.items():
            if type(verdict.get(field)) not in kinds:
                found.append(f"verify(): field {field} is {verdict.get(field)!r}")
            elif state.get(field) != verdict[field]:
                found.append(f"state() and verify() disagree on {field}")
    scores = [info["verdict"].get("score") for info in infos]
    if not found and any(np.diff(scores) < 0):
        found.append("the score falls; a score counts what was reached")
    return found


def _same(first: Sequence[Trajectory], second: Sequence[Trajectory]) -> bool:
    return all(
        [(step.screenshot, step.info) for step in one.steps] == [(step.screenshot, step.info) for step in other.steps]
        and one.metadata["final"] == other.metadata["final"]
        for one, other in zip(first, second, strict=True)
    )


def _reference_wins(played: Sequence[Trajectory]) -> list[str]:
    lost = [each.task for each in played if not each.metadata["final"]["verdict"].get("success")]
    return [
        f"its reference player does not win level {task['options']['level']}, seed {task['seed']}, in "
        f"{task['max_steps']} steps"
        for task in lost
    ]


def _success(played: Sequence[Trajectory]) -> float:
    return float(np.mean([bool(each.metadata["final"]["verdict"].get("success")) for each in played]))


def _levels(played: Sequence[Trajectory]) -> set[Any]:
    return {each.task["options"]["level"] for each in played}
