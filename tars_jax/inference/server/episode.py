"""One episode of a chat client, while it is played."""

from __future__ import annotations

import dataclasses

from tars_jax.inference.conversations import Conversation


@dataclasses.dataclass
class Episode:
    """What its key opens, and what is recorded."""

    id: str
    key: str
    seed: int
    temperature: float | None  # for all its answers, drawn from the whole distribution; None: as its client asks
    conversation: Conversation
    asked: float  # when the last request ended
    most_answers: int | None = None  # that it may ask for
    most_tokens: int | None = None  # of one answer, whatever its client asks for
    begun: int = 0  # answers, also those that were given up
    refused: int = 0  # requests beyond `most_answers`
    reward: float | None = None  # as its program said
    success: bool | None = None
    opened: int = 0  # sessions so far, each with a random stream of its own


def let_go(conversation: Conversation) -> None:
    """The engine holds its windows no longer; they are read again if somebody asks."""
    for window, session in conversation.sessions():
        session.close()
        window.session = None
