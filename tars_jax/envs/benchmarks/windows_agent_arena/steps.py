"""The kinds of steps that WindowsAgentArena has beyond OSWorld's, and those that are others with Windows."""

from __future__ import annotations

from typing import Any

from tars_jax.envs.benchmarks.osworld.guest import message
from tars_jax.envs.benchmarks.osworld.steps import STEPS, Step, StepPlace, Undone, asked, visits_in


async def _create_folder(place: StepPlace, parameters: dict[str, Any]) -> None:
    await asked(place, "create_folder", {"path": str(parameters["path"])})


async def _create_file(place: StepPlace, parameters: dict[str, Any]) -> None:
    answer = await place.guest.upload(str(parameters["path"]), str(parameters.get("content", "")).encode())
    if answer.status_code != 200:
        raise Undone(message(answer))


async def _recycle(place: StepPlace, parameters: dict[str, Any]) -> None:
    await asked(place, "recycle", {"path": str(parameters["path"])})


async def _close_all(place: StepPlace, parameters: dict[str, Any]) -> None:
    await place.guest.post("/setup/close_all", json={})  # a window that stays is no failure


WINDOWS_STEPS: dict[str, Step] = {
    **STEPS, "create_folder": _create_folder, "create_file": _create_file, "recycle_file": _recycle,
    "close_all": _close_all, "tidy_desktop": _close_all,
    "update_browse_history": visits_in("$LOCALAPPDATA/Google/Chrome/User Data/Default", "python"),
    "update_browse_history_edge": visits_in("$LOCALAPPDATA/Microsoft/Edge/User Data/Default", "python"),
}  # fmt: skip
