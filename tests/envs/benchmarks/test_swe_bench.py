"""SWE-bench's issues on a repository of ours: patches, tests of the instance's own, grades of the official package."""

from __future__ import annotations

import asyncio
import base64
import random
import shutil
import zlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import action_from_call
from tars_jax.agent.actions import Finished
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.benchmarks.swe_bench import grading
from tars_jax.envs.benchmarks.swe_bench.environment import SweBenchEnvironment
from tars_jax.envs.benchmarks.swe_bench.testing import END, EXIT_CODE, START, eval_script
from tars_jax.tasks.benchmarks.catalog import read_benchmark
from tests.envs.benchmarks.harbor_folders import bash
from tests.envs.benchmarks.swe_repository import MENDED, instances
from tests.sandbox.computer.containers import needs_root

needs_grader = pytest.mark.skipif(
    not (Path(grading.__file__).parents[4] / ".cache" / "swe_bench" / "bin" / "python").exists(),
    reason="needs swebench (./launch/swe_bench.sh)",
)
Steps = Callable[[SweBenchEnvironment], Awaitable[Any]]
SAYS_SO = 'print("PASSED tests/test_words.py::test_longest")\\nraise SystemExit(3)\\n'
MEND = "sed -i 's/return word$/return best/' words.py"


def play(path: Path, *episodes: Steps, **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        environment = SweBenchEnvironment(read_benchmark("swe_bench", str(path)), **options)
        ended = []
        try:
            for steps in episodes:
                await environment.reset(Task("an episode", "swe_bench", 0, {}, 50))
                ended.append(await steps(environment))
        finally:
            await environment.close()
        return ended

    return asyncio.run(run())


def done_by(*commands: str) -> Steps:
    async def steps(environment: SweBenchEnvironment) -> Any:
        for command in commands:
            await environment.step([bash(command)])
        return await environment.step([Finished()])

    return steps


async def by_patch(environment: SweBenchEnvironment) -> Any:
    observation, rng = environment._shown, random.Random(0)
    while True:
        move = environment.reference_player(observation.info["state"], rng)
        action = action_from_call(move.function, move.parameters, space=environment.action_space)
        transition = await environment.step([action])
        if transition.terminated:
            return transition
        observation = transition.observation


def details(transition: Any) -> dict[str, Any]:
    return transition.observation.info["benchmark"]["details"]


OWN_TEST = "printf 'def test_longest():\\n    pass\\n' > tests/test_words.py"
BREAKS = "sed -i 's/return word$/return \"cherry\"/' words.py"
CASES: dict[str, tuple[Steps, float]] = {
    "the known patch": (by_patch, 1.0),
    "nothing": (done_by(), 0.0),
    "mended": (done_by(MEND, "echo > new.py"), 1.0),
    "committed": (done_by(MEND, "git add -A; git -c user.name=a -c user.email=a@b commit -qm x"), 1.0),
    "a broken .git": (done_by(MEND, "rm -rf .git; echo x > ~/.gitconfig"), 1.0),
    "tests that pass": (done_by(OWN_TEST), 0.0),
    "another test broken": (done_by(BREAKS), 0.0),
    "no syntax": (done_by("echo 'def' > words.py"), 0.0),
    "an outcome of its own": (done_by(f"printf '{SAYS_SO}' > conftest.py"), 0.0),
    "a large file beside": (done_by(MEND, "head -c 30000000 /dev/urandom > core"), 1.0),
    "no git": (done_by(MEND, "rm -f /usr/bin/git /usr/bin/python3*"), 1.0),
    "pytest of its own": (
        done_by("mkdir pytest; touch pytest/__init__.py", f"printf '{SAYS_SO}' > pytest/__main__.py"), 0.0
    ),
    "no repository": (done_by("rm -rf /testbed"), 0.0),
}  # fmt: skip
FEW = ("the known patch", "nothing", "tests that pass", "another test broken")


@needs_root
@needs_grader
@pytest.mark.multiprocess
@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(CASES), marks=pytest.mark.full)], ids=["few", "all"])
def test_a_patch_is_what_the_tree_says_and_the_instances_own_tests_grade_it(
    tmp_path: Path, names: Sequence[str]
) -> None:
    ended = play(instances(tmp_path), *(CASES[name][0] for name in names))
    seen = {name: transition.reward for name, transition in zip(names, ended, strict=True)}
    assert seen == {name: CASES[name][1] for name in names}
    by_name = dict(zip(names, map(details, ended), strict=True))
    assert by_name["nothing"]["patch"] == ""
    assert "no git" not in names or "not in its patch: core" in by_name["a large file beside"]["note"]
    assert "mended" not in names or "new.py" in by_name["mended"]["patch"]
    log = zlib.decompress(base64.b64decode(by_name["another test broken"]["log"])).decode()
    assert START in log and END in log and f"{EXIT_CODE}: 1" in log
    failed = by_name["another test broken"]["report"]["tests_status"]
    assert failed["PASS_TO_PASS"] == {"success": [], "failure": ["tests/test_words.py::test_one"]}
    assert failed["FAIL_TO_PASS"]["success"] == ["tests/test_words.py::test_longest"]


