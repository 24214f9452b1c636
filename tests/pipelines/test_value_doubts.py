"""What PPO says of a value model that it should not trust."""

import json
import pathlib

import jax.numpy as jnp
import pytest

from experiments.__main__ import main
from tars_jax.evaluation import ReportData
from tars_jax.evaluation.result import value_doubts_of, write_result
from tars_jax.model.config import ModelConfig
from tars_jax.pipelines.value_stage import LEVELS, doubt_of_levels, doubt_of_value
from tars_jax.training.checkpoint import copy_export, save_parameters

RESULT = {"score_before": 0.5, "score_after": 0.5, "episodes": 10, "minutes": 1, "seed": 0}


def test_those_that_were_still_getting_better_are_named() -> None:
    assert doubt_of_levels({}) == doubt_of_levels({"value": True}) == doubt_of_levels({"gui": True, "sdk": True}) == ""
    assert doubt_of_levels({"value": False}).startswith("the value model had not levelled off")
    assert doubt_of_levels({"gui": True, "sdk": False}).startswith("the value models of sdk had not levelled off")


def test_weights_say_it_wherever_they_are_copied_to(tmp_path: pathlib.Path) -> None:
    save_parameters(tmp_path / "value", {"w": jnp.ones(2)}, notes={LEVELS: {"value": False}})
    copy_export(tmp_path / "value", tmp_path / "copy")
    assert "had not levelled off" in doubt_of_value(tmp_path / "copy")
    save_parameters(tmp_path / "good", {"w": jnp.ones(2)}, notes={LEVELS: {"value": True}})
    save_parameters(tmp_path / "earlier", {"w": jnp.ones(2)})  # of a version that did not say
    assert doubt_of_value(tmp_path / "good") == doubt_of_value(tmp_path / "earlier") == ""
    assert "was not pretrained" in doubt_of_value(None)


def test_a_report_says_what_the_stages_of_its_runs_said(tmp_path: pathlib.Path) -> None:
    for name, doubt in (("run", "one"), ("part", "two"), ("other", "one")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stages.json").write_text(json.dumps({"value": {}, "ppo": {"value_doubt": doubt}}))
    row = {"stage": "ppo", "step": 1, "time": 0.0, "values": {"success": 0.5}}
    (tmp_path / "run" / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    write_result(tmp_path / "run", ReportData("t", RESULT), parts=[tmp_path / "part", tmp_path / "other"])
    assert json.loads((tmp_path / "run" / "result.json").read_text())["value_doubt"] == "one; two"
    assert "One; two." in (tmp_path / "run" / "report.html").read_text()
    assert value_doubts_of([tmp_path / "nothing"]) == ""


def test_a_recipe_demands_a_pretrained_value_model(
    tiny_model: ModelConfig, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_parameters(tmp_path / "policy", {"w": jnp.ones(2)}, model=tiny_model)
    flags = [f"--config.model.preset={tmp_path / 'policy'}", f"--config.run={tmp_path / 'run'}"]
    assert main(["reinforcement", "--config.recipe=report", *flags]) == 2
    said = capsys.readouterr()
    assert "value.checkpoint must be RUN/value of a value_pretraining with recipe=report; got ''" in said.err
    assert "recipe report: expected to fail at this size" in said.out
    assert not (tmp_path / "run").exists()
