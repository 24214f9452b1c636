"""The evaluation command on a benchmark that is read from its own files."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluate import run
from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.judge import Judgement
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import load_config
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory
from tests.envs.benchmarks.counting import COUNTING, write_tasks


def evaluate(path: Path, tasks: Path | str, **more: Any) -> tuple[int, dict[str, Any]]:
    fields = {"suite": COUNTING.name, "tasks": tasks, "checkpoint": "reference", **more}
    flags = [f"--config.{name.replace('__', '.')}={value}" for name, value in fields.items()]
    config = load_config("evaluate", flags, root=ROOT)
    with RunDirectory.create(path, config.to_dict(), "evaluate") as directory:
        status = run(config, directory)
    return status or 0, json.loads((path / "result.json").read_text())


@contextlib.contextmanager
def endpoint(answer: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint of chat completions that always says the same, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say({"data": [{"id": "scripted"}]})

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._say({"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]})

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

        def _say(self, said: dict[str, Any]) -> None:
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()


def test_an_endpoint_is_told_what_can_be_called(tmp_path: Path) -> None:
    with endpoint("Action: say(number=3)") as (address, asked):
        tasks = write_tasks(tmp_path / "words.jsonl")
        _, result = evaluate(
            tmp_path / "run", tasks, checkpoint=address, model="scripted", names="fig,plum", attempts=1
        )
    told = asked[0]["messages"][0]["content"]
    told = told if isinstance(told, str) else "".join(part.get("text", "") for part in told)
    assert "say(number=1)" in told and "finished(content='the answer')" in told and "click" not in told
    assert result["checkpoint"] == "scripted"
    assert {id: each["scores"] for id, each in result["by_task"].items()} == {"fig": [1.0], "plum": [0.0]}


def test_an_endless_answer_is_read_to_a_length_that_models_have(tmp_path: Path) -> None:
    with endpoint("Action: say(number=4)" + "(" * 20_000_000) as (address, asked):
        tasks = write_tasks(tmp_path / "words.jsonl")
        played = {"checkpoint": address, "model": "scripted", "names": "plum,", "attempts": 1}
        _, result = evaluate(tmp_path / "run", tasks, **played)
    assert len(asked) == 2 and result["by_task"]["plum"]["scores"] == [0.0]  # rejected: two in a row are unreadable


def test_the_reference_solves_all_and_results_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, result = evaluate(tmp_path / "run", write_tasks(tmp_path / "words.jsonl"))
    assert status == 0
    assert (result["tasks"], result["episodes"], result["lost_to_infrastructure"]) == (5, 10, 0)
    assert result["success"]["value"] == 1.0 and result["success"]["low"] < 0.9
    assert set(result["groups"]) == {"short", "long"} and result["left_out"] == {"kiwi": "kiwi.txt is missing"}
    assert result["by_task"]["plum"] == {"group": "short", "scores": [1.0, 1.0], "successes": [True, True], "lost": []}
    assert result["costs"]["tokens_written"] > 0 and result["costs"]["seconds"] > 0
    assert result["step_budgets"]["1"]["value"] == 0 and result["step_budgets"]["4"]["value"] == 100
    own = json.loads((tmp_path / "run/benchmark/results.json").read_text())
    assert own["results"] == {f"{word} {k}": 1.0 for word in result["by_task"] for k in (0, 1)}
    said = capsys.readouterr().out
    assert said.index("left out: kiwi: kiwi.txt is missing") < said.index("# Counting, played by reference")
    assert "pass@2" in (tmp_path / "run/report.md").read_text()


def test_what_was_lost_counts_nowhere_and_is_played_again(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    tasks = write_tasks(tmp_path / "words.jsonl", mended)
    broken = {"environment_options": '{"broken": "fig"}', "attempts": 1}
    status, result = evaluate(tmp_path / "run", tasks, **broken)
    assert (status, result["tasks"], result["lost_to_infrastructure"]) == (0, 4, 1)
    assert result["success"]["value"] == 1.0 and "not installed" in result["by_task"]["fig"]["lost"][0]
    page = (tmp_path / "run/report.md").read_text()
    assert "1 of 5 episodes were lost and count nowhere" in page
    assert "the mean of all episodes is 0.800, and 80.0% succeed" in page
    assert result["with_lost_as_0"] == {"score": 0.8, "success": 0.8}
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "run/trajectories/played").glob("*.trajectory")}
    mended.touch()
    _, result = evaluate(tmp_path / "run", tasks, **broken)
    assert (result["tasks"], result["lost_to_infrastructure"]) == (5, 0) and "with_lost_as_0" not in result
    again = [path for path, time in kept.items() if path.stat().st_mtime_ns != time]
    assert len(again) == 1


def unsure(trajectory: Trajectory, task: Task) -> Judgement:
    raise CannotSay("nobody knows")


def test_what_a_judge_cannot_say_of_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = write_tasks(tmp_path / "words.jsonl")
    judged = {"judge": f"{unsure.__module__}:unsure", "names": "fig,plum", "attempts": 1}
    written: list[set[int]] = []
    for _ in range(2):
        status, result = evaluate(tmp_path / "run", tasks, **judged)
        assert (status, result["judge_cannot_say"], result["lost_to_infrastructure"]) == (1, 2, 0)
        said = capsys.readouterr().out
        assert "nothing was measured: of 2 episodes 2 have no verdict and 0 were lost" in said
        written.append(
            {path.stat().st_mtime_ns for path in (tmp_path / "run/trajectories/played").glob("*.trajectory")}
        )
    assert written[0] == written[1] and len(written[0]) == 2


def test_a_judge_that_was_away_is_asked_later_and_nothing_is_played_again(tmp_path: Path) -> None:
    judge = {"judge": "tests.envs.benchmarks.counting:SometimesAway", "names": "fig,plum", "attempts": 1}
    judge["judge_options"] = json.dumps({"file": str(tmp_path / "there")})
    tasks = write_tasks(tmp_path / "words.jsonl")
    status, result = evaluate(tmp_path / "run", tasks, **judge)
    assert (status, result["lost_to_infrastructure"]) == (1, 2)
    assert "the judge is away" in result["by_task"]["fig"]["lost"][0]
    costs = result["costs"]
    (tmp_path / "there").touch()
    status, result = evaluate(tmp_path / "run", tasks, **judge)
    assert (status, result["lost_to_infrastructure"]) == (0, 0)
    assert {id: each["scores"] for id, each in result["by_task"].items()} == {"fig": [1.0], "plum": [1.0]}
    assert result["costs"] == costs  # the seconds of the same episodes


def test_nothing_measured_is_no_success(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path / "words.jsonl", tmp_path / "never")
    status, result = evaluate(
        tmp_path / "run", tasks, environment_options='{"broken": "fig"}', names="fig,", attempts=1
    )
    assert status == 1 and result["lost_to_infrastructure"] == 1 and "success" not in result


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tasks": ""}, "config.tasks must be where the tasks of"),
        ({"names": "pear,"}, "names must be ids of tasks"),
        ({"episodes": 3}, "config.episodes must be left out but for games15, miniwob and lmgame; got 3"),
        ({"checkpoint": "person"}, "config.checkpoint must not be person, who plays games alone"),
        ({"judge_options": '{"a": 1}'}, "config.judge must name the judge of judge_options"),
        ({"environment_options": '{"time_limit": 3}', "time_limit": 2.0}, "must leave out what config.time_limit says"),
        ({"suite": "games15"}, "config.tasks must be left out but for a benchmark that is read from its own files"),
        ({"interface": "sdk"}, "an option must be one of broken, time_limit; got 'interface'"),
    ],
)
def test_fields_that_cannot_be(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    tasks = write_tasks(tmp_path / "words.jsonl")
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path / "run", **{"tasks": tasks, **fields})