@pytest.mark.full
@needs_root
@needs_grader
@pytest.mark.multiprocess
def test_a_terminal_on_a_screen_serves_as_well(tmp_path: Path) -> None:
    if not (shutil.which("Xvfb") or shutil.which("Xtigervnc")) or not shutil.which("xterm"):
        pytest.skip("needs an X server and xterm (./launch/desktop.sh)")
    [solved] = play(instances(tmp_path), by_patch, interface="gui", size=(640, 400))
    assert (solved.reward, solved.observation.pixels.shape) == (1.0, (400, 640, 3))


@needs_root
@needs_grader
@pytest.mark.multiprocess
def test_nothing_that_came_later_can_be_found(tmp_path: Path) -> None:
    folder = instances(tmp_path)

    async def look(environment: SweBenchEnvironment) -> str:
        assert environment._computer is not None
        script = (
            "git log --all --oneline --format=%s; git tag; git reflog | cat; git fsck --lost-found --no-progress; "
            "git cat-file --batch-all-objects --batch-check | cut -d' ' -f1 | git cat-file --batch | strings;"
            "git remote; git stash list; cat .git/packed-refs; ls -A .git; grep -r 'return best' . /tmp /root /home; "
            "git status --short"
        )
        ran = await environment._computer.machine.run(["bash", "-c", script], cwd="/testbed", merge=True)
        await environment.step([Finished()])
        return ran.stdout.decode()

    [seen] = play(folder, look)
    assert seen.startswith("longest\nbegin\nv1\n")
    for later in ("secret", "v2", "release", "return best", "test_longest", "ORIG_HEAD", "FETCH_HEAD", "origin"):
        assert later not in seen, seen


@pytest.mark.full
@needs_root
@needs_grader
@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("changes", "said", "logged"),
    [
        (
            {"test_command": "python3 -m no_such_runner"},
            "its tests do not run on the unchanged repository: .*No module named no_such_runner", "Test Exit Code: 1",
        ),
        (
            {"test_patch": "diff --git a/no b/no\n--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n"},
            "the patch of its tests does not apply to the unchanged repository", "no: No such file",
        ),
    ],
)  # fmt: skip
def test_tests_that_do_not_run_anyway_are_the_machines_failure(
    tmp_path: Path, changes: dict[str, Any], said: str, logged: str
) -> None:
    async def failing(environment: SweBenchEnvironment) -> EnvironmentFailure:
        with pytest.raises(EnvironmentFailure, match=said) as raised:
            await done_by(MEND)(environment)
        return raised.value

    [failure] = play(instances(tmp_path, **changes), failing)
    assert "return best" in failure.details["patch"]
    assert logged in zlib.decompress(base64.b64decode(failure.details["log"])).decode()


@pytest.mark.full
@needs_root
@needs_grader
@pytest.mark.multiprocess
def test_tests_that_are_there_already_need_no_patch(tmp_path: Path) -> None:
    changes = {"test_patch": "", "FAIL_TO_PASS": ["tests/test_words.py::test_one"], "PASS_TO_PASS": []}
    [ended] = play(instances(tmp_path, **changes), done_by(MEND))
    assert ended.reward == 1.0


@pytest.mark.full
@needs_root
@needs_grader
@pytest.mark.multiprocess
def test_tests_that_take_too_long_are_told_so(tmp_path: Path) -> None:
    [ended] = play(instances(tmp_path, test_command="sleep 60; true"), done_by(MEND), test_timeout=1)
    told = details(ended)
    assert (ended.reward, told["timed_out"], told["classified"]) == (0.0, True, ["tests_timed_out", "ambiguous"])


def test_without_the_grader_nothing_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_SWE_BENCH", str(tmp_path / "none"))
    with pytest.raises(
        InputError, match=r"swe_bench needs the package swebench, which \./launch/swe_bench\.sh installs"
    ):
        SweBenchEnvironment(read_benchmark("swe_bench", str(instances(tmp_path))))


@needs_grader
def test_truncated_names_skipped_tests_and_silent_failures_are_graded_as_the_package_does() -> None:
    record = {
        "instance_id": "a__b-1", "repo": "a/b", "FAIL_TO_PASS": ["t.py::test_a[log(x"],
        "PASS_TO_PASS": ["t.py::test_b"],
    }  # fmt: skip

    def grade(*lines: str, status: int = 0) -> tuple[bool, bool]:
        log = "\n".join([START, *lines, END, f"{EXIT_CODE}: {status}"])
        report = asyncio.run(grading.grade(record, "x", log))["report"]
        return report["resolved"], report["patch_successfully_applied"]

    assert grade("PASSED t.py::test_a[log(x y)]", "SKIPPED t.py::test_b") == (True, True)
    assert grade("PASSED t.py::test_a[log(x y)]", "FAILED t.py::test_a[log(x z)]", "PASSED t.py::test_b")[0] is False
    assert grade("SKIPPED t.py::test_a[log(x y)]", "PASSED t.py::test_b") == (False, True)
    assert grade("PASSED t.py::test_a[log(x y)]", "PASSED t.py::test_b", status=1) == (False, False)
    assert grade() == (False, False)


def test_a_script_of_the_data_tells_the_status_of_its_tests() -> None:
    given = f"#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '{START}'\npytest\n: '{END}'\ngit checkout x\n"
    lines = eval_script({"eval_script": given}).splitlines()
    assert lines[:3] == ["#!/bin/bash", "set -uxo pipefail", "cd /testbed"]
    at = lines.index(f": '{END}'")
    assert lines[at - 1].endswith("=$?") and EXIT_CODE in lines[at + 1]
    assert "return best" in MENDED
