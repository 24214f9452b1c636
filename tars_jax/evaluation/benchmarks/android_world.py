"""AndroidWorld's own result files: what its `IncrementalCheckpointer` loads and its `process_episodes` reads.

    checkpoints/NAME_INDEX.pkl.gz   one episode each: a list of one dict of builtin types, numbers of lost ones NaN
    results.csv                     the columns of its table of results, by task, with the mean of all
    solved_at_start.json            tasks whose check was a success before the first step, and the rate without them

Of several attempts each has a folder of its own, `attempt_1` and so on.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import math
import pickle
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.trajectory import Trajectory

COLUMNS = (
    "task", "num_complete_trials", "mean_success_rate", "mean_episode_length", "total_runtime_s", "num_fail_trials",
)  # fmt: skip
_PROTOCOL = 4  # of pickle, which every Python that AndroidWorld runs on reads


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Writes them below `folder`. Raises OSError."""
    attempts = sorted({each.attempt for each in played})
    written = []
    for attempt in attempts:
        place = folder if len(attempts) == 1 else folder / f"attempt_{attempt + 1}"
        of_it = [each for each in played if each.attempt == attempt]
        episodes = [_episode(each, about.agent) for each in of_it]
        files = {
            Path("checkpoints", f"{each['task_template']}_{each['instance_id']}.pkl.gz"): _packed(each)
            for each in episodes
        }
        files[Path("results.csv")] = _table(episodes)
        files[Path("solved_at_start.json")] = _solved_at_start(of_it, episodes)
        for name, data in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(place / name, data)
            written.append(place / name)
    return written


def _episode(each: Attempt, agent: str) -> dict[str, Any]:
    record, details, lost = each.task.record, _details(each.trajectory), not each.counts
    steps = each.trajectory.steps
    sent = details.get("sent", ())
    return {
        "goal": each.task.instruction,
        "task_template": record["task_type"],
        "instance_id": record["task_idx"],
        "episode_data": math.nan if lost else {
            "step_number": list(range(len(steps))),
            "raw_screenshot_png": [step.screenshot for step in steps],
            "action_reason": [step.thought for step in steps],
            "action_output": [step.response for step in steps],
            "action_output_json": [_sent(sent, index) for index in range(len(steps))],
        },
        "is_successful": math.nan if lost else float(_about(each.trajectory)["score"]),
        "run_time": _about(each.trajectory).get("seconds", math.nan),
        "finish_dtime": datetime.datetime.now(),
        "episode_length": math.nan if lost else len(steps),
        "exception_info": each.loss or None,
        "aux_data": {"score_at_start": details.get("score_at_start")},
        "agent_name": agent,
        "seed": record["servers"]["seed"],
        "screen_config": {},
    }  # fmt: skip


def _about(trajectory: Trajectory) -> Mapping[str, Any]:
    """Empty where the episode was lost before its verdict."""
    about: Mapping[str, Any] = trajectory.metadata.get("final", {}).get("benchmark", {})
    return about


def _details(trajectory: Trajectory) -> Mapping[str, Any]:
    details: Mapping[str, Any] = _about(trajectory).get("details", {})
    return details


def _sent(sent: Sequence[Mapping[str, Any]], step: int) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "step"} for each in sent if each["step"] == step]


def _packed(episode: Mapping[str, Any]) -> bytes:
    return gzip.compress(pickle.dumps([dict(episode)], protocol=_PROTOCOL), 5, mtime=0)


def _table(episodes: Sequence[Mapping[str, Any]]) -> bytes:
    """Means over the trials that were not lost; of no trials, empty cells."""
    rows: list[list[Any]] = []
    for name in sorted({each["task_template"] for each in episodes}):
        of_it = [each for each in episodes if each["task_template"] == name]
        whole = [each for each in of_it if each["exception_info"] is None]
        means = [_mean([each[field] for each in whole]) for field in ("is_successful", "episode_length")]
        seconds = round(sum(each["run_time"] for each in of_it if not math.isnan(each["run_time"])), 1)
        rows.append([name, len(whole), *means, seconds, len(of_it) - len(whole)])
    last: list[Any] = ["========= Average ========="]
    last += [_mean([row[column] for row in rows if row[column] != ""]) for column in range(1, len(COLUMNS))]
    text = io.StringIO()
    csv.writer(text).writerows([COLUMNS, *rows, last])
    return text.getvalue().encode()


def _mean(values: Sequence[float]) -> float | str:
    return statistics.fmean(values) if values else ""


def _solved_at_start(played: Sequence[Attempt], episodes: Sequence[Mapping[str, Any]]) -> bytes:
    named = {
        each.task.id for each in played if (_details(each.trajectory).get("score_at_start") or 0.0) > 0.5
    }  # fmt: skip
    whole = [
        (each.task.id, episode["is_successful"])
        for each, episode in zip(played, episodes, strict=True)
        if episode["exception_info"] is None
    ]
    rates = {
        "success_rate": _mean([score for _, score in whole]),
        "success_rate_without_them": _mean([score for id, score in whole if id not in named]),
    }
    return json.dumps({"solved_at_start": sorted(named), **rates}, indent=1).encode()
