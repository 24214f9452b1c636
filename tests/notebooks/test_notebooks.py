"""Every notebook runs from top to bottom, as a reader runs it, and is committed with what it shows."""

from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Those that train agents of configs/scoreboard.py, which they share; each takes a minute or more, and waits for --all.
TRAINING = ("ablate_clipping", "ppo_vs_grpo", "training_dynamics", "value_pretraining")
# Half a minute each, in what tests of their rooms show, too.
LONG = ("ablate_gae", "model_tour", "rollout_tour")
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=pytest.mark.full if path.stem in TRAINING + LONG else ())
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
]

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trained")


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook(path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TARS_JAX_RUN", raising=False)
    if path.stem in TRAINING:
        monkeypatch.setenv("TARS_JAX_RUN", str(trained))
    monkeypatch.setenv("TARS_JAX_NOTEBOOK", "small")  # what is committed is the full size
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(output.get("data", {}).get("image/png") for cell in code for output in cell.outputs)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
