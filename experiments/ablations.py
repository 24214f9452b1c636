"""What each switch of the learner does by itself: success at the end of training, against the default with equal seeds.

Learning rates are those of the default: a switch that would like another one is at a disadvantage, and says so nowhere.
RUN/ablations.json and a table on the terminal; RUN/trained keeps what was trained, so a killed run goes on.
"""

from __future__ import annotations

from typing import Any

from tars_jax import InputError
from tars_jax.pipelines.config import flatten, parse, require_known
from tars_jax.pipelines.recipes import RECIPES, recipe_fields
from tars_jax.pipelines.trends.bench import Bench, Settings
from tars_jax.pipelines.trends.verdicts import Test, judge, late
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json

END = Test("success in the last fifth of the updates, with the switch minus without")
MEAN = Test("success over all updates, with the switch minus without")


def run(config: Any, run_directory: RunDirectory) -> None:
    if config.game not in config.games:
        raise InputError(f"config.game must be one of {', '.join(config.games)}; got {config.game!r}")
    folder = run_directory.path / "trained"
    folder.mkdir(exist_ok=True)
    games = {game: flatten(fields) for game, fields in config.games.items()}
    seeds = range(config.seed, config.seed + config.seeds)
    bench = Bench(
        config.agent, games, seeds, (), {}, folder, lambda line: print(f"  {line}", flush=True), config.starts
    )
    switches = {written: settings_of(written, flatten(config.agent)) for written in config.switches}
    default = bench.train(config.game).curves["success"]
    print(f"default: {late(default).mean():.3f} at the end, {default.mean():.3f} over all updates")
    rows = []
    for written, settings in Progress("ablations", len(switches), "switches", min_seconds=0).each(switches.items()):
        curves = bench.train(config.game, settings).curves["success"]
        end = judge(END, (late(curves) - late(default)).tolist())
        mean = judge(MEAN, (curves.mean(1) - default.mean(1)).tolist())
        row = {"switch": written, "end": end.estimate._asdict(), "mean": mean.estimate._asdict()}
        rows.append({**row, "effects": end.effects})
        print(f"{written:60} {_shown(end.estimate)} at the end, {_shown(mean.estimate)} over all updates", flush=True)
    write_json(
        run_directory.path / "ablations.json", {"game": config.game, "default": late(default).tolist(), "rows": rows}
    )


def settings_of(written: str, known: Settings) -> dict[str, Any]:
    """`field=value field=value`, read as flags are, of which `recipe=NAME` stands for all that a recipe sets; raises
    InputError for other fields and types."""
    settings: dict[str, Any] = {}
    for part in written.split():
        field, _, text = part.partition("=")
        if field == "recipe":
            if text not in RECIPES:
                raise InputError(f"recipe in config.switches must be one of {', '.join(RECIPES)}; got {text!r}")
            settings |= recipe_fields(text, "on_device")
            continue
        require_known(field, known, where=" in config.switches")
        settings[field] = parse(text, known[field], field)
    return settings


def _shown(estimate: Any) -> str:
    return f"{100 * estimate.value:+5.1f} [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"
