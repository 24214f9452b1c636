"""A data set in a job of `train`: its tasks, what windows they take, and what is refused before anything is played."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.defaults import chosen, filled
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.training.metrics import read_metrics

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = "tars_jax.tasks.prompts.first_or_last"
PAGE = f"{__name__}:uneven"
TINY = (
    "ppo.updates=1", "ppo.min_batch=8", "ppo.group_size=4", "ppo.minibatch_rows=8", "task.evaluation_episodes=4",
    "browser.pages=4",
)  # fmt: skip


def uneven() -> list[dict[str, str]]:
    return [{"prompt": "short"}, {"prompt": "words " * 40}, {"prompt": "also short"}, {"prompt": "shorter"}]


def rarest(completions: list[str]) -> list[float]:
    return [float(completions.count(each) == 1) for each in completions]


def config_of(*flags: str, **options: Any) -> Any:
    arguments = ["--config=prompts", *(f"--config.{flag}" for flag in flags)]
    if options:
        arguments.append(f"--config.environment_options={json.dumps(options)}")
    return load_config("train", arguments, root=ROOT, checked=False)


def spec_of(config: Any) -> RunSpec:
    found, shapes = chosen(config)
    return RunSpec(filled(config, {choice.field: choice.value for choice in found}), shapes)


def test_held_out_rows_are_played_once_each_and_never_trained_on() -> None:
    tasks = EnvironmentTasks(config_of())
    held_out, stream = tasks.held_out(200), tasks.training(None)
    assert len(held_out) == 50 == len({task.seed for task in held_out}) and all(task.seed % 2 for task in held_out)
    trained = [stream.task(index) for index in range(300)]
    assert not any(task.seed % 2 for task in trained) and len({task.seed for task in trained}) == 300
    assert {task.max_steps for task in [*held_out, *trained]} == {1}
    assert held_out[0].verification.by == "judge" and held_out[0].verification.reference in "0123456789"


def test_the_longest_prompt_decides_how_large_windows_are() -> None:
    spec = spec_of(config_of("engine.max_length=0", data=PAGE, held_out=0.5))
    assert max(len(shape.instruction) for shape in spec.shapes) == len("words " * 40)
    assert spec.config.packing.row_length > 40


def dialogs() -> list[dict[str, Any]]:
    """The longest prompt, the longest answer and the longest reply are of three records."""

    def say(*texts: str) -> list[dict[str, str]]:
        return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]

    short = [{"messages": say(f"ask {number}", "yes", "go on", "no")} for number in range(6)]
    return [
        *short,
        {"messages": say("ask", "because " * 30, "go on", "no")},
        {"messages": say("ask", "a", "more " * 40, "b")},
    ]


def test_what_follows_from_a_data_set() -> None:
    """Texts are answered by text, without a budget; a dialog stands in one window; what is longest is seen."""

    def follows(**options: Any) -> dict[str, Any]:
        arguments = ["--config.environment=prompts", f"--config.environment_options={json.dumps(options)}"]
        found, _ = chosen(load_config("train", arguments, root=ROOT, checked=False))
        return {choice.field: choice.value for choice in found}

    once, dialog = follows(data=f"{PLACE}:records"), follows(data=f"{__name__}:dialogs", max_turns=2)
    assert once["agent.grammar"] == dialog["agent.grammar"] == "plain" and not once["agent.show_budget"]
    assert once["agent.max_steps"] == 0 and dialog["agent.max_steps"] == 1
    assert once["demonstrations.episodes"] > 0  # of answers, from random weights
    assert dialog["agent.max_observation_tokens"] >= 40 and dialog["engine.max_new_tokens"] >= 30


VAULT = "environment=tars_jax.envs.examples.functions_vault:Vault"


@pytest.mark.parametrize(
    ("flags", "options", "message"),
    [
        ((), {"rewards": {f"{PLACE}:exact": 1.0}}, "must take prompt, completion.*got the parameter 'answer'"),
        ((), {"rewards": {f"{PLACE}:exat": 1.0}}, "'exat' must be an attribute of .*; it has 'exact'"),
        (
            (VAULT, "environment_options={}", "agent.grammar=plain"),
            None,
            "agent.grammar must be text or tool where more can be called",
        ),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_played(flags: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec_of(config_of(*flags, **({} if options is None else {"data": PAGE, **options})))


@pytest.mark.full
@pytest.mark.slow
def test_a_run_has_a_curve_for_each_function(tmp_path: pathlib.Path) -> None:
    functions = {f"{PLACE}:exact": 1.0, f"{PLACE}:named": 0.2, f"{__name__}:rarest": 0.1}
    options = {"data": f"{PLACE}:records", "choices": list("0123456789"), "rewards": functions}
    flags = [*TINY, f"run={tmp_path / 'run'}", f"environment_options={json.dumps(options)}"]
    assert main(["train", "--config=prompts", *(f"--config.{flag}" for flag in flags)]) == 0
    (row,) = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert {"rewards/exact", "rewards/named", "rewards/rarest"} <= row.values.keys()
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["rewards"]["after"].keys() == result["parts"].keys() == {"exact", "named", "rarest"}
    report = (tmp_path / "run" / "report.html").read_text()
    assert all(f"<h3>{name}</h3>" in report for name in ("exact", "named", "rarest"))
