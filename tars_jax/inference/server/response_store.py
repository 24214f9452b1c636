"""Stored responses: conversations that `previous_response_id` goes on from, and the texts that items of answers were
made of. Both are bounded; the least recently used is forgotten first, a conversation as one."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tars_jax.json_fields import short_repr
from tars_jax.web.protocol import RequestError

MOST_RESPONSES = 4096
MOST_CHARACTERS = 1 << 28  # of messages, pictures included
MOST_TEXTS = 1 << 15


@dataclasses.dataclass
class _Conversation:
    """Responses that go on from each other."""

    ids: list[str] = dataclasses.field(default_factory=list)
    characters: int = 0  # of its messages, which its responses share
    number: int = dataclasses.field(default_factory=itertools.count().__next__)


@dataclasses.dataclass(frozen=True)
class Stored:
    """The conversation up to a response."""

    messages: tuple[dict[str, Any], ...] = ()  # as chat completions have them, the answer included
    calls: frozenset[str] = frozenset()  # ids of all calls in it
    body: dict[str, Any] = dataclasses.field(default_factory=dict)  # the response as it was given
    conversation: _Conversation = dataclasses.field(default_factory=_Conversation)


class ResponseStore:
    """Stored responses of one server. Those of an episode are known to it alone."""

    def __init__(
        self, responses: int = MOST_RESPONSES, characters: int = MOST_CHARACTERS, texts: int = MOST_TEXTS
    ) -> None:
        self._most = responses, characters, texts
        self._stored: dict[tuple[str, str], Stored] = {}  # by owner and id
        self._order: collections.OrderedDict[int, tuple[str, _Conversation]] = collections.OrderedDict()
        self._characters = 0
        self._texts: collections.OrderedDict[tuple[str, str], str] = collections.OrderedDict()

    def get(self, owner: str, id: str, param: str | None = None) -> Stored:
        """`owner`: of the request; empty: no episode. Raises RequestError for one that is not known (any more)."""
        found = self._stored.get((owner, id))
        if found is None:
            message = f"there is no response {short_repr(id)}, or it is forgotten: give the whole conversation as input"
            status = 404 if param is None else 400
            raise RequestError(message, param, status=status, code="previous_response_not_found")
        self._order.move_to_end(found.conversation.number)
        return found

    def put(
        self,
        owner: str,
        before: Stored,
        messages: Sequence[dict[str, Any]],
        calls: frozenset[str],
        body: dict[str, Any],
    ) -> None:
        """`messages`: what the response adds to the conversation."""
        conversation = before.conversation
        kept = conversation.number in self._order  # else it was forgotten while this response was made
        size = sum(map(_characters, messages if kept else (*before.messages, *messages)))
        conversation.ids.append(body["id"])
        conversation.characters += size
        self._characters += size
        self._stored[owner, body["id"]] = Stored((*before.messages, *messages), calls, body, conversation)
        self._order[conversation.number] = owner, conversation
        self._order.move_to_end(conversation.number)
        while self._order and (len(self._stored) > self._most[0] or self._characters > self._most[1]):
            _, (whose, oldest) = self._order.popitem(last=False)
            self._forget(whose, oldest)

    def delete(self, owner: str, id: str) -> None:
        """Forgets one response. Raises RequestError for one that is not known."""
        conversation = self.get(owner, id).conversation
        del self._stored[owner, id]
        conversation.ids.remove(id)
        if not conversation.ids:
            del self._order[conversation.number]
            self._characters -= conversation.characters

    def remember(self, owner: str, ids: Iterable[str], text: str) -> None:
        """The text of an answer, by the ids of its items."""
        for id in ids:
            self._texts[owner, id] = text
        while len(self._texts) > self._most[2]:
            self._texts.popitem(last=False)

    def text(self, owner: str, id: str) -> str | None:
        return self._texts.get((owner, id))

    def _forget(self, owner: str, conversation: _Conversation) -> None:
        for id in conversation.ids:
            del self._stored[owner, id]
        self._characters -= conversation.characters
        conversation.ids.clear()
        conversation.characters = 0


def _characters(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else len(str(value))
