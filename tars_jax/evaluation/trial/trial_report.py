"""A trial as one page or as text for a terminal: what is to be said of the environment, and the episode by turns."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence

from tars_jax.environment import ActionSpace, Observation
from tars_jax.evaluation.replays import replays_html
from tars_jax.evaluation.report import page_html
from tars_jax.evaluation.trial.examine import Trial
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding, counted
from tars_jax.evaluation.trial.trial_episode import TrialEpisode, TrialTurn

_KIND = {WRONG: "worse", LOOK: "unclear", OK: "better"}  # of report.css
WIDTH = 118
FIRST_TURNS, LAST_TURNS = 12, 4  # shown of a longer episode
MOST_LINES, MOST_CHARACTERS = 12, 1_500  # of a text; the page has all of it
_JOINERS = "\t\u200c\u200d"  # of letters and emoji
MARKS = {OK: "  ok    ", LOOK: "  look  ", WRONG: "  WRONG "}


def render_trial(title: str, subtitle: str, trial: Trial) -> str:
    """The page. An episode that the environment broke off is there as text."""
    kind, verdict = verdict_of(trial)
    played = trial.played
    if played.trajectory is not None:
        episode = replays_html((), (played.trajectory,), 1, labels=("", "Played"))
    else:
        episode = f"<pre>{html.escape(transcript(played))}</pre>"
    parts = (
        f'<section class="headline {kind}"><p class="verdict">{html.escape(verdict)}</p></section>',
        f'<section class="parts findings"><h2>What was found</h2><table>{_rows(trial.findings)}</table></section>',
        '<section class="replays"><h2>One episode</h2>'
        f'<p class="note">{html.escape(ending_text(played))}</p>{episode}</section>',
    )
    return page_html(title, subtitle, parts)


def verdict_of(trial: Trial) -> tuple[str, str]:
    """(kind, sentence): whether anything is to be mended."""
    looks = sum(finding.level == LOOK for finding in trial.findings)
    if trial.wrong:
        return _KIND[WRONG], f"{trial.wrong} to be mended, {looks} to be looked at."
    if looks:
        return _KIND[LOOK], f"Nothing was found wrong; {looks} to be looked at."
    return _KIND[OK], "Nothing was found wrong."


def _rows(findings: Sequence[Finding]) -> str:
    return "".join(
        f'<tr class="{_KIND[finding.level]}"><td style="white-space: nowrap">{html.escape(finding.about)}</td>'
        f'<td><bdi>{html.escape(finding.sentence)}</bdi></td><td style="white-space: nowrap">{finding.level}</td></tr>'
        for finding in findings
    )


def transcript(played: TrialEpisode) -> str:
    asked = played.instruction or "(none)"
    lines = [*_labelled("instruction", asked), *_labelled("can be called", action_lines(played.space))]
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
    return "\n".join([*lines, ending_text(played)])


def findings_text(findings: Sequence[Finding]) -> str:
    """The findings as text, one a line, or a few where one is long."""
    return "\n".join(
        textwrap.fill(finding.sentence, WIDTH, initial_indent=MARKS[finding.level], subsequent_indent=" " * 8)
        for finding in findings
    )


def ending_text(played: TrialEpisode) -> str:
    """The end of an episode, in a sentence."""
    turns = counted(len(played.turns), "turn")
    if played.trajectory is None:
        return f"The environment failed in turn {len(played.turns)}: {played.failure}."
    verdict = {True: "with success", False: "without success", None: "and nobody says whether with success"}
    outcome = played.trajectory.outcome.value
    return f"The episode is over ({outcome}) after {turns}, {verdict[played.success]}; its return is {played.total:g}."


def action_lines(space: ActionSpace) -> str:
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
