"""The script that runs an instance's tests, as its data say it or made from the patch of its tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
EXIT_CODE, ERRORED = ">>>>> Test Exit Code", ">>>>> Tests Errored"
PARSER, EVAL_TYPE = "parse_log_pytest", "pass_and_fail"  # where the data say none
COMMAND = "python3 -P -m pytest -rA"  # of what is installed (-P), on the files of the tests' patch
TESTBED = "/testbed"
_OF_PATCH = re.compile(r"^diff --git a/.* b/(.*)$", re.MULTILINE)
_STATUS, _DOCUMENT = "SWEBENCH_TEST_EXIT_CODE", "EOF_OF_THE_TESTS_PATCH"


def test_files(patch: str) -> list[str]:
    """The files that the patch of the tests changes or makes."""
    return list(dict.fromkeys(_OF_PATCH.findall(patch)))


def eval_script(record: Mapping[str, Any]) -> str:
    """Puts the tests in place of what an agent has made of them, runs them between the two marks, and tells the exit
    status of their command behind the second.
    """
    given = record.get("eval_script")
    lines = given.strip("\n").split("\n") if given else _made(record)
    lines = [line for line in lines if line not in ("#!/bin/bash", "set -uxo pipefail")]
    at = next((number for number, line in enumerate(lines) if END in line), None)
    if at is not None and not any(EXIT_CODE in line for line in lines):
        lines[at : at + 1] = [f"{_STATUS}=$?", lines[at], f'echo "{EXIT_CODE}: ${_STATUS}"']
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def _made(record: Mapping[str, Any]) -> list[str]:
    files = test_files(record["test_patch"])
    base = record["base_commit"]
    names = " ".join(map(shlex.quote, files))
    command = record.get("test_command") or COMMAND
    back = [
        f"git cat-file -e {base}:{shlex.quote(file)} 2>/dev/null && git checkout -q {base} -- {shlex.quote(file)}"
        f" || rm -rf {shlex.quote(file)}"
        for file in files
    ]  # fmt: skip
    apply = [f"git apply -v - <<'{_DOCUMENT}' || echo '{ERRORED}'", record["test_patch"].rstrip("\n"), _DOCUMENT]
    return [
        f"cd {TESTBED}", f"git config --global --add safe.directory {TESTBED}", *back,
        *(apply if record["test_patch"].strip() else ()),  # git takes no empty one: the tests are there already
        f": '{START}'", f"{command} {names}", f": '{END}'",
    ]  # fmt: skip
