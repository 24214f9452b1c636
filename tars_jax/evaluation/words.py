"""Words of an episode on a page: whoever wrote them, in whatever script and at whatever length, they stay text.

A long text is folded: its beginning stands there, and the whole opens on a click, without a script.
"""

from __future__ import annotations

import html
import re

FOLDED = 280  # characters that are shown of a longer text before it is opened
FOLDED_LINES = 8
MOST_CHARACTERS = 20_000  # of a text that is opened; of a longer one the middle is left out
_BREAKABLE = re.compile(r"(?<=[(\[{,;])(?=[^\s)\]}])")


def words_html(text: str, kind: str) -> str:
    """A text as an element of class `kind`, folded where it is long; nothing for an empty one. Each paragraph takes its
    direction from its own letters."""
    if not text.strip():
        return ""
    if _is_short(text):
        return f'<p class="{kind}" dir="auto">{html.escape(text)}</p>'
    beginning = html.escape(_beginning(text))
    size = f"{len(text):,} characters"
    return (
        f'<details class="{kind} folded"><summary><bdi class="beginning" dir="auto">{beginning}…</bdi> '
        f'<span class="more">{size}</span></summary><div class="whole" dir="auto">{html.escape(_bounded(text))}</div>'
        "</details>"
    )


def call_html(action: str) -> str:
    """Calls, a line each. A line that is too long breaks between a call's parts, not inside of them."""
    if not action.strip():
        return ""
    if _is_short(action):
        return f'<p class="action" dir="ltr">{_with_breaks(action)}</p>'
    return words_html(action, "action")


def _with_breaks(action: str) -> str:
    return "<wbr>".join(html.escape(part) for part in _BREAKABLE.split(action))


def _is_short(text: str) -> bool:
    return len(text) <= 1.25 * FOLDED and text.strip().count("\n") < FOLDED_LINES


def _beginning(text: str) -> str:
    lines = text.strip().splitlines()[: FOLDED_LINES - 2]
    return "\n".join(lines)[:FOLDED].rstrip()


def _bounded(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters are left out …\n{text[-half:]}"
