"""What the stages of an experiment share: the model, the engine, the browser and the run directory."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import jax

from experiments.config import Rule
from experiments.fleet import open_fleet, open_policy
from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.prompts import QWEN_CHAT, ChatFormat, PromptWriter
from tars_jax.inference import Engine, EngineConfig
from tars_jax.inference.constraint import Constraints, compile_constraints
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters
from tars_jax.model.presets import PRESETS, preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import COMMITTED, Tokenizer, load_tokenizer
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.players import Player, Sessions, engine_player
from tars_jax.rollout.share import WHOLE, Share
from tars_jax.rollout.stream_metrics import EngineCounts
from tars_jax.rollout.timeline import Part, Timeline
from tars_jax.rollout.workers import Rollouts
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.task import Task
from tars_jax.training import processes
from tars_jax.training.checkpoint import (
    Checkpoints,
    copy_export,
    files_beside,
    load_parameters,
    recorded_model,
    save_parameters,
)
from tars_jax.training.handover import to_own_devices
from tars_jax.training.metrics import MetricsWriter, Progress, require_finite
from tars_jax.training.optimisers import OptimiserConfig, make_optimiser
from tars_jax.training.packing import Packer, PackingConfig, select_rows
from tars_jax.training.rewards import RewardConfig
from tars_jax.training.run_directory import RunDirectory, read_object
from tars_jax.training.schedule import rows_of_update
from tars_jax.training.sealed import read_manifest
from tars_jax.training.state import fresh_parameters, start
from tars_jax.training.supervised import make_supervised_update
from tars_jax.trajectory import Trajectory

FROM_NANO = Rule(
    lambda name: name == "nano" or (Path(name) / "checkpoint.json").is_file(),
    "'nano', or a folder of exported weights to start from, such as import_weights makes",
)


def starting_point(name: str) -> tuple[ModelConfig, Tokenizer, Path | None]:
    """Model, tokenizer and weights of `model.preset`: a preset's name, with our tokenizer and without weights; or a
    folder of exported weights, with the model that they record and the tokenizer beside them, or else ours.

    Raises InputError when it is neither, and when model and tokenizer do not fit each other.
    """
    if name in PRESETS:
        tokenizer = load_tokenizer()
        return preset(name, tokenizer.vocabulary), tokenizer, None
    model = recorded_model(name)
    tokenizer = load_tokenizer(next((file for file in files_beside(name) if file.name == COMMITTED.name), COMMITTED))
    if tokenizer.vocabulary > model.vocabulary or tokenizer.image != model.image_token:
        raise InputError(
            f"{name}: a model of {model.vocabulary} tokens whose image token is {model.image_token} has a tokenizer of "
            f"{tokenizer.vocabulary} whose image token is {tokenizer.image}; it takes the model's own tokenizer.json "
            "beside config.json when it is imported."
        )
    return model, tokenizer, Path(name)


def configured(model: ModelConfig, section: Any) -> ModelConfig:
    """A preset's model as a config's section `model` has it: how it runs, in which precision, with values or without.

    Raises InputError for a precision or a way to run that there is not.
    """
    return dataclasses.replace(run_as(model, section), scalar_head=section.shared_value)


def run_as(model: ModelConfig, section: Any) -> ModelConfig:
    """The model as a section says that it runs: its `dtype` and its `execution`."""
    execution = section.execution.to_dict()
    execution["capacity"] = execution["capacity"] or None
    return dataclasses.replace(model, dtype=section.dtype or model.dtype, execution=Execution(**execution))


def well_formed(grammars: Iterable[str], tokenizer: Tokenizer) -> Constraints | None:
    """For each grammar a constraint of its name, under which only responses that can be read are sampled."""
    patterns = {grammar: response_pattern(grammar) for grammar in grammars}
    if not patterns:
        return None
    return compile_constraints(patterns, tokenizer.token_bytes(), stop=tokenizer.end, vocabulary=tokenizer.vocabulary)


def chat_format(tokenizer: Tokenizer) -> ChatFormat:
    """The special tokens around turns, by what the tokenizer has."""
    return QWEN_CHAT if tokenizer.knows(QWEN_CHAT.end) else ChatFormat()


def decaying(config: Any, updates: int) -> OptimiserConfig:
    """The optimiser of a stage that ends after so many updates; a short one warms up in half of them at most."""
    return OptimiserConfig(
        config.learning_rate,
        algorithm=config.optimiser,
        warmup=min(OptimiserConfig.warmup, updates // 2),
        decay=updates,
        weight_decay=config.weight_decay,
    )


def agent_config(
    agent: Mapping[str, Any],
    engine: EngineConfig | None,
    image_size: Callable[[int, int], tuple[int, int]] | None = None,
) -> AgentConfig:
    """The loop that a config's section `agent` describes; `engine` bounds its prompts. `image_size`: of the image that
    a model sees, which may point in its pixels; who is none points on the grid."""
    memory = MemoryConfig(agent["min_steps"], agent["max_steps"], agent["max_summaries"])
    longest = None if engine is None else engine.max_length - engine.max_new_tokens
    in_pixels = agent.get("coordinates") == "pixels"
    return AgentConfig(agent["grammar"], memory, max_prompt=longest, image_size=image_size if in_pixels else None)


def rewards_of(config: Any, longest: int) -> RewardConfig:
    """Shaping as a section `reward` has it; responses longer than three quarters of `longest` tokens are overlong."""
    return RewardConfig(max_length=longest, length_cache=max(1, longest // 4), **config.to_dict())


def engine_config(config: Any, constraint: str | None = None) -> EngineConfig:
    """A slot for each page of the browsers, on whatever machine."""
    pages = num_pages(config)
    return EngineConfig(slots=pages, row_buckets=(2, max(2, pages)), constraint=constraint, **config.engine.to_dict())


def num_hosts(config: Any) -> int:
    """Hosts of a Ray cluster that play; 0, also without a section `fleet`: this machine does."""
    return int(config.fleet.hosts) if "fleet" in config else 0


def num_pages(config: Any) -> int:
    """Pages that play at the same time, of this machine or of all hosts."""
    return int(config.browser.pages) * max(1, num_hosts(config))


def run_config(folder: Path) -> Mapping[str, Any]:
    """The config of the run that a folder of weights lies in; empty where it lies in none."""
    file = folder.absolute().parent / "config.json"
    found: Mapping[str, Any] = read_object(file, "config")["config"] if file.exists() else {}
    return found


class Workbench:
    """What a config says of the model, its prompts and its rows; nothing is opened."""

    def __init__(self, config: Any) -> None:
        self.config = config
        model, tokenizer, self.parent = starting_point(config.model.preset)
        self.model, self.tokenizer = configured(model, config.model), tokenizer
        self.mesh = make_mesh(config.mesh.to_dict())
        rows, columns = self.model.vision.token_grid(config.browser.size, config.browser.size)
        self.writer = PromptWriter(tokenizer, rows * columns, config.agent.show_budget, chat_format(tokenizer))
        self.packer = Packer(self.model, PackingConfig(**config.packing.to_dict()), image=tokenizer.image)
        self.rewards = rewards_of(config.reward, config.engine.max_new_tokens)

    @functools.cached_property
    def parameters(self) -> Parameters:
        """Weights of the right shapes and shardings: what is loaded from files is laid out like them."""
        return fresh_parameters(self.model, jax.random.key(self.config.seed), self.mesh)


class Policy(Protocol):
    """Samples with the weights that it was handed last: an engine here, or one in an actor."""

    @property
    def version(self) -> int: ...

    @property
    def sessions(self) -> Sessions: ...

    def set_weights(self, parameters: Parameters, version: int) -> None: ...

    def statistics(self) -> EngineCounts: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...


class Lab(Workbench):
    """Everything that is opened once and closed at the end, whatever happens. Use as a context manager.

    `plays`: it opens browsers; a stage that learns from recorded trajectories alone needs none.
    """

    def __init__(self, config: Any, run: RunDirectory, *, plays: bool = True) -> None:
        super().__init__(config)
        self.run, self.path, self._plays = run, run.path, plays
        self.share = Share(processes.number(), processes.count())
        tokenizer, agent, size = self.tokenizer, config.agent, config.browser.size
        constraint = agent.grammar if agent.constrained else None
        self._timeline = Timeline(run.own)
        self.activity = Activity(self._timeline)
        engine = engine_config(config, constraint)
        constraints = well_formed([constraint] if constraint else [], tokenizer)
        pages = -(-2 * config.browser.pages // config.browser.browsers)  # half of them between two episodes
        browser = BrowserConfig(browsers=config.browser.browsers, pages_per_browser=pages, width=size, height=size)
        loop = agent_config(agent, engine)
        self.rollouts: Rollouts | Fleet
        if num_hosts(config):
            if self.share != WHOLE:
                raise InputError(f"fleet.hosts is {num_hosts(config)}, a run of several processes takes 0: each plays.")
            self.policy: Policy = open_policy(config, self.model, engine, tokenizer, constraints)
            self.rollouts = open_fleet(config, browser, self.writer, loop, self.activity)
        else:
            self.policy = self.engine = Engine(
                self.model,
                to_own_devices(self.parameters),
                engine,
                constraints=constraints,
                image=tokenizer.image,
                stop=tokenizer.end,
                seed=config.seed,
                span=functools.partial(self.activity.span, Part.ENGINE, 0),
            )
            self.rollouts = Rollouts(browser, self.writer, loop, workers=config.browser.pages, activity=self.activity)
        self.metrics = MetricsWriter(run.own)
        self._open = contextlib.ExitStack()
        self._last_record = time.monotonic()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.set_mesh(self.mesh))
            stack.enter_context(self.metrics)
            stack.enter_context(self._timeline)
            if self._plays:
                stack.enter_context(self.rollouts)
            stack.enter_context(self.policy)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def policy_player(self) -> Player:
        """Plays by the engine's weights of the moment."""
        return engine_player(self.policy.sessions, self.config.seed)

    def hand_over(self, parameters: Parameters, version: int) -> None:
        """Weights to what samples; on the devices of each process."""
        self.policy.set_weights(to_own_devices(parameters), version)

    def play(self, stage: str, tasks: Sequence[Task], player: Player, samples: int = 1) -> list[Trajectory]:
        """Plays each task so often into the run directory, with a progress line; what was played is read back.

        Of several processes each plays its share, and gets what all have played. Raises InputError where none is left.
        """
        own = sum(map(self.share.has, range(len(tasks))))
        progress = Progress(stage, own * samples, "episodes")
        solved: list[bool] = []

        def on_finish(done: int, trajectory: Trajectory) -> None:
            solved.append(trajectory.reward > 0)
            progress.update(done, success=sum(solved) / len(solved))

        folder = self.path / "trajectories" / stage
        played = self.rollouts.play(tasks, player, folder, on_finish, samples, self.share)
        if self.share != WHOLE:
            processes.gather(stage)
            played = self.rollouts.play(tasks, player, folder, samples=samples)
        if tasks and not played:
            raise InputError(f"All episodes of the stage {stage} were lost to the sandbox; {folder} says of what.")
        return played

    def record(self, stage: str, result: Mapping[str, Any]) -> None:
        """Marks a stage as finished, once, with the time that it took."""
        now = time.monotonic()
        if self.run.finished(stage) is None:
            self.run.finish(stage, {**result, "seconds": now - self._last_record})
        self._last_record = now


