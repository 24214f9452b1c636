"""Specialists of a mixture's parts, their merges, and one agent of all parts that has cost as many episodes; on each
part, and on tasks that need several parts in one episode."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.envs.composite import NAME as COMPOSITE
from tars_jax.evaluation.specialists import against_specialists, comparable, mean_success, sentences, table_lines
from tars_jax.pipelines.defaults import choose
from tars_jax.pipelines.environments import ADDRESSEE, EnvironmentTasks, written_parts
from tars_jax.pipelines.job_checks import ppo_config
from tars_jax.pipelines.ppo_stage import run_ppo
from tars_jax.pipelines.probing import TaskShape
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.stages import collect, initial_policy, supervise
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.pipelines.value_stage import pretrain
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.run_directory import RunDirectory, write_json

START, HYBRID = "start", "hybrid"


def part_configs(config: Any) -> dict[str, Any]:
    """Configs for each part of the mixture, by its name: the config of an agent that learns it alone. Raises InputError
    as `EnvironmentTasks` does."""
    mixture = EnvironmentTasks(config).mixture
    assert mixture is not None  # the experiment's rules
    found = {}
    for name, (environment, options) in zip(mixture.names, written_parts(config), strict=True):
        found[name] = alone = config.copy_and_resolve_references()
        with alone.unlocked():
            alone.environment, alone.environment_options = environment, json.dumps(options)
            alone.mixture.weights = ()
            alone.ppo.normalize_over, alone.ppo.value_models = "batch", "shared"
    return found


def composite_configs(config: Any) -> dict[str, Any]:
    """Configs for each of `config.composites`, by its name: the config of its tasks. Raises InputError for one that is
    none."""
    written, names = written_parts(config), list(part_configs(config))
    found = {}
    for text in config.composites:
        numbers = _numbers(text, "+")
        if len(numbers) < 2 or not all(number in range(1, len(names) + 1) for number in numbers):
            raise InputError(f"composites must be numbers of parts, 1 to {len(names)}, such as 1+2; got {text!r}")
        chosen = [written[int(number) - 1] for number in numbers]
        parts = [{"environment": environment, "options": options} for environment, options in chosen]
        found["+".join(names[int(number) - 1] for number in numbers)] = own = config.copy_and_resolve_references()
        with own.unlocked():
            own.environment, own.environment_options = COMPOSITE, json.dumps({"parts": parts})
            own.mixture.weights = ()
    return found


def merge_weights_of(config: Any, parts: int) -> dict[str, tuple[float, ...]]:
    """The weights of each merge, by its name. Raises InputError for what is none."""
    found = {}
    for text in config.merges or (":".join("1" * parts),):
        ratio = _numbers(text, ":")
        if len(ratio) != parts or min(ratio) < 0 or not sum(ratio) > 0:
            words = f"{parts} weights of 0 or more, such as {':'.join('1' * parts)}"
            raise InputError(f"merges must be {words}; got {text!r}")
        found["merged_" + str(text).replace(":", "_")] = tuple(weight / sum(ratio) for weight in ratio)
    return found


def _numbers(written: str | float, mark: str) -> list[float]:
    """Numbers between the marks, of which a number alone has none; [] where one of them is no finite number."""
    try:
        found = [float(each) for each in str(written).split(mark)]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def _with_composites(config: Any) -> Any:
    """The config of an agent that plays all parts and all composites: what its windows must hold."""
    composites = composite_configs(config).values()
    if not composites:
        return config
    whole = config.copy_and_resolve_references()
    kinds = [{**options, ADDRESSEE: environment} for environment, options in written_parts(config)]
    kinds += [{**json.loads(own.environment_options), ADDRESSEE: COMPOSITE} for own in composites]
    with whole.unlocked():
        whole.environment = f"{config.environment},{COMPOSITE}"
        whole.environment_options = json.dumps(kinds)
        whole.mixture.weights = (*config.mixture.weights, *[min(config.mixture.weights)] * len(composites))
    return whole


def compare_with_hybrid(config: Any, run: RunDirectory) -> None:
    """RUN/agents holds a run for each agent that is trained, RUN/merged_W the merges, RUN/result.json the table."""
    ratios = merge_weights_of(config, len(part_configs(config)))
    composite_configs(config)  # what it cannot have is said before anything is played
    config, seen = choose(config, run, _with_composites)
    shapes = RunSpec(_with_composites(config), seen).shapes
    alone = part_configs(config)
    agents = {START: _start(config, run, shapes)}
    for name, its in alone.items():
        agents[name] = _trained(its, run, name, agents[START], shapes)
    for name, ratio in ratios.items():
        agents[name] = _merged(run, [agents[part] for part in alone], name, ratio)
    if config.hybrid:
        hybrid = config.copy_and_resolve_references()
        hybrid.ppo.updates = len(alone) * config.ppo.updates
        agents[HYBRID] = _trained(hybrid, run, HYBRID, agents[START], shapes)
    with RunContext(config, run, shapes=shapes) as context:
        tasks = {name: EnvironmentTasks(its) for name, its in {**alone, **composite_configs(config)}.items()}
        successes = {
            agent: {name: _success(context, agent, weights, name, own) for name, own in tasks.items()}
            for agent, weights in agents.items()
        }
    _finish(config, run, successes, list(alone))


def _agent_run(config: Any, run: RunDirectory, name: str) -> RunDirectory:
    return RunDirectory.create(run.path / "agents" / name.replace("/", "_"), config.to_dict(), "merge_hybrid")


def _start(config: Any, run: RunDirectory, shapes: Sequence[TaskShape]) -> Path:
    with _agent_run(config, run, START) as own, RunContext(config, own, shapes=shapes, page_at=run.path) as context:
        tasks = EnvironmentTasks(context.config)
        if not (tasks.has_reference and context.config.demonstrations.episodes):
            return initial_policy(context)
        supervise(context, "supervised", collect(context, tasks), context.config.supervised)
        return own.path / "supervised"


def _trained(config: Any, run: RunDirectory, name: str, start: Path, shapes: Sequence[TaskShape]) -> Path:
    """By value pretraining and PPO; windows are those of all parts, so that all agents are of one form."""
    with _agent_run(config, run, name) as own, RunContext(config, own, shapes=shapes, page_at=run.path) as context:
        tasks = EnvironmentTasks(context.config)
        print(f"{name}: {config.ppo.updates} updates of {config.ppo.min_batch} episodes", flush=True)
        uses_values = ppo_config(config.ppo).uses_values
        if uses_values:
            pretrain(context, tasks, start)
        run_ppo(context, tasks, start, own.path / "value" if uses_values else None)
        return own.path / "policy"


def _merged(run: RunDirectory, specialists: list[Path], name: str, weights: Sequence[float]) -> Path:
    output = run.path / name
    if not output.exists():
        merge_checkpoints(specialists, output, weights)
    return output


def _success(context: RunContext, agent: str, weights: Path, part: str, tasks: EnvironmentTasks) -> tuple[int, int]:
    """Successes and episodes on the part's held-out tasks, the same for all agents."""
    context.sync_weights(start_from(weights, context.parameters), 0)
    stage = f"{agent}_on_{part}".replace("/", "_")
    held_out = tasks.held_out(context.config.task.evaluation_episodes)
    found = context.play(stage, held_out, context.policy_player(), evaluation=True)
    successes = sum(each.succeeded for each in found)
    context.record(stage, {"successes": successes, "episodes": len(found)})
    return successes, len(found)


