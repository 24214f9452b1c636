"""The virtual clock as an init script, and the calls on it (the files of this folder, timeline.js first)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

EVERYWHERE = (
    "timeline", "timers_and_frames", "letters", "readers", "moment", "loads", "reports", "ports", "children", "scripts",
    "following", "workers", "shared_workers", "windows", "messages", "broadcasts",
)  # fmt: skip
CONTROLS = (  # in ../controls
    "intents", "surface", "lists", "dates", "colors", "openers", "bubbles", "spinners", "clipboard",
    "screen", "pointer_lock", "autoscroll",
)  # fmt: skip
IN_DOCUMENTS = (
    "elements", "timelines", "changes", *(f"../controls/{name}" for name in CONTROLS),
    "animations", "drawings", "observers", "sound", "display", "page",
)  # fmt: skip
ORIGIN = "http://sandbox.invalid"  # of the pages of a site
# Goes with each answer of a site: what it "forbids" loads all the same, and is reported to reports.js.
REPORTER = "http://clock.invalid"
TELLER = "https://clock.invalid/moment"  # what moment.js asks, of a page by http or https
_ANY = "'unsafe-inline' data:"
REPORTING = f"default-src {_ANY} 'unsafe-eval' blob: {REPORTER}; script-src-elem {_ANY} {REPORTER}"
# Global names that the clock uses: it keeps the browser's own, whatever a page declares under them at its top level.
NAMES = (
    "AbortController", "AbortSignal", "Animation", "AnimationPlaybackEvent", "AnimationTimeline", "Array", "Atomics",
    "AudioBufferSourceNode", "AudioScheduledSourceNode", "BaseAudioContext", "Blob", "CSS", "CSSStyleDeclaration",
    "CSSStyleSheet", "Clipboard", "ClipboardEvent", "ClipboardItem", "Crypto", "DOMException", "DOMParser",
    "DataTransfer", "Date", "Document", "DocumentTimeline", "Element", "Event", "EventSource", "EventTarget", "File",
    "FileReader", "HTMLCanvasElement", "HTMLElement", "HTMLImageElement", "HTMLInputElement", "HTMLLinkElement",
    "HTMLMediaElement", "HTMLOptionElement", "HTMLScriptElement", "HTMLSelectElement", "HTMLStyleElement",
    "HTMLTextAreaElement", "HTMLTrackElement", "HTMLVideoElement", "History", "IDBDatabase", "IDBFactory", "Image",
    "InputEvent", "IntersectionObserver", "IntersectionObserverEntry", "Intl", "JSON", "Math", "MessageChannel",
    "MessageEvent", "MessagePort", "MouseEvent", "MutationObserver", "Number", "Object", "OfflineAudioContext",
    "Performance", "PerformanceEntry", "PerformanceTiming", "Permissions", "PointerEvent", "Promise", "Proxy",
    "Reflect", "RegExp", "ResizeObserver", "Response", "Scheduler", "Selection", "ShadowRoot", "SharedWorker", "String",
    "TypeError", "URL", "Uint8Array", "WeakRef", "WebAssembly", "WheelEvent", "Worker", "XMLHttpRequest", "atob",
    "decodeURIComponent", "encodeURIComponent", "getComputedStyle", "parseFloat", "performance", "scheduler",
    "structuredClone",
)  # fmt: skip
# And collections whose methods are the browser's own, whatever a page puts in their place.
COLLECTIONS = """const [Map, Set, WeakMap, WeakSet] = ['Map', 'Set', 'WeakMap', 'WeakSet'].map((name) => {
  const Kind = class extends globalThis[name] {}, { constructor, ...own } =
    Object.getOwnPropertyDescriptors(globalThis[name].prototype);
  return Object.defineProperties(Kind.prototype, own) && Kind;
});"""
WORKER_MARK = "__clock"  # the last word of the query with which a page asks for a worker's script


def _script(files: Iterable[str]) -> str:
    told = f"ORIGIN = {json.dumps(ORIGIN)}, TELLER = {json.dumps(TELLER)}"
    kept = f"const self = globalThis, {told}, {{ {', '.join(NAMES)} }} = globalThis;"
    parts = ((Path(__file__).parent / f"{file}.js").read_text(encoding="utf-8") for file in files)
    return "\n".join([kept, COLLECTIONS, *parts])


# A worker gets the clock before its own code, and a copy of it for workers of its own.
WORKER_SCRIPT = f"(function begin() {{ {_script(EVERYWHERE)}\n__clock.workerScript = `(${{begin}})();`; }})();"
# The first document of a window may hand the window, and the clock in it, to the next one.
CLOCK_SCRIPT = f"if (!self.__clock) {{ {WORKER_SCRIPT}\n(() => {{ {_script(IN_DOCUMENTS)} }})(); }}"

# For a page whose dialogs for files the host answers.
FILES_SCRIPT = "if (self.top === self) __clock.timeline.surface.hasFiles = true;"


def resume_script(state: Mapping[str, float]) -> str:
    """Runs after CLOCK_SCRIPT: the page's first document goes on at a state of the timeline."""
    assign = f"Object.assign(__clock.timeline, {json.dumps(dict(state))}); __clock.realm.origin = __clock.timeline.now;"
    return f"if (self.top === self) {{ {assign} }}"


def begin_expression(seed: int, expression: str, *, canvas: bool, read: str | None) -> str:
    """Time 0 and chance from `seed`, then `expression`, then what observe_expression gives at time 0."""
    observed = observe_expression(0, canvas=canvas, read=read)
    rested = f"__clock.begin({int(seed)}); await __clock.controls.rest()"
    return f"(async () => {{ {rested}; await ({expression}\n); return {observed}; }})()"


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
