"""The virtual clock as an init script, and the calls on it (the files of this folder, timeline.js first)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

EVERYWHERE = ("timeline.js", "timers.js", "readers.js", "loads.js", "reports.js", "children.js", "shared_workers.js")
IN_DOCUMENTS = ("timelines.js", "animations.js", "observers.js", "sound.js", "page.js")
# Goes with each answer of a site: what it "forbids" loads all the same, and is reported to reports.js.
REPORTER = "http://clock.invalid"
REPORTING = f"script-src-elem 'unsafe-inline' data: {REPORTER}; img-src data: blob: {REPORTER}"
WORKER_MARK = "__clock"  # the last word of the query with which a page asks for a worker's script


def _script(names: Iterable[str]) -> str:
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)


# A worker gets the clock before its own code, and a copy of it for workers of its own.
WORKER_SCRIPT = f"(function begin() {{ {_script(EVERYWHERE)}\n__clock.workerScript = `(${{begin}})();`; }})();"
# The first document of a window may hand the window, and the clock in it, to the next one.
CLOCK_SCRIPT = f"if (!self.__clock) {{ {WORKER_SCRIPT}\n{_script(IN_DOCUMENTS)} }}"


def resume_script(state: Mapping[str, float]) -> str:
    """Runs after CLOCK_SCRIPT: the page's first document goes on at a state of the timeline."""
    assign = f"Object.assign(__clock.timeline, {json.dumps(dict(state))}); __clock.realm.origin = __clock.timeline.now;"
    return f"if (self.top === self) {{ {assign} }}"


def begin_expression(seed: int, expression: str, *, canvas: bool, read: str | None) -> str:
    """Time 0 and chance from `seed`, then `expression`, then what observe_expression gives at time 0."""
    observed = observe_expression(0, canvas=canvas, read=read)
    return f"(async () => {{ __clock.reset({int(seed)}); await ({expression}\n); return {observed}; }})()"


def wishing_expression(expression: str, *, goes_on: bool = False) -> str:
    """The value of `expression`, or null whenever it waits for a frame of the browser; it then `goes_on`.

    In a document that has followed meanwhile, what should go on begins with `expression`.
    """
    return f"__clock.{'goOn' if goes_on else 'wishing'}(async () => {expression})"


def observe_expression(advance_ms: float, *, canvas: bool, read: str | None, rate: float = math.inf) -> str:
    """Moves time and gives {data: value of `read`, image: data URL of the page's canvas, or null where it has none}.

    `rate` is in virtual seconds a second; infinite is as fast as the page can.
    """
    pace = "Infinity" if rate == math.inf else repr(float(rate))
    read_fn = f"() => ({read or 'null'}\n)"  # an expression may end in a comment
    return f"__clock.observe({float(advance_ms)!r}, {'true' if canvas else 'false'}, {read_fn}, {pace})"
