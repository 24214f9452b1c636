"""An episode and what is to be said of its environment, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tars_jax.environment import ActionSpace, Observation
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding, counted
from tars_jax.evaluation.trial.played import TrialEpisode, TrialTurn

WIDTH = 118
FIRST_TURNS, LAST_TURNS = 12, 4  # shown of a longer episode
MOST_LINES, MOST_CHARACTERS = 12, 1_500  # of a text; the page has all of it
_JOINERS = "\t\u200c\u200d"  # of letters and emoji
MARKS = {OK: "  ok    ", LOOK: "  look  ", WRONG: "  WRONG "}


def transcript(played: TrialEpisode) -> str:
    asked = played.instruction or "(none)"
    lines = [*_labelled("instruction", asked), *_labelled("can be called", calls(played.space))]
    turns = list(enumerate(played.turns, start=1))
    left_out = len(turns) - FIRST_TURNS - LAST_TURNS
    for number, turn in turns if left_out <= 0 else turns[:FIRST_TURNS]:
        lines += _turn(number, turn)
    if left_out > 0:
        lines.append(f"  ... {counted(left_out, 'more turn')}; the page has them ...")
        for number, turn in turns[-LAST_TURNS:]:
            lines += _turn(number, turn)
    if played.transitions:
        lines += _labelled("last seen", _shown(played.observations[-1]))
    return "\n".join([*lines, ending(played)])


def said(findings: Sequence[Finding]) -> str:
    """One finding a line, or a few where it is long."""
    return "\n".join(
        textwrap.fill(finding.sentence, WIDTH, initial_indent=MARKS[finding.level], subsequent_indent=" " * 8)
        for finding in findings
    )


def ending(played: TrialEpisode) -> str:
    """The end of an episode, in a sentence."""
    turns = counted(len(played.turns), "turn")
    if played.trajectory is None:
        return f"The environment failed in turn {len(played.turns)}: {played.failure}."
    verdict = {True: "with success", False: "without success", None: "and nobody says whether with success"}
    outcome = played.trajectory.outcome.value
    return f"The episode is over ({outcome}) after {turns}, {verdict[played.success]}; its return is {played.total:g}."


def calls(space: ActionSpace) -> str:
    functions = [f"{each.name}({', '.join(each.parameters.get('properties', {}))})" for each in space.functions]
    return ", ".join([*functions, *space.actions])


def _turn(number: int, turn: TrialTurn) -> Iterator[str]:
    yield from _labelled(f"{number:>4} sees", _shown(turn.seen))
    yield from _labelled("says", turn.response.strip())
    if turn.refused:
        yield from _labelled("not read", turn.refused)
    elif turn.transition is not None:
        told = {True: ", success", False: "", None: ""}[turn.transition.success]
        over = ", over" if turn.transition.terminated else ", at its limit" if turn.transition.truncated else ""
        yield from _labelled("reward", f"{turn.transition.reward:g}{told}{over}")


def _shown(observation: Observation) -> str:
    parts = [observation.text] if observation.text else []
    if observation.pixels is not None:
        height, width = observation.pixels.shape[:2]
        parts.append(f"[a picture, {width}x{height}]")
    return "\n".join(parts)


def _printable(line: str) -> str:
    """Spells out what a terminal would obey, such as a color or a mark that turns the direction of all behind it."""
    return "".join(each if each.isprintable() or each in _JOINERS else ascii(each)[1:-1] for each in line)


def _labelled(label: str, text: str) -> Iterator[str]:
    """The text behind its label, lines under each other; one that is long is cut."""
    lines = [*map(_printable, text[:MOST_CHARACTERS].splitlines())] or [""]
    cut = len(text) > MOST_CHARACTERS or len(lines) > MOST_LINES
    wrapped = [part for line in lines[:MOST_LINES] for part in textwrap.wrap(line, WIDTH - 15) or [""]]
    shown = [*wrapped, f"[... {counted(len(text), 'character')} in all]"] if cut else wrapped
    for number, line in enumerate(shown):
        yield f"{label if number == 0 else '':>13}  {line}".rstrip()
