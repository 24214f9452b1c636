"""Numbers in Prometheus' text form (version 0.0.4)."""

from __future__ import annotations

import bisect
import collections
from collections.abc import Iterable, Iterator
from typing import Any

from starlette.routing import Match, Route
from starlette.types import Scope

from tars_jax.inference.engine import Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
PREFIX = "tars_jax"

# Fields of EngineStatistics: what they count up, and what they are now.
COUNTERS = {
    "busy_seconds": "Seconds in which the engine computed",
    "wall_seconds": "Seconds since the engine started",
    "tokens_sampled": "Tokens written",
    "tokens_read": "Tokens of prompts and observations read",
    "image_hits": "Images whose features were at hand",
    "image_misses": "Images that were encoded",
}
GAUGES = {
    "queue": "Requests that wait for a slot",
    "active": "Slots that read or write",
    "idle": "Slots that hold a session which is asked for nothing",
    "offloaded": "Sessions whose slot went to another one",
    "sessions": "Sessions of the engine",
    "slots": "Slots",
    "version": "Version of the policy's weights",
}

Sample = tuple[str, dict[str, str], float]  # what follows the family's name, labels, value


class HttpMetrics:
    """Requests by route and status, and how long they took."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = tuple(routes)
        self.active = 0
        self._requests: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = collections.defaultdict(float)

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """A request has ended. Status 499 is a client that left."""
        path = self._path(scope)
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "PUT", "DELETE") else "other"
        self._requests[method, path, str(status)] += 1
        buckets = self._buckets.setdefault(path, [0] * (len(SECONDS) + 1))
        buckets[bisect.bisect_left(SECONDS, seconds)] += 1
        self._seconds[path] += seconds

    def _path(self, scope: Scope) -> str:
        """The route's, also of a request that was refused before it was routed."""
        if "route" in scope:
            return str(scope["route"].path)
        return next((route.path for route in self._routes if route.matches(scope)[0] is not Match.NONE), "other")

    def families(self) -> Iterator[str]:
        yield _family("http_requests_active", "gauge", "Requests under way", [("", {}, self.active)])
        requests = [
            ("", {"method": method, "path": path, "status": status}, count)
            for (method, path, status), count in sorted(self._requests.items())
        ]
        yield _family("http_requests_total", "counter", "Requests that have ended, 499 if the client left", requests)
        samples: list[Sample] = []
        for path, buckets in sorted(self._buckets.items()):
            below = 0
            for bound, count in zip([*map(str, SECONDS), "+Inf"], buckets, strict=True):
                below += count
                samples.append(("_bucket", {"path": path, "le": bound}, below))
            samples += [("_sum", {"path": path}, self._seconds[path]), ("_count", {"path": path}, below)]
        yield _family("http_request_seconds", "histogram", "How long requests took", samples)


def engine_families(engine: Engine) -> Iterator[str]:
    statistics = engine.statistics()
    for field, words in COUNTERS.items():
        yield _family(f"engine_{field}_total", "counter", words, [("", {}, getattr(statistics, field))])
    for field, words in GAUGES.items():
        yield _family(f"engine_{field}", "gauge", words, [("", {}, getattr(statistics, field))])


def session_families(live: int, expired: int) -> Iterator[str]:
    yield _family("sessions_live", "gauge", "Sessions that clients hold", [("", {}, live)])
    yield _family(
        "sessions_expired_total", "counter", "Sessions closed because their lease ran out", [("", {}, expired)]
    )


def _family(name: str, kind: str, words: str, samples: Iterable[Sample]) -> str:
    name = f"{PREFIX}_{name}"
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{suffix}{_labels(labels)} {float(value)!r}" for suffix, labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, Any]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
