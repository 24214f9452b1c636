"""Harbor's own command, where launch/harbor.sh has installed it, and task folders that a test makes."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HARBOR = ROOT / ".cache/harbor/bin/harbor"
TASKS = Path(__file__).with_name("harbor_tasks")
ENVIRONMENT = "tars_jax.sandbox.compat.harbor.environment:HarborComputer"
needs_harbor = pytest.mark.skipif(
    not HARBOR.exists(), reason="launch/harbor.sh has not installed Harbor, which takes Python 3.12 or later"
)


@dataclasses.dataclass(frozen=True)
class Trial:
    rewards: dict[str, float]  # empty: there are none
    exception: str  # its type and message; empty: none
    folder: Path

    @property
    def reward(self) -> float | None:
        return self.rewards.get("reward")


def command(tasks: Path, jobs: Path, agent: str, *more: str) -> list[str]:
    options = ["-p", str(tasks), "-a", agent, "-e", ENVIRONMENT, "-o", str(jobs), "--job-name", "job", "-n", "2", *more]
    return [str(HARBOR), "run", "-q", *options]


def environment(folder: Path, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables of a command whose computers and settings lie in a folder."""
    own = {"TMPDIR": str(folder), "HOME": str(folder), "HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return {**os.environ, **own, **(variables or {})}


def run(
    tasks: Path, folder: Path, agent: str, *more: str, variables: Mapping[str, str] | None = None
) -> dict[str, Trial]:  # fmt: skip
    """The trials of a job by the names of their tasks."""
    done = subprocess.run(
        command(tasks, folder / "jobs", agent, *more), env=environment(folder, variables), capture_output=True,
        text=True, timeout=280, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return trials(folder / "jobs" / "job")


def commands_of_page() -> list[str]:
    """What docs/benchmarks/harbor.md says to type."""
    lines = (ROOT / "docs" / "benchmarks" / "harbor.md").read_text().splitlines()
    return [line.strip() for line in lines if line.startswith("    ") and "launch/harbor.sh" in line]


def trials(job: Path) -> dict[str, Trial]:
    found = {}
    for file in job.glob("*/result.json"):
        result = json.loads(file.read_text())
        rewards: dict[str, float] = (result["verifier_result"] or {}).get("rewards") or {}
        why = result["exception_info"]
        said = f"{why['exception_type']}: {why['exception_message']}" if why else ""
        found[result["task_name"]] = Trial(rewards, said, file.parent)
    return found


def make_task(
    folder: Path, *, dockerfile: str = "FROM debian\nWORKDIR /app\n", tests: Sequence[str] = (), config: str = "",
    environment: str = "", verifier_s: float = 60.0, solution: str = "true", agent_s: float = 0.0,
) -> Path:  # fmt: skip
    """`config`: tables of task.toml; `environment`: lines of its [environment]; `tests`, `solution`: lines of bash.

    `agent_s`: the agent's time; 0: Harbor's own.
    """
    for name in ("environment", "solution", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "instruction.md").write_text("Do nothing.\n")
    config += f"\n[agent]\ntimeout_sec = {agent_s}\n" if agent_s else ""
    limits = "cpus = 1\nmemory_mb = 256\nstorage_mb = 256\n"
    verifier = f"[verifier]\ntimeout_sec = {verifier_s}\n"
    (folder / "task.toml").write_text(
        f'schema_version = "1.4"\n{config}\n{verifier}[environment]\n{limits}{environment}'
    )
    if dockerfile:
        (folder / "environment" / "Dockerfile").write_text(dockerfile)
    (folder / "solution" / "solve.sh").write_text(f"#!/bin/bash\n{solution}\n")
    (folder / "tests" / "test.sh").write_text("\n".join(("#!/bin/bash", *tests, "")))
    return folder
