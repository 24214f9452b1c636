"""Episodes of chat clients while they are played: opened by a key, or told apart by what was said in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from tars_jax.inference.chat_template import Message
from tars_jax.inference.conversation_windows import Conversation, said_of


@dataclasses.dataclass
class Episode:
    """An episode that a key opens, and its recording."""

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


def give_up_sessions(conversation: Conversation) -> None:
    """Gives up the engine's sessions of a conversation; its windows are read again if somebody asks."""
    for window, session in conversation.sessions():
        session.close()
        window.session = None


MOST = 4096  # at one time; of more the one that was asked longest ago is over
MOST_HELD = 256  # whose windows are held in the engine; others are read again


class PrefixEpisodes:
    """Conversations of clients that have no key of an episode.

    A request whose messages begin with all that was said in one goes on in it; any other begins one. One that nobody
    goes on with for a while is over and is handed to whoever keeps it. A client that rewrites its history begins
    another, as nothing says that it is the same: such a client takes a key.
    """

    def __init__(self, begin: Callable[[], Episode], idle_seconds: float) -> None:
        self._begin, self._idle_seconds = begin, idle_seconds
        self._open: list[Episode] = []

    def of(self, messages: Sequence[Message]) -> Episode:
        """The conversation that a request goes on with, or a new one."""
        said = tuple(map(said_of, messages))
        found = [
            (len(window.said), episode)
            for episode in self._open
            for window in episode.conversation.windows
            if window.goes_on_as(said)
        ]
        if found:
            return max(found, key=lambda each: each[0])[1]
        self._open.append(episode := self._begin())
        held = [each for each in self._open if not each.conversation.busy and any(each.conversation.sessions())]
        for each in sorted(held, key=lambda each: each.asked)[: max(0, len(held) - MOST_HELD)]:
            give_up_sessions(each.conversation)
        return episode

    def over(self, now: float) -> list[Episode]:
        """Closes and returns the episodes that nobody has gone on with, and those beyond the limit."""
        idle = sorted((each for each in self._open if not each.conversation.busy), key=lambda each: each.asked)
        late = [each for each in idle if now - each.asked > self._idle_seconds]
        ended = late if len(self._open) - len(late) <= MOST else idle[: max(len(late), len(self._open) - MOST)]
        self._open = [each for each in self._open if each not in ended]
        return ended

    def all_over(self) -> list[Episode]:
        """Closes and returns all episodes, when the server ends."""
        ended, self._open = self._open, []
        return ended
