"""Data files of SWE-bench: what is read, and what cannot be played here, in words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import base_images
from tars_jax.tasks.benchmarks.swe_bench import read_instances
from tests.envs.benchmarks.swe_repository import instances


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return instances(tmp_path_factory.mktemp("swe"))


def record_of(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "instances.jsonl").read_text())
    return record


def test_each_form_of_the_file_gives_the_same_instances(folder: Path, tmp_path: Path) -> None:
    [task] = read_instances(folder)
    assert (task.id, task.group, task.left_out) == ("our__words-1", "our/words", "")
    assert task.record["FAIL_TO_PASS"] == ["tests/test_words.py::test_longest"]
    assert "longest() gives the last word." in task.instruction and "return best" not in task.instruction
    record = record_of(folder)
    (folder / "one.json").write_text(json.dumps([record]))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), folder / "one.parquet")
    for name in ("one.json", "one.parquet", "instances.jsonl"):
        assert read_instances(folder / name) == [task]
    with pytest.raises(
        InputError, match=r"tasks must be one file of \.jsonl, \.json, \.parquet, or a folder with one; got 3"
    ):
        read_instances(folder)
    for name in ("one.json", "one.parquet"):
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_commit": "main; rm"}, "base_commit must be hexadecimal; got 'main; rm'"),
        ({"repo": "../../etc/passwd"}, "repo must be OWNER/NAME; got"),
        ({"instance_id": "../up"}, "instance_id must be letters, digits"),
        ({"test_patch": None}, "test_patch must be text; got None"),
        ({"FAIL_TO_PASS": "[1]"}, "FAIL_TO_PASS must be a list of tests"),
        ({"FAIL_TO_PASS": "[cut"}, "FAIL_TO_PASS must be a list of tests"),
    ],
)
def test_what_is_no_instance_is_refused_with_its_place(
    folder: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps([record_of(folder) | changes]))
    with pytest.raises(InputError, match=f"^{path}: instance 1: {message}"):
        read_instances(path)


def test_files_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    for name in ("one.json", "one.jsonl", "one.parquet"):
        (tmp_path / name).write_text('[{"instance_id": ')
        with pytest.raises(InputError, match=name):
            read_instances(tmp_path / name)
    (tmp_path / "one.json").write_text("3")
    with pytest.raises(InputError, match="must hold a list of instances; got int"):
        read_instances(tmp_path / "one.json")


def test_what_is_missing_is_told_before_anything_is_played(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def why(**changes: Any) -> str:
        path = folder / "changed.json"
        path.write_text(json.dumps([record_of(folder) | changes]))
        try:
            return read_instances(path)[0].left_out
        finally:
            path.unlink()

    assert why(FAIL_TO_PASS="[]").startswith("its FAIL_TO_PASS names no test")
    assert why(repo="our/other") == "repos/our__other is missing: clone our/other there"
    assert why(base_commit="0" * 40).startswith(
        "repos/our__words has no commit 000000000000: its clone must be a whole"
    )
    assert why(image_assets='{"test_patch": [{"path": "a.png"}]}').startswith("its tests need files that its patches")
    assert why(image_assets="{}") == why(image_assets={"patch": []}) == ""
    script = "source /opt/miniconda3/bin/activate\n"
    monkeypatch.setattr("os.path.isdir", lambda path: path != "/opt/miniconda3" and Path(path).is_dir())
    assert why(eval_script=script) == "its eval_script activates /opt/miniconda3, which this machine has not"
    monkeypatch.undo()
    other = tmp_path / "issues"
    shutil.copytree(folder, other)
    (other / "environments" / "our__words" / "Dockerfile").write_text("FROM conda\n")
    assert "line 1: FROM must be debian or python" in read_instances(other)[0].left_out
    own = other / "environments" / "our__words-1"
    own.mkdir()
    (own / "Dockerfile").write_text("FROM debian\nVOLUME /x\n")
    assert read_instances(other)[0].left_out.startswith("our__words-1/Dockerfile, line 2")
    shutil.rmtree(own)
    monkeypatch.setattr(base_images, "why_not", lambda image, near: "")
    assert read_instances(other)[0].left_out == ""
