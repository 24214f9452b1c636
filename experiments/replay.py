"""Half of a recorded run again: the learner from recorded episodes, or rollouts from recorded weights.

- `train`: the updates of a run or of a published archive, from the same weights, episodes and seeds; every update must
  give the recorded weights, bit for bit.
- `rollout`: the evaluation episodes, from the same weights, tasks and seeds; how many are the same, token by token.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.evaluation.replay_agreement import replay_agreement
from tars_jax.json_fields import read_object
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import load_config, naming
from tars_jax.pipelines.ppo_stage import learner_at_start
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.rollout.ledger import trajectory_path
from tars_jax.training.archive import extract_archive
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.metrics import METRICS_FILE, read_metrics
from tars_jax.training.recorded_updates import (
    UPDATES_FILE,
    Digests,
    RecordedUpdates,
    Remade,
    differing_leaves,
    read_updates,
    remake,
)
from tars_jax.training.run_directory import RunDirectory, environment, write_json
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory

POSITIONAL = ("source",)
MATTERS = ("jax", "jaxlib", "numpy", "flax", "optax", "pillow")  # packages that can change a last bit


def run(config: Any, run_directory: RunDirectory) -> int:
    """The exit code: 1 where `train` finds a difference. What rounding does to rollouts is no failure."""
    source = open_source(config.source, run_directory.path / "source")
    for line in differences(recorded_environment(source), environment()):
        print(f"note: {line}")
    if config.mode == "rollout":
        result = rollout(source, config.sandbox, config.stage, config.episodes, run_directory)
    else:
        result = train(source, config.sandbox, config.updates)
    write_json(run_directory.path / "result.json", {"mode": config.mode, **result})
    return 0 if config.mode == "rollout" or result["identical"] else 1


def open_source(given: str, scratch: Path) -> Path:
    """The run directory that is meant; an archive is checked and unpacked. Raises InputError for anything else."""
    path = Path(given)
    if path.is_file():
        with naming("config.source", "source"):
            extract_archive(path, scratch)
        return scratch
    if not (path / "config.json").is_file():
        raise InputError(f"config.source must be a run directory or an archive that `publish` made; got {given!r}")
    return path


def recorded_run(source: Path, sandbox: Any) -> tuple[Any, RecordedUpdates]:
    """The run's config, whose model is read from the run's own weights and whose sandboxes are where the section
    `sandbox` says, and its updates."""
    experiment = read_object(source / "config.json", "experiment", "config")["experiment"]
    config = load_config(experiment, [f"--config={source / 'config.json'}"], root=ROOT, checked=False)
    if "ppo" not in config or "browser" not in config:
        raise InputError(
            f"config.source must be a run that trains an agent by PPO; got {source}, a run of {experiment}"
        )
    require(source, UPDATES_FILE, "which episodes each update took", "updates")
    recorded = read_updates(source / UPDATES_FILE)
    for weights in recorded.starts.folders:
        require(source, f"{weights}/checkpoint.json", "the weights before the first update", "updates")
    with config.unlocked():
        config.model.preset, config.sandbox = str(source / recorded.starts.policy), sandbox
    return config, recorded


def require(source: Path, name: str, what: str, option: str) -> None:
    if not (source / name).exists():
        raise InputError(
            f"config.source must be a finished run, or an archive published with --config.trajectories={option}; "
            f"got one without {source / name}: {what}"
        )


def train(source: Path, sandbox: Any, limit: int) -> dict[str, Any]:
    """Makes the first `limit` updates again, all for 0; stops at the first that differs."""
    config, recorded = recorded_run(source, sandbox)
    value_at = None if recorded.starts.value is None else source / recorded.starts.value
    episodes = recorded.episodes[: limit or None]
    folder = source / "trajectories" / "ppo"
    for index in (index for batch in episodes for index in batch):
        require(source, str(trajectory_path(folder, index).relative_to(source)), "an episode of an update", "updates")
    spec = RunSpec(config)
    with jax.set_mesh(spec.mesh):
        parts = tuple(map(str, range(len(config.get("mixture", {}).get("weights", ())))))
        learner, state = learner_at_start(spec, source / recorded.starts.policy, value_at, parts)
        found, expected = Digests.of(state), recorded.digests[0]
        if found != expected:
            raise InputError(f"{source}: its weights are not those that the updates began with ({found.policy[:16]}).")
        made = [dataclasses.asdict(found)]
        chosen = dataclasses.replace(recorded, episodes=episodes)

        def load(index: int) -> Trajectory:
            return load_trajectory(trajectory_path(folder, index))

        def part_of(index: int) -> int:
            return index // config.ppo.group_size % len(parts)

        for each in remake(learner, state, chosen, load, config.seed, part_of if parts else None):
            made.append(dataclasses.asdict(each.digests))
            number = each.state.version
            expected = recorded.digests[number]
            same = each.digests == expected
            shown = f"policy {each.digests.policy}  value {each.digests.value}"
            print(f"update {number}/{len(episodes)}  {shown}  {'identical' if same else 'DIFFERENT'}", flush=True)
            if not same:
                difference = first_difference(source, each, expected)
                print(f"The first difference is at update {number}: {difference}")
                return {"identical": False, "updates": number, "digests": made, "first_difference": difference}
    print(f"All {len(episodes)} updates gave the recorded weights, bit for bit.")
    return {"identical": True, "updates": len(episodes), "digests": made}


def first_difference(source: Path, made: Remade, expected: Digests) -> dict[str, Any]:
    """What of an update is not as recorded: metrics, and leaves where the run has kept its weights."""
    rows = read_metrics(source / METRICS_FILE) if (source / METRICS_FILE).exists() else []
    recorded = next((row.values for row in rows if (row.stage, row.step) == ("ppo", made.state.version)), {})
    metrics = {
        name: [value, recorded[name]]
        for name, value in made.metrics.items()
        if name in recorded and value != recorded[name] and not (math.isnan(value) and math.isnan(recorded[name]))
    }
    found: dict[str, Any] = {
        "update": made.state.version,
        "weights": [name for name in ("policy", "value") if getattr(made.digests, name) != getattr(expected, name)],
        "metrics": metrics,  # here, recorded
    }
    folder = source / "checkpoints" / "ppo"
    if (folder / f"{made.state.version:08d}").exists():
        states = made.state.policy, made.state.value
        kept, _ = Checkpoints(folder).restore(made.state.version, states)
        weights = (_parameters(pair) for pair in (states, kept))
        found["leaves"] = differing_leaves(*weights)
    return found


def _parameters(states: Any) -> list[Any]:
    """Of policy and value model, or of all value models."""
    policy, value = states
    values = value if isinstance(value, tuple) else () if value is None else (value,)
    return [state.parameters for state in (policy, *values)]


def rollout(source: Path, sandbox: Any, stage: str, limit: int, run_directory: RunDirectory) -> dict[str, Any]:
    """Plays the first `limit` evaluation episodes of a stage again, all for 0."""
    config, updates = recorded_run(source, sandbox)
    weights = {"before": updates.starts.policy, "after": "policy"}[stage]
    require(
        source, f"{weights}/checkpoint.json", f"the weights that played {stage!r}", "all --config.checkpoint=policy"
    )
    files = sorted((source / "trajectories" / stage).glob("*.trajectory"))[: limit or None]
    recorded = [each for each in map(load_trajectory, files) if each.outcome.carries_reward]
    if not recorded:
        require(source, f"trajectories/{stage}", f"the episodes of {stage!r}", "all")
        raise InputError(f"{source / 'trajectories' / stage} holds no episode that came to an end.")
    with RunContext(config, run_directory) as context:
        context.policy.set_weights(start_from(source / weights, context.parameters), 0)
        tasks = [Task.from_json(each.task) for each in recorded]
        again = context.play(stage, tasks, context.policy_player(), evaluation=True)
    numbers = [int(each.id.partition("-")[0]) for each in again]  # those that the infrastructure failed are left out
    found = replay_agreement([recorded[number] for number in numbers], again)
    print(found.sentence())
    return dataclasses.asdict(found)


def recorded_environment(source: Path) -> Mapping[str, Any]:
    return read_object(source / "environment.json", "starts")["starts"][-1]


def differences(recorded: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What ran the recording and is another here; any of it can change a last bit."""
    lines = []
    if recorded["code"]["commit"] != here["code"]["commit"]:
        lines.append(f"the code is of commit {here['code']['commit']}, the recording's of {recorded['code']['commit']}")
    for name, code in (("the recording's code", recorded["code"]), ("the code here", here["code"])):
        if code["dirty"]:
            lines.append(f"{name} has changes that are not committed")
    for field in ("cpu", "cpus", "xla_flags"):
        if field in recorded and recorded[field] != here[field]:
            lines.append(f"{field} is {here[field]!r} here, {recorded[field]!r} in the recording")
    packages, mine = recorded["packages"], here["packages"]
    others = sorted(name for name in packages.keys() | mine.keys() if packages.get(name) != mine.get(name))
    for name in (each for each in others if each in MATTERS):
        lines.append(f"{name} is {mine.get(name)} here, {packages.get(name)} in the recording")
    rest = [name for name in others if name not in MATTERS]
    return lines + ([f"{len(rest)} other packages differ, such as {rest[0]}"] if rest else [])
