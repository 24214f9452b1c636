"""A run's total of what no judge could say: in result.json and in the report, over stages and parts."""

from __future__ import annotations

import json
from pathlib import Path

from tars_jax.evaluation import ReportData
from tars_jax.evaluation.result import write_result

RESULT = {"score_before": 0.5, "score_after": 0.5, "episodes": 10, "minutes": 1, "seed": 0}


def staged(run: Path, **stages: dict[str, tuple[int, int]]) -> Path:
    """A run's folder with stages: judge -> episodes, and those of which it cannot say."""
    judged = {
        stage: {judge: {"episodes": episodes, "cannot_say": count} for judge, (episodes, count) in counts.items()}
        for stage, counts in stages.items()
    }
    run.mkdir(parents=True, exist_ok=True)
    records = {name: {"judged": counts} if counts else {} for name, counts in judged.items()}
    (run / "stages.json").write_text(json.dumps(records))
    (run / "metrics.jsonl").touch()
    return run


def end(run: Path, parts: list[Path]) -> tuple[dict[str, object], str]:
    write_result(run, ReportData(title="t", result=RESULT), parts=parts)
    return json.loads((run / "result.json").read_text()), (run / "report.html").read_text()


def test_stages_and_parts_are_added_by_judge(tmp_path: Path) -> None:
    run = staged(
        tmp_path, supervised={}, before={"reference": (20, 1)}, ppo={"reference": (60, 5), "webjudge": (10, 0)}
    )
    result, page = end(run, [staged(tmp_path / "part", attempts={"reference": (10, 3)}), tmp_path / "not there"])
    assert result["cannot_say"] == {
        "episodes": 100,
        "count": 9,
        "share": 0.09,
        "judges": {
            "reference": {"episodes": 90, "count": 9, "share": 0.1},
            "webjudge": {"episodes": 10, "count": 0, "share": 0.0},
        },
    }
    assert "What could not be judged" in page
    assert "<tr><th>reference</th><td>90</td><td>9</td><td>10.0%</td></tr>" in page
    assert "<tr><th>all judges</th><td>100</td><td>9</td><td>9.0%</td></tr>" in page


def test_a_run_without_a_judge_says_nothing(tmp_path: Path) -> None:
    result, page = end(staged(tmp_path, before={}), [])
    assert "cannot_say" not in result and "could not be judged" not in page
