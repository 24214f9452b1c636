"""Specialists of a mixture's parts, their merges, and one agent of all parts that has cost as many episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.specialists import against_specialists, mean_success, sentences, table_lines
from tars_jax.pipelines.defaults import choose
from tars_jax.pipelines.environments import EnvironmentTasks, written_parts
from tars_jax.pipelines.probing import TaskShape
from tars_jax.pipelines.rules import ppo_config
from tars_jax.pipelines.run_context import RunContext, RunSpec
from tars_jax.pipelines.stages import collect, improve, initial_policy, supervise
from tars_jax.pipelines.starts import start_from
from tars_jax.pipelines.value_stage import pretrain
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.run_directory import RunDirectory, write_json

START, HYBRID = "start", "hybrid"


def part_configs(config: Any) -> dict[str, Any]:
    """For each part of the mixture, by its name, the config of an agent that learns it alone. Raises InputError as
    `EnvironmentTasks` does."""
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


def compare_with_hybrid(config: Any, run: RunDirectory) -> None:
    """RUN/agents holds a run for each agent that is trained, RUN/merged_W the merges, RUN/result.json the table."""
    config, shapes = choose(config, run)
    spec = RunSpec(config, shapes)
    alone = part_configs(config)
    hybrid = config.copy_and_resolve_references()
    hybrid.ppo.updates = len(alone) * config.ppo.updates
    start = _start(config, run, spec.shapes)
    agents = {START: start}
    for name, its in {**alone, HYBRID: hybrid}.items():
        agents[name] = _trained(its, run, name, start, spec.shapes)
    for weight in config.merges:
        agents[f"merged_{weight:g}"] = _merged(run, [agents[name] for name in alone], weight)
    with RunContext(config, run, shapes=spec.shapes) as context:
        tasks = {part: EnvironmentTasks(its) for part, its in alone.items()}
        successes = {
            agent: {part: _success(context, agent, weights, part, tasks[part]) for part in alone}
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
        improve(context, tasks, start, own.path / "value" if uses_values else None)
        return own.path / "policy"


def _merged(run: RunDirectory, specialists: list[Path], weight: float) -> Path:
    """`weight` of the first, the others alike."""
    output = run.path / f"merged_{weight:g}"
    if not output.exists():
        others = len(specialists) - 1
        merge_checkpoints(specialists, output, (weight, *([(1 - weight) / others] * others)))
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
    over = against_specialists(successes, compared)
    print("\n".join([*table_lines(successes), *sentences(over, "part")]))
    of_one = config.ppo.updates * config.ppo.min_batch
    result = {
        "successes": successes,
        "mean": {agent: mean_success(scores) for agent, scores in successes.items()},
        "against_specialist": {
            agent: {part: each._asdict() for part, each in found.items()} for agent, found in over.items()
        },
        "ppo_episodes": {
            agent: 0 if agent == START else of_one if agent in parts else len(parts) * of_one for agent in successes
        },
        "seed": config.seed,
    }
    write_json(run.path / "result.json", result)
    print(json.dumps(result["mean"]))
