"""Policies that programs can ask: a policy server beside a run, for its engine or for a function that shows how."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.harness import Harness
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.scripted_engine import Answers, ScriptedEngine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.pipelines.sections import sandbox_of
from tars_jax.pipelines.serving import fit_to, template
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.plugins import Plugins
from tars_jax.rollout.activity import now
from tars_jax.rollout.harness_episode import ChatPolicy, HarnessPlayer
from tars_jax.rollout.players import Player
from tars_jax.training.progress import counting

MODEL = "policy"  # its name; programs may ask for any
LONGEST = 1 << 16  # tokens of a window that is looked at before a run
ANSWER = 512  # tokens of an answer that a function writes
REQUEST_SECONDS = 600.0  # for an answer, the wait for a slot included
MOST_REQUESTS = 4096  # under way: episodes wait for slots, and not programs for being heard
_REFERENCES = Plugins("option reference", "tars_jax.references")


@contextlib.contextmanager
def serving_engine(
    engine: Engine, tokenizer: Tokenizer, parameters: Parameters, config: Any, *, pictures: bool
) -> Iterator[ChatPolicy]:
    """A policy server for a run's engine, while the block runs. Pictures come in the size of `browser.size`, or of open
    weights in their own.

    All is compiled before: the time of an episode is its program's. `pictures`: programs were seen to show some.
    """
    size = (config.browser.size, config.browser.size) if pictures else None
    engine.warm_up(size, counting("compile", "programs"))
    served = _served(engine, engine.model, tokenizer, config, parameters)
    with _serving(served) as (address, key):
        yield ChatPolicy(address, MODEL, key, engine.temperature, engine.config.max_new_tokens)


@contextlib.contextmanager
def serving_answers(model: ModelConfig, tokenizer: Tokenizer, answers: Answers, config: Any) -> Iterator[ChatPolicy]:
    """A policy server for a function that answers. Raises InputError for a tokenizer whose prompts cannot be read back
    into messages."""
    read = template(model, tokenizer)
    if not isinstance(read, TurnFormat):
        raise InputError(
            "option reference must be '' with open weights, whose prompts are not read back; got a function"
        )
    longest = EngineConfig(max_length=LONGEST, max_new_tokens=ANSWER)
    engine: Any = ScriptedEngine(model, longest, tokenizer, tokenizer.end, read.messages, answers)
    with _serving(_served(engine, model, tokenizer, config, {})) as (address, key):
        yield ChatPolicy(address, MODEL, key)


@contextlib.contextmanager
def demonstrating(player: Player, tasks: Sequence[Task], skill: float, config: Any) -> Iterator[Player]:
    """A player who also answers the programs of such tasks, as the functions do that their options name."""
    names = {_spec(task).answered_by for task in tasks} - {""}
    if not names:
        yield player
        return
    model, tokenizer, _ = starting_point(config.model.preset)
    with contextlib.ExitStack() as stack:
        policies = {
            name: stack.enter_context(serving_answers(model, tokenizer, reference(name, skill), config))
            for name in names
        }
        yield HarnessPlayer(player, lambda task: policies[_spec(task).answered_by], config.seed)


def reference(name: str, skill: float) -> Answers:
    """A function of messages, as chat clients write them, a random stream, and the probability of a good answer.

    Raises InputError where there is none.
    """
    function = _REFERENCES.load(name)
    try:
        inspect.signature(function).bind([], random.Random(0), skill)
    except (TypeError, ValueError) as error:
        raise InputError(f"option reference must take messages, rng and skill; got {name!r}: {error}") from error

    def answers(messages: Sequence[Message], rng: random.Random) -> str:
        text = function([_as_chat(message) for message in messages], rng, skill)
        return str(text)

    return answers


def _as_chat(message: Message) -> dict[str, Any]:
    """Its pictures are uint8 arrays."""
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": "".join(map(str, message.parts))}
    return {"role": message.role, "content": list(message.parts)}


@dataclasses.dataclass(frozen=True)
class Asked:
    """Requests that a program made in an episode."""

    tokens: int = 0  # read in its longest window
    first: int = 0  # the most that were read at once
    images: int = 0  # in a window
    turns: int = 0  # answers in a window
    answers: int = 0  # of the whole episode
    answer: tuple[int, ...] = ()  # the tokens of the longest one
    reward: float = 0.0

    @classmethod
    def of(cls, windows: Sequence[Sequence[Mapping[str, Any]]], reward: float | None) -> Asked:
        turns = [turn for window in windows for turn in window]
        return cls(
            tokens=max(sum(len(turn["read"]) for turn in window) for window in windows),
            first=max(len(turn["read"]) for turn in turns),
            images=max(sum(len(turn["images"]) for turn in window) for window in windows),
            turns=max(map(len, windows)),
            answers=len(turns),
            answer=max((tuple(turn["answer"]["tokens"]) for turn in turns), key=len),
            reward=reward or 0.0,
        )


async def looked_at(spec: EnvironmentSpec, tasks: Sequence[Task], config: Any) -> list[Asked]:
    """Episodes of these tasks, answered by the function that shows how, or with nothing said; those that were lost are
    left out.

    Raises InputError where all were, as for a command that does not ask the policy anything.
    """
    assert spec.harness is not None
    model, tokenizer, _ = starting_point(config.model.preset)
    answers = reference(spec.answered_by, 1.0) if spec.answered_by else lambda messages, rng: ""
    harness = spec.harness(EnvironmentResources(sandbox=sandbox_of(config)))
    found, lost = list[Asked](), EnvironmentFailure("program", "none")
    try:
        with serving_answers(model, tokenizer, answers, config) as policy:
            for task in tasks:
                try:
                    found.append(await _look(harness, policy, task))
                except EnvironmentFailure as failure:
                    lost = failure
    finally:
        await harness.close()
    if not found:
        raise InputError(f"{spec.name} must play an episode before it is trained on; got {lost}")
    return found


async def _look(harness: Harness, policy: ChatPolicy, task: Task) -> Asked:
    start = now()
    async with policy.recording(task.seed, task.max_steps) as recording:
        ending = await harness.play(task, recording.access)
        found = await recording.finish()
    if not found["windows"]:
        raise EnvironmentFailure(
            "program", f"the command had no answer of the policy in {now() - start:.1f} s: {ending.how}"
        )
    return Asked.of(found["windows"], found["reward"] if ending.reward is None else ending.reward)


def _spec(task: Task) -> EnvironmentSpec:
    return load_environment(task.environment, task.options)


def _served(engine: Any, model: ModelConfig, tokenizer: Tokenizer, config: Any, parameters: Parameters) -> Served:
    read = template(model, tokenizer)
    own_size = (config.browser.size, config.browser.size) if isinstance(read, TurnFormat) else None

    def refuse(folder: Path) -> Parameters:
        raise InputError("weights must come from the run whose policy this is; got a folder")

    return Served(
        name=MODEL,
        engine=engine,
        codec=tokenizer,
        template=read,
        fit=fit_to(model, own_size),
        stop=tokenizer.end,
        weights=parameters,
        load=refuse,
        token_bytes=tokenizer.token_bytes,
    )


@contextlib.contextmanager
def _serving(served: Served) -> Iterator[tuple[str, str]]:
    """Its address and its key, which programs do not have: theirs are of an episode, and open nothing else."""
    config = ServerConfig(
        port=0,
        api_key=secrets.token_urlsafe(24),
        max_requests=MOST_REQUESTS,
        request_seconds=REQUEST_SECONDS,
        lease_seconds=REQUEST_SECONDS,
    )
    with serving(make_app(served, config), config) as address:
        yield address, config.api_key
