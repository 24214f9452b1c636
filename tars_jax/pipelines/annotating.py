"""The policy that annotators correct: a run's newest weights, an untrained model, a server, a player, or nobody."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.proposing import NoPolicy, PlayerPolicy, Policy
from tars_jax.inference import Engine
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.contestants import SCREEN, SCRIPTED, Contestant, Driven, remote, scripted
from tars_jax.pipelines.starts import starting_point
from tars_jax.training.progress import counting
from tars_jax.training.quantized import load_for_engine
from tars_jax.training.state import abstract_parameters, fresh_parameters

NOBODY = "none"
MANIFEST = "checkpoint.json"


@dataclasses.dataclass(frozen=True)
class Annotated:
    """A policy under annotation, with what the agent loop needs to know of it."""

    policy: Policy
    writer: PromptWriter
    agent: AgentConfig
    screen: int  # pixels on a side of a game
    about: str  # one sentence for who starts it
    refresh: Callable[[], Awaitable[None]] | None = None  # takes newer weights, where there are any


@contextlib.contextmanager
def open_annotated(config: Any, folder: Path, steps: int) -> Iterator[Annotated]:
    """What `config.checkpoint` names, open while the block runs. `folder`: of the run that annotates; `steps`: of its
    longest episode.

    Raises InputError where it is neither a folder of weights or a run with some, nor an address, a player's name,
    `none`, nor empty.
    """
    given = str(config.checkpoint)
    if given == NOBODY:
        base = scripted("random", config)
        yield Annotated(NoPolicy(), base.writer, base.agent, base.screen, "nobody proposes: every answer is yours")
    elif given in SCRIPTED:
        yield _played(scripted(given, config), config, given, f"the policy is the scripted player {given!r}")
    elif given.startswith(("http://", "https://")):
        yield _played(remote(config), config, config.model or given, f"the policy is the one at {given}")
    elif not given:
        about = "no checkpoint is given: the policy is an untrained nano model, which knows nothing yet"
        with _engine(config, folder / "untrained", None, steps, about) as opened:
            yield opened
    else:
        weights = newest_weights(Path(given))
        with _engine(config, weights, Path(given), steps, f"the policy is {weights}") as opened:
            yield opened


def newest_weights(given: Path) -> Path:
    """A folder of exported weights, or of a run the newest that it holds. Raises InputError where there are none."""
    if (given / MANIFEST).is_file():
        return given
    found = [file for pattern in (f"*/{MANIFEST}", f"*/*/{MANIFEST}") for file in given.glob(pattern)]
    if not found:
        raise InputError(
            "config.checkpoint must be a folder of exported weights such as RUN/policy, a run that has some, the "
            f"address of a server (http://...), one of {', '.join(SCRIPTED)}, {NOBODY}, or empty; got {str(given)!r}"
        )
    return max(found, key=lambda file: file.stat().st_mtime_ns).parent


def _played(contestant: Contestant, config: Any, name: str, about: str) -> Annotated:
    policy = PlayerPolicy(contestant.player, config.candidates, name, patience=config.answer_seconds)
    return Annotated(policy, contestant.writer, contestant.agent, contestant.screen, about)


@contextlib.contextmanager
def _engine(config: Any, weights: Path, given: Path | None, steps: int, about: str) -> Iterator[Annotated]:
    """`given`: where newer weights are looked for; None: the model is untrained and stays so."""
    model, tokenizer, _ = starting_point("nano" if given is None else str(weights))
    model = dataclasses.replace(model, scalar_head=False)
    driven = Driven.of(weights, config, model, tokenizer, steps)
    driven = dataclasses.replace(driven, engine=_for_candidates(driven, config))
    if given is None:  # what it would think is noise
        driven = dataclasses.replace(driven, agent={**driven.agent, "thought": "never"})
    mesh = make_mesh(config.mesh.to_dict())
    with jax.set_mesh(mesh):
        template = abstract_parameters(model, mesh)

        def load(folder: Path) -> Parameters:
            return load_for_engine(folder, model, template, config.engine.weights)

        parameters = fresh_parameters(model, jax.random.key(config.seed), mesh) if given is None else load(weights)
        with driven.open(model, parameters, config.engine.weights) as engine:
            size = (driven.screen, driven.screen)
            engine.warm_up(size, counting("annotate", "programs"))
            contestant = driven.contestant(engine)
            name = "untrained" if given is None else weights.name
            policy = PlayerPolicy(
                contestant.player, config.candidates, name, lambda: engine.version, patience=config.answer_seconds
            )
            newer = None if given is None else _Newer(engine, given, weights, load)
            refresh = None if newer is None else newer.take
            yield Annotated(policy, contestant.writer, contestant.agent, contestant.screen or SCREEN, about, refresh)


def _for_candidates(driven: Driven, config: Any) -> Any:
    """The engine's shapes for `candidates` answers at a time: few, as each is compiled before the first answer."""
    longest, k = driven.engine.max_length, config.candidates
    lengths = tuple(sorted({longest, *(size for size in (128, 512) if size < longest)}))
    return dataclasses.replace(driven.engine, slots=2 * k, row_buckets=(k,), length_buckets=lengths)


class _Newer:
    """Looks whether a run has written newer weights, and hands them to the engine between two answers."""

    def __init__(self, engine: Engine, given: Path, weights: Path, load: Callable[[Path], Parameters]) -> None:
        self._engine, self._given, self._load = engine, given, load
        self._seen = weights, _stamp(weights)

    async def take(self) -> None:
        """Raises InputError for weights of another model; they are then not looked at again."""
        weights = newest_weights(self._given)
        found = weights, _stamp(weights)
        if found == self._seen:
            return
        self._seen = found
        parameters = await asyncio.to_thread(self._load, weights)
        self._engine.set_weights(parameters, self._engine.version + 1)
        print(f"annotate: newer weights, version {self._engine.version}: {weights}", flush=True)


def _stamp(weights: Path) -> int:
    return (weights / MANIFEST).stat().st_mtime_ns
