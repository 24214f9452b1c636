"""The wheel as somebody has it who installed it: a virtual environment of its own, outside the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tars_jax.pipelines.checkout import ROOT
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.run_directory import RunDirectory, write_json

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

BUILT_FROM = ("tars_jax", "experiments", "configs", "setup.py", "pyproject.toml", "README.md", "LICENSE")
SMALL = (
    "value.episodes=12", "value.max_updates=2", "value.batch_rows=8", "ppo.updates=1", "ppo.min_batch=8",
    "ppo.minibatch_rows=8", "task.evaluation_episodes=4", "agent.list_actions=False", "agent.thought=never",
    "agent.max_observation_tokens=4", "engine.max_new_tokens=20", "browser.pages=4", "run=run",
)  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that holds the wheel; all else it finds where this one does."""
    here = tmp_path_factory.mktemp("wheel")
    source, environment = here / "source", here / "environment"
    source.mkdir()
    for name in (*BUILT_FROM, "requirements.lock"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(here), str(source)], here)
    run([sys.executable, "-m", "venv", "--without-pip", str(environment)], here)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (wheel,) = here.glob("*.whl")
    python = str(environment / "bin" / "python")
    run([*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", str(wheel)], here)
    return environment / "bin"


def run(command: list[str], folder: Path) -> str:
    """What a command says that must succeed; it knows nothing of this checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_command_knows_every_experiment_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    said = run([str(installed / "tars-jax"), "--help"], tmp_path)
    assert "usage: tars-jax EXPERIMENT" in said
    for config in (ROOT / "configs").glob("*.py"):
        if (ROOT / "experiments" / config.name).exists() and config.stem != "__init__":
            assert f"\n  {config.stem} " in said


def test_fields_of_an_experiment(installed: Path, tmp_path: Path) -> None:
    said = run([str(installed / "tars-jax"), "quickstart", "--help"], tmp_path)
    assert "usage: tars-jax quickstart" in said and "--config.ppo.clip_high=" in said


def test_a_run_lies_where_the_user_stands(installed: Path, tmp_path: Path) -> None:
    run_directory = tmp_path / "made"
    with RunDirectory.create(run_directory, {"seed": 3, "run": ""}, "quickstart") as made:
        write_json(made.path / "result.json", {"score_before": 0.4, "score_after": 0.7, "episodes": 200, "seed": 3})
        with MetricsWriter(made.path) as metrics:
            metrics.write("ppo", 1, {"success": 0.5})
    said = run([str(installed / "tars-jax"), "compare", "--config.runs=./made,"], tmp_path)
    (written,) = tmp_path.glob("runs/compare-*-seed0/comparison.svg")
    assert written.stat().st_size > 1000 and f"run directory {written.parent.relative_to(tmp_path)}" in said


def test_the_program_of_the_first_page_trains_a_policy_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "mine.py").write_text(program)
    flags = [f"--config.{flag}" for flag in SMALL]
    said = run([str(installed / "python"), "mine.py", *flags], tmp_path)
    assert "held-out episodes before" in said and (tmp_path / "run" / "policy").is_dir()
    assert json.loads((tmp_path / "run" / "result.json").read_text())["episodes"] == 4
