"""Online-Mind2Web's result files in both forms, as its evaluation reads them, and back."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

from PIL import Image

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.online_mind2web import write_results
from tars_jax.judges.labels.online_mind2web_runs import read_run
from tars_jax.judges.reference import answer_of
from tars_jax.tasks.benchmarks.online_mind2web import ONLINE_MIND2WEB
from tars_jax.trajectory import Outcome, Step, Trajectory
from tests.tasks.benchmarks.test_online_mind2web import TASKS


def shot(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (number, 0, 0)).save(file, "PNG")
    return file.getvalue()


def episode(*actions: str, success: bool | None = True) -> Trajectory:
    steps = tuple(
        Step(shot(number), action, f"thought {number}", action, None, 0.0, 0, True, {}, "")
        for number, action in enumerate(actions)
    )
    metadata = {
        "judge": "webjudge", "judge_version": "ab12", "final": {"benchmark": {"ended_by": "steps"}},
        "judge_details": {"key_points": "1. a café", "image_judge_record": [{"Response": "seen", "Score": 4}] * 2,
                          "score_threshold": 2, "verdict": "Met.\nVERDICT: SUCCESS"},
    }  # fmt: skip
    return Trajectory("e", {}, (), steps, Outcome.FINISHED, 1.0, metadata, shot(len(actions)), "", success)


def lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_result_files_of_both_forms(tmp_path: Path) -> None:
    (source := tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    one, two = ONLINE_MIND2WEB.read(source)
    played = [
        Attempt(
            one,
            0,
            episode("click(point='<point>1 2</point>')", "type(content='finished(')", "finished(content='Nera 😀')"),
        ),
        Attempt(two, 0, episode("click(point='<point>1 2</point>')", "wait()", success=False)),
        Attempt(two, 1, episode("finished(content='')", success=None)),
        Attempt(
            one, 1, Trajectory("e", {}, (), (), Outcome.FAILED, 0.0, {"infrastructure_failures": ["browser: gone"]})
        ),
    ]
    files = write_results(tmp_path / "out", played, BenchmarkRun(ONLINE_MIND2WEB, "m", source, {}))
    assert all(file.is_file() for file in files) and len(files) == 6 + 2
    second = json.loads((tmp_path / "out/v2/a1/result.json").read_text())
    assert second["schema_version"] == "online-mind2web-v2" and second["agent_final_answer"] == "Nera 😀"
    acted = ["click(point='<point>1 2</point>')", "type(content='finished(')", "finished()"]
    assert [step["action"] for step in second["action_history"]] == acted  # of which a reader drops the last
    assert [step["screenshot"] for step in second["action_history"]] == [f"{n}_full_screenshot.png" for n in range(3)]
    first = json.loads((tmp_path / "out/v1/a1/result.json").read_text())
    assert first["action_history"] == acted[:2] and first["final_result_response"] == "Nera 😀"
    assert first["thoughts"] == ["thought 0", "thought 1", "thought 2"] and first["task"] == one.instruction
    for form in ("v1", "v2"):
        pictures = sorted((tmp_path / "out" / form / "a1/trajectory").iterdir())
        assert [picture.read_bytes() for picture in pictures] == [shot(number) for number in range(4)]
    whole = json.loads((tmp_path / "out/v2/b2_110325/result.json").read_text())["action_history"]
    assert [step["action"] for step in whole] == [acted[0], "wait()", "(the episode ended here: steps)"]
    assert whole[-1]["screenshot"] == "2_full_screenshot.png"
    assert json.loads((tmp_path / "out/v1/b2_110325/result.json").read_text())["action_history"] == [acted[0], "wait()"]
    assert (tmp_path / "out/attempt_1/v2/b2_110325/result.json").is_file()
    judged = lines(
        tmp_path / "out/WebJudge_Online_Mind2Web_eval_webjudge_ab12_score_threshold_2_auto_eval_results.json"
    )
    assert [(each["task_id"], each["predicted_label"]) for each in judged] == [("a1", 1), ("b2_110325", 0)]
    assert judged[0]["evaluation_details"] == {"response": "Met.\nVERDICT: SUCCESS", "predicted_label": 1}
    assert judged[0]["image_judge_record"] == [{"Response": "seen", "Score": 4}] * 2
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["lost"] == [{"task_id": "a1", "attempt": 1, "why": "browser: gone"}]
    assert len(summary["task_file"]["sha256"]) == 64 and set(summary["task_versions"]) == {"a1", "b2_110325"}
    assert write_results(tmp_path / "out", played, BenchmarkRun(ONLINE_MIND2WEB, "m", source, {})) == files  # again


def test_what_our_judge_cannot_say_is_left_to_others(tmp_path: Path) -> None:
    (source := tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    untold = dataclasses.replace(
        episode("wait()", success=None), outcome=Outcome.FAILED, metadata={"cannot_say": "a picture"}
    )
    files = write_results(
        tmp_path, [Attempt(ONLINE_MIND2WEB.read(source)[0], 0, untold)], BenchmarkRun(ONLINE_MIND2WEB, "m", source, {})
    )
    assert [file.name for file in files] == ["result.json", "result.json", "summary.json"]
    assert json.loads(files[-1].read_text())["lost"][0]["why"] == "a picture"


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    (source := tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    one, two = ONLINE_MIND2WEB.read(source)
    answered, over = episode("wait()", "finished(content='Nera 😀')"), episode("wait()", "wait()")
    write_results(
        tmp_path, [Attempt(one, 0, answered), Attempt(two, 0, over)], BenchmarkRun(ONLINE_MIND2WEB, "m", source, {})
    )
    for form in ("v1", "v2"):
        found = read_run(tmp_path / form / "a1")
        assert answer_of(found) == "Nera 😀" and found.metadata["instruction"] == one.instruction
        assert [step.action for step in found.steps][:1] == ["wait()"] and len(found.steps) == 2
        assert found.steps[0].screenshot == shot(0)
        unfinished = read_run(tmp_path / form / "b2_110325")
        assert [step.action for step in unfinished.steps][:2] == ["wait()", "wait()"]
        pictures = [step.screenshot for step in unfinished.steps] + [unfinished.final_screenshot]
        assert [each for each in pictures if each] == [shot(0), shot(1), shot(2)]
