"""AndroidWorld's result files: what its own checkpointer reads."""

from __future__ import annotations

import csv
import gzip
import json
import math
import pickle
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.android_world import COLUMNS, write_results
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.tasks.benchmarks.android_world import ANDROID_WORLD
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.trajectory import Outcome, Step, Trajectory

SENT = [{"step": 0, "action_type": "click", "x": 1, "y": 2}, {"step": 1, "action_type": "status"}]


def played(name: str, score: float | None, *, at_start: float = 0.0, attempt: int = 0) -> Attempt:
    """`score`: None is an episode that was lost."""
    record = {"task_type": name, "task_idx": 0, "servers": {"seed": 30}}
    task = BenchmarkTask(f"{name}_0", f"Do {name}.", "easy", record=record)
    if score is None:
        metadata: dict[str, Any] = {"infrastructure_failures": ["service: away", "timeout: slow"]}
        return Attempt(task, attempt, Trajectory("a", {}, (), (), Outcome.FAILED, 0.0, metadata))
    details = {"checked": score, "ended_by": "finished", "score_at_start": at_start, "sent": SENT}
    about = {"score": score, "seconds": 12.5, "details": details}
    step = Step(b"png", "Action: click()", "look", "click()", None, 0.0, 1, True, {})
    final = {"final": {"benchmark": about}}
    whole = Trajectory("b", {}, (), (step, step), Outcome.FINISHED, score, final, success=score > 0.5)
    return Attempt(task, attempt, whole)


ABOUT = BenchmarkRun(ANDROID_WORLD, "a-model", Path("tasks.toml"), {})


def load(path: Path) -> dict[str, Any]:
    [episode] = pickle.loads(gzip.decompress(path.read_bytes()))
    assert isinstance(episode, dict)
    return episode


def test_each_episode_is_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    all_of_them = [played("ContactsAdd", 1.0), played("ClockVerify", 1.0, at_start=1.0), played("MarkorAdd", None)]
    written = write_results(tmp_path, all_of_them, ABOUT)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "ClockVerify_0.pkl.gz", "ContactsAdd_0.pkl.gz", "MarkorAdd_0.pkl.gz",
    ]  # fmt: skip
    assert all(path.is_file() for path in written) and len(written) == 5
    episode = load(tmp_path / "checkpoints/ContactsAdd_0.pkl.gz")
    assert (episode["task_template"], episode["instance_id"], episode["is_successful"]) == ("ContactsAdd", 0, 1.0)
    assert (episode["episode_length"], episode["run_time"], episode["exception_info"]) == (2, 12.5, None)
    assert episode["episode_data"]["step_number"] == [0, 1] and episode["seed"] == 30
    assert episode["episode_data"]["action_output_json"][0] == [{"action_type": "click", "x": 1, "y": 2}]
    lost = load(tmp_path / "checkpoints/MarkorAdd_0.pkl.gz")
    assert math.isnan(lost["is_successful"]) and lost["exception_info"] == "timeout: slow"


def test_the_table_has_their_columns_and_counts_lost_trials_apart(tmp_path: Path) -> None:
    write_results(tmp_path, [played("A", 1.0), played("B", 0.0), played("C", None)], ABOUT)
    head, *rows = csv.reader((tmp_path / "results.csv").open())
    assert tuple(head) == COLUMNS
    assert rows[0] == ["A", "1", "1.0", "2.0", "12.5", "0"] and rows[2] == ["C", "0", "", "", "0", "1"]
    assert rows[-1][2] == "0.5", "what was lost is in no mean"


def test_what_was_done_before_it_began_is_told(tmp_path: Path) -> None:
    write_results(tmp_path, [played("A", 0.0), played("ClockVerify", 1.0, at_start=1.0)], ABOUT)
    told = json.loads((tmp_path / "solved_at_start.json").read_text())
    assert told == {"solved_at_start": ["ClockVerify_0"], "success_rate": 0.5, "success_rate_without_them": 0.0}


def test_attempts_have_folders_of_their_own(tmp_path: Path) -> None:
    write_results(tmp_path, [played("A", 1.0, attempt=0), played("A", 0.0, attempt=1)], ABOUT)
    scores = [load(tmp_path / f"attempt_{k}/checkpoints/A_0.pkl.gz")["is_successful"] for k in (1, 2)]
    assert scores == [1.0, 0.0]
