"""Who an evaluation lets play: exported weights, a policy behind an address, a reference player, or chance."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from PIL import Image

from experiments.serve import read_key
from experiments.stages import starting_point
from tars_jax import InputError
from tars_jax.agent.guide import action_guide
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference import Engine, EngineConfig
from tars_jax.inference.client import open_client
from tars_jax.inference.http_client import ChatSession
from tars_jax.inference.turns import Message, TurnFormat
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import Player, engine_player, random_player, reference_player, resized_player
from tars_jax.training.checkpoint import load_parameters
from tars_jax.training.run_directory import read_object
from tars_jax.training.state import fresh_parameters

SCREEN = 320  # pixels on a side of a game for whoever has no size of its own


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A player with what the agent loop needs to know of it."""

    player: Player
    writer: PromptWriter
    agent: AgentConfig
    screen: int  # pixels on a side of a game


@contextlib.contextmanager
def open_contestant(config: Any) -> Iterator[Contestant]:
    """What `config.checkpoint` names, open while the block runs.

    Raises InputError where it is neither a folder of exported weights, nor an address, nor "reference", nor "random".
    """
    given = config.checkpoint
    if given in ("reference", "random"):
        yield scripted(given, config)
    elif given.startswith(("http://", "https://")):
        yield remote(config)
    elif (Path(given) / "checkpoint.json").is_file():
        with exported(Path(given), config) as contestant:
            yield contestant
    else:
        raise InputError(
            f"config.checkpoint got {given!r}; it takes a folder of exported weights such as RUN/policy, the address "
            "of a server (http://...), 'reference' or 'random'."
        )


def scripted(name: str, config: Any) -> Contestant:
    writer = PromptWriter(load_tokenizer(), image_tokens=1)
    agent = agent_config(config.agent.to_dict(), None)
    player = (
        reference_player(writer, agent.grammar, 1.0) if name == "reference" else random_player(writer, agent.grammar)
    )
    return Contestant(player, writer, agent, config.screen or SCREEN)


def remote(config: Any) -> Contestant:
    """A policy that is asked by chat messages, and told how to act: our server, or any OpenAI-compatible one."""
    tokenizer = load_tokenizer()
    turns = TurnFormat(tokenizer, lambda height, width: 1)
    agent = agent_config(config.agent.to_dict(), None)
    guide = [Message("system", (action_guide(agent.grammar),))] if config.guide else []
    key = read_key(config.api_key_file)

    def player(watched: Any, task: Any) -> contextlib.AbstractAsyncContextManager[PolicySession]:
        @contextlib.asynccontextmanager
        async def session() -> AsyncIterator[PolicySession]:
            async with open_client(config.checkpoint, turns=turns, model=config.model, api_key=key) as client:
                yield ChatSession(client, turns, task.seed + config.seed, guide)

        return session()

    writer = PromptWriter(tokenizer, 1, agent_shows_budget(config.agent.to_dict()))
    return Contestant(player, writer, agent, config.screen or SCREEN)


@contextlib.contextmanager
def exported(folder: Path, config: Any) -> Iterator[Contestant]:
    """Exported weights in an engine; agent and screen are those of the run that they come from, where there is one."""
    stored = run_config(folder)
    sections = {name: stored.get(name) or {} for name in ("model", "agent", "browser")}
    model, tokenizer, _ = starting_point(sections["model"].get("preset") or str(folder))
    model = dataclasses.replace(model, scalar_head=False)
    agent = sections["agent"] or config.agent.to_dict()
    screen = config.screen or sections["browser"].get("size") or SCREEN
    rows, columns = model.vision.token_grid(screen, screen)
    writer = PromptWriter(tokenizer, rows * columns, agent_shows_budget(agent))
    mesh = make_mesh(config.mesh.to_dict())
    with jax.set_mesh(mesh):
        parameters = load_parameters(folder, fresh_parameters(model, jax.random.key(0), mesh))
        engine_config = EngineConfig(
            slots=config.browser.pages, row_buckets=(2, max(2, config.browser.pages)), **config.engine.to_dict()
        )
        with Engine(
            model, parameters, engine_config, image=tokenizer.image, stop=tokenizer.end, seed=config.seed
        ) as engine:
            player = resized_player(engine_player(engine, config.seed), to_square(screen))
            yield Contestant(player, writer, agent_config(agent, engine_config), screen)


def run_config(folder: Path) -> Mapping[str, Any]:
    """The config of the run that a folder of weights lies in; empty where it lies in none."""
    file = folder.absolute().parent / "config.json"
    found: Mapping[str, Any] = read_object(file, "config")["config"] if file.exists() else {}
    return found


def agent_config(agent: Mapping[str, Any], engine: EngineConfig | None) -> AgentConfig:
    memory = MemoryConfig(agent["min_steps"], agent["max_steps"], agent["max_summaries"])
    longest = None if engine is None else engine.max_length - engine.max_new_tokens
    return AgentConfig(agent["grammar"], memory, max_prompt=longest)


def agent_shows_budget(agent: Mapping[str, Any]) -> bool:
    return bool(agent["show_budget"])


def to_square(side: int) -> Callable[[np.ndarray], np.ndarray]:
    """Screenshots of another size, such as a benchmark's, to the one that the policy reads."""

    def resize(pixels: np.ndarray) -> np.ndarray:
        if pixels.shape[:2] == (side, side):
            return pixels
        return np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))

    return resize
