"""A run with what a user brings: a judge, a player, recorded data, and a server that samples."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax.environment import Observation, Task
from tars_jax.judges import Judgement
from tars_jax.tasks.games.moves import Move
from tars_jax.training.metrics import read_metrics
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory
from tests.environments.samplers import sampling_server

HERE = "tests.pipelines.test_brought:"
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
TINY = (
    "demonstrations.episodes=16", "supervised.updates=6", "supervised.batch_rows=8", "value.episodes=12",
    "value.max_updates=4", "value.batch_rows=8", "ppo.min_batch=8", "ppo.minibatch_rows=8",
    "task.evaluation_episodes=4", "agent.list_actions=False", "agent.max_observation_tokens=16",
    "agent.thought=never", "engine.max_new_tokens=16", "browser.pages=4", 'environment_options={"rounds": 1}',
)  # fmt: skip


def generous(trajectory: Trajectory, task: Task) -> Judgement:
    """Whoever has said anything that can be read has done it, at half the price."""
    said = any(step.valid for step in trajectory.steps)
    return Judgement(0.5 * said, said)


def reads(observation: Observation, rng: random.Random, skill: float) -> Move:
    return Move("", "say", {"word": observation.text.removeprefix("word: ")})


def train(run: Path, *flags: str) -> int:
    return main(["train", f"--config.environment={ECHO}", f"--config.run={run}", *(f"--config.{f}" for f in flags)])


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", ["sglang", "vllm"])
def test_a_run_with_all_that_can_be_brought(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PPO takes exact tokens of a server that is handed the weights after each update."""
    record = {
        "messages": [
            {"role": "user", "content": "Say the word.\n"},
            {"role": "user", "content": "word: red"},
            {"role": "assistant", "content": "say(word='red')"},
        ],
        "success": True,
    }
    (tmp_path / "theirs.jsonl").write_text(f"{json.dumps(record)}\n" * 4)
    run = tmp_path / "run"
    with sampling_server(max_length=160) as (address, sampler):
        flags = (
            *TINY, "ppo.updates=2", f"server.address={address}", f"server.form={form}", "server.model=nano",
            "agent.constrained=False", f"demonstrations.player={HERE}reads", f"task.judge={HERE}generous",
            f"demonstrations.datasets={tmp_path / 'theirs.jsonl'},",
        )  # fmt: skip
        assert train(run, *flags) == 0, capsys.readouterr().err
        loaded = [path.name for path in sampler.loaded]
        tokens, asked = sampler.engine.statistics().tokens_sampled, sampler.asked
    printed = capsys.readouterr().out
    assert "4 of 4 episodes were not written for this policy" in printed
    # before, for the value model, at PPO's start, after each update, after
    assert loaded == [f"weights-{number}" for number in range(6)] and asked > 0 and tokens > 0
    assert {path.name for path in (run / "served").glob("weights-*")} == {"weights-4", "weights-5"}
    played = [load_trajectory(path) for path in sorted((run / "trajectories" / "ppo").glob("*.trajectory"))]
    versions = {int(v) for each in played for window in each.windows for v in window.versions[window.action_mask]}
    assert versions <= {0, 1, 2} and 0 in versions
    assert all((window.log_probs[window.action_mask] < 0).any() for each in played for window in each.windows)
    assert {each.reward for each in played} <= {0.0, 0.5} and all(type(each.success) is bool for each in played)
    updates = [row for row in read_metrics(run / "metrics.jsonl") if row.stage == "ppo"]
    assert [row.step for row in updates] == [1, 2] and all(row.values["entropy"] > 0 for row in updates)
    shown = [load_trajectory(path) for path in (run / "trajectories" / "demonstrations").glob("*.trajectory")]
    assert len(shown) == 16 and all(each.reward == 0.5 and each.metadata["environment_reward"] == 1 for each in shown)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("server.address=http://127.0.0.1:1",), "agent.constrained must be False with server.form=sglang"),
        (
            (
                "server.address=http://127.0.0.1:1",
                "agent.constrained=False",
                "agent.line_tokens=8",
                "agent.max_summaries=4",
            ),
            "agent.line_tokens must be 0 with server.form=sglang",
        ),
        (("server.address=http://127.0.0.1:1", "agent.constrained=False", "server.form=vllm"), "server.model must be"),
        (
            ("server.address=http://127.0.0.1:1,http://127.0.0.1:2", "agent.constrained=False"),
            "server.address must be one address with server.form=sglang; got 2",
        ),
        (
            ("server.address=http://127.0.0.1:1", "server.form=tars_jax"),
            "server.address must be where policy servers answer; http://127.0.0.1:1 does not answer",
        ),
        (("task.judge=no.such:judge",), "judge 'no.such:judge': 'no.such' must be a module that can be imported"),
        (("task.judge=webjudge",), "task.judge must be able to tell these tasks; it could not say of 6 of 6, of "),
        (
            ("demonstrations.datasets=nowhere.jsonl,",),
            "config.demonstrations.datasets must be a folder of ",
        ),
        (("demonstrations.player=no.such:player",), "player 'no.such:player': 'no.such' must be a module"),
    ],
)
def test_what_cannot_be_brought_is_a_sentence(
    flags: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path / "run", *TINY, *flags) == 2
    assert words in capsys.readouterr().err
