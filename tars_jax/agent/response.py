"""A policy's response in one turn: a thought and one or more actions, or why its text could not be parsed."""

from __future__ import annotations

import dataclasses
import enum

from tars_jax import InputError
from tars_jax.agent.actions import Action, ActionError, BadArgument, MissingArgument


class ErrorKind(enum.Enum):
    EMPTY = "empty"  # nothing but white space
    NO_ACTION = "no_action"  # no call where one should stand
    UNKNOWN_FUNCTION = "unknown_function"
    MISSING_ARGUMENT = "missing_argument"
    BAD_ARGUMENT = "bad_argument"  # an unknown name or an impossible value
    UNBALANCED = "unbalanced"  # a quote, bracket or tag that does not close
    TRAILING_TEXT = "trailing_text"  # something after the last call
    AMBIGUOUS = "ambiguous"  # two readings are possible


@dataclasses.dataclass(frozen=True)
class ParseError:
    """The reason why a text is no response. It is a value and never raised: malformed output is an outcome."""

    kind: ErrorKind
    message: str
    position: int  # index into the text, in characters


@dataclasses.dataclass(frozen=True)
class Response:
    """One turn. The thought never begins or ends in white space (it is stripped); there is at least one action."""

    thought: str
    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "thought", self.thought.strip())
        object.__setattr__(self, "actions", tuple(self.actions))
        if not self.actions:
            raise InputError("a response must have at least one action; got none")


def parse_error_of(error: ActionError, position: int) -> ParseError:
    """The parse error that stands for a call that made no action."""
    if isinstance(error, MissingArgument):
        kind = ErrorKind.MISSING_ARGUMENT
    elif isinstance(error, BadArgument):
        kind = ErrorKind.BAD_ARGUMENT
    else:
        kind = ErrorKind.UNKNOWN_FUNCTION
    return ParseError(kind, str(error), position)
