"""The steps of a task's `config` and `postconfig`, carried out in a guest by its protocol.

As OSWorld's own controller does them: a window that is not there is no failure, nor is a command that ends badly; a
file or an application that does not open is one, as the task could not begin.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.osworld.guest import OPENS_S, PATIENCE_S, GuestProtocol, message
from tars_jax.tasks.benchmarks.osworld_files import CloudFile, downloads

PASSWORD = "password"  # of the user of OSWorld's own machines
CHROME_PORT = 9222
TRIES = 5  # of a command that is to go on until something is so
LONGEST_UNTIL_S = 600.0
CHROME_S = 60.0  # for Chrome to answer
ENDING = ("pkill", "killall")
# $1 one of these, $2 the programs that it ends: for ten seconds until they have ended
END = '"$1" "$2"; n=0; while pgrep "$2" >/dev/null && [ $n -lt 50 ]; do sleep 0.2; n=$((n + 1)); done'
# Opens and closes tabs by Chrome's HTTP interface, from within.
TABS = """
import json, sys, time, urllib.parse, urllib.request
port, what, addresses, limit = int(sys.argv[1]), sys.argv[2], sys.argv[3:-1], float(sys.argv[-1])
def ask(path, method="GET"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10).read()
end = time.monotonic() + limit
while True:
    try:
        tabs = [tab for tab in json.loads(ask("/json/list")) if tab["type"] == "page"]
        break
    except OSError as error:
        if time.monotonic() > end:
            sys.exit(f"Chrome does not answer at {port}: {error}")
        time.sleep(0.5)
if what == "open":
    for address in addresses:
        ask("/json/new?" + urllib.parse.quote(address, safe=":/?#[]@!$&'()*+,;=%"), "PUT")
    for tab in tabs[:1]:
        ask("/json/close/" + tab["id"])
else:
    for address in addresses:
        for tab in tabs:
            if tab["url"].rstrip("/") == address.rstrip("/"):
                ask("/json/close/" + tab["id"])
                break
"""
# Visits in a browser's history, whose empty tables Chrome itself makes. Its microseconds count from 1601.
HISTORY = """
import json, os, sqlite3, subprocess, sys, time
folder = os.path.expanduser(os.path.expandvars(sys.argv[2]))
if not os.path.exists(f"{folder}/History"):
    subprocess.run(["google-chrome", "--headless", "--dump-dom", "about:blank"], capture_output=True, timeout=60)
with sqlite3.connect(f"{folder}/History") as history:
    for address, title, ago in json.loads(sys.argv[1]):
        at = int((time.time() - ago + 11644473600) * 1e6)
        known = history.execute("SELECT id FROM urls WHERE url = ?", (address,)).fetchone()
        row = known[0] if known else history.execute(
            "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time, hidden)"
            " VALUES (?, ?, 0, 0, 0, 0)", (address, title)).lastrowid
        history.execute("UPDATE urls SET visit_count = visit_count + 1, last_visit_time = max(last_visit_time, ?)"
                        " WHERE id = ?", (at, row))
        history.execute("INSERT INTO visits (url, visit_time, from_visit, transition, segment_id, visit_duration)"
                        " VALUES (?, ?, 0, 805306368, 0, 0)", (row, at))
