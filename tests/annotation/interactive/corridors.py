"""Corridors to annotate in: text alone, exact when played again, with a policy that says what a test wants."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.journal import EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.proposing import PlayerPolicy
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import PrivilegedEnvironment

WRITER = PromptWriter(load_tokenizer(), image_tokens=1, max_observation_tokens=64)
AGENT = AgentConfig()
UP = "Thought: on\nAction: go(way='up')"


def turn(way: str) -> str:
    return f"Thought: {way}\nAction: go(way='{way}')"


def task(seed: int = 0, steps: int = 8, length: int = 2) -> Task:
    options = {"shortest": length, "longest": length}
    return Task(f"corridor-{seed}", "corridor", seed, options, steps)


def make(of: Task) -> Callable[[], CheckedEnvironment]:
    return lambda: load_environment(of.environment, of.options).checked(EnvironmentResources())


@dataclasses.dataclass
class Said:
    """A policy that answers with given texts: `texts[member]`, each with a log-probability of its own."""

    texts: Sequence[str]
    log_prob: Sequence[float] = ()
    version: int = 3
    away: str = ""
    asked: int = 0

    def policy(self) -> PlayerPolicy:
        @contextlib.asynccontextmanager
        async def player(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
            yield _Session(self, privileged.member)

        return PlayerPolicy(player, len(self.texts), "said", lambda: self.version)


@dataclasses.dataclass(frozen=True)
class _Session:
    said: Said
    member: int

    async def respond(self, tokens: Sequence[int], images: Any, *, restart: bool) -> Sampled:
        self.said.asked += 1
        if self.said.away:
            raise RuntimeError(self.said.away)
        written = tuple(WRITER.response(self.said.texts[self.member]))
        log_prob = self.said.log_prob[self.member] if self.said.log_prob else -1.0
        each = (log_prob / len(written),) * len(written)
        return Sampled(written, each, (self.said.version,) * len(written))


def setting(said: Said, gate: AskingGate | None = None) -> Setting:
    return Setting(WRITER, AGENT, said.policy(), gate or AskingGate())


async def begin(
    said: Said, gate: AskingGate | None = None, folder: Path | None = None, of: Task | None = None
) -> LiveEpisode:
    of = of or task()
    writer = EpisodeWriter("one", None if folder is None else EpisodeJournal(folder))
    live = await LiveEpisode.begin(setting(said, gate), make(of), of, writer, "ada")
    await live.settled(30)
    return live


def right_way(live: LiveEpisode) -> str:
    way: str = live.record.first.info["state"]["way"]
    return way
