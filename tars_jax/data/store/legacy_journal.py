"""A journal of an earlier version, whose lines have no numbers: with neither head nor index beside it, nothing counts
its lines. That some are lost tells then what the others speak of, and records that nobody lists; a hold-out, or a
verdict on an episode that is there, may be lost without a trace, which is said.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tars_jax.data.store.events import Event
from tars_jax.data.store.journal import StoreJournal
from tars_jax.launcher import LAUNCHER


def episodes_never_added(events: Iterable[Event]) -> list[str]:
    """Episodes that were judged, assigned or dropped, and that no line before had added."""
    added, lost = set[str](), dict[str, None]()
    for event in events:
        if "add" in event:
            added.add(event["add"]["id"])
        else:
            lost |= dict.fromkeys(id for id in _episodes(event) if id not in added)
    return list(lost)


def describe_lost_lines(episodes: list[str]) -> str:
    """Describes what `episodes_never_added` found."""
    return f"the lines that added {len(episodes)} episodes are missing, the first one {episodes[0][:12]}"


def warn_of_uncounted_lines(journal: StoreJournal) -> None:
    """Warns whoever opens a store whose losses nothing tells. Raises InputError where lines are lost for sure."""
    if not journal.is_uncounted:
        return
    if alone := episodes_never_added(event for event, _ in journal.events()):
        raise journal.lost(describe_lost_lines(alone))
    print(
        f"{journal.file}: {UNCOUNTED}; {LAUNCHER} store --config.action=check says what can be told, and "
        "--config.action=repair numbers them",
        file=sys.stderr,
    )


UNCOUNTED = (
    "its lines have no numbers, as an earlier version wrote them, and neither head nor index is beside it: nothing "
    "tells whether hold-outs, verdicts or assignments are lost"
)


def _episodes(event: Event) -> list[Any]:
    one = [event[name] for name in ("episode", "drop") if name in event]
    return [*event.get("assign", ()), *event.get("leave", ()), *one]
