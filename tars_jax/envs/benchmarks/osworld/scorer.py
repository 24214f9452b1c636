"""Scores states of OSWorld's tasks by desktop-env's own getters and metrics.

It is run by the Python of launch/osworld.sh, which has that package, and imports nothing of ours but what lies beside
it. Each line of stdin is a request, each line of stdout its answer:

    {"evaluator": {...}, "cache": FOLDER, "host": "any:TOKEN@127.0.0.1", "ports": {"server": 1, "chrome": 2, "vlc": 3},
     "last": "FAIL" | "DONE" | "", "size": [1920, 1080], "platform": "Linux"}
    {"score": 1.0, "details": {...}}   or   {"failure": "one sentence"}

A request has a process of its own. What the guest or this machine lacks is a failure, and only what the state is like
is a score: many getters answer None for both, so that requests to the guest are watched here.
"""

import contextlib
import errno
import importlib.metadata
import io
import json
import logging
import os
import shutil
import sqlite3
import struct
import sys
import time
import types
import zipfile
from collections.abc import Mapping
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scorer_bounds  # type: ignore[import-not-found]

VERSION = "1.0.2"
PACKAGE = f"desktop-env {VERSION}"  # whose getters and metrics these are, for words
LONGEST_S = 150  # of a request to the guest without a time of its own
ALIVE_S = 10  # for a guest that is held up to answer another request
OF_LIMIT = 0.7  # of the time for scoring, what the guest's answers may take
# Metrics that use a program of this machine and answer something else where it is not there: two sounds that cannot be
# read are the same to one of them.
PROGRAMS = {"compare_audios": "ffmpeg", "compare_image_text": "file"}
# What a metric raises for a state that is wrong: a file that is none of its kind, or says less than it should.
BY_STATE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError, AssertionError, EOFError,
    zipfile.BadZipFile, sqlite3.DatabaseError, struct.error,
)  # fmt: skip


class Lacking(Exception):
    """Something is not there that is needed to tell a score.

    Metrics catch what they do not know and answer 0, so that each of these is remembered.
    """

    said = ""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        Lacking.said = Lacking.said or words


class Hung(Exception):
    """A guest that is alive did not answer one request: what the agent has left, such as a pipe where a command reads
    a file, holds it up. Remembered, too, until the next metric."""

    said = ""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        Hung.said = Hung.said or words


class Absent(types.ModuleType):
    """Stands for a package that is left out: what needs it cannot tell a score."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Lacking(f"{self.__name__} is not installed")


def load() -> tuple[Any, Any]:
    """The package's getters and metrics. Raises Lacking."""
    try:
        version = importlib.metadata.version("desktop-env")
    except importlib.metadata.PackageNotFoundError:
        raise Lacking("desktop-env is not installed") from None
    if version != VERSION:
        raise Lacking(f"desktop-env must be {VERSION}; got {version}")

    sys.modules["easyocr"] = Absent("easyocr")
    from desktop_env.evaluators import getters, metrics

    return getters, metrics


def watch_requests(host: str, server: int, limit: float) -> None:
    """Remembers from now on requests to the guest that are lost or held up, and any to others.

    `limit`: seconds that the guest's answers may take in all.
    """
    import requests

    send, guest, end = requests.Session.request, host.rpartition("@")[2], time.monotonic() + limit

    def request(session: Any, method: Any, url: Any, **options: Any) -> Any:
        if "publicsuffix" in str(url):  # a library of theirs takes its own copy then
            raise requests.ConnectionError("there is no internet")
        if f"{guest}:" not in str(url):
            raise Lacking(f"the scorer asks {str(url)[:100]}, and there is no internet")
        given = options.get("timeout")
        left = max(end - time.monotonic(), 1.0)
        options["timeout"] = min(given if isinstance(given, int | float) else LONGEST_S, left)
        try:
            answer = send(session, method, url, **options)
        except requests.ReadTimeout as error:
            asked = f"{str(url).rpartition('/')[2][:40]} {str(options.get('json') or options.get('data') or '')[:200]}"
            if alive():
                raise Hung(f"the guest was held up for {options['timeout']:.0f} s by: {asked}") from error
            raise Lacking("the guest did not answer: ReadTimeout") from error
        except requests.RequestException as error:
            raise Lacking(f"the guest did not answer: {type(error).__name__}") from error
        if answer.status_code == 503:
            raise Lacking(f"the guest was away: {answer.text[:200]}")
        return answer

    def alive() -> bool:
        """Whether it answers anything at all."""
        try:
            with requests.Session() as session:
                return bool(send(session, "GET", f"http://{host}:{server}/platform", timeout=ALIVE_S).status_code < 500)
        except requests.RequestException:
            return False

    requests.Session.request = request  # type: ignore[method-assign, assignment]


def controller_of(host: str, port: int) -> Any:
    """Controller by which desktop-env's getters reach the guest."""
    from desktop_env.controllers.python import PythonController

    controller = PythonController(vm_ip=host, server_port=port)
    # What is not there now is not there in five seconds, either; and a request that was lost is a failure.
    controller.retry_times, controller.retry_interval = 1, 0
    return controller


