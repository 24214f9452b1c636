"""A judge is measured from flags alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import save_trajectory
from tests.judges.episodes import episode, task
from tests.judges.test_judgments import judgment, judgments_of
from tests.judges.test_labels import folder_of
from tests.judges.test_online_mind2web_runs import bench


def measure(run: Path, source: Path, *flags: str) -> int:
    return main(["judge_agreement", f"--config.source={source}", f"--config.run={run}", *flags])


def test_by_labels_of_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(tmp_path / "run", folder_of(tmp_path / "bench")) == 0
    printed = capsys.readouterr().out
    assert "2 trajectories of 4, 2 labelled twice or more, of which 1 agree" in printed
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["baselines"]["rules"]["f1"] == 1 and result["baselines"]["always yes"]["precision"] == 0.5
    assert result["judge"]["unreadable"] == 2 and set(result["by_site"]) == {"webarena"}
    assert (tmp_path / "run" / "agreement.md").read_text().count("| always yes") == 1
    verdicts = json.loads((tmp_path / "run" / "verdicts.json").read_text())
    assert [solved for _, solved in verdicts.values()] == [True, False]


def test_by_what_a_judge_said_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = {"webarena.1": judgment("Status: success"), "webarena.2": judgment("Status: success")}
    flags = (f"--config.judgments={judgments_of(tmp_path / 'said', said)}", "--config.judge=webjudge")
    assert measure(tmp_path / "run", folder_of(tmp_path / "bench"), *flags) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["judge"]["precision"] == 0.5 and result["judge"]["recall"] == 1
    assert list(result["by_length"]) == ["6-10 steps"]


def test_by_labels_of_people_on_live_websites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = bench(tmp_path / "bench")
    flags = ("--config.labels=online_mind2web", f"--config.judgments={source}")
    assert measure(tmp_path / "run", source, *flags) == 0
    assert "2 trajectories of 2" in capsys.readouterr().out
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["judge"]["precision"] == 0.5 and result["judge"]["recall"] == 1
    assert result["set"]["name"].startswith("Online-Mind2Web")
    assert (
        measure(tmp_path / "again", source, "--config.labels=online_mind2web") == 0
    )  # the embedded rules see no picture
    assert json.loads((tmp_path / "again" / "result.json").read_text())["set"]["trajectories"] == 2


def recorded(folder: Path) -> Path:
    folder.mkdir()
    for number, success in enumerate((True, False, True)):
        seen = "cart: pens" if success else "cart: nothing"
        played: Trajectory = dataclasses.replace(
            episode([("shop: pens", "click('1')")], seen, instruction="Put 'pens' into the 'cart'", success=success),
            id=str(number),
            task=task().to_json(),
        )
        save_trajectory(folder / f"{number}.trajectory", played)
    return folder


def test_by_what_environments_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--config.labels=recorded", '--config.judge_options={"threshold": 2}', "--config.most=3")
    assert measure(tmp_path / "run", recorded(tmp_path / "ppo"), *flags) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["judge"]["f1"] == 1 and "rules" not in result["baselines"]
    about = result["set"]
    assert about["name"] == "episodes of runs" and about["made_by"].startswith("their environments")
    assert about["trajectories"] == 3 and about["source"] == str(tmp_path / "ppo")
    text = (tmp_path / "run" / "agreement.md").read_text()
    assert text.startswith(
        "Measured on episodes of runs; labelled by their environments, whose verdicts no judge has seen"
    )


def test_the_embedded_judge_of_answers_by_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A part of each split; docs/reward_models.md has the numbers. Of answers nothing speaks of steps."""
    command = ["judge_agreement", "--config.labels=answers", "--config.judge=reference", "--config.most=200"]
    assert main([*command, f"--config.run={tmp_path}"]) == 0
    result, said = json.loads((tmp_path / "result.json").read_text()), capsys.readouterr().out
    assert "200 answers of" in said and "reference: development" in said
    assert "trajectories" not in said and "steps" not in said and result["by_length"] == {}
    assert "trajectories" not in result["set"] and result["set"]["answers"] > 0
    assert 0 < result["cannot_say"][""] < 0.5 and "development" in result["cannot_say"]
    assert result["judge"]["precision"] >= 0.95 and result["judge"]["recall"] >= 0.5


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ("--config.judge=nobody",),
            "judge must be one of environment, reference, webjudge, rubric, answer, browsecomp, votes, rewards, orm",
        ),
        (("--config.judge_options={",), "config.judge_options must be a JSON object; got '{'"),
        (
            ("--config.labels=recorded", "--config.judgments=x"),
            "agent_reward_bench or online_mind2web where judgments are read; got",
        ),
        (("--config.source=",), "config.source must be a folder; got ''"),
        ((), "annotations.csv must be a file that can be read"),
    ],
)
def test_what_cannot_be_measured(
    flags: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(tmp_path / "run", tmp_path, *flags) == 2
    assert words in capsys.readouterr().err
