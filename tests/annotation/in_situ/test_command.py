"""The commands as a person types them: consent, a recording of a real screen, a list, a copy, and its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tars_jax.annotation.in_situ.events import KeyStroke, SourceGone, Voice
from tars_jax.annotation.in_situ.microphone import PROGRAMS
from tars_jax.annotation.in_situ.recording import HEAD, read_recording
from tests.annotation.in_situ.conftest import Stage
from tests.waiting import wait_until

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
# A microphone that is pulled out after two seconds.
RECORDER = """#!/bin/sh
exec %s -c 'import os, time
for _ in range(20): os.write(1, bytes(3200)); time.sleep(.1)
print("no such device", file=__import__("sys").stderr)
raise SystemExit(1)'
"""


def start(arguments: Sequence[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", *arguments], cwd=ROOT, env={**env, "PYTHONPATH": str(ROOT)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def run(arguments: Sequence[str], env: dict[str, str], said: str = "") -> tuple[int, str]:
    process = start(arguments, env)
    output, _ = process.communicate(said, timeout=140)
    return process.returncode, output


@pytest.fixture
def starting() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start`, and what runs then is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(arguments: Sequence[str], env: dict[str, str]) -> subprocess.Popen[str]:
        started.append(start(arguments, env))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_a_recording_from_consent_to_deletion(
    stage: Stage, tmp_path: Path, starting: Callable[..., subprocess.Popen[str]]
) -> None:
    stage.terminal("Notes", "my notes", "60x10+100+100", "#00ff00")
    stage.terminal("Diary", "the diary", "40x10+600+400", "#ff00ff")
    stage.focus("my notes")
    programs, below = tmp_path / "bin", tmp_path / "recordings"
    programs.mkdir()
    first, *_ = PROGRAMS  # it is taken whichever of them this machine has
    (programs / first).write_text(RECORDER % sys.executable)
    (programs / first).chmod(0o755)
    env = {**stage.env, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "XDG_DATA_HOME": str(below)}
    process = starting(["record", "--config.task=Write to ann@example.org", "--config.accessibility=False"], env)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("yes\n")
    process.stdin.flush()
    asked = ""
    while "pause, resume" not in asked:
        asked += process.stdout.read(1)
        if asked.endswith("[y/N] "):
            process.stdin.write("y\n" if asked.endswith("Record Notes? [y/N] ") else "\n")
            process.stdin.flush()
    assert "Record Diary?" in asked and "Type yes to agree" in asked
    (events,) = wait_until(lambda: [*below.glob("tars_jax/recordings/*/events.jsonl")])
    path = events.parent
    wait_until(lambda: '"my notes"' in events.read_text())
    stage.type("to ann@example.org")
    wait_until(lambda: events.read_text().count('"key"') >= 2 * len("to ann@example.org"))
    stage.press("Control", "Alt", "Shift", "p")
    wait_until(lambda: '"pause"' in events.read_text())
    stage.type("zzz")
    stage.press("Control", "Alt", "Shift", "p")
    wait_until(lambda: '"resume"' in events.read_text())
    wait_until(lambda: '"lost"' in events.read_text())
    process.stdin.write("nonsense\nstop\n")
    process.stdin.flush()
    output, _ = process.communicate(timeout=140)
    assert process.returncode == 0 and f"{path}: stopped" in output and "must be one of: pause" in output
    recording = read_recording(path)
    assert not recording.cut_off and recording.head.allowed == ("Notes",) and "I agree" in recording.head.consent
    typed = "".join(event.text for event in recording.events if isinstance(event, KeyStroke) and event.down)
    assert typed == "to ann@example.org"
    assert any(isinstance(event, Voice) for event in recording.events)
    assert [event.message for event in recording.events if isinstance(event, SourceGone)] == [
        f"{first} ended with status 1: no such device"
    ]

    code, said = run(["export_recording", str(path), str(tmp_path / "upload")], env)
    assert code == 0 and "1 typed texts taken out" in said
    assert b"example" not in b"".join(each.read_bytes() for each in (tmp_path / "upload").rglob("*.json*"))
    code, said = run(["record", "list"], env)
    assert code == 0 and re.search(rf"^{path} .* whole  Write to ann", said, re.MULTILINE) and "1 recordings" in said
    code, said = run(["record", "delete", str(path)], env)
    assert code == 0 and "deleted" in said and not path.exists()


@pytest.mark.parametrize(
    ("arguments", "said", "complaint"),
    [
        ((), "no\n", "the answer must be yes for anything to be recorded; got 'no'"),
        (("--config.hotkeys.pause=p",), "", "config.hotkeys.pause must be one or more of control"),
        (("--config.display=:4711",), "", "config.display must be an X display that can be reached; got ':4711'"),
        (("delete", "/etc"), "", "config.recording must be a recording, a folder with recording.json; got '/etc'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_left(
    stage: Stage, tmp_path: Path, arguments: tuple[str, ...], said: str, complaint: str
) -> None:
    env = {**stage.env, "XDG_DATA_HOME": str(tmp_path)}
    code, output = run(["record", *arguments, "--config.microphone=False", "--config.accessibility=False"], env, said)
    assert code == 2 and complaint in output
    assert not list(tmp_path.rglob(HEAD))
