import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(not (ROOT / ".venv" / "setup-stamp").exists(), reason="needs ./launch/test.sh to have set up"),
]


def local(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TARS_JAX_CHROMIUM"}
    command = [str(ROOT / "launch" / "local.sh"), *arguments]
    return subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, timeout=120)


def test_a_second_start_has_nothing_to_do() -> None:
    result = local("no_such_experiment")
    assert result.returncode == 2
    assert result.stdout == ""  # each step of the set-up has a line
    assert result.stderr.startswith("There is no experiment 'no_such_experiment'; the first argument takes one of ")


def test_a_chromium_that_is_not_there_is_one_sentence() -> None:
    result = local("no_such_experiment", TARS_JAX_CHROMIUM="/nonexistent/chromium")
    assert result.returncode == 2
    assert result.stderr == (
        "TARS_JAX_CHROMIUM is '/nonexistent/chromium', which does not run; it takes the path of a Chromium or Chrome.\n"
    )
