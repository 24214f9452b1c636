"""Ace Attorney as LMGame-Bench plays it: its parts, the lines that end them, and what a model says that it has read.

Source: gamingagent/envs/retro_02_ace_attorney/aceAttorneyEnv.py of lmgame-org/GamingAgent at 996d848. A part begins
from a saved state. It is over once the line that an answer quotes last is one of the part's ending lines, to the
letter; the answer after that is not played, and the next part begins. The score is the number of parts behind
(`calculate_final_performance_score`). So it is what a model says, and no state of the game confirms it.

The benchmark's table has the lines of level2_4_9 under a name that its code does not look for ("end_statement."), so
that no answer ends this part and 8 is its highest score: followed here, as what a checkout holds is what is played.

Saved states, lines and evidence are the game's. They are read from a user's checkout, and nothing of them is kept.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from tars_jax import InputError

FOLDER = Path("gamingagent/envs/retro_02_ace_attorney")  # in a checkout
INTEGRATION = "AceAttorney-GbAdvance"
PARTS = (*(f"level1_{part}_5" for part in range(1, 6)), *(f"level2_{part}_9" for part in range(1, 10)))

_LINE = re.compile(r"\s*([^:\n]+):\s*(.+)")  # as the benchmark looks for one in an answer
_LINES = {"type": "array", "items": {"type": "string"}}
_NAMES = {"type": "object", "additionalProperties": {"type": "string"}}
_KINDS = {
    "skip_conversations.json": {"end_statement": _LINES},
    "mapping.json": {
        "background_transcript": _LINES,
        "evidences": _LINES,
        "name_mappings": _NAMES,
        "evidence_mappings": _NAMES,
        "dialog": _NAMES,
    },
}


@dataclasses.dataclass(frozen=True)
class GamePart:
    """A part of the game, and what the benchmark tells of it."""

    name: str  # of its saved state
    endings: frozenset[str]  # "NAME: line"
    background: tuple[str, ...]
    evidence: tuple[str, ...]
    names: Mapping[str, str]  # a speaker, in small letters -> the name that is told, which models know from nowhere
    lines: Mapping[str, str]  # "NAME: line" -> the same as it is told

    def told(self, line: str) -> str:
        return self.lines.get(line) or _renamed(line, lambda speaker: self.names.get(speaker.lower()))


class DialogueProgress:
    """The dialogue of one episode as a model says that it reads it, and the part of the game that this puts it in."""

    def __init__(self, parts: Sequence[GamePart]) -> None:
        self._parts = parts
        self._lines: list[str] = []
        self.behind = 0  # parts; the score

    @property
    def part(self) -> GamePart:
        return self._parts[self.behind]

    @property
    def lines(self) -> int:
        return len(self._lines)

    @property
    def is_over(self) -> bool:
        """Whether the last line ended the part."""
        return bool(self._lines) and self._lines[-1] in self.part.endings

    @property
    def is_last(self) -> bool:
        return self.part is self._parts[-1]

    def hear(self, said: str) -> None:
        """A line "NAME: line", unless it is the last one again; anything else is no line."""
        if found := _LINE.match(said):
            line = f"{found[1].strip()}: {found[2].strip()}"
            if self._lines[-1:] != [line]:
                self._lines.append(line)

    def go_on(self) -> None:
        """Goes on to the next part, of which there must be one."""
        self.behind += 1

    def text(self, *, background: bool) -> str:
        """The text that the benchmark gives beside the screen. `background`: what came before the part, too."""
        part = self.part
        sections = {
            "What was said before:": part.background if background else (),
            "Evidence:": part.evidence,
            "Lines that you have read, the oldest first:": [part.told(line) for line in self._lines],
        }
        return "\n\n".join("\n".join([head, *lines]) for head, lines in sections.items() if lines)


def read_parts(checkout: Any) -> tuple[GamePart, ...]:
    """The parts in their order, from a checkout of lmgame-org/GamingAgent.

    Raises InputError where it is none, or lacks a file that the game takes.
    """
    if not isinstance(checkout, str) or not checkout:
        raise InputError(
            "gaming_agent must be a checkout of lmgame-org/GamingAgent, as the saved states, the lines and the "
            f"evidence of Ace Attorney are read from there; got {checkout!r}"
        )
    folder = Path(checkout) / FOLDER
    for name in PARTS:
        if not (state := folder / INTEGRATION / f"{name}.state").is_file():
            raise InputError(f"gaming_agent: {state} must be a file; got none, in {checkout!r}")
    endings, texts = (_table(folder / "assets" / file, kind) for file, kind in _KINDS.items())
    return tuple(_part(name, endings.get(name, {}), texts.get(name, {})) for name in PARTS)


def _table(path: Path, kind: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(table, {"type": "object", "additionalProperties": {"type": "object", "properties": kind}})
    except (OSError, ValueError) as error:
        raise InputError(f"gaming_agent: {path} must be a table of the game's lines: {error}") from None
    except jsonschema.ValidationError as error:
        raise InputError(f"gaming_agent: {path}: {error.json_path}: {error.message:.200}") from None
    return table


def _part(name: str, ending: Mapping[str, Any], text: Mapping[str, Any]) -> GamePart:
    names, evidence = text.get("name_mappings", {}), text.get("evidence_mappings", {})
    return GamePart(
        name,
        frozenset(ending.get("end_statement", ())),
        tuple(_renamed(line, lambda who: names.get(who.lower())) for line in text.get("background_transcript", ())),
        tuple(_renamed(line, lambda what: evidence.get(what.upper())) for line in text.get("evidences", ())),
        names,
        text.get("dialog", {}),
    )


def _renamed(line: str, name: Callable[[str], str | None]) -> str:
    """A line "NAME: words" with another name, where there is one."""
    written, colon, words = line.partition(": ")
    return f"{(colon and name(written)) or written}{colon}{words}"
