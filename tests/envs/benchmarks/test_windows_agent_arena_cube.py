"""waa-cube's own tasks and scorers on the guest file on Linux, whose programs of Windows are stand-ins: doing nothing
is 0, and a state that is made by hand is 1.

TARS_JAX_WAA_CUBE names the wheel; launch/osworld.sh has installed what scores.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent.actions import CallUser, Finished
from tars_jax.environment import Transition
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol
from tars_jax.envs.benchmarks.osworld.scoring import scorer_python
from tars_jax.tasks.benchmarks.windows_agent_arena import read
from tests.envs.benchmarks.windows_machines import Prepared, WindowsGuest, play_all

WHEEL = os.environ.get("TARS_JAX_WAA_CUBE", "")
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.full,
    pytest.mark.skipif(not WHEEL, reason="TARS_JAX_WAA_CUBE must name the wheel of waa-cube"),
]
USER = "C:\\Users\\Docker"
CODE = f"{USER}\\AppData\\Roaming\\Code\\User"
# What a person would leave, by the beginning of a task's id: files by their paths; a path that ends so is a folder.
GOLD: dict[str, dict[str, Any]] = {
    "1876fe7f": {f"{USER}\\Documents\\MyFolder\\": ""},
    "7AB09EF1": {f"{USER}\\Desktop\\Projects - Shortcut.lnk": "a link"},
    "28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-2": {f"{USER}\\Desktop\\numdays.txt": "230 days"},
    "28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-3": {f"{USER}\\Desktop\\numdays.txt": "585 days"},
    "28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS": {
        f"{USER}\\Desktop\\Differences.txt": "43 years, 9 months, 3 weeks, 4 days"
    },
    "3544ac9a": {f"{USER}\\Downloads\\circle.png": "a picture"},
    "276cc624-87ea-4f08-ab93-f770e3790175-2": {f"{CODE}\\settings.json": {"editor.wordWrapColumn": 100}},
    "276cc624-87ea-4f08-ab93-f770e3790175-WOS": {f"{CODE}\\settings.json": {"editor.wordWrapColumn": 50}},
    "70745df8-f2f5-42bd-8074-fbc10334fcc5-2": {
        f"{CODE}\\settings.json": {"files.autoSave": "afterDelay", "files.autoSaveDelay": 1000}
    },
    "70745df8-f2f5-42bd-8074-fbc10334fcc5-WOS": {
        f"{CODE}\\settings.json": {"files.autoSave": "afterDelay", "files.autoSaveDelay": 500}
    },
    "930fdb3b": {f"{CODE}\\keybindings.json": [
        {"key": "ctrl+j", "command": "workbench.action.focusActiveEditorGroup", "when": "terminalFocus"}
    ]},
    "9439a27b": {f"{CODE}\\settings.json": {"debug.focusEditorOnBreak": False}},
    "982d12a5": {f"{CODE}\\settings.json": {"workbench.colorTheme": "Visual Studio Dark"}},
    "9d425400": {f"{CODE}\\settings.json": {"workbench.editor.wrapTabs": True}},
    "c6bf789c": {f"{CODE}\\settings.json": {"files.exclude": {"**/__pycache__": True}}},
    "e2b5e914": {f"{CODE}\\settings.json": {
        "python.analysis.diagnosticSeverityOverrides": {"reportMissingImports": "none"}
    }},
    "ea98c5d7": {f"{CODE}\\keybindings.json": [
        {"key": "ctrl+f", "command": "-list.find", "when": "listFocus && listSupportsFind"}
    ]},
}  # fmt: skip


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WindowsGuest]:
    scorer_python()
    made = WindowsGuest(tmp_path_factory.mktemp("guest"))
    yield made
    made.end()


def left(files: dict[str, Any]) -> Prepared:
    async def leave(machine: GuestProtocol) -> None:
        for path, said in files.items():
            if path.endswith("\\"):
                answer = await machine.post("/setup/create_folder", json={"path": path})
            else:
                text = said if isinstance(said, str) else json.dumps(said)
                answer = await machine.upload(path, text.encode())
            assert answer.status_code == 200, answer.text

    return leave


def score(turn: Transition | Exception) -> float:
    assert isinstance(turn, Transition), turn
    return turn.reward


def test_states_by_hand_are_1_and_nothing_is_0(guest: WindowsGuest) -> None:
    ids = [task.id for task in read(Path(WHEEL))]
    of = {next(id for id in ids if id.startswith(begin)): files for begin, files in GOLD.items()}
    assert len(of) == len(GOLD)
    options = {"interface": "sdk", "stand_ins": True}
    nothing = play_all(guest, Path(WHEEL), [(id, None, [Finished()]) for id in of], **options)
    assert {id: score(turn) for id, turn in zip(of, nothing, strict=True)} == dict.fromkeys(of, 0.0)
    right = play_all(guest, Path(WHEEL), [(id, left(files), [Finished()]) for id, files in of.items()], **options)
    assert {id: score(turn) for id, turn in zip(of, right, strict=True)} == dict.fromkeys(of, 1.0)
    given_up = play_all(
        guest, Path(WHEEL), [(id, left(files), [CallUser()]) for id, files in [*of.items()][:2]], **options
    )
    assert [score(turn) for turn in given_up] == [0.0, 0.0]


def test_what_cannot_be_done_is_1_for_who_says_so(guest: WindowsGuest) -> None:
    tasks = [
        task for task in read(Path(WHEEL)) if task.record["evaluator"]["func"] == "infeasible" and not task.left_out
    ]
    assert len(tasks) == 9
    options = {"interface": "sdk", "stand_ins": True}
    said = play_all(guest, Path(WHEEL), [(task.id, None, [CallUser()]) for task in tasks], **options)
    done = play_all(guest, Path(WHEEL), [(task.id, None, [Finished()]) for task in tasks], **options)
    assert [score(turn) for turn in said] == [1.0] * 9 and [score(turn) for turn in done] == [0.0] * 9
