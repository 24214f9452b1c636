"""A run whose episodes are played by hosts of a Ray cluster, and whose policy samples in an actor of its own.

`config.fleet` says so; the learner, the pool and all stages are those of a run on one machine.
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints
from tars_jax.inference.engine import Engine
from tars_jax.judges import Judge
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, parameter_shapes
from tars_jax.model.sharding import make_mesh, parameter_shardings
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import sandbox_of
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import FleetConfig
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.ray_policy import RayPolicy
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.training.state import fresh_parameters

Axes = tuple[tuple[str, int], ...]  # of a mesh, with their sizes


def open_policy(
    config: Any, model: ModelConfig, engine: EngineConfig, tokenizer: Tokenizer, constraints: Constraints | None
) -> RayPolicy:
    """The engine's actor, on a mesh of its own machine. Raises InputError where Ray is not installed."""
    mesh = tuple(config.mesh.to_dict().items())
    make = functools.partial(
        _make_engine, model, engine, mesh, constraints, tokenizer.image, tokenizer.end, config.seed
    )
    fleet = config.fleet
    place = functools.partial(_place, model, mesh)
    return RayPolicy(make, place=place, cpus=fleet.cpus, gpus=fleet.policy_gpus, address=fleet.address or None)


def open_fleet(
    config: Any,
    browser: BrowserConfig | None,
    writer: PromptWriter,
    agent: AgentConfig,
    activity: Activity,
    judge: Judge | None = None,
) -> Fleet:
    """`config.fleet.hosts` hosts with `config.browser.pages` runners each; `browser` as `Fleet` takes it."""
    hosts = from_section(FleetConfig, config.fleet, pages=config.browser.pages)
    return Fleet(browser, writer, agent, hosts, activity, judge, sandbox_of(config))


def _make_engine(
    model: ModelConfig,
    engine: EngineConfig,
    mesh: Axes,
    constraints: Constraints | None,
    image: int,
    stop: int,
    seed: int,
) -> Engine:
    """In the actor. Its first weights are nobody's: every stage hands over its own."""
    parameters = fresh_parameters(model, jax.random.key(seed), make_mesh(dict(mesh)))
    return Engine(model, parameters, engine, image=image, stop=stop, seed=seed, constraints=constraints)


def _place(model: ModelConfig, mesh: Axes, parameters: Parameters) -> Parameters:
    """In the actor: numpy weights to its devices."""
    return jax.tree.map(jax.device_put, parameters, _shardings(model, mesh))


@functools.cache
def _shardings(model: ModelConfig, mesh: Axes) -> Any:
    return parameter_shardings(make_mesh(dict(mesh)), parameter_shapes(model))
