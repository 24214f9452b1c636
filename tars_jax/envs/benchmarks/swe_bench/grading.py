"""Grades by the official package, in the environment of its own that ./launch/swe_bench.sh makes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.swe_bench.testing import EVAL_TYPE, PARSER

VERSION = "5.0.2"
GRADE_S = 120.0
# Runs in that environment, where nothing of ours is: reads JSON and writes JSON. The package `harness` imports its
# runner, which needs Docker's client; its modules are imported without that.
_PROGRAM = """
import json, sys, tempfile, pathlib, types
import swebench
harness = sys.modules["swebench.harness"] = types.ModuleType("swebench.harness")
harness.__path__ = [swebench.__path__[0] + "/harness"]
from swebench.harness.grading import get_eval_report
from swebench.harness.infra_failure import classify_logs
from swebench.types import TestSpec
given = json.load(sys.stdin)
record, patch = given["record"], given["patch"]
spec = TestSpec(
    record["instance_id"], "", [], record["repo"], record.get("version") or "", record["FAIL_TO_PASS"],
    record["PASS_TO_PASS"], record["log_parser"], record["eval_type"],
)
with tempfile.TemporaryDirectory() as folder:
    log = pathlib.Path(folder, "test_output.txt")
    log.write_text(given["log"])
    prediction = {"instance_id": spec.instance_id, "model_name_or_path": "", "model_patch": patch}
    report = get_eval_report(spec, prediction, str(log), True)
    print(json.dumps({"version": swebench.__version__, "report": report, "classified": classify_logs(log)}))
"""


def python() -> Path:
    """The Python that has swebench: TARS_JAX_SWE_BENCH's, or what the script has made. Raises InputError."""
    folder = os.environ.get("TARS_JAX_SWE_BENCH") or Path(__file__).parents[4] / ".cache" / "swe_bench"
    found = Path(folder) / "bin" / "python"
    if not found.exists():
        raise InputError(f"swe_bench needs the package swebench, which ./launch/swe_bench.sh installs; got no {found}")
    return found


async def grade(record: Mapping[str, Any], patch: str, log: str) -> dict[str, Any]:
    """`report`: of the instance, as the package gives it; `classified`: (reason, tier) of what its log says beside.

    Raises EnvironmentFailure where the package fails, hangs, or is of another version.
    """
    asked = {
        "record": {
            "instance_id": record["instance_id"], "repo": record["repo"], "version": record.get("version"),
            "FAIL_TO_PASS": record["FAIL_TO_PASS"], "PASS_TO_PASS": record["PASS_TO_PASS"],
            "log_parser": record.get("log_parser") or PARSER, "eval_type": record.get("eval_type") or EVAL_TYPE,
        },
        "patch": patch,
        "log": log,
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        str(python()), "-I", "-c", _PROGRAM, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(GRADE_S):
            said, errors = await process.communicate(json.dumps(asked).encode())
    except TimeoutError as error:
        raise EnvironmentFailure("verifier", f"swebench had not graded after {GRADE_S:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        answer: dict[str, Any] = json.loads(said)
        answer["report"] = answer["report"][record["instance_id"]]
    except (ValueError, LookupError, TypeError) as error:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][-300:]
        raise EnvironmentFailure("verifier", f"swebench could not grade: {last or 'it said nothing'}") from error
    if answer.get("version") != VERSION:
        raise EnvironmentFailure("verifier", f"swebench must be {VERSION}; got {answer.get('version')}")
    return answer
