"""Contestants of an evaluation: exported weights, a remote policy, a reference player, or chance."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict
from PIL import Image

from tars_jax import InputError
from tars_jax.agent.computer_tool import END
from tars_jax.agent.grammar_plain import PLAIN
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.observations import pixel_size
from tars_jax.agent.platform_prompt import platform_prompt
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.tool_schemas import NATIVE, TEXT
from tars_jax.environment import ActionSpace, Task
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.http_client import ChatSession, EndpointClient, ServerClient
from tars_jax.inference.policy_client import PolicyClient, PolicyUnavailable
from tars_jax.inference.sampling import Sampling
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import Tokenizer, load_tokenizer
from tars_jax.pipelines.answer_constraints import constrained_player, keep_in, once
from tars_jax.pipelines.probing import TaskShape
from tars_jax.pipelines.sections import agent_config, chat_format, num_pages
from tars_jax.pipelines.serving import fit_to, read_key
from tars_jax.pipelines.starting_weights import run_config, starting_point
from tars_jax.pipelines.windows import longest_windows
from tars_jax.rollout.computer_tool_session import ComputerToolSession
from tars_jax.rollout.native_session import NativeSession
from tars_jax.rollout.players import (
    Player,
    PrivilegedEnvironment,
    engine_player,
    person_player,
    random_player,
    reference_player,
    resized_player,
)
from tars_jax.rollout.remote_policy import declining_player, waiting_player
from tars_jax.training.quantized import load_for_engine
from tars_jax.training.state import abstract_parameters

# What the client calls its arguments, by the fields that they come from.
FIELDS = {
    "client.model": "config.model",
    "client.api_key": "config.api_key_file",
}
SCRIPTED = REFERENCE, PERSON, RANDOM = ("reference", "person", "random")
ADDRESSES = ("http://", "https://")
AWAY_SECONDS = 5.0  # until a policy that was away is asked again
ANSWER = 48  # tokens at most, of weights that no run of ours has made
INSTRUCTION, ROUND = 256, 32  # tokens of an instruction, for which windows have room; lengths are multiples of this
SCREEN = 320  # pixels on a side of a game for whoever has no size of its own


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A player with what the agent loop needs to know of it."""

    player: Player
    writer: PromptWriter
    agent: AgentConfig
    screen: int  # pixels on a side of a game
    compiles: bool = False  # its first answer takes longer than others


@contextlib.contextmanager
def open_contestant(config: Any, steps: int, field: str = "checkpoint") -> Iterator[Contestant]:
    """Opens the contestant that `config.checkpoint` names, for the length of the block. `steps`: of its longest
    episode; `field`: where the user has named it.

    Raises InputError where it is neither a folder of exported weights, nor an address, nor one of `SCRIPTED`.
    """
    given = config.checkpoint
    check_contestant(given, field)
    if given in SCRIPTED:
        yield scripted(given, config)
    elif given.startswith(ADDRESSES):
        yield remote(config)
    else:
        with exported(Path(given), config, steps) as contestant:
            yield contestant


def check_contestant(given: str, field: str = "checkpoint") -> None:
    """Checks a contestant cheaply before others play. Raises InputError as `open_contestant`."""
    if given in SCRIPTED or given.startswith(ADDRESSES) or (Path(given) / "checkpoint.json").is_file():
        return
    raise InputError(
        f"config.{field} must be a folder of exported weights such as RUN/policy, the address of a server "
        f"(http://...), or one of {', '.join(SCRIPTED)}; got {given!r}"
    )


def scripted(name: str, config: Any) -> Contestant:
    writer = PromptWriter(load_tokenizer(), image_tokens=1)
    agent = agent_config(config.agent, None)
    match name:
        case "reference":
            player = reference_player(writer, agent.grammar, 1.0)
        case "person":
            player = person_player(writer, agent.grammar)
        case _:
            player = random_player(writer, agent.grammar)
    return Contestant(player, writer, agent, config.screen or SCREEN)


