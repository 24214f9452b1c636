"""Episodes that the programs in tars_jax/envs/examples/harness play against a policy server, each in its own process.

They run in the environments that launch/harnesses.sh makes, and know of the policy what OPENAI_BASE_URL says.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from tars_jax.environment import Task
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.recorded_episode import trajectory_of_recorded
from tars_jax.sandbox.browser.config import find_executable
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.ppo import make_score_fn
from tars_jax.trajectory import Outcome, Trajectory

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tars_jax/envs/examples/harness"
FRAMEWORKS = {
    "openai_agents_kinds": "openai-agents",
    "openai_agents_pictures": "openai-agents",
    "mini_swe_agent_walk": "mini-swe-agent",
    "smolagents_pictures": "smolagents",
    "browser_use_page": "browser-use",
}
TOKENIZER = load_tokenizer()
LENGTH, PICTURES = 1024, 8  # of a window, at most
ENGINE = EngineConfig(
    slots=4,
    max_length=LENGTH,
    max_new_tokens=64,
    row_buckets=(4,),
    length_buckets=(32, 256, LENGTH),
    record_routes=True,
)


class Episode(NamedTuple):
    """What one was: its windows as the server recorded them, and how its program ended."""

    windows: list[list[dict[str, Any]]]
    status: int
    said: str
    reward: dict[str, Any] | None  # None: it wrote none


def python_of(framework: str) -> Path | None:
    """The Python that has it; None where launch/harnesses.sh has not made any."""
    found = ROOT / ".cache/harnesses" / framework / "bin/python"
    return found if (found.parents[1] / "made-by").exists() else None


@contextlib.contextmanager
def policy_server(model: ModelConfig, parameters: Parameters) -> Iterator[str]:
    """The address of one."""
    with Engine(model, parameters, ENGINE, image=TOKENIZER.image, stop=TOKENIZER.end, seed=0) as engine:
        turns = TurnFormat(TOKENIZER, lambda height, width: height * width // 1024)
        served = Served(
            "nano", engine, TOKENIZER, turns, exact, TOKENIZER.end, parameters, lambda path: parameters,
            token_bytes=TOKENIZER.token_bytes,
        )  # fmt: skip
        config = ServerConfig(port=0)
        with serving(make_app(served, config), config) as address:
            yield address


def play(address: str, program: str, task: Mapping[str, Any]) -> Episode:
    """One episode; `task` has its `seed`."""
    python = python_of(FRAMEWORKS[program])
    assert python is not None
    with httpx.Client(base_url=address, timeout=600) as http, tempfile.TemporaryDirectory() as home:
        opened = http.post("/v1/rl/episodes", json={"seed": task["seed"], "temperature": 1.0}).json()
        reward = Path(home) / "reward"
        variables = {
            "PATH": os.defpath,
            "HOME": home,
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": opened["key"],
            "OPENAI_MODEL": "nano",
            **({"CHROMIUM": str(find_executable())} if program.startswith("browser") else {}),
            "TASK": json.dumps(task),
            "REWARD_FILE": str(reward),
        }
        command = [str(python), "-I", str(PROGRAMS / f"{program}.py")]
        ended = subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True, timeout=300)
        windows = http.post(f"/v1/rl/episodes/{opened['id']}/finish", json={}).json()["windows"]
        written = json.loads(reward.read_text()) if reward.exists() else None
    return Episode(windows, ended.returncode, ended.stdout + ended.stderr, written)


def play_all(address: str, program: str, tasks: Sequence[Mapping[str, Any]], at_once: int = 2) -> list[Episode]:
    """Some at once."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda task: play(address, program, task), tasks))


def trajectories_of(episodes: Sequence[Episode]) -> list[Trajectory]:
    """Of all that have an answer."""
    return [
        trajectory_of_recorded(
            each.windows,
            id=f"{number}",
            task=Task("same", "harness", number, {}, 100),
            reward=0.0 if each.reward is None else each.reward["reward"],
            success=None,
            outcome=Outcome.FINISHED,
            metadata={},
        )
        for number, each in enumerate(episodes)
        if each.windows
    ]


def differences(
    model: ModelConfig, parameters: Parameters, trajectories: Sequence[Trajectory], rows: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """How far the log-probabilities that the learner computes anew are from those recorded, one for each token that is
    learned from: with experts chosen anew, and with those of the record."""
    packer, score = Packer(model, PackingConfig(LENGTH, PICTURES), image=TOKENIZER.image), make_score_fn(model)
    found = []
    for routes in (False, True):
        packed = packer.pack(trajectories, rows_multiple=rows, routes=routes).rows
        scored = np.asarray(score(parameters, packed))
        found.append(np.abs(scored - packed.log_probs)[packed.action_mask])
    return found[0], found[1]