"""


@dataclasses.dataclass(frozen=True)
class StepPlace:
    """The place in which steps are carried out."""

    guest: GuestProtocol
    cache: Path  # of the task, on this machine: what commands say goes there, and the scorer reads it
    size: tuple[int, int]
    copy_of: Callable[[CloudFile], Path | None]  # of a file that a task fetches
    folder: Path | None = None  # that files to upload lie in
    chrome_port: int = CHROME_PORT  # inside
    password: str = PASSWORD


async def carry_out(
    steps: Sequence[Mapping[str, Any]], place: StepPlace, known: Mapping[str, Step] | None = None, *,
    strict: bool = True
) -> list[str]:  # fmt: skip
    """Carries out steps; returns in sentences what could not be done, as an agent may have changed what they need.

    `known`: what carries out each type; None: those of OSWorld.
    `strict`: the first such step ends it. Raises EnvironmentFailure("setup") with the number of the step then, and
    always for one that nothing inside can have spoiled; SandboxFailure.
    """
    undone: list[str] = []
    for number, step in enumerate(steps, 1):
        work = (known or STEPS).get(step["type"])
        if work is None:
            raise EnvironmentFailure("setup", f"step {number} has the type {step['type']!r}, which is not there")
        try:
            await work(place, dict(step["parameters"]))
        except Undone as wrong:
            words = f"step {number} of the task, {step['type']}: {wrong}"
            if strict or isinstance(wrong, Missing):
                raise EnvironmentFailure("setup", words) from None
            undone.append(words)
    return undone


class Undone(Exception):
    """A step could not be done."""


class Missing(Undone):
    """A file of the task is not there."""


async def _download(place: StepPlace, parameters: dict[str, Any]) -> None:
    for file in downloads(parameters):
        copy = place.copy_of(file)
        if copy is None:
            raise Missing(f"there is no copy of {file.name} beside the tasks")
        await _upload(place, file.path, copy)


async def _upload_file(place: StepPlace, parameters: dict[str, Any]) -> None:
    for file in parameters.get("files") or ():
        path = (place.folder or Path()) / str(file["local_path"])
        if place.folder is None or not path.resolve().is_relative_to(place.folder.resolve()) or not path.is_file():
            raise Missing(f"local_path must be a file beside the task; got {file['local_path']!r}")
        await _upload(place, str(file["path"]), path)


async def _upload(place: StepPlace, path: str, copy: Path) -> None:
    answer = await place.guest.upload(path, await asyncio.to_thread(copy.read_bytes))
    if answer.status_code != 200:
        raise Undone(f"{path} could not be written: {message(answer)}")


async def _launch(place: StepPlace, parameters: dict[str, Any]) -> None:
    command, shell = parameters["command"], parameters.get("shell", False)
    if isinstance(command, str) and not shell:
        command = command.split()
    command = _filled(place, command)
    if isinstance(command, list) and len(command) == 2 and command[0] in ENDING:
        # What the next step starts anew would otherwise find the old one, which is still writing its settings.
        await place.guest.execute(["sh", "-c", END, "sh", *command])
        return
    await post_setup(place, "launch", {"command": command, "shell": bool(shell)})


async def _execute(place: StepPlace, parameters: dict[str, Any]) -> None:
    command, shell = _filled(place, parameters["command"]), bool(parameters.get("shell", False))
    until, failed = parameters.get("until") or {}, 0
    end = asyncio.get_running_loop().time() + LONGEST_UNTIL_S
    while True:
        answer = await place.guest.execute(command, shell)
        if answer.status_code == 200:
            ran = answer.json()
            for name in ("stdout", "stderr"):
                if file := parameters.get(name):
                    said = str(ran["output" if name == "stdout" else "error"])
                    await asyncio.to_thread(cache_file(place.cache, str(file)).write_text, said, "utf-8")
            if not until or _is_so(until, ran):
                return
        else:
            failed += 1
        if not until or failed >= TRIES:
            return
        if asyncio.get_running_loop().time() > end:
            raise Undone(f"what its command was to say was not said within {LONGEST_UNTIL_S:g} s")
        await asyncio.sleep(0.3)


def _is_so(until: Mapping[str, Any], ran: Mapping[str, Any]) -> bool:
    return (
        ("returncode" in until and ran["returncode"] == until["returncode"])
        or ("stdout" in until and until["stdout"] in ran["output"])
        or ("stderr" in until and until["stderr"] in ran["error"])
    )


def cache_file(cache: Path, name: str) -> Path:
    """A file of a task's cache. Raises EnvironmentFailure for a name that leads out of it."""
    if not name or "/" in name or "\\" in name or "\0" in name or name in (".", ".."):
        raise EnvironmentFailure("setup", f"a file of the cache must be a name; got {name!r}")
    return cache / name


async def _verified(place: StepPlace, parameters: dict[str, Any]) -> None:
    wait_s = float(parameters.get("max_wait_time", 10))
    what = {
        "command": _filled(place, parameters["command"]), "shell": bool(parameters.get("shell", False)),
        "verification": parameters.get("verification") or {}, "max_wait_time": wait_s,
        "check_interval": parameters.get("check_interval", 1.0),
    }  # fmt: skip
    await post_setup(place, "execute_with_verification", what, wait_s + 180)


