"""OSWorld's own controllers, unmodified, on a desktop in a container: they act by PyAutoGUI inside."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tars_jax.sandbox.compat.osworld import served_desktop
from tars_jax.sandbox.compat.serving import Served
from tars_jax.sandbox.computer.parts import ComputerSpec
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder, with_pyautogui
from tars_jax.web.running import serving
from tests.sandbox.compat.clients import GATE, TOKEN, client
from tests.sandbox.computer.containers import needs_root
from tests.sandbox.desktop.conftest import require_desktop
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.multiprocess, needs_root]

TYPED = "Hello, World! 42"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    require_desktop()
    if (folder := pyautogui_folder()) is None:
        pytest.skip("PyAutoGUI is not installed for computers: ./launch/pyautogui.sh installs it")
    spec = ComputerSpec(parts=("shell", "desktop"))
    spec = dataclasses.replace(spec, container=with_pyautogui(spec.room, folder))
    with serving(served_desktop(spec, GATE), Served(), plain=True) as address:
        yield address


@pytest.fixture(scope="module")
def controller(server: str) -> Any:
    host, _, port = server.removeprefix("http://").rpartition(":")
    module = client("desktop_env.controllers.python")
    return module.PythonController(vm_ip=f"any:{TOKEN}@{host}", server_port=int(port))


def act(controller: Any, kind: str, **parameters: Any) -> None:
    controller.execute_action({"action_type": kind, "parameters": parameters})


def test_it_clicks_and_types(controller: Any) -> None:
    opened = {"command": "xterm -T Typed -geometry 60x10+100+100 -e 'cat > ~/typed' &", "shell": True,
              "verification": {"window_exists": "Typed"}, "max_wait_time": PATIENCE_S}  # fmt: skip
    opener = f"{controller.http_server}/setup/execute_with_verification"
    assert httpx.post(opener, json=opened, timeout=PATIENCE_S).is_success
    act(controller, "CLICK", x=300, y=200, button="left")
    assert controller.execute_python_command("print(*pyautogui.position())")["output"] == "300 200\n"
    act(controller, "TYPING", text=TYPED)
    act(controller, "PRESS", key="enter")
    act(controller, "HOTKEY", keys=["ctrl", "d"])
    assert controller.run_bash_script("until [ -s ~/typed ]; do sleep .1; done; cat ~/typed")["output"] == f"{TYPED}\n"
    assert controller.get_vm_platform() == "Linux"


def test_a_script_keeps_its_output_when_its_last_program_is_missing(controller: Any) -> None:
    ran = controller.run_bash_script("echo before; no_such_program")
    assert (ran["output"], ran["returncode"]) == ("before\n", 127) and "no_such_program" in ran["error"]


def test_who_has_no_token_hears_nothing(server: str, controller: Any) -> None:
    assert httpx.get(f"{server}/screenshot").status_code == 401
    assert controller.get_screenshot().startswith(b"\x89PNG")
