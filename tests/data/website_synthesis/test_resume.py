"""A run that is killed in the middle of a site goes on there: test_synthesis.py has the same without a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.data.website_synthesis.small_site import SmallSite

ROOT = Path(__file__).parents[3]
FLAGS = ("sites=", "may_change=True", "tasks=8", "questions=6", "merged=0", "rows=0", "random.episodes=0")
LONGEST_S = 240


def records(path: Path) -> list[dict[str, Any]]:
    """Of the lines that are whole."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.multiprocess
def test_a_killed_run_loses_and_doubles_no_task(tmp_path: Path) -> None:
    site = SmallSite()
    try:
        (tmp_path / "addresses.txt").write_text(site.url)
        flags = (*FLAGS, f"addresses={tmp_path / 'addresses.txt'}", f"run={tmp_path / 'run'}", "exploration.presses=0")
        command = [sys.executable, "-P", "-m", "experiments", "synthesize_websites"]
        command += [f"--config.{each}" for each in flags]
        port = site.url.rstrip("/").rpartition(":")[2]
        written = tmp_path / f"run/sites/127_0_0_1_{port}.jsonl"
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
            last = time.monotonic() + LONGEST_S
            while sum(bool(each["task"]) for each in records(written)) < 1 and time.monotonic() < last:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        before = written.read_bytes()
        assert not written.with_suffix(".json").exists()
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True, timeout=LONGEST_S)
    finally:
        site.close()
    assert written.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    found = records(written)
    assert len({each["key"] for each in found}) == len(found), "no candidate is tried twice"
    accepted = {each["task"]["id"] for each in found if each["task"]}
    tasks = [each["id"] for each in records(tmp_path / "run/judged.jsonl")]
    assert sorted(tasks) == sorted(accepted) and len(accepted) >= 2
