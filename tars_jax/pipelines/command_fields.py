"""Fields that several commands have: who helps, who plays."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from tars_jax.agent.computer_tool import SAFETY_CHECKS
from tars_jax.agent.tool_schemas import TOOLS
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.schema import RunFields
from tars_jax.rules import Rule, at_least, each, field, field_of, is_pattern, more_than, one_of
from tars_jax.sandbox.address import is_server_address
from tars_jax.sandbox.computer.spec import ISOLATIONS
from tars_jax.web.listening import ListenAddress, listen
from tars_jax.web.request_limits import is_loopback


def runs(words: str) -> Rule:
    """The rule of a field for one run directory or more; `words` say of what."""
    return Rule(bool, words)


def address_or(name: str) -> Rule:
    """Rule of a helper's field: this name, or the address of an endpoint."""
    return Rule(
        lambda given: given == name or is_server_address(given),
        f"{name!r} or the address of an OpenAI-compatible endpoint",
    )


def listen_address(config: Any) -> ListenAddress:
    """Where a command is going to listen. Raises InputError, named as the config does, where that cannot be had: it is
    looked at before the command leaves anything behind."""
    found = ListenAddress(host=config.host, port=config.port)
    with naming("config.host and config.port", "server: host and port"):
        listen(found).close()
    return found


def is_new_folder(given: str) -> bool:
    """Whether a folder is empty, or can be made."""
    place = Path(given)
    if place.exists():
        return place.is_dir() and next(place.iterdir(), None) is None
    parent = next(folder for folder in place.absolute().parents if folder.exists())
    return parent.is_dir() and os.access(parent, os.W_OK)


NEW_FOLDER = Rule(is_new_folder, "an empty folder, or a new one in a folder that can be written")
PATTERN = Rule(is_pattern, "a regular expression")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageAddress(ListenAddress):
    """Address and port of a page that this machine alone can open."""

    host: str = field_of(
        ListenAddress,
        "host",
        about="address to listen on, of this machine alone",
        rule=Rule(is_loopback, "an address of this machine alone, such as 127.0.0.1"),
    )


@dataclasses.dataclass(frozen=True)
class IsolationFields:
    """How computers are isolated: namespaces, bubblewrap, gvisor; auto: the first of the first two that works."""

    isolation: str = field(
        "auto",
        "isolation of computers: auto, or the name of a mechanism in sandbox/computer/isolation.py",
        one_of("auto", *ISOLATIONS),
    )


@dataclasses.dataclass(frozen=True)
class EndpointFields:
    """Fields of an OpenAI-compatible endpoint."""

    model: str = field("", "the model's name at the endpoint")
    api_key_file: str = field("", "file that holds only the API key")
    answer_seconds: float = field(60.0, "time limit of one answer of the endpoint, in seconds", more_than(0))


@dataclasses.dataclass(frozen=True)
class HelperFields(EndpointFields):
    """A model that helps by writing texts."""

    max_tokens: int = field(400, "most tokens of one answer of the model", at_least(1))


@dataclasses.dataclass(frozen=True)
class PlayerFields(EndpointFields, RunFields):
    """The player: exported weights, our server, an OpenAI-compatible endpoint, or a scripted player."""

    answer_seconds: float = field(120.0, "time limit of one answer of a remote policy, in seconds", more_than(0))
    patience: float = field(
        3600.0, "seconds that a remote policy may be unreachable before the run ends; it can be resumed", more_than(0)
    )
    guide: bool = field(
        True, "whether a remote policy's prompt explains the actions; our server's policies may know them from training"
    )
    tools: str = field(
        "text",
        "how a remote policy acts: text, in the grammar of `agent`; native, by tool calls of chat "
        "completions; computer or computer_use_preview, by OpenAI's computer tool in responses",
        one_of(*TOOLS),
    )
    safety_checks: str = field(
        "end",
        "what follows when the endpoint asks for a person's safety check: end the episode, or acknowledge "
        "the check unseen",
        one_of(*SAFETY_CHECKS),
    )
    screen: int = field(0, "side of a game's screen in pixels; 0: as in the checkpoint's run, else 320", at_least(0))


@dataclasses.dataclass(frozen=True)
class LevelFields:
    """The levels of games that are played."""

    levels: tuple[int, ...] = field(
        (1,), "levels at which episodes begin, in turn, for games that have levels", each(at_least(1))
    )
    next_levels: bool = field(True, "in games15 the next level follows a solved one; False: an episode is one level")
