"""Chat messages as the tokens that a policy reads, and back.

A window of our agent is a row of turns: `<|user|>` text and screenshots, `<|agent|>` an answer `<|end|>`. Messages of
the system, of the user and of tools that follow each other are one user turn, a line break between them.
Both directions are here, so that a chat client can ask a policy that reads tokens, and an agent loop that writes tokens
can ask an endpoint that takes messages.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.model.chat_tokens import OUR_CHAT, ChatTokens, without


class Codec(Protocol):
    """A tokenizer's methods that templates need."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: Sequence[int]) -> str: ...

    def spell(self, token: int) -> bytes: ...


Part = str | np.ndarray  # text, or the pixels of an image, uint8 [height, width, 3]


@dataclasses.dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str  # system, user, assistant or tool
    parts: tuple[Part, ...]


class Prompt(NamedTuple):
    """Tokens and images that a session reads."""

    tokens: list[int]
    images: list[np.ndarray]


class Template(Protocol):
    """Chat template: messages as tokens."""

    def __call__(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer.

        Raises InputError where there is nothing to answer.
        """
        ...

    def after(self, messages: Sequence[Message], *, ended: bool) -> Prompt:
        """Tokens between an answer and the next one, given the messages since.

        `ended`: the token that ends an answer was sampled; else it is read now.
        """
        ...


@dataclasses.dataclass(frozen=True)
class TurnFormat:
    """The special tokens around turns, as text; the tokenizer has one id for each. It is a `Template`."""

    codec: Codec
    image_tokens: Callable[[int, int], int]  # decoder tokens of an image of this height and width
    chat: ChatTokens = OUR_CHAT

    def __call__(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer.

        Raises InputError when there is nothing to answer or an answer holds images.
        """
        _check_answerable(messages)
        tokens: list[int] = []
        images: list[np.ndarray] = []
        before = "assistant"
        for message in messages:
            if message.role == "assistant":
                text = "".join(part for part in message.parts if isinstance(part, str))
                tokens += self.codec.encode(self.chat.agent + self._plain(text) + self.chat.end)
            else:
                text = {"assistant": self.chat.user, "system": ""}.get(before, "\n")  # which ends with a line break
                for part in _joined(message.parts):
                    if isinstance(part, str):
                        text += self._plain(part)
                    else:
                        text += self.chat.image_text(self.image_tokens(*part.shape[:2]))
                        images.append(part)
                tokens += self.codec.encode(text + ("\n" if message.role == "system" else ""))
            before = message.role
        return Prompt(tokens + self.codec.encode(self.chat.agent), images)

    def after(self, messages: Sequence[Message], *, ended: bool) -> Prompt:
        """Like `Template.after`."""
        tokens, images = self(messages)
        return Prompt([*([] if ended else self.codec.encode(self.chat.end)), *tokens], images)

    def messages(self, tokens: Sequence[int], images: Sequence[np.ndarray]) -> list[Message]:
        """The messages of a prompt that ends by asking for an answer; what stands before the first turn is the user's.

        Raises InputError when the tokens name another number of images than there are.
        """
        ids = {name: self._id(name) for name in ("user", "agent", "end", "image_start", "image_end", "image")}
        found: list[Message] = []
        left = iter(images)
        role, parts, text = "user", list[Part](), list[int]()
        inside = False  # an image

        def flush() -> None:
            if text:
                parts.append(self.codec.decode(text))
                text.clear()

        for token in [*tokens, ids["user"]]:
            if token == ids["image_start"]:
                flush()
                parts.append(_next(left, len(images)))
                inside = True
            elif token == ids["image_end"]:
                inside = False
            elif token in (ids["user"], ids["agent"]):
                flush()
                if parts:
                    found.append(Message(role, tuple(parts)))
                role, parts = ("user" if token == ids["user"] else "assistant"), []
            elif token != ids["end"] and not inside:
                text.append(token)
        if next(left, None) is not None:
            raise InputError(f"images must be as many as the tokens name; got {len(images)}, and fewer are named")
        return found

    def answer(self, text: str) -> list[int]:
        """The tokens of an answer that somebody else wrote."""
        return self.codec.encode(self._plain(text) + self.chat.end)

    def _id(self, name: str) -> int:
        ids = self.codec.encode(getattr(self.chat, name))
        if len(ids) != 1:
            raise InputError(f"the tokenizer has no token {getattr(self.chat, name)!r}")
        return ids[0]

    def _plain(self, text: str) -> str:
        return without(text, dataclasses.astuple(self.chat))


@dataclasses.dataclass(frozen=True)
class RoleFormat:
    """Every message a turn of its own that begins with its role, as the Qwen families are trained. It is a `Template`.

    What tools say stands in tags of its own in a turn of the user, one turn for all that follow each other. There is no
    system message but that of the conversation.
    """

    codec: Codec
    image_tokens: Callable[[int, int], int]  # decoder tokens of an image of this height and width
    start: str = "<|im_start|>"
    end: str = "<|im_end|>"
    image_start: str = "<|vision_start|>"
    image: str = "<|image_pad|>"
    image_end: str = "<|vision_end|>"
    response: str = "<tool_response>"
    response_end: str = "</tool_response>"

    def __call__(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer. Raises InputError when there is nothing to answer."""
        return self._prompt("", messages)

    def after(self, messages: Sequence[Message], *, ended: bool) -> Prompt:
        """Like `Template.after`."""
        return self._prompt("\n" if ended else f"{self.end}\n", messages)

    def _prompt(self, text: str, messages: Sequence[Message]) -> Prompt:
        _check_answerable(messages)
        for role, turn in itertools.groupby(messages, lambda message: message.role):
            if role == "tool":
                said = "\n".join(f"{self.response}\n{self._said(each)}\n{self.response_end}" for each in turn)
                text += f"{self.start}user\n{said}{self.end}\n"
            else:
                text += "".join(f"{self.start}{role}\n{self._said(each)}{self.end}\n" for each in turn)
        images = [part for message in messages for part in message.parts if not isinstance(part, str)]
        return Prompt(self.codec.encode(f"{text}{self.start}assistant\n"), images)

    def _said(self, message: Message) -> str:
        special = [self.start, self.end, self.image_start, self.image, self.image_end]
        if message.role == "tool":
            special += [self.response, self.response_end]
        return "".join(
            without(part, special)
            if isinstance(part, str)
            else self.image_start + self.image * self.image_tokens(*part.shape[:2]) + self.image_end
            for part in _joined(message.parts)
        )


def _check_answerable(messages: Sequence[Message]) -> None:
    if not messages or messages[-1].role == "assistant":
        raise InputError("the last of messages must be one to answer; got the assistant's")


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    """Texts side by side as one: what would be read as a turn may lie across two of them."""
    for is_text, same in itertools.groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            yield "".join(part for part in same if isinstance(part, str))
        else:
            yield from same


def _next(left: Iterator[np.ndarray], count: int) -> np.ndarray:
    image = next(left, None)
    if image is None:
        raise InputError(f"images must be as many as the tokens name; got {count}, and more are named")
    return image
