"""A recipe's values, under flags and over the defaults, once."""

import json
import pathlib
import shlex

import pytest

from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names
from tars_jax.pipelines.config import command_of, flatten, load_config
from tars_jax.pipelines.recipes import ABSENT, REPORT, recipe_fields, recipe_lines

# They make updates of PPO, but train no agent: what a card or a pod takes, and a judge, whose recipe no paper tells.
WITHOUT = {"gpu_bench", "pod_plan", "reward_model"}


def load(experiment: str, *flags: str) -> dict:
    return flatten(load_config(experiment, flags, root=ROOT, checked=False))


def with_recipe() -> list[str]:
    return [
        name for name in experiment_names(ROOT) if "recipe" in flatten(load_config(name, [], root=ROOT, checked=False))
    ]


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    """The config.json of a run of `train` by the recipe, with an alpha and a clip of the user's own."""
    flags = ["--config.environment=none", "--config.ppo.alpha=1.5", "--config.ppo.clip_high=0.5"]
    config = load_config("train", ["--config.recipe=report", *flags], root=ROOT)
    (tmp_path / "config.json").write_text(json.dumps({"experiment": "train", "config": config.to_dict()}))
    return tmp_path / "config.json"


def test_every_experiment_that_trains_an_agent_by_rl_takes_one() -> None:
    every = {name: flatten(load_config(name, [], root=ROOT, checked=False)) for name in experiment_names(ROOT)}
    trains = {name for name, values in every.items() if any(field.startswith("ppo.") for field in values)}
    assert trains - WITHOUT == set(with_recipe())


@pytest.mark.parametrize("experiment", with_recipe())
def test_it_sets_all_that_an_experiment_has_of_it(experiment: str) -> None:
    found, usual = load(experiment, "--config.recipe=report"), load(experiment)
    expected = {field: value for field, value in REPORT.items() if field not in ABSENT.get(experiment, ())}
    assert expected and {field: found[field] for field in expected} == expected
    assert [field for field in ABSENT.get(experiment, ()) if field in usual] == []
    others = usual.keys() - expected.keys() - {"recipe"}
    assert {field: found[field] for field in others} == {field: usual[field] for field in others}
    assert all(type(found[field]) is type(value) for field, value in expected.items())


def test_flags_win_wherever_they_stand() -> None:
    for flags in (
        ["--config.ppo.alpha=1.5", "--config.recipe=report"],
        ["--config.recipe=report", "--config.ppo.alpha=1.5"],
    ):
        found = load("quickstart", *flags)
        assert found["ppo.alpha"] == 1.5 and found["ppo.positive_weight"] == 0 and not found["ppo.decoupled"]


def test_a_run_that_is_repeated_or_resumed_keeps_its_values(run: pathlib.Path) -> None:
    stored = flatten(json.loads(run.read_text())["config"])
    for flags in ([], ["--config.recipe=report"]):
        again = load("train", f"--config={run}", *flags)
        assert (again["ppo.alpha"], again["ppo.clip_high"], again["ppo.decoupled"]) == (1.5, 0.5, False)
        assert [field for field, value in stored.items() if value not in (None, again[field])] == []
    assert load("train", f"--config={run}", "--config.ppo.alpha=0.7")["ppo.alpha"] == 0.7
    with pytest.raises(InputError, match=r"config.recipe must be 'report', whose values .*config.json has .*; got ''"):
        load("train", f"--config={run}", "--config.recipe=")


def test_a_run_without_one_can_be_repeated_by_it(run: pathlib.Path) -> None:
    stored = json.loads(run.read_text())
    stored["config"]["recipe"] = ""
    run.write_text(json.dumps(stored))
    assert load("train", f"--config={run}")["ppo.alpha"] == 1.5
    assert load("train", f"--config={run}", "--config.recipe=report")["ppo.alpha"] == 0.05


def test_the_command_that_repeats_a_run_names_what_flags_changed() -> None:
    """Also where that is what the default config has."""
    config = load_config("quickstart", ["--config.recipe=report", "--config.ppo.alpha=1.5"], root=ROOT)
    command = shlex.split(command_of("quickstart", config))[2:]
    assert sorted(command) == ["--config.ppo.alpha=1.5", "--config.recipe=report", "--config.seed=0"]
    assert flatten(load_config("quickstart", command, root=ROOT)) == flatten(config)


def test_what_is_said_of_it() -> None:
    said = recipe_lines("quickstart", load("quickstart", "--config.recipe=report"))
    assert "recipe report: 19 values" in said[0] and "expected to fail at this size" in said[1]
    (said_of_flags,) = recipe_lines("quickstart", load("quickstart", "--config.recipe=report", "--config.ppo.alpha=1"))
    assert "otherwise here: ppo.alpha=1.0" in said_of_flags
    large = {**load("on_device", "--config.recipe=report"), "model.preset": "qwen3-vl-2b"}
    assert len(recipe_lines("on_device", large)) == 1
    assert len(recipe_lines("value_pretraining", load("value_pretraining", "--config.recipe=report"))) == 1


def test_no_recipe_sets_nothing() -> None:
    assert recipe_fields("", "train") == {} and load("train", "--config.recipe=") == load("train")
