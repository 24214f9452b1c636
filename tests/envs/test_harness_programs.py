"""The programs of agent frameworks that come as examples: what they are to be answered is what they reward."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tars_jax.envs.examples.harness.references import kinds, walk
from tests.harness_episodes import PROGRAMS


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    """program(name, *modules): it, without the framework, of which it imports these."""

    def load(name: str, *modules: str) -> ModuleType:
        for each in modules:
            stand_in: Any = ModuleType(each)
            stand_in.__getattr__ = lambda name: type(name, (), {})
            monkeypatch.setitem(sys.modules, each, stand_in)
        spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_a_kind_is_rewarded_by_its_share(program: Any) -> None:
    found = program("openai_agents_kinds", "agents")
    rows = [found.row_of(seed) for seed in range(200)]
    assert len(set(rows)) > 190 and all(len(row.split()) == 5 for row in rows)
    right, wrong = [], []
    for row in rows:
        messages = [{"role": "user", "content": f"Digits or letters?\n{row}"}]
        right.append(found.reward_of(row, kinds(messages, random.Random(0), 1.0)))
        wrong.append(found.reward_of(row, kinds(messages, random.Random(0), 0.0)))
    assert set(right) == {1.0} and 0.3 < sum(wrong) / len(wrong) < 0.7
    assert found.reward_of("1 2 3 a b", "12 xy") == 0.5 and found.reward_of("1 2 3 a b", " \n") == 0.0
    assert found.reward_of("a b c 1 2", "abé?") == 0.5


def test_a_walk_by_its_words_arrives(program: Any, tmp_path: Path) -> None:
    names = ["agents.default", "config", "environments.local", "models.litellm_textbased_model"]
    found = program("mini_swe_agent_walk", *(f"minisweagent.{name}" for name in names))
    found.place_programs(tmp_path, (0, 0), (2, 1))
    assert found.distance(tmp_path) == 3
    messages = [{"role": "user", "content": "Say left or up.\nright\ndown\n"}]
    said = ""
    for _ in range(3):
        way = walk([*messages, {"role": "user", "content": "One word."}], random.Random(1), 1.0)
        before = found.distance(tmp_path)
        said = subprocess.run([tmp_path / way], capture_output=True, text=True, check=True).stdout
        assert found.distance(tmp_path) == before - 1
        messages += [{"role": "assistant", "content": way}, {"role": "user", "content": said}]
    assert said == "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n"
    found.place_programs(tmp_path, (0, 0), (1, 1))
    assert subprocess.run([tmp_path / "left"], capture_output=True, text=True).stdout == "right\ndown\n"  # a wall
    assert found.distance(tmp_path) == 2
