"""The kinds of steps that WindowsAgentArena has beyond OSWorld's, and those that are others with Windows."""

from __future__ import annotations

import json
from typing import Any

from tars_jax.envs.benchmarks.osworld.guest import message
from tars_jax.envs.benchmarks.osworld.steps import STEPS, Place, Step, Undone

# Visits in a browser's history below %LOCALAPPDATA%, whose file the browser must have made. Its microseconds count
# from 1601.
HISTORY = """
import json, os, sqlite3, sys, time
path = os.path.join(os.environ["LOCALAPPDATA"], *sys.argv[1].split("/"), "User Data", "Default", "History")
with sqlite3.connect(f"file:{path}?mode=rw", uri=True) as history:
    for address, title, ago in json.loads(sys.argv[2]):
        at = int((time.time() - ago + 11644473600) * 1e6)
        row = history.execute(
            "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time, hidden)"
            " VALUES (?, ?, 1, 0, ?, 0)", (address, title, at)).lastrowid
        history.execute("INSERT INTO visits (url, visit_time, from_visit, transition, segment_id, visit_duration)"
                        " VALUES (?, ?, 0, 805306368, 0, 0)", (row, at))
"""
CHROME, EDGE = "Google/Chrome", "Microsoft/Edge"


async def _create_folder(place: Place, parameters: dict[str, Any]) -> None:
    await _asked(place, "create_folder", path=str(parameters["path"]))


async def _create_file(place: Place, parameters: dict[str, Any]) -> None:
    answer = await place.guest.upload(str(parameters["path"]), str(parameters.get("content", "")).encode())
    if answer.status_code != 200:
        raise Undone(message(answer))


async def _recycle(place: Place, parameters: dict[str, Any]) -> None:
    await _asked(place, "recycle", path=str(parameters["path"]))


async def _close_all(place: Place, parameters: dict[str, Any]) -> None:
    await place.guest.post("/setup/close_all", json={})  # a window that stays is no failure


async def _visited(place: Place, parameters: dict[str, Any], browser: str) -> None:
    visits = json.dumps([[item["url"], item["title"], item["visit_time_from_now_in_seconds"]]
                         for item in parameters["history"]])  # fmt: skip
    answer = await place.guest.execute(["python", "-c", HISTORY, browser, visits])
    ran = answer.json() if answer.status_code == 200 else {"returncode": -1, "error": message(answer)}
    if ran["returncode"] != 0:
        raise Undone(str(ran["error"]).strip()[-300:])


async def _chrome_history(place: Place, parameters: dict[str, Any]) -> None:
    await _visited(place, parameters, CHROME)


async def _edge_history(place: Place, parameters: dict[str, Any]) -> None:
    await _visited(place, parameters, EDGE)


async def _asked(place: Place, route: str, **what: str) -> None:
    answer = await place.guest.post(f"/setup/{route}", json=what)
    if answer.status_code != 200:
        raise Undone(message(answer))


WINDOWS_STEPS: dict[str, Step] = {
    **STEPS, "create_folder": _create_folder, "create_file": _create_file, "recycle_file": _recycle,
    "close_all": _close_all, "tidy_desktop": _close_all, "update_browse_history": _chrome_history,
    "update_browse_history_edge": _edge_history,
}  # fmt: skip
