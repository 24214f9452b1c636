"""Chat messages as the tokens that a policy reads, and back.

A window of our agent is a row of turns: `<|user|>` text and screenshots, `<|agent|>` an answer `<|end|>`. Messages of
the system, of the user and of tools that follow each other are one user turn; a line break ends a system message.
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


class Codec(Protocol):
    """A tokenizer."""

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
    """What a session reads."""

    tokens: list[int]
    images: list[np.ndarray]


Template = Callable[[Sequence[Message]], Prompt]


@dataclasses.dataclass(frozen=True)
class TurnFormat:
    """The special tokens around turns, as text; the tokenizer has one id for each. It is a `Template`."""

    codec: Codec
    image_tokens: Callable[[int, int], int]  # decoder tokens of an image of this height and width
    user: str = "<|user|>"
    agent: str = "<|agent|>"
    end: str = "<|end|>"
    image_start: str = "<|vision_start|>"
    image: str = "<|image|>"
    image_end: str = "<|vision_end|>"

    def __call__(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer.

        Raises InputError when there is nothing to answer or an answer holds images.
        """
        _check_answerable(messages)
        tokens: list[int] = []
        images: list[np.ndarray] = []
        answered = True
        for message in messages:
            if message.role == "assistant":
                text = "".join(part for part in message.parts if isinstance(part, str))
                tokens += self.codec.encode(self.agent + self._plain(text) + self.end)
            else:
                text = self.user if answered else ""
                for part in _joined(message.parts):
                    if isinstance(part, str):
                        text += self._plain(part)
                    else:
                        count = self.image_tokens(*part.shape[:2])
                        text += self.image_start + self.image * count + self.image_end
                        images.append(part)
                tokens += self.codec.encode(text + ("\n" if message.role == "system" else ""))
            answered = message.role == "assistant"
        return Prompt(tokens + self.codec.encode(self.agent), images)

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
            raise InputError(f"session: {len(images)} images, but the tokens name fewer")
        return found

    def answer(self, text: str) -> list[int]:
        """The tokens of an answer that somebody else wrote."""
        return self.codec.encode(self._plain(text) + self.end)

    def _id(self, name: str) -> int:
        ids = self.codec.encode(getattr(self, name))
        if len(ids) != 1:
            raise InputError(f"the tokenizer has no token {getattr(self, name)!r}")
        return ids[0]

    def _plain(self, text: str) -> str:
        return _broken(text, (self.user, self.agent, self.end, self.image_start, self.image, self.image_end))


@dataclasses.dataclass(frozen=True)
class RoleFormat:
    """Every message a turn of its own that begins with its role, as the Qwen families are trained. It is a `Template`.

    What a tool says is the user's. There is no system message but that of the conversation.
    """

    codec: Codec
    image_tokens: Callable[[int, int], int]  # decoder tokens of an image of this height and width
    start: str = "<|im_start|>"
    end: str = "<|im_end|>"
    image_start: str = "<|vision_start|>"
    image: str = "<|image_pad|>"
    image_end: str = "<|vision_end|>"

    def __call__(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer. Raises InputError when there is nothing to answer."""
        _check_answerable(messages)
        special = (self.start, self.end, self.image_start, self.image, self.image_end)
        text = ""
        images: list[np.ndarray] = []
        for message in messages:
            text += f"{self.start}{'user' if message.role == 'tool' else message.role}\n"
            for part in _joined(message.parts):
                if isinstance(part, str):
                    text += _broken(part, special)
                else:
                    text += self.image_start + self.image * self.image_tokens(*part.shape[:2]) + self.image_end
                    images.append(part)
            text += f"{self.end}\n"
        return Prompt(self.codec.encode(f"{text}{self.start}assistant\n"), images)


def _check_answerable(messages: Sequence[Message]) -> None:
    if not messages or messages[-1].role == "assistant":
        raise InputError("messages: the last one must not be the assistant's; it takes one to answer")


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    """Texts side by side as one: what would be read as a turn may lie across two of them."""
    for is_text, same in itertools.groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            yield "".join(part for part in same if isinstance(part, str))
        else:
            yield from same


def _broken(text: str, special: Sequence[str]) -> str:
    """A space breaks up whatever would be read as a turn or an image."""
    for token in special:
        text = text.replace(token, f"{token[0]} {token[1:]}")
    return text


def _next(left: Iterator[np.ndarray], count: int) -> np.ndarray:
    image = next(left, None)
    if image is None:
        raise InputError(f"session: {count} images, but the tokens name more")
    return image
