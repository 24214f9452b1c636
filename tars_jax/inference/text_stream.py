"""Tokens to text while they come: nothing is said that a later token could still change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tars_jax.inference.sampling import REPLACEMENT, until_text

Decode = Callable[[Sequence[int]], str]


class TextStream:
    """The text of one answer, up to its stop token or to the first of some stop sequences, whichever comes first.

    A character whose last bytes are missing is held back, and so is a text that may become a stop sequence. For
    tokenizers whose tokens are bytes (byte-level BPE): there the text of two tokens is the text of one after the other.
    """

    def __init__(self, decode: Decode, stop: int, stops: Sequence[str] = ()) -> None:
        self._decode, self._stop, self._stops = decode, stop, tuple(stops)
        self._pending: list[int] = []
        self._held = ""
        self.ended = False

    @property
    def certain(self) -> bool:
        """Whether all of what came has been said, and so nothing of it can be taken back."""
        return not (self.ended or self._pending or self._held)

    def feed(self, tokens: Sequence[int]) -> str:
        """The text that has become certain with these tokens."""
        if self.ended:
            return ""
        for token in tokens:
            if token == self._stop:
                return self.finish()
            self._pending.append(token)
        text = self._decode(self._pending)
        if text.endswith(REPLACEMENT):
            return ""
        self._pending.clear()
        return self._say(text)

    def finish(self) -> str:
        """Returns the text that was held back; nothing comes after it."""
        text = self._say(self._decode(self._pending))
        self._pending.clear()
        if not self.ended:
            text += self._held
        self.ended, self._held = True, ""
        return text

    def _say(self, text: str) -> str:
        if self.ended:
            return ""
        text = self._held + text
        cut = min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)
        if cut is not None:
            self.ended, self._held = True, ""
            return text[:cut]
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]


class StopText:
    """An `until` of `Sampling` that keeps the text to the last character before the stop sequence.

    The engine keeps whole tokens; one that holds the end of the answer and the beginning of the stop it drops.
    """

    def __init__(self, decode: Decode, stops: Sequence[str]) -> None:
        self._decode, self._stops, self._until = decode, stops, until_text(stops, decode)
        self.text: str | None = None  # once the stop has come

    def __call__(self, tokens: Sequence[int]) -> int | None:
        kept = self._until(tokens)
        if kept is not None:
            text = self._decode(tokens)
            self.text = text[: min(place for stop in self._stops if (place := text.find(stop)) >= 0)]
        return kept


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that a stop sequence begins with."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if stop.startswith(text[-size:])), 0)
