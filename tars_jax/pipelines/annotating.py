"""The policy that annotators correct: a run's newest weights, an untrained model, a server, a player, or nobody."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import jax
from jax.sharding import Mesh

from tars_jax import GaveUp, InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.core import Candidate
from tars_jax.annotation.interactive.proposing import NoPolicy, PlayerPolicy, ProposingPolicy
from tars_jax.annotation.interactive.recorded import EpisodeSoFar
from tars_jax.environment import ActionSpace
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import constraint_name
from tars_jax.inference.engine import Engine
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.annotation_value import ExpectedReturn
from tars_jax.pipelines.answer_constraints import Keep, keep_in, pattern_of
from tars_jax.pipelines.contestants import SCRIPTED, Contestant, Driven, remote, scripted
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.training.atomic_directory import MANIFEST
from tars_jax.training.quantized import load_for_engine
from tars_jax.training.state import abstract_parameters, fresh_parameters

NOBODY = "none"


@dataclasses.dataclass(frozen=True)
class AnnotatedPolicy:
    """A policy under annotation, with what the agent loop needs to know of it."""

    policy: ProposingPolicy
    writer: PromptWriter
    agent: AgentConfig
    screen: int  # pixels on a side of a game
    about: str  # one sentence for who starts it
    refresh: Callable[[], Awaitable[None]] | None = None  # takes newer weights, where there are any
    value: Callable[[EpisodeSoFar, Candidate], float] | None = (
        None  # of the run's value model, where the gate asks by it
    )
    prepare: Callable[[Sequence[ActionSpace]], None] | None = None  # begins to compile it for such environments
    prepared: Callable[[], None] = lambda: None  # waits until that is done


@contextlib.contextmanager
def open_annotated(config: Any, folder: Path, steps: int) -> Iterator[AnnotatedPolicy]:
    """Opens the policy that `config.checkpoint` names, for the length of the block. `folder`: of the run that
    annotates; `steps`: of its longest episode.

    Raises InputError where it is neither a folder of weights or a run with some, nor an address, a player's name,
    `none`, nor empty.
    """
    given = str(config.checkpoint)
    if config.gate.value is not None and (not given or given in (NOBODY, *SCRIPTED) or "://" in given):
        raise InputError(f"config.gate.value must be auto without a run's weights; got {config.gate.value}")
    if given == NOBODY:
        base = scripted("random", config)
        yield AnnotatedPolicy(
            NoPolicy(), base.writer, base.agent, base.screen, "nobody proposes: every answer is yours"
        )
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


def _played(contestant: Contestant, config: Any, name: str, about: str) -> AnnotatedPolicy:
    policy = PlayerPolicy(contestant.player, config.candidates, name, patience=config.answer_seconds)
    return AnnotatedPolicy(policy, contestant.writer, contestant.agent, contestant.screen, about)


@contextlib.contextmanager
def _engine(config: Any, weights: Path, given: Path | None, steps: int, about: str) -> Iterator[AnnotatedPolicy]:
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
        with contextlib.ExitStack() as stack:
            engine = stack.enter_context(driven.open(model, parameters, config.engine.weights))
            contestant = driven.contestant(engine)
            name = "untrained" if given is None else weights.name
            compiling = _Compiling(engine, driven)
            stack.callback(compiling.close)
            policy = PlayerPolicy(
                contestant.player, config.candidates, name, lambda: engine.version, config.answer_seconds,
                compiling.why_not_ready,
            )  # fmt: skip
            newer = None if given is None else _Newer(engine, given, weights, load)
            refresh = None if newer is None else newer.take
            writer, agent = contestant.writer, contestant.agent
            value = _value(config, weights, driven, agent, mesh)
            yield AnnotatedPolicy(
                policy, writer, agent, contestant.screen, about, refresh, value, compiling.begin, compiling.wait
            )


def _value(config: Any, weights: Path, driven: Driven, agent: AgentConfig, mesh: Mesh) -> ExpectedReturn | None:
    """Value model of `config.gate.value_checkpoint`, or the run's own. Raises InputError where it is asked for and not
    there."""
    if config.gate.value is None:
        return None
    folder = Path(config.gate.value_checkpoint or weights.absolute().parent / "value")
    if not (folder / MANIFEST).is_file():
        raise InputError(
            "config.gate.value must be auto, or the run must have a value model (RUN/value, or "
            f"config.gate.value_checkpoint); got {config.gate.value} and no weights in {folder}"
        )
    return ExpectedReturn(
        folder, driven.writer, agent, screen=driven.screen, longest=driven.engine.max_length,
        image=driven.tokenizer.image, mesh=mesh,
    )  # fmt: skip


def _for_candidates(driven: Driven, config: Any) -> EngineConfig:
    """The engine's shapes for `candidates` answers at a time: few, as each is compiled before the first answer."""
    k = config.candidates
    lengths = (driven.engine.max_length,)
    return dataclasses.replace(driven.engine, slots=2 * k, row_buckets=(k,), length_buckets=lengths)


class _Compiling:
    """Compiles an engine while the page is open already: answers can be written meanwhile."""

    def __init__(self, engine: Engine, driven: Driven) -> None:
        self._engine, self._driven = engine, driven
        self._done, self._total, self._given_up = 0, 1, False
        self._thread: threading.Thread | None = None

    def why_not_ready(self) -> str:
        if self._done >= self._total:
            return ""
        return f"it is being compiled, {self._done} of {self._total} programs; what you write yourself counts already"

    def begin(self, spaces: Sequence[ActionSpace]) -> None:
        self._thread = threading.Thread(target=self._work, args=(spaces,), name="compiling", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._given_up = True
        self.wait()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _work(self, spaces: Sequence[ActionSpace]) -> None:
        with contextlib.suppress(GaveUp):
            if self._driven.agent.get("constrained"):
                keep = keep_in(self._engine, self._driven.tokenizer)
                for pattern in {pattern_of(self._driven.agent, space) for space in spaces}:
                    asyncio.run(_kept(keep, pattern))
            side = self._driven.screen
            self._engine.warm_up((side, side), self._on_program)
            print("annotate: the policy is ready", flush=True)

    def _on_program(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        if self._given_up:
            raise GaveUp("the service ended before its policy was compiled")


async def _kept(keep: Keep, pattern: str) -> None:
    await keep(constraint_name(pattern), pattern)


class TakesWeights(Protocol):
    """An engine, as far as it is given newer weights."""

    @property
    def version(self) -> int: ...

    def set_weights(self, parameters: Parameters, version: int) -> None: ...


class _Newer:
    """Looks whether a run has written newer weights, and hands them to the engine between two answers."""

    def __init__(self, engine: TakesWeights, given: Path, weights: Path, load: Callable[[Path], Parameters]) -> None:
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
