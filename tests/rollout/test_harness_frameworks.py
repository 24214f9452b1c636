"""Agent frameworks of others, each in a computer of its own that shows the environment it was installed into, play for
functions that answer them rightly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.envs.registry import load_environment
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.scripted_engine import ScriptedEngine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.harness import reference
from tars_jax.pipelines.serving import fit_to
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.harness_episode import ChatPolicy, HarnessPlayer
from tars_jax.trajectory.files import load_trajectory
from tests.harness_episodes import PROGRAMS, python_of

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
TOKENIZER = load_tokenizer()


@pytest.mark.parametrize(
    ("framework", "files", "answers", "most"),
    [
        ("mini-swe-agent", ["mini_swe_agent_walk.py", "mini_swe_agent_walk.yaml"], "walk", 6),
        pytest.param("openai-agents", ["openai_agents_kinds.py"], "kinds", 1, marks=pytest.mark.full),
    ],
)
def test_a_framework_plays_in_a_computer(
    framework: str, files: list[str], answers: str, most: int, tmp_path: Path
) -> None:
    if (python := python_of(framework)) is None:
        pytest.skip("launch/harnesses.sh has not installed the agent frameworks of others")
    model = preset("nano", TOKENIZER.vocabulary)
    turns = TurnFormat(TOKENIZER, lambda height, width: 1)
    function = reference(f"tars_jax.envs.examples.harness.references:{answers}", 1.0)
    config = EngineConfig(max_length=512, max_new_tokens=64)
    engine: Any = ScriptedEngine(model, config, TOKENIZER, TOKENIZER.end, turns.messages, function)
    served = Served("policy", engine, TOKENIZER, turns, fit_to(model, (96, 96)), TOKENIZER.end, {}, lambda path: {})
    options = {
        "command": ["python", "-I", files[0]],
        "files": {name: str(PROGRAMS / name) for name in files},
        "venv": str(python.parents[1]),
        "time_limit": 60,
    }
    spec = load_environment("harness", options)
    tasks = [Task(f"t{seed}", "harness", seed, options, spec.default_max_steps(options)) for seed in range(3)]
    with (
        serving(make_app(served, ServerConfig(port=0)), ServerConfig(port=0)) as address,
        Rollouts(None, PromptWriter(TOKENIZER, image_tokens=1), AgentConfig(), 2) as rollouts,
    ):
        policy = ChatPolicy(address, "policy")
        player: Any = lambda privileged, task: None  # noqa: E731  a program plays, and no agent loop
        rollouts.play(tasks, HarnessPlayer(player, lambda task: policy, 0), tmp_path)
    found = [load_trajectory(file) for file in sorted(tmp_path.glob("*.trajectory"))]
    assert [(each.reward, each.success) for each in found] == [(1.0, True)] * 3, [each.metadata for each in found]
    assert all(len(each.steps) <= most for each in found)