async def _sleep(place: StepPlace, parameters: dict[str, Any]) -> None:
    await asyncio.sleep(float(parameters["seconds"]))


async def _open(place: StepPlace, parameters: dict[str, Any]) -> None:
    await post_setup(place, "open_file", {"path": parameters["path"]}, OPENS_S)


async def _window(place: StepPlace, parameters: dict[str, Any], which: str) -> None:
    what = {name: parameters.get(name, False) for name in ("strict", "by_class")}
    await place.guest.post(f"/setup/{which}", json={"window_name": parameters["window_name"], **what})


async def _activate(place: StepPlace, parameters: dict[str, Any]) -> None:
    await _window(place, parameters, "activate_window")


async def _close(place: StepPlace, parameters: dict[str, Any]) -> None:
    await _window(place, parameters, "close_window")


async def _wallpaper(place: StepPlace, parameters: dict[str, Any]) -> None:
    await post_setup(place, "change_wallpaper", {"path": parameters["path"]})


async def post_setup(place: StepPlace, route: str, what: Mapping[str, Any], timeout_s: float = PATIENCE_S) -> None:
    """Raises Undone with what the guest says against it."""
    answer = await place.guest.post(f"/setup/{route}", json=what, timeout_s=timeout_s)
    if answer.status_code != 200:
        raise Undone(message(answer))


async def _ran(place: StepPlace, argv: Sequence[str]) -> None:
    """Raises Undone for a command that fails, with the end of what it says."""
    answer = await place.guest.execute(argv)
    ran = answer.json() if answer.status_code == 200 else {"returncode": -1, "error": message(answer)}
    if ran["returncode"] != 0:
        raise Undone(str(ran["error"]).strip()[-300:])


async def _tabs(place: StepPlace, what: str, addresses: Sequence[Any]) -> None:
    await _ran(place, ["python3", "-c", TABS, str(place.chrome_port), what, *map(str, addresses), str(CHROME_S)])


async def _open_tabs(place: StepPlace, parameters: dict[str, Any]) -> None:
    await _tabs(place, "open", parameters["urls_to_open"])


async def _close_tabs(place: StepPlace, parameters: dict[str, Any]) -> None:
    await _tabs(place, "close", parameters["urls_to_close"])


def visits_in(folder: str, python: str = "python3") -> Step:
    """The step that writes visits into the history of a browser, whose profile lies in that folder of the guest."""

    async def write(place: StepPlace, parameters: dict[str, Any]) -> None:
        visits = json.dumps([[item["url"], item["title"], item["visit_time_from_now_in_seconds"]]
                             for item in parameters["history"]])  # fmt: skip
        await _ran(place, [python, "-c", HISTORY, visits, folder])

    return write


def _filled(place: StepPlace, command: Any) -> Any:
    """A command with what it leaves open: the size of the screen, and the user's password."""
    width, height = place.size
    words = {
        "{CLIENT_PASSWORD}": place.password, "{SCREEN_WIDTH_HALF}": str(width // 2),
        "{SCREEN_HEIGHT_HALF}": str(height // 2), "{SCREEN_WIDTH}": str(width), "{SCREEN_HEIGHT}": str(height),
    }  # fmt: skip
    text = json.dumps(command)
    for word, value in words.items():
        text = text.replace(word, json.dumps(value)[1:-1])
    return json.loads(text)


Step = Callable[[StepPlace, dict[str, Any]], Any]
STEPS: dict[str, Step] = {
    "download": _download, "upload_file": _upload_file, "launch": _launch, "execute": _execute, "command": _execute,
    "execute_with_verification": _verified, "sleep": _sleep, "open": _open, "activate_window": _activate,
    "close_window": _close, "change_wallpaper": _wallpaper, "chrome_open_tabs": _open_tabs,
    "chrome_close_tabs": _close_tabs, "update_browse_history": visits_in("~/.config/google-chrome/Default"),
}  # fmt: skip
