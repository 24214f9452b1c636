"""Online-Mind2Web's task file, and one sentence for each way in which it can be broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.online_mind2web import ONLINE_MIND2WEB, fingerprint

TASKS: list[dict[str, Any]] = [
    {"task_id": "a1", "confirmed_task": "Find the café “Nera” 😀.", "website": "https://www.example.org/",
     "reference_length": 4, "level": "easy"},
    {"task_id": "b2_110325", "confirmed_task": "Compare two plans.", "website": "example.com", "reference_length": 12,
     "level": "hard"},
]  # fmt: skip


def test_tasks_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(TASKS, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode())
    for path in (file, tmp_path):
        found = ONLINE_MIND2WEB.read(path)
        assert [(each.id, each.instruction, each.group) for each in found] == [
            ("a1", "Find the café “Nera” 😀.", "easy"), ("b2_110325", "Compare two plans.", "hard"),
        ]  # fmt: skip
    replaced = [{**TASKS[0], "confirmed_task": "Find another café."}, TASKS[1]]
    file.write_text(json.dumps(replaced))
    again = ONLINE_MIND2WEB.read(file)
    assert fingerprint(again[0]) != fingerprint(found[0]) and fingerprint(again[1]) == fingerprint(found[1])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "must be a whole JSON file"),
        (json.dumps(TASKS)[:-40], "must be a whole JSON file"),
        ("{}", "must hold a list of tasks; got dict"),
        ("[]", "must hold a list of tasks; got an empty list"),
        ("[3]", "entry 0 must be an object; got int"),
        (json.dumps([TASKS[0], {**TASKS[1], "task_id": "../b"}]), "entry 1: field task_id must be letters"),
        (json.dumps([{**TASKS[0], "confirmed_task": " "}]), "entry 0: field confirmed_task must be the task in words"),
        (json.dumps([{**TASKS[0], "website": "file:///etc/passwd"}]), "field website must be an address of http"),
        (json.dumps([{**TASKS[0], "website": "http://[::1"}]), "field website must be an address of http"),
        (json.dumps([{**TASKS[0], "website": None}]), "field website must be text; got nothing"),
        (json.dumps([{**TASKS[0], "level": "very hard"}]), "field level must be one of easy, medium, hard"),
        (json.dumps([{**TASKS[0], "reference_length": "4"}]), "field reference_length must be a whole number"),
        (json.dumps([TASKS[0], TASKS[0]]), "ids of tasks must differ; got 'a1' twice"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: str, said: str) -> None:
    (file := tmp_path / "tasks.json").write_text(content)
    with pytest.raises(InputError, match="tasks.json") as error:
        BenchmarkTasks(ONLINE_MIND2WEB, file)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_folder_of_several_files_says_nothing(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(TASKS))
    with pytest.raises(InputError, match=r"a folder with one \.json; got 2"):
        ONLINE_MIND2WEB.read(tmp_path)
