"""AgentRewardBench: 1,302 trajectories of web agents with labels of experts (arXiv 2504.08942).

    FOLDER/annotations.csv
    FOLDER/cleaned/BENCHMARK/AGENT/EXPERIMENT/TASK.json
    FOLDER/screenshots/...                      as the steps' screenshot_path has it, below "trajectories/"

"Unsure" is no label: the row is left out, or counts as a failure. Trajectories that are labelled twice have both.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task, Verification
from tars_jax.json_fields import Fields, read_object
from tars_jax.judges.labels.labelled import Labelled
from tars_jax.trajectory import Outcome, Step, Trajectory

COLUMNS = ("benchmark", "task_id", "model_name", "exp_name", "trajectory_success")
LABELS = {"successful": True, "unsuccessful": False}
UNSURE = ("leave_out", "failure")
SUCCESSFUL_REWARD = 0.5  # of the benchmark's own verifier: more is a success


def read_agent_reward_bench(
    folder: str | Path, *, unsure: str = "leave_out", trajectories: bool = True
) -> list[Labelled]:
    """All labelled trajectories, in the order of their first labels. `trajectories`: their files are read, too.

    Raises InputError that names the file, and the row or the field, for what is missing or is not as above.
    """
    if unsure not in UNSURE:
        raise InputError(f"unsure must be one of {', '.join(UNSURE)}; got {unsure!r}")
    folder = Path(folder)
    labels: dict[tuple[str, ...], list[bool]] = {}
    for key, label in _annotations(folder / "annotations.csv"):
        given = labels.setdefault(key, [])
        if label is not None or unsure == "failure":
            given.append(bool(label))
    found = []
    for (benchmark, task, agent, experiment), given in labels.items():
        labelled = Labelled(f"{task}/{agent}/{experiment}", benchmark, agent, tuple(given))
        if trajectories:
            labelled = _with_trajectory(labelled, folder, folder / "cleaned" / benchmark / agent / experiment, task)
        found.append(labelled)
    return found


def _annotations(file: Path) -> Iterator[tuple[tuple[str, ...], bool | None]]:
    """(benchmark, task, agent, experiment) and the label of each row; None: unsure."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened, strict=True)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise InputError(f"{file} must have the columns {', '.join(COLUMNS)}; got none named {missing[0]}")
            for row in reader:
                where = f"{file}: row {reader.line_num}"
                for name in COLUMNS:
                    value = row[name]
                    if not value or not value.strip():
                        raise InputError(f"{where}: field {name} must be text; got nothing")
                    if name != "trajectory_success" and (value in (".", "..") or "/" in value or "\\" in value):
                        raise InputError(f"{where}: field {name} must be the name of a folder; got {value!r:.100}")
                said = row["trajectory_success"].strip().casefold()
                if said not in LABELS and said != "unsure":
                    wanted = "Successful, Unsuccessful or Unsure"
                    raise InputError(f"{where}: field trajectory_success must be {wanted}; got {said!r:.60}")
                yield tuple(row[name] for name in COLUMNS[:-1]), LABELS.get(said)
    except OSError as error:
        raise InputError(f"{file} must be a file that can be read; got {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} must be CSV in UTF-8; got {error}") from error


def _with_trajectory(labelled: Labelled, root: Path, folder: Path, task_id: str) -> Labelled:
    file = folder / f"{task_id}.json"
    record = read_object(file)
    fields = Fields(record, f"{file}: field ")
    goal = fields.text("goal")
    steps = [_step(each, number, file, root) for number, each in enumerate(fields.array("steps", required=True))]
    if not steps:
        raise InputError(f"{file}: field steps must hold one step or more; got none")
    info = Fields(fields.of_type("summary_info", dict), f"{file}: field summary_info.")
    reward = info.number("cum_reward", -1.0, -1e9, 1e9)
    task = Task(task_id, labelled.site, 0, {}, len(steps), goal, Verification("judge"))
    played = Trajectory(
        labelled.id,
        task.to_json(),
        (),
        tuple(steps),
        Outcome.TRUNCATED if info.flag("truncated") else Outcome.FINISHED,
        max(reward, 0.0),
        {"instruction": goal},
    )
    rule = None if record["summary_info"].get("cum_reward") is None else reward > SUCCESSFUL_REWARD
    return Labelled(labelled.id, labelled.site, labelled.agent, labelled.labels, played, task, rule)


def _step(record: Any, number: int, file: Path, root: Path) -> Step:
    if not isinstance(record, Mapping):
        raise InputError(f"{file}: field steps[{number}] must be an object; got {type(record).__name__}")
    fields = Fields(record, f"{file}: field steps[{number}].")
    action, reasoning = fields.text("action", ""), fields.text("reasoning", "")
    tree = fields.text("axtree_pruned", "") or fields.text("axtree", "")
    url, error = fields.text("url", ""), fields.text("last_action_error", "")
    text = "\n".join(filter(None, [url, tree, error and f"error: {error}"]))
    screenshot = _screenshot(fields.text("screenshot_path", ""), f"{file}: field steps[{number}].screenshot_path", root)
    return Step(screenshot, f"{reasoning}\n{action}", reasoning, action, None, 0.0, 0, bool(action), {}, text)


def _screenshot(path: str, where: str, root: Path) -> bytes:
    """Nothing where the step has none, or where the screenshots were not downloaded at all."""
    parts = PurePosixPath(path).parts
    parts = parts[1:] if parts[:1] == ("trajectories",) else parts
    if not parts or not (root / "screenshots").is_dir():
        return b""
    if ".." in parts or PurePosixPath(path).is_absolute():
        raise InputError(f"{where} must be a path below the folder; got {path!r:.100}")
    try:
        return root.joinpath(*parts).read_bytes()
    except OSError as error:
        raise InputError(f"{where} must be a file that can be read; got {path!r:.100}: {error.strerror}") from error
