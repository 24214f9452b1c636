import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(not (ROOT / ".venv" / "setup-stamp").exists(), reason="needs ./launch/test.sh to have set up"),
]
UNKNOWN = "the first argument must be an experiment, one of "


def local(*arguments: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
    """local.sh with these variables; None takes one away."""
    inherited = {"TARS_JAX_CHROMIUM": None, "TARS_JAX_PYTHON": None, "TARS_JAX_VENV": None, **variables}
    environment = {name: value for name, value in {**os.environ, **inherited}.items() if value is not None}
    command = [str(ROOT / "launch" / "local.sh"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=120)


def test_a_second_start_has_nothing_to_do() -> None:
    local("no_such_experiment")  # where TARS_JAX_CHROMIUM named the browser, it is looked for now
    result = local("no_such_experiment")
    assert result.returncode == 2
    assert result.stdout == ""  # each step of the set-up has a line
    assert result.stderr.startswith(UNKNOWN)


def test_a_chromium_that_is_not_there_is_one_sentence() -> None:
    result = local("no_such_experiment", TARS_JAX_CHROMIUM="/nonexistent/chromium")
    assert result.returncode == 2
    assert result.stderr == (
        "TARS_JAX_CHROMIUM must be the path of a Chromium or Chrome; got '/nonexistent/chromium', which does not run.\n"
    )


def test_nothing_of_the_users_environment_gets_in_between(tmp_path: pathlib.Path) -> None:
    for name in ("ml_collections", "numpy", "zipfile"):  # of another Python, as a module system leaves them
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    result = local(
        "no_such_experiment",
        PYTHONPATH=str(tmp_path),
        PYTHONHOME=str(tmp_path),
        VIRTUAL_ENV=str(tmp_path),
        PYTHONUTF8="0",
        LC_ALL="POSIX",
        HOME=None,
    )
    assert result.stderr.startswith(UNKNOWN)
    assert (result.returncode, result.stdout) == (2, "")


def test_modules_of_the_users_own_are_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own_games.py").write_text("print('found')", encoding="utf-8")
    shown = subprocess.run(
        ["bash", "-c", f'root="{ROOT}" && . launch/setup.sh && "$python" -P -c "import own_games, tars_jax"'],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert shown.stdout == "found\n", shown.stderr


def test_the_environment_of_another_checkout_is_left_as_it_is(tmp_path: pathlib.Path) -> None:
    (tmp_path / "other" / "launch").mkdir(parents=True)
    (tmp_path / "other" / "launch" / "setup.sh").touch()
    stamp = tmp_path / "environment" / "setup-stamp"
    stamp.parent.mkdir()
    stamp.write_text(f"hash /usr/bin/python3 {tmp_path / 'other'}\n/usr/bin/chromium\n", encoding="utf-8")
    result = local("no_such_experiment", TARS_JAX_VENV=str(stamp.parent))
    assert result.returncode == 2
    assert result.stderr == (
        "TARS_JAX_VENV must be a folder of this checkout's own; "
        f"got '{stamp.parent}', the environment of {tmp_path / 'other'}\n"
    )
    assert [each.name for each in stamp.parent.iterdir()] == ["setup-stamp"]
