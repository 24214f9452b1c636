"""Prompts: the turns of a conversation as tokens.

A window begins with the instruction and the episodic memory; every observation is a user turn with the remaining step
budget, the observation's text and its screenshot, as far as it has them; every response is an agent turn. Text is
tokenized here, once, when it enters a window; what looks like a special token in it stays text. Each digit that an
observation shows is a token of its own, as Qwen's tokenizer has it: so the parts of a number stand at the same places,
whatever they are, and similar numbers look alike.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from tars_jax.agent.observations import ShownObservation, truncate_middle
from tars_jax.environment import Observation
from tars_jax.model.chat_tokens import OUR_CHAT, ChatTokens, broken

_BETWEEN_DIGITS = re.compile("(?<=[0-9])(?=[0-9])")
_BROKEN = "\N{REPLACEMENT CHARACTER}"  # a decoder writes it for half a character
_SPECIAL = re.compile(r"<\|\w+\|>")


class PromptCodec(Protocol):
    """The tokenizer as the agent needs it."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: Sequence[int]) -> str: ...


@dataclasses.dataclass(frozen=True)
class PromptWriter:
    """Turns text and screenshots into tokens."""

    codec: PromptCodec
    image_tokens: int | Callable[[int, int], int]  # decoder tokens of a screenshot: of any, or of (height, width)
    show_budget: bool = True
    chat: ChatTokens = OUR_CHAT
    max_observation_tokens: int = 0  # of an observation's text; 0: it is not shown

    def preamble(self, instruction: str, memory: str) -> list[int]:
        """The head of a window: the instruction, and what the episodic memory holds."""
        earlier = f"\nEarlier: {memory}" if memory else ""
        return self.codec.encode(f"{self.chat.user}{_SPECIAL.sub(_as_text, instruction + earlier)}\n")

    def shown(self, observation: Observation) -> ShownObservation:
        """The part of an observation that stands in a window. Its text is bounded by `max_observation_tokens`."""
        text = truncate_middle(observation.text, self.max_observation_tokens, self.length)
        pixels = observation.pixels
        return ShownObservation(text, 0 if pixels is None else self.image_size(*pixels.shape[:2]))

    def length(self, text: str) -> int:
        """Tokens of an observation's text."""
        return len(self._digits_apart("", text, ""))

    def image_size(self, height: int, width: int) -> int:
        """Decoder tokens of a screenshot of so many pixels."""
        return self.image_tokens if isinstance(self.image_tokens, int) else self.image_tokens(height, width)

    def observation(self, steps_left: int, *, first: bool, shown: ShownObservation) -> list[int]:
        """A user turn; the first one of a window continues the preamble's turn."""
        budget = f"{steps_left} left" if self.show_budget else ""
        text = f"\n{_SPECIAL.sub(_as_text, shown.text)}\n" if shown.text else ""
        image = self.chat.image_text(shown.image_tokens)
        return self._digits_apart(("" if first else self.chat.user) + budget, text, image + self.chat.agent)

    def ask_for_memory(self) -> list[int]:
        """The user turn at the end of a window that asks the policy what the next one is to begin with."""
        return self.codec.encode(f"{self.chat.user}What to remember?{self.chat.agent}")

    def memory(self, tokens: Sequence[int], most: int) -> str:
        """Decodes the policy's summary, as text of at most `most` tokens, in which nothing is a special token."""
        return self.cut(_SPECIAL.sub(_as_text, self.read(tokens)), most)

    def cut(self, text: str, most: int) -> str:
        """The beginning of a text, of at most so many tokens."""
        return self.codec.decode(self.codec.encode(text)[:most]).rstrip(_BROKEN)

    def question(self, text: str, images: Sequence[int]) -> list[int]:
        """A conversation in one user turn, with screenshots of so many tokens each, that the agent is to answer."""
        shown = "".join(map(self.chat.image_text, images))
        return self.codec.encode(f"{self.chat.user}{_SPECIAL.sub(_as_text, text)}\n" + shown + self.chat.agent)

    def response(self, text: str) -> list[int]:
        """An agent turn that somebody else wrote (a reference player, an annotator); it may hold a model's own tokens,
        such as those around a box, but no turn and no image."""
        turns = _SPECIAL.findall("".join(dataclasses.astuple(self.chat)))
        plain = _SPECIAL.sub(lambda token: broken(token[0]) if token[0] in turns else token[0], text)
        return self.codec.encode(plain + self.chat.end)

    def read(self, tokens: Sequence[int]) -> str:
        """The text of a sampled agent turn, without the token that ends it."""
        return self.codec.decode(tokens).removesuffix(self.chat.end)

    def _digits_apart(self, before: str, text: str, after: str) -> list[int]:
        """Tokens of all three; the text's digits are apart."""
        parts = _BETWEEN_DIGITS.split(text)
        parts[0] = before + parts[0]
        parts[-1] += after
        encoded = {part: self.codec.encode(part) for part in {*parts}}  # most are one digit
        return [token for part in parts for token in encoded[part]]


def _as_text(token: re.Match[str]) -> str:
    return broken(token[0])
