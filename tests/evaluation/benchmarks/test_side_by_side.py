"""Runs of evaluate on one page, and checkpoints compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.suites import run
from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import load_config
from tars_jax.training.run_directory import RunDirectory

SHARE = {"value": 0.5, "low": 0.25, "high": 0.75}


def result(suite: str, checkpoint: str, solved: dict[str, bool], **more: Any) -> dict[str, Any]:
    by_task = {id: {"group": "", "scores": [float(was)], "successes": [was], "lost": []} for id, was in solved.items()}
    named = {"suite": suite, "checkpoint": checkpoint, "by_task": by_task, "tasks": len(by_task), "success": SHARE}
    return {**named, "benchmark": {"title": suite, "version": "2.1"}, **more}


def page(folder: Path, results: list[dict[str, Any]], **fields: Any) -> str:
    paths = []
    for number, each in enumerate(results):
        (folder / f"run {number}").mkdir()
        (folder / f"run {number}" / "result.json").write_text(json.dumps(each))
        paths.append(str(folder / f"run {number}"))
    flags = [f"--config.runs={','.join(paths)},", *(f"--config.{name}={value}" for name, value in fields.items())]
    config = load_config("suites", flags, root=ROOT)
    with RunDirectory.create(folder / "out", config.to_dict(), "suites") as directory:
        run(config, directory)
    assert (folder / "out/suites.html").read_text().startswith("<!doctype html>")
    return (folder / "out/suites.md").read_text()


def test_our_row_stands_beside_those_of_the_paper(tmp_path: Path) -> None:
    runs = [
        result("osworld", "RUN/policy", {"a": True, "b": False}, lost_to_infrastructure=3),
        result("terminal_bench", "RUN/policy", {"t": True}),
    ]
    lines = page(tmp_path, runs).splitlines()
    paper = next(line for line in lines if line.startswith("| UI-TARS-2 (paper)"))
    ours = next(line for line in lines if line.startswith("| RUN/policy"))
    assert [cell.strip() for cell in paper.split("|")][2:4] == ["47.5", "45.3 with SDK"]
    assert [cell.strip() for cell in ours.split("|")][2:4] == [
        "50.0 [25.0, 75.0] of 2; 3 episodes lost",
        "50.0 [25.0, 75.0] of 1",
    ]
    assert any("terminal_bench: theirs of Terminal-Bench, not 2, ours of 2.1" in line for line in lines)


def test_checkpoints_are_compared_over_the_tasks_that_both_have(tmp_path: Path) -> None:
    ids = [f"t{number}" for number in range(20)]
    before = result("osworld", "before", {id: number < 2 for number, id in enumerate(ids)})
    after = result("osworld", "after", {id: number < 12 for number, id in enumerate(ids[:16])})
    lines = page(tmp_path, [before, after]).splitlines()
    title = lines.index("## osworld: checkpoints compared")
    row = [cell.strip() for cell in lines[title + 4].split("|")]
    assert row[1:3] == ["after", "16"] and row[3].startswith("62.5 [")  # 10 of 16 more
    low, high = (float(number) for number in row[3].partition("[")[2].rstrip("]").split(","))
    assert 0 < low < 62.5 < high


def test_games_and_lmgame_have_the_columns_of_the_paper(tmp_path: Path) -> None:
    share = {"value": 80.0, "low": 70.0, "high": 90.0}
    games = result(
        "games15",
        "A",
        {"x": True},
        raw={"game_2048": share},
        normalized={"game_2048": share},
        mean_normalized_score=share,
    )
    lmgame = result("lmgame", "A", {"x": True}, reported={"lmgame/tetris": share})
    told = page(tmp_path, [games, lmgame], names="mine,")
    row = next(line for line in told.splitlines() if line.startswith("| game_2048"))
    assert [cell.strip() for cell in row.split("|")][2:5] == ["80.0 [70.0, 90.0]", "94.5", "91.0"]
    head = next(line for line in told.splitlines() if line.startswith("| Game"))
    assert head.split("|")[2].strip() == "mine" and "16 ± 1.3" in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suite": 3}, "suite of .* must be a text"),
        ({"by_task": None}, "must have by_task"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        page(tmp_path, [{**result("osworld", "A", {"x": True}), **change}])


def test_two_runs_of_one_suite_are_refused(tmp_path: Path) -> None:
    one = result("osworld", "A", {"x": True})
    with pytest.raises(InputError, match="got two of osworld by A"):
        page(tmp_path, [one, one])
