"""The special tokens of a conversation, as text: what stands around turns and images, and what must not be read so."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class ChatTokens:
    """The defaults are those of our own tokenizer, which has one id for each."""

    user: str = "<|user|>"
    agent: str = "<|agent|>"
    end: str = "<|end|>"
    image_start: str = "<|vision_start|>"
    image: str = "<|image|>"
    image_end: str = "<|vision_end|>"

    def image_text(self, tokens: int) -> str:
        """An image of so many decoder tokens; empty without any."""
        return self.image_start + self.image * tokens + self.image_end if tokens else ""


OUR_CHAT = ChatTokens()
# As the Qwen families write it, but that a window's turns follow each other without a line break in between.
QWEN_CHAT = ChatTokens(
    user="<|im_start|>user\n",
    agent="<|im_end|>\n<|im_start|>assistant\n",
    end="<|im_end|>",
    image="<|image_pad|>",
)


def broken(token: str) -> str:
    """A space makes plain text of what would be read as a special token."""
    return f"{token[0]} {token[1:]}"


def without(text: str, tokens: Iterable[str]) -> str:
    """The text with these tokens as plain text."""
    for token in tokens:
        text = text.replace(token, broken(token))
    return text
