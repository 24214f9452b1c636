"""Episodes as a job folder of Harbor's, which its viewer and its own models read.

FOLDER/terminal_bench/config.json, result.json, and for each trial TASK__N/: config.json, result.json, agent/ (the
episode as ATIF), verifier/ and artifacts/, or steps/NAME/ with these two. An episode that was lost is a trial with an
exception and without a reward: it is counted apart, and the job's mean has 0 for it, as the leaderboard does. Of its
last try there are agent/turns.json (what was done and seen), its counts, and what the tests wrote.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import __version__
from tars_jax.data.atif_writing import SUFFIX, write_atif
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.sandbox.computer.build_context import context_digest

JOB = "terminal_bench"
AGENT = "tars_jax"
_LONGEST_NAME = 32  # characters of a task's name in its trials' names
# Of losses, by what they say: Harbor's name of the exception.
_EXCEPTIONS = {
    "had not ended after": "VerifierTimeoutError", "got neither": "RewardFileNotFoundError",
    "an empty file": "RewardFileEmptyError", "must hold a reward": "VerifierOutputParseError",
    "must hold finite numbers": "VerifierOutputParseError", "must hold numbers of": "VerifierOutputParseError",
    "health check failed": "HealthcheckError",
    "Dockerfile, line": "SandboxBuildFailedError",
}  # fmt: skip


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """The job's result.json is returned; all else lies beside it."""
    job = folder / JOB
    job.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{about.tasks} {about.agent} {about.seed}"))
    trials = [_trial(job, each, about, now, id) for each in played]
    for each, trial in zip(played, trials, strict=True):
        _write_trial(job / trial["trial_name"], each, trial)
    attempts = 1 + max((each.attempt for each in played), default=0)
    config = {
        "job_name": JOB, "jobs_dir": str(folder), "n_attempts": attempts,
        "agents": [{"name": AGENT, "model_name": about.agent}], "datasets": [{"path": str(about.tasks)}],
    }  # fmt: skip
    _write(job / "config.json", config)
    seconds = sum(each.trajectory.metadata.get("seconds", 0.0) for each in played)
    result = {
        "id": id, "started_at": (now - datetime.timedelta(seconds=seconds)).isoformat(),
        "finished_at": now.isoformat(), "n_total_trials": len(trials), "stats": _stats(played, trials, about),
    }  # fmt: skip
    _write(job / "result.json", result)
    return [job / "result.json"]


def _write(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False).encode())


def _final(each: Attempt) -> dict[str, Any]:
    """The environment's final info; empty for an episode that was lost."""
    found: dict[str, Any] = each.trajectory.metadata.get("final", {}).get("benchmark", {})
    return found


def _trial(job: Path, each: Attempt, about: BenchmarkRun, now: datetime.datetime, job_id: str) -> dict[str, Any]:
    task = each.task
    assert task.folder is not None
    name = f"{task.id[:_LONGEST_NAME].rstrip('_-')}__{each.attempt + 1}"
    final = _final(each)
    details = final.get("details", {})
    steps = details.get("steps", [])
    remains = each.remains
    seconds = final.get("seconds", each.trajectory.metadata.get("seconds", remains.get("seconds", 0.0)))
    begun = now - datetime.timedelta(seconds=seconds)
    written = each.trajectory.num_action_tokens
    read = sum(len(window.tokens) for window in each.trajectory.windows) - written
    result: dict[str, Any] = {
        "id": str(uuid.uuid5(uuid.UUID(job_id), name)), "task_name": task.record.get("name") or task.id,
        "trial_name": name, "trial_uri": (job / name).resolve().as_uri(), "task_id": {"path": str(task.folder)},
        "source": about.tasks.name, "task_checksum": context_digest(task.folder),
        "config": {
            "task": {"path": str(task.folder), "source": about.tasks.name}, "trial_name": name,
            "trials_dir": str(job), "agent": {"name": AGENT, "model_name": about.agent}, "job_id": job_id,
        },
        "agent_info": {
            "name": AGENT, "version": __version__, "model_info": {"name": about.agent, "provider": None}
        },
        "agent_result": {
            "n_input_tokens": read + remains.get("tokens_read", 0),
            "n_output_tokens": written + remains.get("tokens_written", 0),
            "metadata": {
                "steps": len(each.trajectory.steps) or remains.get("steps", 0), "ended_by": final.get("ended_by", "")
            },
        },
        "verifier_result": {"rewards": details["rewards"]} if each.counts and "rewards" in details else None,
        "started_at": begun.isoformat(), "finished_at": now.isoformat(),
        "agent_execution": {"started_at": begun.isoformat(), "finished_at": now.isoformat()},
    }  # fmt: skip
    if not each.counts:
        result["exception_info"] = _exception(_name_of(each.loss), each.loss, now)
    elif any(step["timed_out"] for step in steps) or final.get("ended_by") == "time":
        result["exception_info"] = _exception("AgentTimeoutError", "the agent's time was over", now)
    if any(step["step"] for step in steps):
        result["step_results"] = [
            {"step_name": step["step"], "verifier_result": {"rewards": step["rewards"]}} for step in steps
        ]
    return result


