"""Task graphs and a table of applications become tasks for annotators: RUN/tasks.jsonl and RUN/table.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.task_design.applications import read_applications
from tars_jax.annotation.task_design.design import SUMMARY_HEAD, design_tasks, summary
from tars_jax.annotation.task_design.example import APPLICATIONS, GRAPHS
from tars_jax.annotation.task_design.graph import TaskGraph, read_graph
from tars_jax.annotation.task_design.wording import EndpointInstructionWriter
from tars_jax.evaluation.tables import markdown
from tars_jax.files import write_atomic
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.serving import read_key
from tars_jax.training.run_directory import RunDirectory, write_json


def run(config: Any, run_directory: RunDirectory) -> None:
    if config.applications and not Path(config.applications).is_file():
        raise InputError(f"config.applications must be a table in CSV that is there; got {config.applications!r}")
    read_key(config.api_key_file)
    with naming("config.applications", "applications"):
        applications = read_applications(Path(config.applications) if config.applications else APPLICATIONS)
    with naming("config.graphs", "graphs"):
        graphs = graphs_of(config.graphs)
    chosen = [each for each in applications if each.name in {graph.application for graph in graphs}]
    if config.most_applications:
        chosen = chosen[: config.most_applications]
    names = {each.name for each in chosen}
    left_out = [graph.application for graph in graphs if graph.application not in {a.name for a in applications}]
    if left_out:
        raise InputError(f"config.applications must have a row for each graph's; got none for {left_out[0]!r}")
    writer = None
    if config.helper != "embedded":
        writer = EndpointInstructionWriter(
            EndpointModel(
                config.helper, config.model, config.api_key_file, patience=config.answer_seconds,
                max_tokens=config.max_tokens, seed=config.seed,
            )
        )  # fmt: skip
    tasks, wording = design_tasks(
        [graph for graph in graphs if graph.application in names],
        chosen,
        config.tasks,
        config.seed,
        across=config.across,
        weights=config.weights.to_dict(),
        writer=writer,
    )
    lines = (json.dumps(each.to_json(), ensure_ascii=False, sort_keys=True) + "\n" for each in tasks)
    write_atomic(run_directory.path / "tasks.jsonl", "".join(lines).encode())
    table = markdown(SUMMARY_HEAD, summary(tasks, chosen))
    write_atomic(run_directory.path / "table.md", f"{table}\n".encode())
    result = {
        "tasks": len(tasks),
        "difficulty": dict(Counter(each.query.difficulty.level for each in tasks)),
        "tracks": dict(Counter(each.track for each in tasks)),
        "skills": dict(Counter(each.query.skill for each in tasks)),
        "across": sum(len(each.query.applications) > 1 for each in tasks),
        "wording": dict(wording),
        "seed": config.seed,
    }
    write_json(run_directory.path / "result.json", result)
    print(f"{table}\n{len(tasks)} tasks for {len(chosen)} applications: {run_directory.path / 'tasks.jsonl'}")


def graphs_of(given: str) -> list[TaskGraph]:
    """Of a folder, or of files between commas. Raises InputError where there is none."""
    places = [Path(each.strip()) for each in given.split(",") if each.strip()] or [GRAPHS]
    files = [
        file
        for place in places
        for file in (sorted([*place.glob("*.toml"), *place.glob("*.json")]) if place.is_dir() else [place])
    ]
    if not files or not all(map(Path.exists, files)):
        raise InputError(f"config.graphs must be files of task graphs or a folder of them; got {given!r}")
    return [read_graph(file) for file in files]
