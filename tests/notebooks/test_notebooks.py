"""Every notebook runs from top to bottom, as a reader runs it, and is committed with what it shows."""

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Those that train agents of configs/scoreboard.py, which they share. At their small size that is compilation, and what
# the compiler leaves out of its work here is a third of it.
TRAINING = ("ablate_clipping", "ppo_vs_grpo", "training_dynamics", "value_pretraining")
UNOPTIMISED = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)
# Four notebooks are made alike; of those that train policies the quickest one stands for all without --all.
LONG = ("ablate_clipping", "ppo_vs_grpo", "value_pretraining")
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=pytest.mark.full if path.stem in LONG else ())
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
]

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trained")


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook(path: Path, cache: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TARS_JAX_RUN", raising=False)
    flags = "--xla_force_host_platform_device_count=8"
    if path.stem in TRAINING:
        monkeypatch.setenv("TARS_JAX_RUN", str(trained))
        flags = f"{flags} {UNOPTIMISED}"
    monkeypatch.setenv("TARS_JAX_NOTEBOOK", "small")  # what is committed is the full size
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(cache))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XLA_FLAGS", f"{os.environ.get('XLA_FLAGS', '')} {flags}")
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(output.get("data", {}).get("image/png") for cell in code for output in cell.outputs)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