def _finish(
    config: Any, run: RunDirectory, successes: Mapping[str, Mapping[str, tuple[int, int]]], parts: list[str]
) -> None:
    """The table, on the terminal and in result.json, with the episodes that each agent was trained on by PPO."""
    compared = [agent for agent in successes if agent not in (START, *parts)]
    of_parts = {agent: {part: scores[part] for part in parts} for agent, scores in successes.items()}
    over = against_specialists(of_parts, compared)
    verdicts = {
        agent: {part: comparable(each, config.tolerance) for part, each in found.items()}
        for agent, found in over.items()
    }
    print("\n".join([*table_lines(successes), *sentences(over, "part")]))
    for agent, found in verdicts.items():
        said = ", ".join(f"{verdict} on {part}" for part, verdict in found.items())
        print(f"{agent} is almost comparable (at most {config.tolerance:.0%} below): {said}")
    of_one = config.ppo.updates * config.ppo.min_batch
    result = {
        "successes": successes,
        "mean": {agent: mean_success(scores) for agent, scores in of_parts.items()},
        "against_specialist": {
            agent: {part: each._asdict() for part, each in found.items()} for agent, found in over.items()
        },
        "tolerance": config.tolerance,
        "almost_comparable": verdicts,
        "ppo_episodes": {
            agent: 0 if agent == START else of_one if agent in parts else len(parts) * of_one for agent in successes
        },
        "seed": config.seed,
    }
    write_json(run.path / "result.json", result)
    print(json.dumps(result["mean"]))
