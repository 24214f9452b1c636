"""Results as OSWorld's own runner leaves them, read back as its show_result.py reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.osworld import pyautogui_of, write_results
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.osworld import OSWORLD
from tars_jax.trajectory import Outcome, Step, Trajectory


def step(action: str) -> Step:
    return Step(b"a picture", f"Thought: so\nAction: {action}", "so", action, None, 0.0, 1, True, {})


def played(domain: str, name: str, outcome: Outcome, reward: float, attempt: int = 0) -> Attempt:
    task = BenchmarkTask(f"{domain}/{name}", "Do it.", domain, record={"id": name})
    metadata = {
        "final": {"benchmark": {"details": {"last": "FAIL"}}},
        "infrastructure_failures": ["it was away"],
    }
    steps = (step("click(point='<point>500 500</point>')"), step("finished(content='FAIL')"))
    return Attempt(
        task, attempt, Trajectory(name, {}, (), steps, outcome, reward, metadata, final_screenshot=b"the last")
    )


def shown(folder: Path) -> dict[str, list[float]]:
    """The scores of each domain: folders with a result.txt count, others do not."""
    scores: dict[str, list[float]] = {}
    for path in folder.glob("*/*/result.txt"):
        scores.setdefault(path.parts[-3], []).append(float(path.read_text()))
    return scores


def test_results_are_where_the_runner_has_them(tmp_path: Path) -> None:
    episodes = [
        played("os", "one", Outcome.FINISHED, 1.0), played("os", "two", Outcome.TRUNCATED, 0.5),
        played("gimp", "one", Outcome.FAILED, 0.0), played("gimp", "one", Outcome.FINISHED, 0.0, attempt=1),
    ]  # fmt: skip
    about = BenchmarkRun(OSWORLD, "runs/a model", Path("OSWorld"), {"tasks": "OSWorld", "size": [1000, 500]}, 3)
    first, second = write_results(tmp_path, episodes, about)
    of_model = first / "pyautogui" / "screenshot" / "runs_a_model"
    assert shown(of_model) == {"os": [1.0, 0.5]} or shown(of_model) == {"os": [0.5, 1.0]}
    assert shown(second / "pyautogui" / "screenshot" / "runs_a_model") == {"gimp": [0.0]}
    assert json.loads((of_model / "args.json").read_text())["model"] == "runs_a_model"
    lines = [json.loads(line) for line in (of_model / "os" / "one" / "traj.jsonl").read_text().splitlines()]
    assert [(line["step_num"], line["action"], line["done"]) for line in lines] == [
        (1, "pyautogui.click(500, 250)", False), (2, "FAIL", True),
    ]  # fmt: skip
    assert (of_model / "os" / "one" / lines[1]["screenshot_file"]).read_bytes() == b"the last"
    lost = of_model / "gimp" / "one"
    assert not (lost / "result.txt").exists() and "it was away" in (lost / "traj.jsonl").read_text()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("type(content='it\\'s\\n')", ["pyautogui.write(\"it's\\n\")"]),
        ("hotkey(key='ctrl c')", ["pyautogui.hotkey('ctrl', 'c')"]),
        ("scroll(point='<point>0 0</point>', direction='down')", ["pyautogui.scroll(-5, 0, 0)"]),
        ("drag(start_point='<point>0 0</point>', end_point='<point>100 100</point>')",
         ["pyautogui.moveTo(0, 0); pyautogui.dragTo(192, 108, duration=1.0)"]),
        ("wait()\n\ncall_user()", ["WAIT", "FAIL"]),
        ("finished(content='done')", ["DONE"]),
        ("no call at all", ["no call at all"]),
        ("", []),
    ],
)  # fmt: skip
def test_actions_in_words_of_pyautogui(written: str, said: list[str]) -> None:
    assert pyautogui_of(written, 1920, 1080) == said
