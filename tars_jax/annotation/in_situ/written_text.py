"""Typing with its corrections: the text that results.

BackSpace, Delete and the arrows are folded in as long as they stay inside of what was just typed; what lies before it
is not known, so a key that would leave it ends the text and becomes a step of its own. Return ends a line wherever the
cursor stands in it, as it does in a field of one line.
"""

from __future__ import annotations

from tars_jax.agent.actions import Action, Hotkey, Type
from tars_jax.annotation.in_situ.gestures import Stroke, StrokeActions, Struck

PAUSE_S = 8.0  # in the midst of a text; after Return LINE_S
LINE_S = 1.0
_DONE_WITH = ("tab", "escape")  # they do not ask where the cursor stands


class WrittenText:
    """A text while it grows."""

    def __init__(self, first: Struck) -> None:
        self._first, self._last = first, first
        self._text: list[str] = []
        self._cursor = 0
        self._write(first)

    @staticmethod
    def begins_with(stroke: Stroke) -> bool:
        return isinstance(stroke, Struck) and (_types(stroke) or _is_return(stroke))

    def takes(self, stroke: Stroke) -> bool:
        """Whether the stroke belongs to the text, which then has it."""
        if not isinstance(stroke, Struck) or not self._in_time(stroke):
            return False
        if _types(stroke) or _is_return(stroke):
            self._write(stroke)
        elif stroke.held == ("ctrl",) and stroke.key == "backspace" and (word := self._last_word()):
            del self._text[self._cursor - word : self._cursor]
            self._cursor -= word
        elif stroke.held or not self._edit(stroke.key):
            return False
        self._last = stroke
        return True

    def done(self, following: Stroke | None) -> list[StrokeActions]:
        """Nothing where nothing is left of it; with the way back to the cursor where the next key needs it."""
        if not self._text:
            return []
        text = "".join(self._text)
        actions: list[Action] = [Type(text)] if text.strip("\n") else [Hotkey(("enter",))] * len(text)
        if isinstance(following, Struck) and following.key not in _DONE_WITH:
            actions += [Hotkey(("left",))] * (len(self._text) - self._cursor)
        first = self._first
        return [StrokeActions(tuple(actions), first.begins, first.time, self._last.ends, first.frame)]

    def _in_time(self, stroke: Struck) -> bool:
        ended = bool(self._text) and self._text[-1] == "\n"
        return stroke.time - self._last.ends <= (LINE_S if ended else PAUSE_S)

    def _write(self, stroke: Struck) -> None:
        if _is_return(stroke):
            self._cursor = len(self._text)
            written = ["\n"]
        else:
            written = list(stroke.text)
        self._text[self._cursor : self._cursor] = written
        self._cursor += len(written)

    def _edit(self, key: str | None) -> bool:
        before = self._text[self._cursor - 1] if self._cursor else "\n"
        behind = self._text[self._cursor] if self._cursor < len(self._text) else "\n"
        if key == "backspace" and before != "\n":
            self._cursor -= 1
            del self._text[self._cursor]
        elif key == "delete" and behind != "\n":
            del self._text[self._cursor]
        elif key == "left" and before != "\n":
            self._cursor -= 1
        elif key == "right" and behind != "\n":
            self._cursor += 1
        elif key == "end" and behind != "\n":
            rest = "".join(self._text[self._cursor :])
            self._cursor += len(rest.partition("\n")[0])
        else:
            return False
        return True

    def _last_word(self) -> int:
        """The number of characters that Control and BackSpace take away; 0 where that may reach beyond the text."""
        before = "".join(self._text[: self._cursor])
        kept = before.rstrip(" ")
        kept = kept[: max(kept.rfind(" "), kept.rfind("\n")) + 1]
        return len(before) - len(kept) if kept else 0


def _types(stroke: Struck) -> bool:
    return bool(stroke.text) and not set(stroke.held) - {"shift"}


def _is_return(stroke: Struck) -> bool:
    return stroke.key == "enter" and not stroke.held
