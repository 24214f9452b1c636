"""A trial as one page: what is to be said of the environment, and the episode turn by turn."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tars_jax.evaluation.replays import replays_html
from tars_jax.evaluation.report import page_html
from tars_jax.evaluation.trial.examine import Trial
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding
from tars_jax.evaluation.trial.transcript import ending, transcript

_KIND = {WRONG: "worse", LOOK: "unclear", OK: "better"}  # of report.css


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
        f'<p class="note">{html.escape(ending(played))}</p>{episode}</section>',
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
