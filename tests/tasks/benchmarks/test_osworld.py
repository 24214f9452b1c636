"""OSWorld's tasks from its files: which can be played, and files that are none."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.benchmarks.catalog import load_benchmark, read_benchmark
from tars_jax.tasks.benchmarks.osworld import read
from tests.envs.benchmarks.osworld_stand_in import TASKS, rule, says, step, task, write_tasks


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write_tasks(tmp_path)


def test_a_checkout_its_folder_a_list_and_one_task(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    examples = checkout / "evaluation_examples"
    whole = read(checkout)
    assert [(each.id, each.group) for each in whole] == [
        ("rename", "os"), ("fly", "os"), ("copy", "os"), ("either", "chrome")
    ]  # fmt: skip
    assert read(examples) == whole == read(examples / "test_all.json")
    assert [each.id for each in read(examples / "examples" / "os" / "fly.json")] == ["fly"]
    assert {each.id for each in read(examples / "examples" / "os")} == {"rename", "fly", "copy"}
    assert whole[0].instruction == TASKS["os"][0]["instruction"] and load_benchmark("osworld").max_steps == 15


def test_tasks_of_one_id_in_two_domains_have_both_in_their_names(tmp_path: Path) -> None:
    same = [task("same", "One.", {"func": "infeasible"})]
    write_tasks(tmp_path, {"os": same, "gimp": same})
    assert [each.id for each in read(tmp_path)] == ["os/same", "gimp/same"]
    assert read_benchmark("osworld", str(tmp_path), ("gimp/same",)).tasks[0].group == "gimp"


def of_file(path: Any, dest: Any) -> dict[str, Any]:
    given = {"type": "vm_file", "path": path, "dest": dest, "multi": isinstance(path, list)}
    return {"func": "check_list", "result": given, "expected": rule("")}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"evaluator": says("true", "", func="is_beautiful")}, "scored by the metric is_beautiful, which desktop-env"),
        ({"evaluator": {**says("", ""), "result": {"type": "thought"}}}, "scored by the getter thought, which desktop"),
        ({"config": [step("chrome_open_tabs", urls_to_open=["https://shop.example/a?b"])]}, "website, shop.example"),
        ({"config": [step("chrome_open_tabs", urls_to_open=["http://localhost:80/"])]}, ""),
        ({"config": [step("login", platform="googledrive")]}, "account of Google Drive"),
        ({"related_apps": ["vs_code"]}, "VS Code, which Debian does not have, is not installed"),
        ({"evaluator": {**says("", ""), "result": {"type": "accessibility_tree"}}}, "accessibility tree, and desktops"),
        ({"evaluator": says("timedatectl status", "")}, "systemd's clock"),
        ({"config": [step("download", files=[{"url": "https://a/b.odt", "path": "/home/user/b.odt"}])]},
         "1 of its 1 files must lie in cache/ beside the tasks; the first is b.odt"),
        ({"config": [step("launch", command=["code"])], "evaluator": {"func": "infeasible"}}, ""),
        ({"config": [step("teleport")]}, "It has a step of the type 'teleport', which this version"),
        ({"evaluator": says("true", "", postconfig=[step("fly")])}, "It has a step of the type 'fly', which"),
        ({"evaluator": of_file("/a", "../../tmp/x")}, "Its result.dest must be the name of a file, without folders"),
        ({"evaluator": of_file("/a", "/tmp/x")}, "Its result.dest must be the name of a file"),
        ({"evaluator": of_file(["/a", "/b"], ["a", ".."])}, "Its result.dest must be the name of a file"),
        ({"evaluator": of_file("/a", "c:x")}, "Its result.dest must be the name of a file"),
        ({"evaluator": {**says("", ""), "result": {"type": "cache_file", "path": "/etc/shadow"}}}, "Its result.path"),
        ({"config": [step("execute", command="ls", stdout="../out")]}, "Its stdout must be the name of a file"),
        ({"config": [step("upload_file", files=[{"local_path": "../x", "path": "/a"}])]}, "Its local_path must be a f"),
        ({"config": [step("upload_file", files=[{"local_path": "/etc/passwd", "path": "/a"}])]}, "Its local_path mus"),
        ({"config": [step("upload_file", files=[{"local_path": "said.txt", "path": "/a"}])]}, ""),
    ],
)  # fmt: skip
def test_what_cannot_be_played_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], why: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "code" else f"/usr/bin/{name}")
    write_tasks(tmp_path, {"os": [{**task("one", "Do it.", says("true", "")), **change}]})
    left_out = read(tmp_path)[0].left_out
    assert why in left_out and bool(why) == bool(left_out)


@pytest.mark.parametrize("place", ["cache/one/UUID_b.odt", "cache/one/b.odt", "files/os/one/c d.odt"])
def test_a_copy_beside_the_tasks_is_found(tmp_path: Path, place: str) -> None:
    url = "https://a.example/x/c%20d.odt"
    place = place.replace("UUID", str(uuid.uuid5(uuid.NAMESPACE_URL, url)))
    fetches = step("download", files=[{"url": url, "path": "/home/user/b.odt"}])
    write_tasks(tmp_path, {"os": [task("one", "Do it.", says("true", ""), fetches)]})
    (tmp_path / place).parent.mkdir(parents=True)
    assert "b.odt" in read(tmp_path)[0].left_out
    (tmp_path / place).write_text("")
    assert read(tmp_path)[0].left_out == ""


GOOD = task("one", "Do it.", says("true", ""))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(GOOD)[:-20], "one.json must be a file of JSON; "),
        ("[]", "one.json must be a JSON object; got list"),
        (json.dumps({**GOOD, "id": "../x"}), "one.json: id must be the name of a folder; got '../x'"),
        (json.dumps({**GOOD, "instruction": None}), "one.json: instruction must be text; got nothing"),
        (json.dumps({**GOOD, "checkpoints": []}), "fields must be those of OSWorld 1; got 'checkpoints'"),
        (json.dumps({**GOOD, "config": ["open"]}), r"config\[0\] must be an object with type and parameters; got open"),
        (json.dumps({**GOOD, "evaluator": {}}), "evaluator.func must be a name or a list of names; got None"),
        (json.dumps({**GOOD, "evaluator": {"func": ["exact_match"] * 2, "result": [{"type": "rule"}]}}),
         "evaluator.result must be a list as long as func, of 2"),
        (json.dumps({**GOOD, "evaluator": {"func": "exact_match", "expected": rule(1)}}), "result must be there"),
        (json.dumps({**GOOD, "evaluator": says("", "", conj="xor")}), "evaluator.conj must be and or or; got 'xor'"),
    ],
)  # fmt: skip
def test_files_that_are_no_task(tmp_path: Path, text: str, words: str) -> None:
    write_tasks(tmp_path, {"os": [GOOD]})
    (tmp_path / "evaluation_examples" / "examples" / "os" / "one.json").write_text(text)
    with pytest.raises(InputError, match=words):
        read(tmp_path)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ({"os": ["../../../etc/passwd"]}, "domains and ids must be names of files; got 'os' with '../"),
        ({"os": ["one", "two"]}, "os must name tasks that are there; there is no .*two.json"),
        ({"os": "one"}, "with an instruction, or lists of ids by domain; got a field 'os' that is 'one'"),
    ],
)  # fmt: skip
def test_lists_that_lead_nowhere(tmp_path: Path, listed: dict[str, Any], words: str) -> None:
    write_tasks(tmp_path, {"os": [GOOD]})
    (tmp_path / "evaluation_examples" / "test_all.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match=words):
        read(tmp_path)


def test_there_must_be_something(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"must be a folder with test_all.json or with tasks; got"):
        read(tmp_path)
