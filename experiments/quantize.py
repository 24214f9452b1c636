"""A policy in int4 weights and int8 activations: what it weighs, how far off it is, and what it scores.

1. w4a8: the quantized weights are saved, and loaded again for all that follows;
2. float and w4a8 play the same held-out levels with the same random streams;
3. the error of every kernel by layer, and what each part of the policy costs when it alone is quantized;
4. result.json.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.evaluation import bootstrap_difference
from tars_jax.inference import Engine
from tars_jax.model.policy import Parameters
from tars_jax.model.quantization import quantize, weight_errors
from tars_jax.model.sharding import leaf_name
from tars_jax.pipelines.mazes import tasks
from tars_jax.pipelines.rules import LOGGER_RULE
from tars_jax.pipelines.run_context import RunContext
from tars_jax.rollout.players import engine_player
from tars_jax.rules import Rule, at_least, one_of, span
from tars_jax.training.checkpoint import load_parameters, require_replaceable
from tars_jax.training.placement import take_rows
from tars_jax.training.progress import Progress, working
from tars_jax.training.quantized import bytes_on_disk, divergence, load_quantized, save_quantized
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

PARTS = {"attention": "/attention/", "experts": "/experts/", "head": "^vocabulary_head/", "vision": "^vision/"}


def _patterns(values: tuple[Any, ...]) -> bool:
    try:
        return all(isinstance(value, str) and re.compile(value) for value in values)
    except re.error:
        return False


RULES = {
    "loggers": LOGGER_RULE,
    "seed": at_least(0),
    "checkpoint": Rule(bool, "a folder of exported weights, such as RUN/policy"),
    "kept": Rule(_patterns, "regular expressions of parameters' paths"),
    "engine.weights": one_of("float"),
    "task.max_steps": at_least(1),
    "task.evaluation_distances": span(1),
    "task.evaluation_episodes": at_least(1),
    "rows": at_least(1),
}


def run(config: Any, run_directory: RunDirectory) -> None:
    checkpoint = Path(config.checkpoint)
    output = Path(config.output) if config.output else run_directory.path / "w4a8"
    require_replaceable(output, [checkpoint])
    with RunContext(config, run_directory) as context:
        parameters = load_parameters(checkpoint, context.parameters)
        require_finite_weights(checkpoint, parameters)
        if context.run.finished("w4a8") is None:
            save_quantized(output, quantize(context.model, parameters, config.kept), parent=config.checkpoint)
            context.record("w4a8", {"output": str(output)})
        quantized = load_quantized(output, context.model, context.parameters)

        context.engine.set_weights(parameters, 0)
        before = play(context, "float", context.engine)
        tokenizer = context.tokenizer
        engine_config = dataclasses.replace(context.engine.config, weights="w4a8")
        with Engine(
            context.model, quantized, engine_config, image=tokenizer.image, stop=tokenizer.end, seed=config.seed
        ) as engine:
            after = play(context, "quantized", engine)
        finish(context, parameters, quantized, output, before, after)


def require_finite_weights(path: Path, parameters: Parameters) -> None:
    """Raises InputError for weights of a run that diverged: an integer cannot be NaN and would hide it."""
    for where, leaf in jax.tree_util.tree_leaves_with_path(parameters):
        if not bool(jnp.isfinite(leaf).all()):
            raise InputError(f"{path}: {leaf_name(where)} must be finite; got NaN or infinity")


def play(context: RunContext, stage: str, engine: Engine) -> list[Trajectory]:
    config = context.config.task
    held_out = tasks(context.config, "eval", 1, config.evaluation_episodes, config.evaluation_distances)
    found = context.play(stage, held_out, engine_player(engine, context.config.seed), evaluation=True)
    context.record(stage, {"success": float(np.mean([each.succeeded for each in found])), "episodes": len(found)})
    return found


def finish(
    context: RunContext,
    parameters: Parameters,
    quantized: Parameters,
    output: Path,
    before: list[Trajectory],
    after: list[Trajectory],
) -> None:
    rows = context.packer.pack(before, 1).rows
    rows = take_rows(rows, np.arange(min(context.config.rows, rows.action_mask.shape[0])))
    with working("errors of weights"):
        errors = weight_errors(parameters, quantized)
    for path, error in errors.items():
        print(f"error {error:6.1%}  {path}")
    progress = Progress("error", 1 + len(PARTS), "parts", compiles=True)
    divergences = {"as saved": divergence(context.model, parameters, quantized, rows)}
    progress.update(1)
    for part, pattern in progress.each(PARTS.items()):
        alone = quantize(context.model, parameters, (f"^(?!.*{pattern.removeprefix('^')})", "/router$"))
        divergences[part] = divergence(context.model, parameters, alone, rows)
    for part, (kl, agreement) in divergences.items():
        print(f"{part:10} KL {kl:.4f} nats a token, the same best token in {agreement:.1%}")
    scores = [[float(each.succeeded) for each in played] for played in (before, after)]
    paired = len(before) == len(after)  # not where the infrastructure lost an episode
    difference = bootstrap_difference(scores[0], scores[1], paired=paired)
    sizes = {"float": bytes_on_disk(context.config.checkpoint), "w4a8": bytes_on_disk(output)}
    result = {
        "score_float": float(np.mean(scores[0])),
        "score_w4a8": float(np.mean(scores[1])),
        "difference": difference._asdict(),
        "episodes": min(map(len, scores)),
        "bytes": sizes,
        "weight_errors": errors,
        "divergence": {part: {"kl": kl, "agreement": same} for part, (kl, same) in divergences.items()},
        "seed": context.config.seed,
    }
    write_json(context.path / "result.json", result)
    print(
        f"score {result['score_float']:.1%} in floating point, {result['score_w4a8']:.1%} in W4A8: "
        f"{100 * difference.value:+.1f} points [{100 * difference.low:.1f}, {100 * difference.high:.1f}] over "
        f"{result['episodes']} episodes; {sizes['float']:,} bytes became {sizes['w4a8']:,}"
    )
    print(json.dumps({name: result[name] for name in ("score_float", "score_w4a8", "episodes", "bytes")}))
