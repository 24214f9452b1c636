"""WebArena-Verified's evaluators as a second process: what they pin has an environment of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.tasks.benchmarks.webarena_verified import SCRIPT, VERSION, SitePlace, package_folder

SCORER = Path(__file__).with_name("webarena_scorer.py")
TIME_LIMIT_S = 120.0
KIND = "verifier"
TASK_TYPES = ("RETRIEVE", "MUTATE", "NAVIGATE")
STATUSES = (
    "SUCCESS", "ACTION_NOT_ALLOWED_ERROR", "PERMISSION_DENIED_ERROR", "NOT_FOUND_ERROR", "DATA_VALIDATION_ERROR",
    "UNKNOWN_ERROR",
)  # fmt: skip
_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)


def scorer_python() -> Path:
    """Raises InputError where the evaluators were not installed."""
    python = package_folder() / "bin" / "python"
    if not python.exists():
        raise InputError(f"webarena_verified must have its evaluators in {package_folder()}; {SCRIPT} installs them")
    return python


def wrong_form(response: str | None) -> str:
    """The reason why a response breaks the benchmark's schema; empty: it fits. Such a response is the agent's own
    fault."""
    if response is None or not response.strip():
        return "there is no answer"
    fenced = _FENCED.search(response)
    try:
        said = json.loads(fenced[1].strip() if fenced else response)
    except (ValueError, RecursionError):
        return "the answer is no JSON"
    if not isinstance(said, dict):
        return "the answer is no JSON object"
    kind = said.get("task_type", said.get("performed_operation"))
    for name, value, known in (("task_type", kind, TASK_TYPES), ("status", said.get("status"), STATUSES)):
        if not isinstance(value, str) or value.strip().upper() not in known:
            return f"{name} of the answer is none of {', '.join(known)}"
    data = said.get("retrieved_data")
    return "" if data is None or isinstance(data, list) else "retrieved_data of the answer is no array"


async def score(
    record: Mapping[str, Any], response: str | None, entries: Sequence[Mapping[str, Any]], python: Path,
    time_limit: float = TIME_LIMIT_S,
) -> tuple[float, dict[str, Any]]:  # fmt: skip
    """0 or 1, and what the evaluators say. Raises EnvironmentFailure("verifier") where they cannot tell."""
    places: Mapping[str, SitePlace] = record["places"]
    request = {
        "version": VERSION, "task_id": record["task"]["task_id"], "response": response, "entries": list(entries),
        "config": {
            "test_data_file": record["test_data_file"],
            "environments": {f"__{site.upper()}__": {"urls": [place.base]} for site, place in places.items()},
        },
    }  # fmt: skip
    said = await _asked(request, python, time_limit)
    if "failure" in said:
        raise EnvironmentFailure(KIND, str(said["failure"])[:500])
    result = said.get("result")
    if not isinstance(result, dict) or result.get("score") not in (0, 1) or not isinstance(result.get("status"), str):
        raise EnvironmentFailure(KIND, f"the evaluators answered {str(said)[:200]!r}, which is no result")
    if result["status"] == "error" and not wrong_form(response):
        why = result.get("error_msg") or next(
            (each["error_msg"] for each in result.get("evaluators_results", ()) if each.get("error_msg")), "no reason"
        )
        raise EnvironmentFailure(KIND, f"the evaluators failed: {why}"[:500])
    return float(result["score"]), result


async def _asked(request: Mapping[str, Any], python: Path, time_limit: float) -> dict[str, Any]:
    try:
        process = await asyncio.create_subprocess_exec(
            python, "-I", "-X", "utf8", SCORER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
            env={name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
        )  # fmt: skip
    except OSError as error:
        raise EnvironmentFailure(KIND, f"{python} cannot be started: {error}; {SCRIPT} installs it") from None
    try:
        out, _ = await asyncio.wait_for(process.communicate(json.dumps(request).encode()), time_limit)
    except TimeoutError:
        raise EnvironmentFailure(KIND, f"the evaluators did not answer within {time_limit:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    try:
        said = json.loads(out)
    except ValueError:
        raise EnvironmentFailure(KIND, f"the evaluators answered what is no JSON: {out[:200]!r}") from None
    if not isinstance(said, dict):
        raise EnvironmentFailure(KIND, f"the evaluators answered {str(said)[:200]!r}")
    return said
