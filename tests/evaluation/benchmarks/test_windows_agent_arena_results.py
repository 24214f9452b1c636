"""WindowsAgentArena's result files: one folder an episode, below a trial's number."""

from __future__ import annotations

import io
import json
from pathlib import Path

from PIL import Image

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.windows_agent_arena import write_results
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.windows_agent_arena import WINDOWS_AGENT_ARENA
from tars_jax.trajectory import Outcome, Step, Trajectory


def test_scores_actions_and_what_was_lost(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (1000, 500)).save(buffer, "PNG")
    png = buffer.getvalue()
    task = BenchmarkTask("a-WOS", "Do it.", "clock", record={"id": "a-WOS"})
    steps = [
        Step(png, "r", "", action, None, 0.0, 1, True, {})
        for action in ("click(point='<point>500 500</point>')", "finished(content='')")
    ]
    final = {"final": {"benchmark": {"details": {"last": "DONE"}}}}
    whole = Trajectory("a", {}, (), tuple(steps), Outcome.FINISHED, 1.0, final, final_screenshot=png)
    lost = Trajectory("b", {}, (), (), Outcome.FAILED, 0.0, {"infrastructure_failures": ["guest: away"]})
    played = [Attempt(task, 0, whole), Attempt(task, 1, lost)]
    written = write_results(tmp_path, played, BenchmarkRun(WINDOWS_AGENT_ARENA, "our/model", Path("tasks"), {}))
    top = tmp_path / "results" / "pyautogui" / "screenshot" / "our_model"
    assert written == [top / "0", top / "1"]
    place = top / "0" / "clock" / "a-WOS"
    assert float((place / "result.txt").read_text()) == 1.0
    lines = [json.loads(line) for line in (place / "traj.jsonl").read_text().splitlines()]
    assert [line["action"] for line in lines] == ["pyautogui.click(500, 250)", "DONE"]
    assert lines[-1]["done"] and (place / lines[0]["screenshot_file"]).is_file()
    again = top / "1" / "clock" / "a-WOS"
    assert not (again / "result.txt").exists() and "guest: away" in (again / "traj.jsonl").read_text()
