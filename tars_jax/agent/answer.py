"""`<answer>...</answer>`, with which some models end a task in place of a call, and the tokens that end a turn.

It is read only where nothing but an end of turn follows it, and where what it holds is no answer in an answer: a text
of which two readings are possible is an error that says so.
"""

from __future__ import annotations

import dataclasses
import re

from tars_jax.agent.actions import NAME_PATTERN, Action, ActionError, Finished
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.functions import function_named
from tars_jax.agent.response import ErrorKind, ParseError, parse_error_of
from tars_jax.agent.spellings import function_of
from tars_jax.environment import ActionSpace

END_OF_TURN = (
    r"(?:<\|(?:im_end|endoftext|eot_id|eom_id|end|end_of_text|eos|return)\|>"
    r"|</s>|<eos>|<end_of_turn>|\[EOS\]|<\[EOS\w*\]>)"
)
_LAST = re.compile(rf"\s*(?:{END_OF_TURN}\s*)*", re.IGNORECASE)
_ACTION_OR_CALL = re.compile(rf"(?:Action\s*[:\uff1a]\s*)?({NAME_PATTERN})[ \t]*[(\uff08]", re.IGNORECASE)
_OPEN, _CLOSE = "<answer>", "</answer>"


@dataclasses.dataclass(frozen=True)
class FinalAnswer:
    """A final answer at the end of a text."""

    start: int  # of `<answer>`
    content: str

    def begins_as_call(self, space: ActionSpace | None) -> bool:
        """Whether its first words are a call of the text form."""
        call = _ACTION_OR_CALL.match(self.content)
        return call is not None and (function_named(call[1], space) or function_of(call[1])) is not None

    def finished(self, space: ActionSpace | None) -> tuple[Action, ...] | ParseError:
        """The answer's text as the action that says it to the user."""
        try:
            return (action_from_call(Finished.name, {"content": self.content}, space=space),)
        except ActionError as error:
            return parse_error_of(error, self.start)


def final_answer(text: str, start: int) -> FinalAnswer | ParseError | None:
    """The answer that a text ends with, if it does; looked for from `start` on, behind the thought's own tags."""
    begin, end = text.find(_OPEN, start), text.rfind(_CLOSE)
    if not start <= begin < end or not _LAST.fullmatch(text, end + len(_CLOSE)):
        return None
    content = text[begin + len(_OPEN) : end]
    for tag in (_OPEN, _CLOSE):
        if tag in content:
            return ParseError(ErrorKind.AMBIGUOUS, f"there is a {tag} inside the answer", begin)
    return FinalAnswer(begin, content.strip())


def no_action_error(text: str, start: int, message: str) -> ParseError:
    """The error of a text that is neither calls nor an answer."""
    begin = text.find(_OPEN, start)
    if begin >= 0 and _CLOSE not in text[begin:]:
        return ParseError(ErrorKind.UNBALANCED, f"{_OPEN} does not close", begin)
    return ParseError(ErrorKind.NO_ACTION, message, len(text))


def holds_answer(text: str) -> bool:
    """Whether there is an answer anywhere in a text."""
    return -1 < text.find(_OPEN) < text.rfind(_CLOSE)