class GetterEnvironment:
    """The part of an environment that getters need: desktop-env's and waa-cube's."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        ports = request["ports"]
        self.vm_ip, self.server_port = request["host"], ports["server"]
        self.chromium_port, self.vlc_port = ports.get("chrome", 9222), ports.get("vlc", 8080)
        self.cache_dir, self.vm_platform = request["cache"], request["platform"]
        self.vm_screen_size = dict(zip(("width", "height"), request["size"], strict=True))
        self.controller = controller_of(self.vm_ip, self.server_port)
        self.current_use_proxy = False
        self.evaluator = request["evaluator"]


def scored(request: Mapping[str, Any], getters: Any, metrics: Any) -> dict[str, Any]:
    """The answer to a request. Raises Lacking."""
    evaluator = request["evaluator"]
    funcs = evaluator["func"]
    failed = request["last"] == "FAIL"
    if funcs == "infeasible":
        return {"score": float(failed), "details": {"infeasible": True}}
    if failed:
        return {"score": 0.0, "details": {"gave_up": True}}
    watch_requests(request["host"], request["ports"]["server"], OF_LIMIT * request.get("limit", 600.0))
    environment = GetterEnvironment(request)
    several = isinstance(funcs, list)
    names = funcs if several else [funcs]
    results, expected, options = (
        part if several and isinstance(part, list) else [part] * len(names)
        for part in (evaluator.get("result"), evaluator.get("expected"), evaluator.get("options"))
    )
    conj, scores, details = evaluator.get("conj", "and"), [], []
    for name, result, wanted, option in zip(names, results, expected, options, strict=True):
        Hung.said = ""
        try:
            score, why = _one(environment, getters, metrics, name, result, wanted, option or {})
        except Hung:
            score, why = 0.0, ""
        if Lacking.said:
            raise Lacking(Lacking.said)
        if Hung.said:
            score, why = 0.0, Hung.said
        scores.append(score)
        details.append({"metric": name, "score": score, **({"wrong": why} if why else {})})
        if (conj == "and" and score == 0) or (conj == "or" and score == 1):
            break
    if conj == "and":
        whole = 0.0 if 0 in scores else sum(scores) / len(scores)
    else:
        whole = max(scores)
    return {"score": whole, "details": {"metrics": details}}


def _one(
    environment: GetterEnvironment, getters: Any, metrics: Any, name: str, result: Any, wanted: Any, options: Any
) -> tuple[float, str]:
    """The score of one metric, and why the state could not be read. Raises Lacking."""
    if (program := PROGRAMS.get(name, "")) and shutil.which(program) is None:
        raise Lacking(f"{program} is not installed, which {name} needs")
    metric = _named(metrics, name)
    expected = []
    if wanted:
        try:
            expected = [_named(getters, f"get_{wanted['type']}")(environment, wanted)]
        except (Lacking, Hung):
            raise
        except Exception as error:
            raise Lacking(f"what is expected could not be had: {type(error).__name__}: {error}") from error
    try:
        state = _named(getters, f"get_{result['type']}")(environment, result) if result else None
        score = metric(state, *expected, **options) if result else metric(*expected, **options)
    except (Lacking, Hung):
        raise
    except (*BY_STATE, FileNotFoundError, scorer_bounds.OutsideFolder) as error:
        if isinstance(error, FileNotFoundError) and not _in_cache(error, environment.cache_dir):
            raise Lacking(f"{name}: {error}") from error
        return 0.0, f"{type(error).__name__}: {error}"[:300]
    except Exception as error:
        if _is_broken_file(error):
            return 0.0, f"{type(error).__name__}: {error}"[:300]
        raise Lacking(f"{name} failed: {type(error).__name__}: {str(error)[:200]}") from error
    if isinstance(score, bool | int | float) and 0 <= score <= 1:
        return float(score), ""
    if score is None:
        return 0.0, "the metric said nothing"
    try:
        return min(max(float(score), 0.0), 1.0), ""
    except (TypeError, ValueError):
        raise Lacking(f"{name} gave {str(score)[:80]!r}, which is no score") from None


def _named(module: Any, name: str) -> Any:
    found = getattr(module, name, None)
    if not callable(found):
        raise Lacking(f"{PACKAGE} has no {name}")
    return found


def _in_cache(error: FileNotFoundError, folder: str) -> bool:
    """Whether a file is missing that the guest should have given, and no program or file of this machine."""
    name = error.filename
    return name is None or str(name).startswith(folder) or not os.path.isabs(str(name))


def _is_broken_file(error: Exception) -> bool:
    """Whether an error is one that libraries raise for files of a wrong format, by the errors' names."""
    words = ("NotFound", "Invalid", "Corrupt", "Malformed", "Parse", "Unidentified", "Package", "PdfRead", "FileData")
    larger = isinstance(error, OSError) and error.errno == errno.EFBIG  # unpacked, than any file may be
    return larger or any(word in type(error).__name__ for word in words)


def answer(line: str, getters: Any, metrics: Any) -> dict[str, Any]:
    """Scores one request; never raises."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            request = json.loads(line)
            os.makedirs(request["cache"], exist_ok=True)
            os.chdir(request["cache"])  # some metrics write files of their own
            scorer_bounds.bound(request["cache"])
            return scored(request, getters, metrics)
    except Lacking as error:
        return {"failure": str(error)}
    except BaseException as error:
        return {"failure": f"the scorer failed: {type(error).__name__}: {error}"[:500]}


def main() -> None:
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print; answers have a way of their own
    try:
        getters, metrics = load()
    except Lacking as error:
        print(json.dumps({"failure": str(error)}), file=out, flush=True)
        return
    except Exception as error:
        print(json.dumps({"failure": f"desktop-env cannot be imported: {error}"[:500]}), file=out, flush=True)
        return
    print(json.dumps({"ready": VERSION}), file=out, flush=True)
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            print(json.dumps(answer(line, getters, metrics)), file=out, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"failure": f"the scorer ended with {status}"}), file=out, flush=True)


if __name__ == "__main__":
    main()
