"""Interpolation beside hybrid training: who is trained on what, and the table. The whole takes minutes."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from experiments.merge_hybrid import RULES
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.interpolation import part_configs

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
FLAGS = (
    f"environment={ECHO}", 'environment_options=[{"rounds": 1}, {"rounds": 3}]', "mixture.weights=1,1",
    "ppo.value_models=part", "ppo.normalize_over=part",
)  # fmt: skip


def config_of(*flags: str) -> Any:
    return load_config("merge_hybrid", [f"--config.{flag}" for flag in (*FLAGS, *flags)], root=ROOT, rules=RULES)


def test_a_specialist_learns_its_part_alone() -> None:
    alone = part_configs(config_of())
    assert list(alone) == ["TextEcho.rounds1", "TextEcho.rounds3"]
    for rounds, its in zip((1, 3), alone.values(), strict=True):
        tasks = EnvironmentTasks(its)
        assert tasks.mixture is None and {task.options["rounds"] for task in tasks.held_out(8)} == {rounds}
        assert (its.ppo.value_models, its.ppo.normalize_over) == ("shared", "batch")


@pytest.mark.parametrize(
    ("flag", "words"),
    [("mixture.weights=()", "mixture.weights must be a number above 0 for each of two parts or more; got"),
     ("mixture.weights=1,", "for each of two parts or more; got"),
     ("merges=0,0.5", "merges must be one or more, each a weight of the first specialist between 0 and 1; got")],
)  # fmt: skip
def test_there_are_two_parts_or_more(flag: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        config_of(flag)


@pytest.mark.slow
@pytest.mark.full
def test_all_agents_stand_in_one_table(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = (
        "value.max_updates=2", "value.batch_rows=8", "ppo.updates=1", "ppo.min_batch=8", "ppo.minibatch_rows=8",
        "task.evaluation_episodes=4", "browser.pages=4", "demonstrations.episodes=24", "supervised.updates=2",
        "supervised.batch_rows=8", "value.episodes=10", "agent.list_actions=False", "agent.max_observation_tokens=16",
        "engine.max_new_tokens=16",
    )  # fmt: skip
    run = tmp_path / "run"
    assert main(["merge_hybrid", f"--config.run={run}", *(f"--config.{flag}" for flag in (*FLAGS, *small))]) == 0
    result = json.loads((run / "result.json").read_text())
    parts = ["TextEcho.rounds1", "TextEcho.rounds3"]
    agents = ["start", *parts, "hybrid", "merged_0.5"]
    assert sorted(result["successes"]) == sorted(agents)
    assert all(list(scores) == parts for scores in result["successes"].values())
    assert [result["ppo_episodes"][agent] for agent in agents] == [0, 8, 8, 16, 16]
    trained = {name: len(list((run / "agents" / name / "trajectories" / "ppo").glob("*.trajectory"))) for name in parts}
    assert all(count >= 8 for count in trained.values())
    said = capsys.readouterr().out
    assert "hybrid against the specialist of each part: " in said and "merged_0.5 against the specialist" in said
