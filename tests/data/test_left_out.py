"""Whatever gives episodes to who learns from them leaves out evaluations and held-out tasks, unless it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.data import FORMATS, STYLES
from tars_jax.data.datasets import read_dataset
from tars_jax.data.store import Origin, Store
from tars_jax.trajectory.files import save_trajectory
from tars_jax.trajectory.folders import mark_evaluation
from tests.data.test_store import played

ASKED = {"": "0", "purpose=evaluation": "1", "held_out=1": "2", "purpose=*": "012"}
WRITTEN = {"jsonl": "messages.jsonl", "parquet": "trajectories.parquet", "array_record": "trajectories.array_record",
           "trajectories": "trajectories"}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode to train on, one of an evaluation, one of a held-out task."""
    path = tmp_path_factory.mktemp("kept") / "store"
    with Store(path, create=True) as made:
        made.add([played(0, True), played(2, True)])
        made.add([played(1, True)], Origin(purpose="evaluation"))
        made.hold_out([played(2, True).task])
    return path


def names(numbers: str) -> list[str]:
    return [f"played {number}" for number in numbers]


OTHERS = [("jsonl", STYLES[1]), *((form, STYLES[0]) for form in WRITTEN if form != "jsonl")]


@pytest.mark.parametrize(
    ("form", "where"),
    [
        *((("jsonl", STYLES[0]), where) for where in ASKED),
        *((form, where) for form in OTHERS for where in ("", "purpose=*")),
    ],
)
def test_exports_of_a_store(form: tuple[str, str], where: str, kept: Path, tmp_path: Path) -> None:
    if form[0] == "array_record":
        pytest.importorskip("array_record")
    flags = [f"format={form[0]}", f"style={form[1]}", f"where={where}", f"output={tmp_path / 'out'}"]
    flags.append(f"run={tmp_path / 'run'}")
    assert main(["store", str(kept), "--config.action=export", *(f"--config.{flag}" for flag in flags)]) == 0
    written = str(tmp_path / "out" / WRITTEN[form[0]])
    if form[0] == "trajectories" and "1" in ASKED[where]:  # a folder of evaluations says so
        with pytest.raises(InputError, match="must not be of an evaluation"):
            list(read_dataset(written))
    else:  # what it has of the others is not given unasked
        unasked = "0" if "0" in ASKED[where] else ""
        assert sorted(each.id for each in read_dataset(written)) == names(unasked)
    asking = f"{written}?{where}" if where else written
    assert sorted(each.id for each in read_dataset(asking)) == names(ASKED[where])
    other = tmp_path / "other"
    flags = ["action=import", f"datasets={asking},", f"run={tmp_path / 'imported'}"]
    assert main(["store", str(other), *(f"--config.{flag}" for flag in flags)]) == 0
    with Store(other) as again:
        assert [row["seed"] for row in again.rows("purpose=evaluation")] == [1] * ("1" in ASKED[where])
        assert [row["seed"] for row in again.rows("held_out=1")] == [2] * ("2" in ASKED[where])
    assert sorted(each.id for each in read_dataset(f"{kept}?{where}" if where else str(kept))) == names(ASKED[where])


@pytest.mark.parametrize("form", [(form, style) for form in FORMATS for style in STYLES[: 1 + (form == "jsonl")]])
def test_exports_of_a_run(form: tuple[str, str], tmp_path: Path) -> None:
    for number, stage in enumerate(("ppo", "shown")):
        (tmp_path / "trajectories" / stage).mkdir(parents=True)
        save_trajectory(tmp_path / "trajectories" / stage / "0.trajectory", played(number, True))
    mark_evaluation(tmp_path / "trajectories" / "shown")
    for asked, wanted in ((False, "0"), (True, "01")):
        out = tmp_path / f"out {asked}"
        flags = [f"format={form[0]}", f"style={form[1]}", f"evaluations={asked}", f"output={out}"]
        flags.append(f"run={tmp_path / f'run {asked}'}")
        assert main(["export_trajectories", str(tmp_path), *(f"--config.{flag}" for flag in flags)]) == 0
        file = str(out / {**WRITTEN, "agentnet": "agentnet.jsonl", "atif": ""}[form[0]])
        assert sorted(each.id for each in read_dataset(f"{file}?purpose=*")) == names(wanted)
        assert sorted(each.id for each in read_dataset(file)) == names("0")


def test_files_of_earlier_versions_and_marks_that_are_none(kept: Path, tmp_path: Path) -> None:
    file, line = tmp_path / "old.jsonl", {"messages": [{"role": "user", "content": "Do it."},
                                                       {"role": "assistant", "content": "Action: wait()"}]}  # fmt: skip
    file.write_text(json.dumps(line), encoding="utf-8")
    assert len(list(read_dataset(str(file)))) == 1
    for more, wanted in (
        ({"held_out": 1}, "field held_out must be true or false; got 1"),
        ({"purpose": "x"}, "field purpose must be training or evaluation; got 'x'"),
    ):
        file.write_text(json.dumps({**line, **more}), encoding="utf-8")
        with pytest.raises(InputError, match=wanted):
            list(read_dataset(str(file)))
    with pytest.raises(InputError, match="conditions must be of purpose or held_out; got cycle"):
        list(read_dataset(f"{file}?cycle=1"))
