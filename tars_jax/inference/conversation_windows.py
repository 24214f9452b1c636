"""Conversations of chat clients that know nothing of us, as windows of exact tokens, whoever keeps the history.

A client sends its history with every request. Where that begins with all that a window has read and written, the window
goes on: only what is new is read. Where the client has changed it (compacted it, stripped thoughts, begun another
agent), a new window begins, which reads all of it; earlier answers are read there as anything else is, since the policy
did not sample them in that context.

Nothing here asks an engine: who does (server/episodes.py) takes a `Place`, samples, and says what came of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tars_jax.inference.chat_template import Message, Prompt, Template
from tars_jax.inference.sampling import Sampled
from tars_jax.inference.session import Session


class ComparableMessage(NamedTuple):
    """A message as it is compared: white space around an answer does not count, as clients strip it."""

    role: str
    parts: tuple[str | bytes, ...]  # text, or an image's hash


@dataclasses.dataclass(frozen=True)
class Turn:
    """One request of a client, and its answer."""

    number: int  # of the conversation's answers, in the order in which they came
    tokens: tuple[int, ...]  # read before the answer: what came after the answer before, or a whole prompt
    images: tuple[np.ndarray, ...]  # of these tokens, uint8 [height, width, 3] each
    asked: str  # the text of the new messages
    text: str  # of the answer, as the client has it
    sampled: Sampled
    free: bool  # no constraint held for it, and it was sampled as the learner scores it
    read_again: bool = False  # the window's tokens were all read anew for it, so that its routes are of all


@dataclasses.dataclass
class ConversationWindow:
    """One context, and all that was said in it."""

    said: tuple[ComparableMessage, ...] = ()
    turns: list[Turn] = dataclasses.field(default_factory=list)
    session: Session | None = None  # that holds it; None: it must be read again
    busy: bool = False  # an answer is under way
    open: bool = True  # the client's text is that of its tokens

    def goes_on_as(self, said: tuple[ComparableMessage, ...]) -> bool:
        """Whether a request that says so goes on with it: it begins with all that was said here, and says more."""
        return self.open and not self.busy and self.said == said[: len(self.said)] != said


@dataclasses.dataclass(frozen=True)
class Place:
    """The window in which a request goes on, and the tokens to be read there."""

    window: ConversationWindow
    unread: Prompt  # the new tokens and images
    said: tuple[ComparableMessage, ...]  # what was said once they are read
    asked: str  # the text of the new messages
    read_again: bool  # nothing holds the window any more, so that all of it is read

    def whole(self) -> Prompt:
        """All of the window, to be read in a session that knows nothing of it."""
        tokens = [token for turn in self.window.turns for token in (*turn.tokens, *turn.sampled.tokens)]
        images = [image for turn in self.window.turns for image in turn.images]
        return Prompt([*tokens, *self.unread.tokens], [*images, *self.unread.images])


class Conversation:
    """The windows of one episode."""

    def __init__(self, template: Template, stop: int) -> None:
        self._template, self._stop = template, stop
        self._windows: list[ConversationWindow] = []
        self._choosing = threading.Lock()
        self._answers = 0

    @property
    def windows(self) -> tuple[ConversationWindow, ...]:
        """Windows with an answer, in the order in which they began."""
        return tuple(window for window in self._windows if window.turns)

    @property
    def busy(self) -> bool:
        return any(window.busy for window in self._windows)

    def sessions(self) -> Iterator[tuple[ConversationWindow, Session]]:
        """Open sessions, that of the least recently answered window first."""
        held = [(window, window.session) for window in self._windows if window.session is not None]
        yield from sorted(held, key=lambda each: each[0].turns[-1].number if each[0].turns else self._answers)

    def place(self, messages: Sequence[Message]) -> Place:
        """Finds the window in which the request goes on; the window is busy until `answered` or `given_up`. May be
        called in any thread.

        Raises InputError where there is nothing to answer.
        """
        said = tuple(map(said_of, messages))
        window = self._window_for(said)
        try:
            if window.turns:
                new = messages[len(window.said) :]
                ended = window.turns[-1].sampled.tokens[-1:] == (self._stop,)
                unread = self._template.after(new, ended=ended)
            else:
                new, unread = messages, self._template(messages)
        except BaseException:
            self._free(window)
            raise
        asked = "\n".join(_text_of(message) for message in new)
        return Place(window, unread, said, asked, read_again=window.session is None and bool(window.turns))

    def answered(
        self, place: Place, sampled: Sampled, text: str, decoded: str, message: Message, *, free: bool
    ) -> None:
        """The answer came to its end.

        Args:
          text: as the client has it, before calls of tools are taken out of it.
          decoded: of the tokens.
          message: how the client will send it again.
        """
        window, read = place.window, place.unread
        turn = Turn(
            number=self._answers,
            tokens=tuple(read.tokens),
            images=tuple(read.images),
            asked=place.asked,
            text=text,
            sampled=sampled,
            free=free,
            read_again=place.read_again,
        )
        window.turns.append(turn)
        window.said = (*place.said, said_of(message))
        window.open, window.busy = text == decoded, False
        self._answers += 1

    def given_up(self, place: Place) -> None:
        """No answer came: the client left, or the engine refused. A new window is none."""
        self._free(place.window)

    def _window_for(self, said: tuple[ComparableMessage, ...]) -> ConversationWindow:
        """The longest one that goes on so, or a new one; it is busy from now on."""
        with self._choosing:
            known = [window for window in self._windows if window.goes_on_as(said)]
            window = max(known, key=lambda each: len(each.said), default=None)
            if window is None:
                self._windows.append(window := ConversationWindow())
            window.busy = True
            return window

    def _free(self, window: ConversationWindow) -> None:
        with self._choosing:
            window.busy = False
            if not window.turns:
                self._windows = [each for each in self._windows if each is not window]


def said_of(message: Message) -> ComparableMessage:
    """A message as it is compared with another."""
    parts: list[str | bytes] = []
    for part in message.parts:
        if not isinstance(part, str):
            digest = hashlib.sha256(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
            parts.append(digest.digest())
        elif parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    if message.role == "assistant":
        parts = [part.strip() if isinstance(part, str) else part for part in parts]
    return ComparableMessage(message.role, tuple(parts))


def _text_of(message: Message) -> str:
    return "".join(part for part in message.parts if isinstance(part, str))
