"""WindowsAgentArena's tasks, from a wheel and from a checkout; what cannot be played says why."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.tasks.benchmarks.windows_agent_arena import needs_of, package_of, read
from tests.tasks.benchmarks.waa_files import TASKS, step, task, write_checkout, write_wheel


@pytest.mark.parametrize("write", [write_wheel, write_checkout])
def test_both_forms_are_read_alike(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    found = {each.id: each for each in read(write(tmp_path))}
    assert list(found) == list(TASKS)
    assert (found["move"].instruction, found["move"].group, found["move"].left_out) == ("Do move.", "file_explorer", "")
    assert found["get"].left_out == "1 of its 1 files must lie in cache/ beside the tasks; the first is pears.txt."
    assert found["site"].left_out == "It is scored by 'page_info', which asks a live website."


def test_copies_beside_the_tasks_make_them_whole(tmp_path: Path) -> None:
    path = write_wheel(tmp_path)
    (tmp_path / "cache" / "get").mkdir(parents=True)
    (tmp_path / "cache" / "get" / "pears.txt").write_text("pears")
    assert {each.id: each.left_out for each in read(path)}["get"] == ""


def test_what_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match="must be a folder with test_all.json"):
        read(tmp_path)
    cut = tmp_path / "waa_cube-0.1.2-py3-none-any.whl"
    cut.write_bytes(write_wheel(tmp_path).read_bytes()[:300])
    with pytest.raises(InputError, match="must be a whole wheel of waa-cube"):
        read(cut)
    other = tmp_path / "other-1.whl"
    with zipfile.ZipFile(other, "w") as wheel:
        wheel.writestr("other/x.py", "")
    with pytest.raises(InputError, match="it has no waa_cube/task_metadata.json"):
        read(other)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"a": task({"func": "says"})}, "evaluator.result must be there for says"),
        ({"a": task({"func": "infeasible"}, {"type": "sleep"})}, r"config\[0\] must be an object with type and par"),
        ({"a": {"config": []}}, "evaluator must be an object"),
        ({"../a": task({"func": "infeasible"})}, "id must be the name of a folder"),
    ],
)
def test_tasks_that_are_wrong_are_refused(tmp_path: Path, tasks: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write_wheel(tmp_path, tasks))


def test_one_task_that_cannot_be_played_leaves_the_others(tmp_path: Path) -> None:
    flies = task({"func": "infeasible"}, {"type": "fly", "parameters": {}})
    leads = task({"func": "exact_match", "result": {"type": "vm_file", "path": "C:\\a", "dest": "..\\a"}})
    read_all = read(write_wheel(tmp_path, {"a": flies, "b": leads, "c": task({"func": "infeasible"})}))
    said = {each.id: each.left_out for each in read_all}
    assert (
        said["c"] == "" and "a step of the type 'fly'" in said["a"] and "Its result.dest must be the name" in said["b"]
    )


def test_a_newer_form_is_refused(tmp_path: Path) -> None:
    row = {"id": "a", "abstract_description": "x", "phases": 2}
    (tmp_path / "task_metadata.json").write_text(json.dumps([row]))
    (tmp_path / "task_execution_info.json").write_text(json.dumps({"a": TASKS["never"]}))
    with pytest.raises(InputError, match="must be of version 0.1.2; got the field 'phases'"):
        read(tmp_path)
    with pytest.raises(InputError, match="scorers must be waa-cube's wheel of version 0.1.2; got waa_cube-9"):
        package_of(write_wheel(tmp_path, version="9"))


def test_needs_say_what_a_machine_lacks() -> None:
    edge, view = TASKS["edge"], TASKS["view"]
    assert needs_of(edge, "linux", own_server=False) == "It has a step 'launch', which runs programs of Windows."
    assert needs_of(edge, "win32", own_server=False) == ""
    assert "asks /is_details_view of WindowsAgentArena's own server" in needs_of(view, "win32", own_server=False)
    assert needs_of(view, "win32", own_server=True) == ""
    kept = task({"func": "exact_match", "result": {"type": "edge_home_page"}}, step("sleep", seconds=1))
    assert (
        needs_of(kept, "linux", own_server=True) == "It is scored by 'edge_home_page', which reads what Windows keeps."
    )
