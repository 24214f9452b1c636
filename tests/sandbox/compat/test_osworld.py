"""OSWorld's own controllers, unmodified, on a desktop in a container: they act by PyAutoGUI inside."""

from __future__ import annotations

import dataclasses
import io
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from tars_jax.sandbox.compat.osworld import served_desktop
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder, with_pyautogui
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.sandbox.compat.clients import GATE, TOKEN, client
from tests.sandbox.computer.containers import needs_root
from tests.sandbox.desktop.conftest import require_desktop
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.multiprocess, needs_root]

# What SetupController imports of others for Google Drive, files of settings and its judging of spreadsheets.
ELSEWHERE = {
    "dotenv": ["load_dotenv"], "pydrive": [], "pydrive.auth": ["GoogleAuth"],
    "pydrive.drive": ["GoogleDrive", "GoogleDriveFile", "GoogleDriveFileList"],
    "desktop_env.evaluators": [], "desktop_env.evaluators.metrics": [],
    "desktop_env.evaluators.metrics.utils": ["compare_urls"],
}  # fmt: skip
TYPED = "Hello, World! 42"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    require_desktop()
    if (folder := pyautogui_folder()) is None:
        pytest.skip("PyAutoGUI is not installed for computers: ./launch/pyautogui.sh installs it")
    spec = ComputerSpec(parts=("shell", "desktop"))
    spec = dataclasses.replace(spec, container=with_pyautogui(spec.room, folder))
    with serving(served_desktop(spec, GATE), ListenAddress(), plain=True) as address:
        yield address


@pytest.fixture(scope="module")
def controller(server: str) -> Any:
    host, _, port = server.removeprefix("http://").rpartition(":")
    module = client("desktop_env.controllers.python")
    return module.PythonController(vm_ip=f"any:{TOKEN}@{host}", server_port=int(port))


@pytest.fixture
def setup(controller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """OSWorld's other controller: its `setup` carries out what a task's `config` lists."""
    for name, words in ELSEWHERE.items():
        stand_in = types.ModuleType(name)
        stand_in.__dict__.update({word: lambda *values: None for word in words})
        monkeypatch.setitem(sys.modules, name, stand_in)
    module = client("desktop_env.controllers.setup")
    _, _, port = controller.http_server.rpartition(":")
    return module.SetupController(
        controller.vm_ip, int(port), cache_dir=str(tmp_path), screen_width=1280, screen_height=720
    )


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


def test_its_tasks_are_set_up(controller: Any, setup: Any, tmp_path: Path) -> None:
    """Each kind of step that its controller has and that needs no browser, Google Drive or proxy."""
    served = tmp_path / "served"
    served.mkdir()
    Image.new("RGB", (64, 48), (200, 30, 30)).save(served / "red.png")
    (served / "notes.txt").write_text("some notes")
    center = "pyautogui.moveTo({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT_HALF}); print(*pyautogui.position())"
    with serving(Starlette(routes=[Mount("/", StaticFiles(directory=served))]), ListenAddress(), plain=True) as files:
        assert setup.setup([
            {"type": kind, "parameters": parameters} for kind, parameters in (
                ("download", {"files": [{"url": f"{files}/red.png", "path": "/home/user/Pictures/red.png"},
                                        {"url": f"{files}/notes.txt", "path": "/home/user/Desktop/notes.txt"}]}),
                ("upload_file", {"files": [{"local_path": str(served / "notes.txt"), "path": "/home/user/up.txt"}]}),
                ("change_wallpaper", {"path": "/home/user/Pictures/red.png"}),
                ("open", {"path": "/home/user/Desktop/notes.txt"}),
                ("launch", {"command": ["xterm", "-T", "Launched"]}),
                ("execute_with_verification", {"command": ["true"], "verification": {"window_exists": "Launched"},
                                               "max_wait_time": PATIENCE_S}),
                ("activate_window", {"window_name": "Launched"}),
                ("close_window", {"window_name": "Launched", "strict": True}),
                ("execute", {"command": ["python", "-c", f"import pyautogui; {center}"], "stdout": "center"}),
                ("command", {"command": "echo went wrong >&2; exit 3", "shell": True, "stderr": "error",
                             "until": {"returncode": 3}}),
                ("sleep", {"seconds": 0.1}),
            )
        ])  # fmt: skip
    assert (tmp_path / "center").read_text() == "640 360\n" and (tmp_path / "error").read_text() == "went wrong\n"
    with Image.open(io.BytesIO(controller.get_vm_wallpaper())) as wallpaper:
        assert wallpaper.getpixel((9, 9)) == (200, 30, 30)
    for path in ("/home/user/Desktop/notes.txt", "/home/user/up.txt"):
        assert controller.get_file(path) == b"some notes"
    assert [each["name"] for each in controller.get_vm_directory_tree("/home/user/Desktop")["children"]] == [
        "notes.txt"
    ]


def test_who_has_no_token_hears_nothing(server: str, controller: Any) -> None:
    assert httpx.get(f"{server}/screenshot").status_code == 401
    assert controller.get_screenshot().startswith(b"\x89PNG")
