"""The programs of docs/computer_python.md and of the first page run as they stand; a shell alone takes no extra."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent.calls import action_from_call
from tars_jax.environment import Task
from tars_jax.envs.registry import EnvironmentResources
from tars_jax.envs.spec import spec_of
from tars_jax.pipelines.checkout import ROOT
from tests.sandbox.desktop.conftest import require_desktop

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
EXTRAS = ("Xlib", "adbutils", "mcp", "pyarrow", "ray", "libzim", "jumanji", "miniwob")


def programs(document: str = "docs/computer_python.md") -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), re.DOTALL)


def run(program: str, folder: Path) -> str:
    """What it prints."""
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.browser
@pytest.mark.slow
def test_the_first_program_runs(tmp_path: Path) -> None:
    require_desktop()
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: launch/desktop.sh --browser installs it")
    said = run(programs()[0], tmp_path).splitlines()
    assert said[0].endswith(" hello.html") and said[1:3] == ["['hello.html'] and in the copy []", "/tmp"]
    assert "Clicked" in said[3]
    assert (tmp_path / "screen.png").read_bytes().startswith(b"\x89PNG")


def test_the_first_pages_computer_is_forked(tmp_path: Path) -> None:
    assert run(programs("README.md")[1], tmp_path) == "['fruit'] []\n"


def test_a_task_of_ones_own_is_played(tmp_path: Path) -> None:
    (tmp_path / "chores.py").write_text(programs()[1])
    found = importlib.util.spec_from_file_location("chores", tmp_path / "chores.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    spec = spec_of("chores:Renamed", module.Renamed, {})
    assert spec.default_max_steps({}) == 4

    async def played(command: str) -> list[bool | None]:
        environment = spec.checked(EnvironmentResources())
        seen = await environment.reset(Task("one", "chores:Renamed", 2, {}, 4))
        old = seen.text.strip()
        new = environment.instruction.rstrip(".").rpartition(" ")[2]
        assert environment.instruction == f"Rename {old} to {new}." and old != new
        call: Any = action_from_call(
            "execute_bash", {"command": command.format(old=old, new=new)}, space=environment.action_space
        )
        found = [(await environment.step([call])).success]
        await environment.close()
        return found

    assert asyncio.run(played("mv {old} {new}")) == [True]
    assert asyncio.run(played("touch {new}")) == [False]


def test_a_shell_alone_takes_no_extra_and_a_desktop_names_its_own(tmp_path: Path) -> None:
    program = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None  # as if it were not installed
import asyncio
from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.agent.actions import ToolCall
from tars_jax.envs.computer import ComputerEnvironment
import tars_jax.sandbox.service.api.app

async def main():
    environment = ComputerEnvironment(task="move_file")
    await environment.reset(Task("one", "computer", 2, {{}}, 8))
    done = await environment.step([ToolCall("execute_bash", {{"command": "echo hello"}})])
    print(done.observation.text)
    await environment.close()
    environment = ComputerEnvironment(parts=("shell", "desktop"))
    try:
        await environment.reset(Task("one", "computer", 2, {{}}, 8))
    except InputError as error:
        print(error)
    await environment.close()

asyncio.run(main())
"""
    assert run(program, tmp_path).splitlines() == [
        "hello",
        "a desktop must have python-xlib, which the extra desktop brings: pip install 'tars_jax[desktop]'",
    ]
