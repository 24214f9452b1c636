"""Score against step budget, each budget played anew, several contestants in one figure (UI-TARS-2, figure 11).

1. scale: the levels by the best scripted player in the largest budget, whose score is 100 (games15 alone);
2. CONTESTANT-BUDGET: every task of the suite by every contestant in every budget, of which prompts speak;
3. budgets.svg, report.md and result.json.

`evaluate` reads what an episode of one budget had reached after fewer steps, which is another thing: nobody hurries.
Episodes are kept one by one: a run that was killed plays only those that it lacks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from tars_jax import InputError
from tars_jax.evaluation.figures import draw_budgets, save_figure
from tars_jax.evaluation.scoring import SUCCESS_UNIT, UNITS, score_at_budget, score_within
from tars_jax.evaluation.statistics import Estimate
from tars_jax.evaluation.suites import EPISODES, suite_names, suite_tasks
from tars_jax.evaluation.tables import budget_table
from tars_jax.files import write_atomic
from tars_jax.pipelines.contestants import check_contestant, open_contestant, scripted
from tars_jax.pipelines.environments import evaluation_tasks, written_kinds
from tars_jax.pipelines.serving import read_key
from tars_jax.pipelines.suite_play import Episodes, Tasks, common_episodes, play_suite
from tars_jax.training.run_directory import RunDirectory, write_json

ENVIRONMENT = "environment"  # a suite of tasks of `config.environment`


def run(config: Any, run_directory: RunDirectory) -> None:
    names, folder = called(config), run_directory.path / "trajectories"
    budgets = sorted(config.budgets)
    read_key(config.api_key_file)  # one that cannot be read is said whoever plays
    if config.suite == ENVIRONMENT and "person" in config.contestants:
        raise InputError("config.contestants must be without person, which plays games alone; got suite=environment")
    for given in config.contestants:
        check_contestant(given, "contestants")
    evaluation_tasks(config.environment, config.environment_options, len(written_kinds(config)), config.seed, 1)
    for budget in budgets:  # what there is not is said before anybody plays
        tasks_of(config, budget)
    scale = scale_of(config, folder, budgets[-1])
    played: dict[str, dict[int, Episodes]] = {name: {} for name in names}
    for name, given in zip(names, config.contestants, strict=True):
        one = ConfigDict({**config.to_dict(), "checkpoint": given})
        with open_contestant(one, budgets[-1], "contestants") as contestant:
            for budget in budgets:
                played[name][budget] = play_suite(
                    config, folder, f"{name}-{budget}", contestant, tasks_of(config, budget)
                )
    finish(config, run_directory, played, scale)


def scale_of(config: Any, folder: Path, most: int) -> Episodes:
    """The episodes whose score is 100, of games15 alone. Raises InputError where they score nothing."""
    if config.suite != "games15":
        return {}
    scale = play_suite(config, folder, "scale", scripted("reference", config), tasks_of(config, most))
    episodes = [each for some in scale.values() for each in some]
    if episodes and not any(score_within(each, most) for each in episodes):
        raise InputError(
            f"config.budgets must hold one in which a reference player scores, as its score is the scale; got {most} "
            "at most"
        )
    return scale


def called(config: Any) -> list[str]:
    """What contestants are called in the figure. Raises InputError for names that are not one for each."""
    names = list(config.called or [given.rstrip("/").rpartition("/")[2] for given in config.contestants])
    if len(names) != len(config.contestants) or len(set(names)) != len(names):
        raise InputError(
            f"config.called must be different names, one for each of {len(config.contestants)} contestants; "
            f"got {', '.join(names)}"
        )
    return names


def tasks_of(config: Any, budget: int) -> Tasks:
    """The same ones for each budget, but for the budget."""
    if config.suite == ENVIRONMENT:
        count = (config.episodes or EPISODES) * len(written_kinds(config))
        drawn = evaluation_tasks(config.environment, config.environment_options, count, config.seed, budget)
        names = dict.fromkeys(task.environment for task in drawn)
        return {name: [task for task in drawn if task.environment == name] for name in names}
    return {
        name: suite_tasks(name, config.episodes, config.levels, config.seed, budget, next_levels=config.next_levels)
        for name in suite_names(config.suite, config.names)
    }


def finish(config: Any, run_directory: RunDirectory, played: dict[str, dict[int, Episodes]], scale: Episodes) -> None:
    curves: dict[str, dict[int, Estimate]] = {}
    lost = 0
    for name, by_budget in played.items():
        for budget, its in by_budget.items():
            lost += sum(map(len, tasks_of(config, budget).values())) - sum(map(len, its.values()))
            ours, *theirs = common_episodes([its, scale] if scale else [its])
            kept = {task: episodes for task, episodes in ours.items() if episodes}
            if not kept:
                raise InputError(
                    f"config.contestants: {name} has no episode of {budget} steps, as all were lost to the "
                    "infrastructure; the same command with --config.run plays them"
                )
            curves.setdefault(name, {})[budget] = score_at_budget(
                config.suite, kept, theirs[0] if theirs else {}, budget
            )
    unit = UNITS.get(config.suite, SUCCESS_UNIT)
    suite = config.environment if config.suite == ENVIRONMENT else config.suite
    save_figure(draw_budgets(curves, unit, f"{suite}, each budget played anew"), run_directory.path / "budgets.svg")
    table = budget_table(curves)
    note = f"{unit}; 95% intervals in brackets. Each budget is played anew: the prompts speak of it."
    if scale:
        note += f" 100 is the best scripted player's score in {max(config.budgets)} steps."
    if lost:
        note += f" {lost} episodes were lost to the infrastructure and count nowhere."
    write_json(
        run_directory.path / "result.json",
        {
            "suite": suite, "unit": unit, "seed": config.seed, "lost_to_infrastructure": lost,
            "curves": {
                name: {str(budget): estimate._asdict() for budget, estimate in curve.items()}
                for name, curve in curves.items()
            },
        },
    )  # fmt: skip
    page = f"# {suite}: score against step budget\n\n{table}\n\n{note}\n\n![score against step budget](budgets.svg)\n"
    write_atomic(run_directory.path / "report.md", page.encode())
    print(f"{table}\n\n{note}")
    print(json.dumps({"suite": suite, "seed": config.seed, "lost_to_infrastructure": lost}))
    print(f"report: {run_directory.path / 'report.md'}")