def start_from(path: Path, fresh: Parameters) -> Parameters:
    """Exported weights, laid out as `fresh`; a value head that they do not have stays fresh."""
    stored = {leaf.partition("/")[0] for leaf in read_manifest(path.absolute())["leaves"]}
    known = {name: leaf for name, leaf in fresh.items() if name != "scalar_head" or name in stored}
    return {**fresh, **load_parameters(path, known)}


def keep(run: Path, weights: Path, name: str) -> Path:
    """Where a run has the weights that it starts from: its own, or a copy, so that it is whole without other runs."""
    if weights.absolute().is_relative_to(run.absolute()):
        return run / weights.absolute().relative_to(run.absolute())
    if not processes.agreed((run / "start" / name).exists()):
        copy_export(weights, run / "start" / name)
    return run / "start" / name


def supervise(
    lab: Lab,
    stage: str,
    demonstrations: Sequence[Trajectory],
    config: Any,
    parent: Path | None = None,
    *,
    loss_on: str = "agent",
    epochs: int | None = None,
    output: Path | None = None,
) -> None:
    """Supervised training on demonstrations, from the weights in `parent`, else from those that the lab starts from
    or, without any, from fresh ones; exports `output`, which is RUN/stage unless given.

    `config` has the fields of the quickstart's `supervised`; `epochs` takes the place of its `updates`. `loss_on` as
    `make_supervised_update` takes it. Goes on where a killed run stopped.
    """
    if lab.run.finished(stage):
        return
    seed, parent, output = lab.config.seed, parent or lab.parent, output or lab.path / stage
    rows = lab.packer.pack(demonstrations, config.batch_rows).rows
    num_rows = rows.action_mask.shape[0]
    updates = config.updates if epochs is None else epochs * num_rows // config.batch_rows
    optimiser = make_optimiser(decaying(config, updates))
    update = make_supervised_update(lab.model, optimiser, config.balance, loss_on)
    fresh = fresh_parameters(lab.model, jax.random.key(seed), lab.mesh)
    state = start(fresh if parent is None else start_from(parent, fresh), optimiser)
    checkpoints = Checkpoints(lab.path / "checkpoints" / stage)
    done = checkpoints.latest() or 0
    if done:
        state, _ = checkpoints.restore(done, state)
    lab.metrics.truncate_after(stage, done)
    progress = Progress(stage, updates, "updates", done=done)
    for number in range(done, updates):
        chosen = rows_of_update(number, num_rows, config.batch_rows, seed)
        state, metrics = update(state, select_rows(rows, chosen))
        saves = (number + 1) % config.save_every == 0
        if saves or (number + 1) % 20 == 0 or number + 1 == updates:
            values = {name: float(value) for name, value in metrics.items()}
            require_finite(stage, number + 1, values)
            lab.metrics.write(stage, number + 1, values)
            progress.update(number + 1, loss=values["loss"], accuracy=values["accuracy"])
        if saves:
            checkpoints.save(number + 1, state, {})
    save_parameters(output, state.parameters, parent=parent, model=lab.model)
    lab.record(stage, {"updates": updates})