def remote(config: Any, field: str = "checkpoint") -> Contestant:
    """A policy that is asked by chat messages: our server, or any OpenAI-compatible one, at the address that `field`
    of the config holds.

    One whose server does not say how it was trained to act is told how to. Raises InputError where nobody answers, and
    for a model or a key that the address lacks or does not take. One that is away later is waited for, for
    `config.patience` seconds, and the episode played again.
    """
    tokenizer = load_tokenizer()
    turns = TurnFormat(tokenizer, lambda height, width: 1)
    key = read_key(config.api_key_file)

    def reach() -> contextlib.AbstractAsyncContextManager[PolicyClient]:
        return open_client(config[field], turns=turns, model=config.model, api_key=key, patience=config.answer_seconds)

    async def knock() -> Mapping[str, Any]:
        async with reach() as client:
            return client.policy_info

    try:
        policy = asyncio.run(knock())
    except PolicyUnavailable as error:
        raise InputError(f"config.{field} must be where a policy answers; got {config[field]!r}: {error}") from error
    except InputError as error:
        argument, _, rest = str(error).partition(" ")
        named = {**FIELDS, "client.target": f"config.{field}"}.get(argument, argument)
        raise InputError(f"{named} {rest}") from None
    known = policy.get("agent")
    section = known or config.agent
    agent = agent_config(section, None, pixel_size)
    tools = config.get("tools", TEXT)
    if tools != TEXT and agent.grammar == PLAIN:
        raise InputError(f"config.tools must be text for answers in plain text, which call nothing; got {tools}")
    told = config.guide or agent.list_actions
    guided = config.guide and not known and not agent.list_actions

    def guide(space: ActionSpace) -> list[Message]:
        words = platform_prompt(agent.grammar, space, pixels=agent.image_size is not None)
        return [Message("system", (words,))] if guided else []

    screen = config.screen or (policy.get("screenshot") or [SCREEN])[0]

    @contextlib.asynccontextmanager
    async def player(watched: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        seed = task.seed + config.seed
        async with reach() as client:
            if tools == TEXT:
                yield ChatSession(client, turns, seed, guide(watched.space))
                return
            assert isinstance(client, EndpointClient | ServerClient), "what is reached by an address takes messages"
            size, space = agent.image_size, watched.space
            if tools == NATIVE:
                yield NativeSession(client, turns, space, agent.grammar, seed, image_size=size, guide=told)
            else:
                yield ComputerToolSession(
                    client, turns, space, agent.grammar, seed, tool=tools, image_size=size, guide=told and not known,
                    safety_checks=config.get("safety_checks", END),
                )  # fmt: skip

    playing: Player = player
    if tools != TEXT:
        agent = dataclasses.replace(agent, list_actions=False)  # the session tells what can be called, as tools
    elif known and known.get("constrained"):

        async def keep(name: str, pattern: str) -> None:
            async with reach() as client:
                assert isinstance(client, ServerClient), "what states how its policy acts is a server of ours"
                await client.put_constraint(name, pattern)

        playing = constrained_player(player, known, once(keep), Sampling())
    most = section.get("max_observation_tokens", 0)
    writer = PromptWriter(tokenizer, 1, section["show_budget"], max_observation_tokens=most)
    waiting = waiting_player(declining_player(playing), PolicyUnavailable, AWAY_SECONDS, config.patience)
    return Contestant(waiting, writer, agent, screen)


@contextlib.contextmanager
def exported(folder: Path, config: Any, steps: int) -> Iterator[Contestant]:
    """Exported weights in an engine, in the precision that they record. How the model runs (`Execution`) is this
    machine's affair."""
    model, tokenizer, _ = starting_point(str(folder))
    model = dataclasses.replace(model, scalar_head=False)
    driven = Driven.of(folder, config, model, tokenizer, steps)
    mesh = make_mesh(config.mesh.to_dict())
    with jax.set_mesh(mesh):
        parameters = load_for_engine(folder, model, abstract_parameters(model, mesh), config.engine.weights)
        with driven.open(model, parameters, config.engine.weights) as engine:
            yield driven.contestant(engine)


@dataclasses.dataclass(frozen=True)
class Driven:
    """Settings of exported weights' engine and agent: those of the run that `folder` lies in, or else the config's."""

    agent: Mapping[str, Any]
    engine: EngineConfig
    screen: int
    writer: PromptWriter
    tokenizer: Tokenizer
    seed: int

    @classmethod
    def of(cls, folder: Path, config: Any, model: ModelConfig, tokenizer: Tokenizer, steps: int) -> Driven:
        """`steps`: of the longest episode, for which windows have room where `engine.max_length` is 0."""
        stored = run_config(folder)
        sections = {name: stored.get(name) or {} for name in ("agent", "browser", "engine")}
        agent = sections["agent"] or config.agent
        screen = config.screen or sections["browser"].get("size") or SCREEN
        rows, columns = model.vision.token_grid(screen, screen)
        most = agent.get("max_observation_tokens", 0)
        writer = PromptWriter(tokenizer, rows * columns, agent["show_budget"], chat_format(tokenizer), most)
        engine = config.engine.to_dict()
        engine["max_new_tokens"] = engine["max_new_tokens"] or sections["engine"].get("max_new_tokens") or ANSWER
        if not engine["max_length"]:
            longest = room_for(agent, writer, screen, steps, engine["max_new_tokens"])
            engine |= {"max_length": longest, "length_buckets": (longest // 2, longest)}
        pages = num_pages(config)
        settings = EngineConfig(slots=pages, row_buckets=(2, max(2, pages)), **engine)
        return cls(agent, settings, screen, writer, tokenizer, config.seed)

    def open(self, model: ModelConfig, parameters: Parameters, weights: str) -> Engine:
        settings = dataclasses.replace(self.engine, weights=weights)
        stop, image = self.tokenizer.end, self.tokenizer.image
        return Engine(model, parameters, settings, image=image, stop=stop, seed=self.seed)

    def contestant(self, engine: Engine) -> Contestant:
        """The contestant that the engine samples."""
        screen = self.screen
        fit = fit_to(engine.model, (screen, screen))  # a benchmark's pages have sizes of their own
        player = engine_player(engine, self.seed)
        if self.agent.get("constrained"):
            keep = keep_in(engine, self.tokenizer)
            player = constrained_player(player, self.agent, keep, Sampling(temperature=engine.temperature))
        loop = agent_config(self.agent, engine.config, lambda *_: (screen, screen))
        seen = resized_player(player, lambda pixels: fit(Image.fromarray(pixels)))
        return Contestant(seen, self.writer, loop, screen, compiles=True)


def room_for(agent: Mapping[str, Any], writer: PromptWriter, screen: int, steps: int, answer: int) -> int:
    """Tokens of windows that hold as many steps as memory keeps, with `INSTRUCTION` tokens of an instruction."""
    shape = TaskShape("", steps, "", (screen, screen), answer)
    config = ConfigDict({"agent": dict(agent), "engine": {"max_new_tokens": answer}})
    [window] = longest_windows(config, writer, [shape])
    return -(-(window.tokens + INSTRUCTION) // ROUND) * ROUND
