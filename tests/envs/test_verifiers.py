"""The real package, where launch/foreign.sh has installed it: what docs/verifiers.md shows, and what only it can do."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import ToolCall
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.foreign.spec import INSTALLED
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment
from tars_jax.pipelines.checkout import ROOT

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("TARS_JAX_FOREIGN") and not INSTALLED.exists(), reason="launch/foreign.sh installs verifiers"
    ),
]
PAGE = (ROOT / "docs" / "verifiers.md").read_text("utf-8")
FAULT = Path(__file__).with_name("verifiers_fault.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the page's files."""
    made = tmp_path_factory.mktemp("verifiers")
    names = re.findall(r"\((\w+\.py)\):\n```python", PAGE)
    assert names == ["one_digit.py", "lost_key.py"]
    for name, code in zip(names, re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), strict=True):
        (made / name).write_text(code)
    shutil.copy(FAULT, made)
    return made


@pytest.fixture(autouse=True)
def path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_PYTHONPATH", str(folder))


def play(spec: EnvironmentSpec, *calls: tuple[str, str], seed: int = 0) -> tuple[str, list[str], list[Transition]]:
    """The instruction, what can be called, and what each call (a function and its one argument) led to."""

    async def go() -> tuple[str, list[str], list[Transition]]:
        environment = spec.checked(EnvironmentResources())
        try:
            await environment.reset(Task("t", "verifiers", seed, {}, spec.default_max_steps({})))
            space = environment.action_space
            followed = []
            for name, value in calls:
                function = space.function(name)
                assert function is not None
                (parameter,) = function.parameters["properties"]
                followed.append(await environment.step([ToolCall(name, {parameter: value})]))
            return environment.instruction, [each.name for each in space.functions], followed
        finally:
            await environment.close()

    return asyncio.run(go())


def measured(transitions: Sequence[Transition]) -> dict[str, Any]:
    return dict(transitions[-1].rewards)


def test_the_single_turn_of_the_page() -> None:
    spec = load_environment("verifiers", {"id": "one_digit"})
    instruction, functions, _ = play(spec)
    first, second = instruction.partition(":")[0].split()
    assert functions == ["answer"] and spec.default_max_steps({}) == 1
    assert spec.levels is not None and (spec.levels.count("train"), spec.levels.count("eval")) == (90, 10)
    right = play(spec, ("answer", first))[2]
    assert right[-1].reward == pytest.approx(1.2) and right[-1].success and right[-1].terminated
    assert measured(right) == {"exact": 1.0, "named": 1.0, "num_turns": 1.0}
    wrong = play(spec, ("answer", "né 你"))[2]
    assert wrong[-1].reward == 0.0 and wrong[-1].success is False and measured(wrong)["exact"] == 0.0
    if second != first:
        assert play(spec, ("answer", second))[2][-1].reward == pytest.approx(0.2)
    silent = play(spec, ("answer", ""))[2]  # what its client takes for a failure of the model
    assert silent[-1].terminated and silent[-1].reward == 0.0


def test_the_tools_of_the_page() -> None:
    spec = load_environment("verifiers", {"id": "lost_key", "args": {"max_turns": 3}})
    seeds = [seed for seed in (0, 1) if play(spec, seed=seed)[0] == "Where is the note?"]
    _, functions, followed = play(
        spec, ("look", "drawer"), ("look", "shelf"), ("answer", "on the shelf"), seed=seeds[0]
    )
    assert functions == ["answer", "look"]
    assert [each.observation.text for each in followed] == ["a key with a red tag", "a note: la clé est rouge", ""]
    assert followed[-1].reward == pytest.approx(0.8) and followed[-1].success and followed[-1].terminated
    names = {"found": 1.0, "looks": 2.0, "num_turns": 3.0, "total_tool_calls": 2.0, "look_calls": 2.0}
    assert measured(followed) == names
    cellar = play(spec, ("look", "cellar"), ("look", "box"), ("look", "box"), seed=seeds[0])[2]
    assert cellar[0].observation.text == "'cellar'" and cellar[-1].terminated
    assert cellar[-1].reward == pytest.approx(-0.2) and cellar[-1].success is False  # nobody answers the last call


def test_its_own_rows_to_evaluate_on_and_its_failures() -> None:
    spec = load_environment("verifiers", {"id": "verifiers_fault"})
    assert spec.levels is not None and (spec.levels.count("train"), spec.levels.count("eval")) == (6, 2)
    assert not spec.says_max_steps
    asked = {seed: play(spec, seed=seed)[0] for seed in range(4)}
    assert all(text.startswith("eval" if seed % 2 else "train") for seed, text in asked.items())
    with pytest.raises(EnvironmentFailure, match="InfraError.*its sandbox is gone") as failure:
        play(spec, ("answer", "one"), ("answer", "fail"))
    assert failure.value.kind == "exception"
    _, functions, followed = play(spec, ("tool_answer", "né"), ("answer", "one"))
    assert functions == ["answer", "tool_answer", "tool_click"]  # a name of ours stays ours
    assert followed[0].observation.text == 'answer {"text": "né"}'
    assert followed[1].observation.text == "du sagst one 你好"
    followed = play(spec, ("answer", "one"), ("answer", "two"))[2]
    assert [each.observation.text for each in followed] == ["du sagst one 你好", "du sagst two 你好"]


def test_what_it_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="a rubric must judge each episode alone"):
        load_environment("verifiers", {"id": "verifiers_fault", "args": {"group": True}})
    with pytest.raises(InputError, match="id must name an environment .* got 'no_such'.*No module named 'no_such'"):
        load_environment("verifiers", {"id": "no_such"})
