"""OSWorld's guest protocol over a desktop: by the unmodified controllers of `desktop-env`, and by their requests."""

from __future__ import annotations

import io
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.sandbox.desktop.conftest import require_desktop
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a guest server, and the home of its session."""
    require_desktop()
    from tars_jax.sandbox.desktop import Desktop
    from tars_jax.sandbox.desktop.osworld import osworld_app

    home, made = tmp_path_factory.mktemp("osworld"), threading.Event()
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(sys.executable)  # the client calls `python`
    found: dict[str, Any] = {}

    # The desktop belongs to the server's loop, and is made when the first request comes.
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with LocalGuest(home, home.parent / "osworld-socket") as local:
                found["desktop"] = await Desktop.start(local.machine)
                found["app"] = osworld_app(found["desktop"], local.machine)
                made.set()
                await send({"type": "lifespan.startup.complete"})
                await receive()
                await found["desktop"].close()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await found["app"](scope, receive, send)

    with serving(app, ListenAddress(stop_seconds=1), plain=True) as address:
        yield address, home


@pytest.fixture
def client(guest: tuple[str, Path]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guest[0], timeout=PATIENCE_S) as client:
        yield client


def test_screens(client: httpx.Client) -> None:
    shown = client.get("/screenshot")
    assert Image.open(io.BytesIO(shown.content)).size == (1280, 720) and shown.headers["content-type"] == "image/png"
    assert client.post("/screen_size").json() == {"width": 1280, "height": 720}
    assert len(client.get("/cursor_position").json()) == 2
    assert client.get("/platform").text == "Linux"
    assert client.get("/terminal").json()["status"] == "success"
    assert client.get("/accessibility").status_code == 501
    assert client.post("/window_size", data={"app_class_name": "none such"}).status_code == 404


def test_commands(client: httpx.Client, guest: tuple[str, Path]) -> None:
    said = client.post("/execute", json={"command": ["sh", "-c", "echo ä; echo b >&2; exit 3"], "shell": False}).json()
    assert said == {"status": "success", "output": "ä\n", "error": "b\n", "returncode": 3}
    said = client.post("/setup/execute", json={"command": "echo $DISPLAY; pwd", "shell": True}).json()
    assert said["output"].startswith(":") and said["output"].endswith(f"{guest[1]}\n")
    assert client.post("/execute", json={"command": "echo 'a  b'"}).json()["output"] == "a  b\n"
    for path, status in (("/execute", 500), ("/setup/launch", 400)):
        missing = client.post(path, json={"command": ["no-such-program"]})
        assert missing.status_code == status
        assert missing.json()["error"].startswith("command must name a program that can be started; got 'no-such-")
    long = client.post("/execute", json={"command": "yes | head -c 9000000", "shell": True}).json()
    assert long["output"] == "y\n" * 4_500_000
    astray = {"script": "true", "working_dir": "/nope"}
    assert client.post("/run_bash_script", json=astray).json()["error"].startswith("working_dir must be a folder; got")
    for wrong in ([], None, [1], "echo 'open"):
        assert client.post("/execute", json={"command": wrong}).status_code == 400
    assert client.post("/execute", content=b"{").status_code == 400
    script = {"script": "cd /; pwd\nexit 4", "timeout": 30, "working_dir": None}
    assert client.post("/run_bash_script", json=script).json() == {
        "status": "error", "output": "/\n", "error": "", "returncode": 4,
    }  # fmt: skip
    late = client.post("/run_bash_script", json={"script": "sleep 60", "timeout": 0.2}).json()
    assert late["status"] == "error" and "still running after 0.2 seconds" in late["error"]
    ran = client.post("/run_python", json={"code": "print('x' * 3)"}).json()
    assert (ran["status"], ran["output"], ran["return_code"]) == ("success", "xxx\n", 0)
    wanted = {"command": ["true"], "verification": {"command_success": "false"}, "max_wait_time": 0.2}
    assert client.post("/setup/execute_with_verification", json=wanted).status_code == 500
    wanted["verification"] = {"command_success": "true"}
    assert client.post("/setup/execute_with_verification", json=wanted).status_code == 200


def test_files(client: httpx.Client, guest: tuple[str, Path]) -> None:
    home, data = guest[1], bytes(range(256)) * 5000 + b"\r\n--x\r\n"
    name = str(home / "a folder ü" / "file 'ä'.bin")
    sent = client.post("/setup/upload", data={"file_path": name}, files={"file_data": ("file.bin", data)})
    assert sent.status_code == 200 and Path(name).read_bytes() == data
    assert client.post("/file", data={"file_path": name}).content == data
    assert client.post("/file", data={"file_path": "/no/such"}).status_code == 404
    assert client.post("/file", data={"file_path": "/"}).status_code == 404
    tree = client.post("/list_directory", json={"path": str(home / "a folder ü")}).json()["directory_tree"]
    assert tree == {
        "type": "directory", "name": "a folder ü", "children": [{"type": "file", "name": "file 'ä'.bin"}],
    }  # fmt: skip
    assert client.post("/list_directory", json={"path": "/no/such"}).status_code == 400
    sent = client.post("/setup/upload", data={"file_path": "/proc/no"}, files={"file_data": ("f", b"x")})
    assert sent.status_code == 500 and "cannot be written" in sent.json()["message"]
    assert (
        client.post("/setup/upload", content=b"--x", headers={"Content-Type": "multipart/form-data"}).status_code == 400
    )
    assert not list(home.glob(".cache/desktop-*/scratch-*"))


def test_windows_wallpaper_and_recording(client: httpx.Client, guest: tuple[str, Path]) -> None:
    assert client.post("/wallpaper").status_code == 404
    picture = guest[1] / "wall.png"
    Image.new("RGB", (64, 36), (10, 200, 30)).save(picture)
    assert client.post("/start_recording").status_code == 200
    assert client.post("/setup/change_wallpaper", json={"path": str(picture)}).status_code == 200
    shown = Image.open(io.BytesIO(client.get("/screenshot").content))
    assert shown.getpixel((5, 5)) == (10, 200, 30)
    assert Image.open(io.BytesIO(client.post("/wallpaper").content)).size == (1280, 720)
    bad = client.post("/setup/change_wallpaper", json={"path": "/etc/passwd"})
    assert bad.status_code == 400 and "path must be of a picture" in bad.json()["message"]

    wanted = {"command": "xterm -T 'My Terminal' &", "shell": True, "verification": {"window_exists": "My Terminal"}}
    assert client.post("/setup/execute_with_verification", json=wanted | {"max_wait_time": 30}).status_code == 200
    assert client.post("/window_size", data={"app_class_name": "XTerm"}).json()["width"] > 100
    for call, named in (("activate_window", "my term"), ("close_window", "XTerm")):
        assert client.post(f"/setup/{call}", json={"window_name": "my term", "strict": True}).status_code == 404
        found = {"window_name": named, "strict": False, "by_class": named == "XTerm"}
        assert client.post(f"/setup/{call}", json=found).status_code == 200
    film = Image.open(io.BytesIO(client.post("/end_recording").content))
    assert film.size == (1280, 720) and getattr(film, "n_frames", 1) >= 2
    assert client.post("/end_recording").status_code == 400


def test_a_file_is_opened(client: httpx.Client, guest: tuple[str, Path]) -> None:
    if shutil.which("mousepad") is None:
        pytest.skip("mousepad is not installed: launch/desktop.sh installs it")
    (guest[1] / "notes.txt").write_text("words")
    assert client.post("/setup/open_file", json={"path": "~/notes.txt"}).status_code == 200
    assert client.post("/setup/close_window", json={"window_name": "notes.txt"}).status_code == 200


def test_the_unmodified_python_controller(guest: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("desktop_env.controllers.python", reason="desktop-env is not installed")
    host, port = guest[0].removeprefix("http://").split(":")
    controller = module.PythonController(vm_ip=host, server_port=int(port), pkgs_prefix="{command}")
    assert controller.get_screenshot().startswith(b"\x89PNG")
    assert controller.get_vm_screen_size() == {"width": 1280, "height": 720}
    assert controller.run_bash_script("echo $((6 * 7))")["output"] == "42\n"
    assert controller.run_python_script("print(6 * 7)")["output"] == "42\n"
    assert controller.get_vm_desktop_path() == str(guest[1] / "Desktop")
    assert controller.get_vm_directory_tree(str(guest[1]))["type"] == "directory"
    assert controller.get_terminal_output() is None
    if shutil.which("python"):
        assert controller.get_vm_platform() == "Linux"
    (guest[1] / "x.bin").write_bytes(b"\0\xff")
    assert controller.get_file(str(guest[1] / "x.bin")) == b"\0\xff"
    controller.start_recording()
    controller.end_recording(str(guest[1] / "film"))
    assert (guest[1] / "film").read_bytes().startswith(b"GIF8")