def _name_of(loss: str) -> str:
    return next((name for text, name in _EXCEPTIONS.items() if text in loss), "RuntimeRequestError")


def _exception(name: str, message: str, now: datetime.datetime) -> dict[str, Any]:
    return {
        "exception_type": name, "exception_message": message, "exception_traceback": "",
        "occurred_at": now.isoformat(),
    }  # fmt: skip


def _write_trial(folder: Path, each: Attempt, trial: Mapping[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    if each.trajectory.steps:
        agent = folder / "agent"
        write_atif(agent, [each.trajectory])
        (agent / f"000000{SUFFIX}").replace(agent / "trajectory.json")
    for step in (*_final(each).get("details", {}).get("steps", ()), *_steps_of_lost(each)):
        _write_step(folder / "steps" / step["step"] if step["step"] else folder, step)
    _write(folder / "config.json", trial["config"])
    if not each.counts:
        write_atomic(folder / "exception.txt", each.loss.encode())
        if each.remains:
            (folder / "agent").mkdir(exist_ok=True)
            _write(folder / "agent" / "turns.json", {"first": each.remains["first"], "turns": each.remains["turns"]})
    _write(folder / "result.json", trial)


def _steps_of_lost(each: Attempt) -> list[Mapping[str, Any]]:
    """Stages of a lost episode that had a reward before, and the test output of the stage that had none."""
    details = each.remains.get("details", {})
    if "said" not in details:
        return list(details.get("done", ()))
    last = {"step": details.get("step", ""), "rewards": None, "said": details["said"], "artifacts": {}}
    return [*details.get("done", ()), last]


def _write_step(folder: Path, step: Mapping[str, Any]) -> None:
    verifier = folder / "verifier"
    verifier.mkdir(parents=True, exist_ok=True)
    write_atomic(verifier / "test-stdout.txt", step["said"].encode())
    if step["rewards"] is not None:
        _write(verifier / "reward.json", step["rewards"])
    artifacts = folder / "artifacts"
    for path, data in step["artifacts"].items():
        target = artifacts / path
        if target.resolve().is_relative_to(artifacts.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, base64.b64decode(data))
    if step["artifacts"]:
        entries = [
            {"source": f"/{path}", "destination": path, "type": "file", "status": "ok"} for path in step["artifacts"]
        ]
        _write(artifacts / "manifest.json", entries)


def _stats(played: Sequence[Attempt], trials: Sequence[Mapping[str, Any]], about: BenchmarkRun) -> dict[str, Any]:
    """Counts of Harbor's own form."""
    rewards = [(trial["verifier_result"] or {}).get("rewards") for trial in trials]
    errors: dict[str, list[str]] = {}
    for trial in trials:
        if "exception_info" in trial:
            errors.setdefault(trial["exception_info"]["exception_type"], []).append(trial["trial_name"])
    found: dict[str, dict[str, list[str]]] = {}
    for trial, values in zip(trials, rewards, strict=True):
        for name, value in (values or {}).items():
            found.setdefault(name, {}).setdefault(str(value), []).append(trial["trial_name"])
    failed = sum(map(len, errors.values()))
    evals = {
        "n_trials": sum(values is not None for values in rewards), "n_errors": failed,
        "metrics": _metrics(rewards), "pass_at_k": _pass_at_k(played), "reward_stats": found,
        "exception_stats": errors,
    }  # fmt: skip
    return {
        "n_completed_trials": len(trials), "n_errored_trials": failed,
        "n_input_tokens": sum(trial["agent_result"]["n_input_tokens"] for trial in trials),
        "n_output_tokens": sum(trial["agent_result"]["n_output_tokens"] for trial in trials),
        "evals": {f"{AGENT}__{about.agent}__{about.tasks.name}": evals},
    }  # fmt: skip


def _metrics(rewards: Sequence[Mapping[str, float] | None]) -> list[dict[str, float]]:
    """Harbor's, with 0 for trials without a reward; where there are such, that of the others, too (RUN/result.json)."""
    if not (some := [each for each in rewards if each is not None]) or len(some) == len(rewards):
        return [_mean(rewards)]
    return [_mean(rewards), {f"{name}_without_errors": value for name, value in _mean(some).items()}]


def _mean(rewards: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    names = sorted({name for each in rewards for name in each or {}})
    if len(names) <= 1:
        return {"mean": sum(next(iter((each or {}).values()), 0.0) for each in rewards) / max(len(rewards), 1)}
    return {name: sum((each or {}).get(name, 0.0) for each in rewards) / len(rewards) for name in names}


def _pass_at_k(played: Sequence[Attempt]) -> dict[str, float]:
    """Unbiased pass@k of tasks that were all tried as often, with a lost attempt as one that failed."""
    solved: dict[str, list[bool]] = {}
    for each in played:
        solved.setdefault(each.task.id, []).append(each.counts and each.trajectory.succeeded)
    tries = min(map(len, solved.values()), default=0)
    return {
        str(k): sum(1 - math.comb(len(some) - sum(some), k) / math.comb(len(some), k) for some in solved.values())
        / len(solved)
        for k in range(2, tries + 1)
    }  # fmt: skip
