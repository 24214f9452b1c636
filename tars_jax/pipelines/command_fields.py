"""Fields that several commands have: where a page listens, who helps, who plays."""

from __future__ import annotations

import dataclasses

from tars_jax.agent.computer_tool import SAFETY_CHECKS
from tars_jax.agent.tool_schemas import TOOLS
from tars_jax.pipelines.schema import RunFields
from tars_jax.rules import Rule, at_least, between, each, field, more_than, one_of
from tars_jax.sandbox.computer.isolation import KINDS
from tars_jax.web.running import HOST, is_host

ISOLATION = one_of("auto", *KINDS)  # of computers


def runs(words: str) -> Rule:
    """One run directory or more; `words` say of what."""
    return Rule(lambda paths: len(paths) > 0 and all(isinstance(path, str) for path in paths), words)


def address_or(name: str) -> Rule:
    """What helps here by its name, or the address of an endpoint."""
    return Rule(
        lambda given: given == name or given.startswith(("http://", "https://")),
        f"{name!r} or the address of an OpenAI-compatible endpoint",
    )


@dataclasses.dataclass(frozen=True)
class ListenerFields:
    """Where something is served."""

    host: str = field(
        "127.0.0.1",
        "an address of this machine alone; another one lets others in",
        Rule(is_host, HOST),
    )
    port: int = field(0, "0: any that is free", between(0, 65535))


@dataclasses.dataclass(frozen=True)
class EndpointFields:
    """An OpenAI-compatible endpoint."""

    model: str = field("", "the model's name at an endpoint")
    api_key_file: str = field("", "a file that holds the key alone")
    answer_seconds: float = field(60.0, "that an endpoint may take for one answer", more_than(0))


@dataclasses.dataclass(frozen=True)
class HelperFields(EndpointFields):
    """A model that helps by what it writes."""

    max_tokens: int = field(400, "of a model's answer", at_least(1))


@dataclasses.dataclass(frozen=True)
class PlayerFields(EndpointFields, RunFields):
    """Whoever plays: weights, a server of ours, an endpoint, or a scripted player."""

    answer_seconds: float = field(120.0, "that a policy behind an address may take for one answer", more_than(0))
    patience: float = field(
        3600.0, "seconds that a policy behind an address may be away; then the run ends, to be resumed", more_than(0)
    )
    guide: bool = field(True, "a policy behind an address is told how to act; one of our server may know already")
    tools: str = field(
        "text",
        "it writes in the grammar of `agent` (text), calls tools as chat completions have them (native), or acts by "
        "OpenAI's computer tool as responses have it (computer, or computer_use_preview)",
        one_of(*TOOLS),
    )
    safety_checks: str = field(
        "end",
        "where such an endpoint wants a person to look at a call: end the episode, or acknowledge it unseen",
        one_of(*SAFETY_CHECKS),
    )
    screen: int = field(0, "pixels on a side of a game; 0: as the checkpoint's run says, else 320", at_least(0))


@dataclasses.dataclass(frozen=True)
class LevelFields:
    """Which levels of games are played."""

    levels: tuple[int, ...] = field(
        (1,), "of games that have levels, where an episode begins; they take turns", each(at_least(1))
    )
    next_levels: bool = field(True, "in games15 the next level follows a solved one; False: an episode is one level")
