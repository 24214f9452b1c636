"""A policy in int4 weights and int8 activations: what it weighs, how fast it is, how far off, and what it scores.

1. w4a8: the quantized weights are saved, and loaded again for all that follows;
2. float-1, w4a8-1, ...: both play the same held-out tasks with the same random streams, in turn, and are timed;
3. the error of every kernel by layer, and what each part of the policy costs when it alone is quantized;
4. result.json and report.md.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.evaluation import bootstrap_difference
from tars_jax.evaluation.suites import suite_names, suite_tasks
from tars_jax.evaluation.tables import quantization_table
from tars_jax.files import write_atomic
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.quantization import quantize, weight_errors
from tars_jax.model.sharding import leaf_name, make_mesh
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.pipelines.contestants import Contestant, Driven
from tars_jax.pipelines.mazes import tasks
from tars_jax.pipelines.sections import run_as
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.pipelines.suite_play import play_suite
from tars_jax.pipelines.turn_times import TurnTimes, timed_player
from tars_jax.training.checkpoint import load_parameters, require_replaceable
from tars_jax.training.minibatches import take_rows
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.progress import Progress, counting, working
from tars_jax.training.quantized import bytes_on_disk, divergence, load_quantized, save_quantized
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.training.state import abstract_parameters
from tars_jax.trajectory import Trajectory

PARTS = {"attention": "/attention/", "experts": "/experts/", "head": "^vocabulary_head/", "vision": "^vision/"}
SIDES = ("float", "w4a8")
Suite = Mapping[str, Sequence[Task]]


@dataclasses.dataclass(frozen=True)
class Played:
    """What one side has played, and how long its rounds took."""

    episodes: dict[str, Trajectory]  # by their tasks
    times: TurnTimes

    def both(self, other: Played) -> Played:
        return Played({**self.episodes, **other.episodes}, self.times.plus(other.times))


def run(config: Any, run_directory: RunDirectory) -> None:
    checkpoint = Path(config.checkpoint)
    if not (checkpoint / "checkpoint.json").is_file():
        raise InputError(
            f"config.checkpoint must be a folder of exported weights such as RUN/policy; got {config.checkpoint!r}"
        )
    output = Path(config.output) if config.output else run_directory.path / "w4a8"
    require_replaceable(output, [checkpoint])
    suite = held_out(config)
    model, tokenizer, _ = starting_point(config.checkpoint)
    model = dataclasses.replace(run_as(model, config.model), scalar_head=False)
    mesh = make_mesh(config.mesh.to_dict())
    template = abstract_parameters(model, mesh)
    with jax.set_mesh(mesh):
        parameters = load_parameters(checkpoint, template)
        require_finite_weights(checkpoint, parameters)
        if run_directory.finished("w4a8") is None:
            save_quantized(output, quantize(model, parameters, config.kept), parent=config.checkpoint)
            run_directory.finish("w4a8", {"output": str(output)})
        quantized = load_quantized(output, model, template)
        weights = dict(zip(SIDES, (parameters, quantized), strict=True))
        longest = max(task.max_steps for some in suite.values() for task in some)
        driven = Driven.of(checkpoint, config, model, tokenizer, longest)
        with opened(driven, model, weights) as sides:
            played = play_in_turn(config, run_directory, suite, sides)
        finish(config, run_directory, model, tokenizer, weights, output, played)


def held_out(config: Any) -> Suite:
    """The tasks that both sides play."""
    if not config.suite:
        section = config.task
        return {
            section.game: tasks(config, "eval", 1, section.evaluation_episodes, section.evaluation_distances),
        }
    return {
        name: suite_tasks(
            name, config.episodes, config.levels, config.seed, config.max_steps, next_levels=config.next_levels
        )
        for name in suite_names(config.suite, config.names)
    }


def require_finite_weights(path: Path, parameters: Parameters) -> None:
    """Raises InputError for weights of a run that diverged: an integer cannot be NaN and would hide it."""
    for where, leaf in jax.tree_util.tree_leaves_with_path(parameters):
        if not bool(jnp.isfinite(leaf).all()):
            raise InputError(f"{path}: {leaf_name(where)} must be finite; got NaN or infinity")


@contextlib.contextmanager
def opened(driven: Driven, model: ModelConfig, weights: Mapping[str, Parameters]) -> Iterator[dict[str, Contestant]]:
    """Both sides, with all compiled that they are going to be asked, so that none of it counts as a round's time, but
    for the table of a policy that was trained under a constraint: that comes with its first episode."""
    with contextlib.ExitStack() as stack:
        sides = {}
        for side, parameters in weights.items():
            engine = stack.enter_context(driven.open(model, parameters, weights=side))
            sides[side] = driven.contestant(engine)
            engine.warm_up((sides[side].screen, sides[side].screen), counting(f"compile {side}", "programs"))
        yield sides


def play_in_turn(
    config: Any, run_directory: RunDirectory, suite: Suite, sides: Mapping[str, Contestant]
) -> dict[str, Played]:
    """All tasks by both sides: a part of them by one, the same by the other, then the next part, begun by the other."""
    played = {side: Played({}, TurnTimes()) for side in SIDES}
    turns = min(config.turns, max(map(len, suite.values())))
    for turn in range(turns):
        part = {name: some[turn::turns] for name, some in suite.items() if some[turn::turns]}
        for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
            stage = f"{side}-{turn + 1}"
            found = play(config, run_directory, stage, sides[side], part)
            played[side] = played[side].both(found)
    return played


def play(config: Any, run_directory: RunDirectory, stage: str, side: Contestant, part: Suite) -> Played:
    times = TurnTimes()
    timed = dataclasses.replace(side, player=timed_player(side.player, times), compiles=False)
    found = play_suite(config, run_directory.path / "trajectories", stage, timed, part)
    if (stored := run_directory.finished(stage)) is None:
        run_directory.finish(stage, {"times": dataclasses.asdict(times)})
    else:
        times = TurnTimes(**stored["times"])
    return Played({f"{name} {each.task['id']}": each for name, some in found.items() for each in some}, times)


def finish(
    config: Any,
    run_directory: RunDirectory,
    model: ModelConfig,
    tokenizer: Tokenizer,
    weights: Mapping[str, Parameters],
    output: Path,
    played: Mapping[str, Played],
) -> None:
    parameters, quantized = (weights[side] for side in SIDES)
    rows = rows_of(list(played["float"].episodes.values()), model, tokenizer, config.rows)
    with working("errors of weights"):
        errors = weight_errors(parameters, quantized)
    for path, error in errors.items():
        print(f"error {error:6.1%}  {path}")
    progress = Progress("error", 1 + len(PARTS), "parts", compiles=True)
    divergences = {"as saved": divergence(model, parameters, quantized, rows)}
    progress.update(1)
    for part, pattern in progress.each(PARTS.items()):
        alone = quantize(model, parameters, (f"^(?!.*{pattern.removeprefix('^')})", "/router$"))
        divergences[part] = divergence(model, parameters, alone, rows)
    for part, (kl, agreement) in divergences.items():
        print(f"{part:10} KL {kl:.4f} nats a token, the same best token in {agreement:.1%}")
    both = [id for id in played["float"].episodes if id in played["w4a8"].episodes]  # none that one side has lost
    if not both:
        raise InputError(f"All episodes of one side were lost; see {run_directory.path / 'trajectories'}.")
    sides = {side: [played[side].episodes[id] for id in both] for side in SIDES}
    solved = [[float(each.succeeded) for each in sides[side]] for side in SIDES]
    returns = [[each.reward for each in sides[side]] for side in SIDES]
    difference = bootstrap_difference(*solved, paired=True)
    sizes = {"float": bytes_on_disk(config.checkpoint), "w4a8": bytes_on_disk(output)}
    device = jax.devices()[0]
    result = {
        "suite": config.suite or config.task.game,
        **{f"score_{side}": float(np.mean(scores)) for side, scores in zip(SIDES, solved, strict=True)},
        "difference": difference._asdict(),
        **{f"return_{side}": float(np.mean(scores)) for side, scores in zip(SIDES, returns, strict=True)},
        "return_difference": bootstrap_difference(*returns, paired=True)._asdict(),
        "episodes": len(both),
        "time": {side: played[side].times.to_json() for side in SIDES},
        "device": f"{jax.device_count()} x {device.device_kind}",
        "pages": config.browser.pages,
        "bytes": sizes,
        "weight_errors": errors,
        "divergence": {part: {"kl": kl, "agreement": same} for part, (kl, same) in divergences.items()},
        "seed": config.seed,
    }
    write_json(run_directory.path / "result.json", result)
    table = quantization_table(result)
    write_atomic(run_directory.path / "report.md", table.encode())
    print(table)
    print(f"score: {100 * difference.value:+.1f} points [{100 * difference.low:.1f}, {100 * difference.high:.1f}]")


def rows_of(episodes: Sequence[Trajectory], model: ModelConfig, tokenizer: Tokenizer, most: int) -> Any:
    """Windows of episodes, at most so many rows, as long as the longest of them."""
    windows = [window for episode in episodes for window in episode.windows]
    length = -(-max(window.tokens.size for window in windows) // 32) * 32
    packing = PackingConfig(length, max(1, *(len(window.images) for window in windows)))
    rows = Packer(model, packing, image=tokenizer.image).pack(episodes, 1).rows
    return take_rows(rows, np.arange(min(most, rows.action_mask.shape[0])))
