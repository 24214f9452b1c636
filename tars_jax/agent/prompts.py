"""What the policy reads: the turns of a conversation as tokens.

A window begins with the instruction and the episodic memory; every observation is a user turn with the remaining step
budget and one screenshot; every response is an agent turn. Text is tokenised here, once, when it enters a window; what
looks like a special token in it stays text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Protocol

_SPECIAL = re.compile(r"<\|\w+\|>")


class Codec(Protocol):
    """The tokenizer as the agent needs it."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: Sequence[int]) -> str: ...


@dataclasses.dataclass(frozen=True)
class ChatFormat:
    """The special tokens around turns. The defaults are those of our own tokenizer."""

    user: str = "<|user|>"
    agent: str = "<|agent|>"
    end: str = "<|end|>"
    image_start: str = "<|vision_start|>"
    image: str = "<|image|>"
    image_end: str = "<|vision_end|>"


# As the Qwen families write it, but that a window's turns follow each other without a line break in between.
QWEN_CHAT = ChatFormat(
    user="<|im_start|>user\n",
    agent="<|im_end|>\n<|im_start|>assistant\n",
    end="<|im_end|>",
    image="<|image_pad|>",
)


@dataclasses.dataclass(frozen=True)
class PromptWriter:
    """Turns text and screenshots into tokens."""

    codec: Codec
    image_tokens: int  # decoder tokens of one screenshot
    show_budget: bool = True
    chat: ChatFormat = ChatFormat()

    def preamble(self, instruction: str, memory: str) -> list[int]:
        """The head of a window: the instruction, and what the episodic memory holds."""
        earlier = f"\nEarlier: {memory}" if memory else ""
        return self.codec.encode(f"{self.chat.user}{_SPECIAL.sub(_broken, instruction + earlier)}\n")

    def observation(self, steps_left: int, *, first: bool) -> list[int]:
        """A user turn with one screenshot; the first one of a window continues the preamble's turn."""
        budget = f"{steps_left} left" if self.show_budget else ""
        image = self.chat.image_start + self.chat.image * self.image_tokens + self.chat.image_end
        return self.codec.encode(("" if first else self.chat.user) + budget + image + self.chat.agent)

    def question(self, text: str, images: int) -> list[int]:
        """A whole conversation in one user turn, with so many screenshots, that the agent is to answer."""
        image = self.chat.image_start + self.chat.image * self.image_tokens + self.chat.image_end
        return self.codec.encode(f"{self.chat.user}{_SPECIAL.sub(_broken, text)}\n" + image * images + self.chat.agent)

    def response(self, text: str) -> list[int]:
        """An agent turn that somebody else wrote (a reference player, an annotator); it may hold a model's own tokens,
        such as those around a box, but no turn and no image."""
        turns = _SPECIAL.findall("".join(dataclasses.astuple(self.chat)))
        plain = _SPECIAL.sub(lambda token: _broken(token) if token[0] in turns else token[0], text)
        return self.codec.encode(plain + self.chat.end)

    def read(self, tokens: Sequence[int]) -> str:
        """The text of a sampled agent turn, without the token that ends it."""
        return self.codec.decode(tokens).removesuffix(self.chat.end)


def _broken(token: re.Match[str]) -> str:
    """A space makes plain text of what would be read as a special token."""
    return f"{token[0][0]} {token[0][1:]}"
