"""What `new` writes runs as it is: the environment is tried, the judge judges it, the player plays it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.templates import NAMES

pytestmark = pytest.mark.multiprocess


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands, which is on the path as with the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in NAMES.values():
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """What a Python says that must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_written_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, name in NAMES.items():
        assert main(["new", kind]) == 0
        assert capsys.readouterr().out == f"{name}.py: its first lines say how to try it\n"
    assert sorted(path.name for path in here.iterdir()) == ["mine.py", "my_judge.py", "my_player.py"]
    assert run(here, "my_judge.py") == "the judge says what it should\n"
    assert main(["try", "mine:Large", "--config.player=my_player:play", "--config.seed=14", "--config.run=run"]) == 0
    said = capsys.readouterr().out
    assert "Thought: 7 is above 4\n" in said and "Action: answer(yes=true)\n" in said
    assert "The episode is over (finished) after 1 turn, with success; its return is 1." in said
    assert "Nothing was found wrong." in said and (here / "run" / "report.html").exists()


def test_a_name_of_ones_own_stands_in_the_file(here: Path) -> None:
    assert main(["new", "environment", "digits"]) == 0
    text = (here / "digits.py").read_text()
    assert "tars-jax try digits:Large" in text and "--config.environment=digits:Large" in text and "mine" not in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["environment", "kept"], "config.name must be that of a new file; got 'kept', and {here}/kept.py is there\n"),
        (
            ["environment", "no-name"],
            "config.name must be a name that Python can import, such as mine; got 'no-name'\n",
        ),
        (["judge", "json"], "config.name must be that of no module which is installed; got 'json', "),
        (["environment", "a", "b"], "config.kind and config.name must each be one value; got environment a b\n"),
    ],
)
def test_nothing_is_replaced_and_nothing_shadowed(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    (here / "kept.py").write_text("mine")
    assert main(["new", *arguments]) == 2
    assert capsys.readouterr().err.startswith(sentence.format(here=here))
    assert [path.name for path in here.iterdir() if path.suffix] == ["kept.py"]
    assert (here / "kept.py").read_text() == "mine"
