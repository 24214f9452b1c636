"""Interpolation beside hybrid training: who is trained on what, and the table. The whole takes minutes."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.interpolation import composite_configs, merge_weights_of, part_configs

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
FLAGS = (
    f"environment={ECHO}", 'environment_options=[{"rounds": 1}, {"rounds": 3}]', "mixture.weights=1,1",
    "ppo.value_models=part", "ppo.normalize_over=part",
)  # fmt: skip


def config_of(*flags: str) -> Any:
    return load_config("merge_hybrid", [f"--config.{flag}" for flag in (*FLAGS, *flags)], root=ROOT)


def test_a_specialist_learns_its_part_alone() -> None:
    alone = part_configs(config_of())
    assert list(alone) == ["TextEcho.rounds1", "TextEcho.rounds3"]
    for rounds, its in zip((1, 3), alone.values(), strict=True):
        tasks = EnvironmentTasks(its)
        assert tasks.mixture is None and {task.options["rounds"] for task in tasks.held_out(8)} == {rounds}
        assert (its.ppo.value_models, its.ppo.normalize_over) == ("shared", "batch")


@pytest.mark.parametrize(
    ("flag", "words"),
    [("mixture.weights=()", "mixture.weights must be a number from 0.001 to 1000 for each of two parts or more; got"),
     ("mixture.weights=1,", "for each of two parts or more; got"),
     ("tolerance=2", "tolerance must be a value from 0 to 1; got 2.0")],
)  # fmt: skip
def test_there_are_two_parts_or_more(flag: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        config_of(flag)


def test_merges_are_ratios_of_the_parts_and_uniform_without_any() -> None:
    assert merge_weights_of(config_of(), 2) == {"merged_1_1": (0.5, 0.5)}
    found = merge_weights_of(config_of("merges=3:1,0:2"), 2)
    assert found == {"merged_3_1": (0.75, 0.25), "merged_0_2": (0, 1)}
    for text in ("1", "1:1:1", "1:-1", "0:0", "1:x", "nan:1"):
        with pytest.raises(InputError, match="merges must be 2 weights of 0 or more, such as 1:1; got"):
            merge_weights_of(config_of(f"merges={text},"), 2)


def test_a_composite_needs_several_parts_in_one_episode() -> None:
    (found,) = composite_configs(config_of("composites=1+2,")).items()
    assert found[0] == "TextEcho.rounds1+TextEcho.rounds3"
    tasks = EnvironmentTasks(found[1])
    (task, *_) = tasks.held_out(2)
    assert (task.environment, task.max_steps) == ("composite", 8) and tasks.mixture is None
    assert [part["options"]["rounds"] for part in task.options["parts"]] == [1, 3]
    for text in ("1", "1+3", "0+1", "1.5+2", "a+b", "inf+1"):
        with pytest.raises(InputError, match=r"composites must be numbers of parts, 1 to 2, such as 1\+2; got"):
            composite_configs(config_of(f"composites={text},"))


@pytest.mark.slow
@pytest.mark.full
def test_all_agents_stand_in_one_table(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = (
        "value.max_updates=2", "value.batch_rows=8", "ppo.updates=1", "ppo.min_batch=8", "ppo.minibatch_rows=8",
        "task.evaluation_episodes=4", "browser.pages=4", "demonstrations.episodes=24", "supervised.updates=2",
        "supervised.batch_rows=8", "value.episodes=10", "agent.list_actions=False", "agent.max_observation_tokens=16",
        "engine.max_new_tokens=16", "composites=1+2,",
    )  # fmt: skip
    run = tmp_path / "run"
    assert main(["merge_hybrid", f"--config.run={run}", *(f"--config.{flag}" for flag in (*FLAGS, *small))]) == 0
    result = json.loads((run / "result.json").read_text())
    parts = ["TextEcho.rounds1", "TextEcho.rounds3"]
    agents = ["start", *parts, "hybrid", "merged_1_1"]
    assert sorted(result["successes"]) == sorted(agents)
    assert all(list(scores) == [*parts, "+".join(parts)] for scores in result["successes"].values())
    assert {*result["almost_comparable"]} == {"hybrid", "merged_1_1"}
    assert [result["ppo_episodes"][agent] for agent in agents] == [0, 8, 8, 16, 16]
    trained = {name: len(list((run / "agents" / name / "trajectories" / "ppo").glob("*.trajectory"))) for name in parts}
    assert all(count >= 8 for count in trained.values())
    said = capsys.readouterr().out
    assert "hybrid against the specialist of each part: " in said and "merged_1_1 against the specialist" in said
