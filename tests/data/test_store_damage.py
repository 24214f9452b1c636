"""No record makes a store unusable, and what damages one is found, named and mended, beside those who use it."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.data.datasets import read_dataset
from tars_jax.data.exporters import write_jsonl, write_parquet
from tars_jax.data.store import Origin, Store, Verdict
from tars_jax.data.store.integrity import check, repair
from tars_jax.data.store.journal import StoreJournal
from tars_jax.data.store.lines import encoded
from tars_jax.data.store.records import episode_file
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.files import NewerFormat
from tests.data.test_exporters import picture
from tests.data.test_store import lose_index, played

# ---- any record

WORDS = st.text(st.one_of(st.characters(), st.sampled_from("\ud83d\udc00\u2028\x85\0<'\"")), max_size=6)  # halves, too
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([2**63, -(2**63) - 1, 10**30]), st.floats())
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(WORDS, inner, max_size=2)),
    max_leaves=4,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=2)
TASKS = st.builds(
    lambda more, seed, name: {"environment": name, "options": more, "seed": seed, "max_steps": 4},
    OBJECTS, st.one_of(NUMBERS, st.none()), st.one_of(st.just("maze_path_of_light"), WORDS),
)  # fmt: skip
STEPS = st.builds(
    Step,
    screenshot=st.sampled_from([b"", picture(1), picture(2)]),
    response=st.one_of(WORDS, st.just("Thought: a\nAction: wait()")), thought=WORDS,
    action=st.sampled_from(["wait()", "", "\ud83d"]), point=st.sampled_from([None, (1.0, 2)]),
    reward=st.one_of(st.just(0.0), st.floats()), think_tokens=st.integers(-1, 3), valid=st.booleans(), info=OBJECTS,
    text=WORDS,
)  # fmt: skip
TRAJECTORIES = st.builds(
    Trajectory,
    id=WORDS, task=st.one_of(TASKS, OBJECTS), windows=st.just(()), steps=st.lists(STEPS, max_size=2).map(tuple),
    outcome=st.sampled_from(Outcome), reward=st.one_of(st.just(1.0), st.floats()),
    metadata=st.one_of(OBJECTS, st.builds(lambda told, judge: {"instruction": told, "judge": judge}, WORDS, WORDS)),
    final_screenshot=st.sampled_from([b"", picture(3)]), final_text=WORDS,
    success=st.sampled_from([None, True, False]),
)  # fmt: skip


def origin(**fields: Any) -> Origin | None:
    try:
        return Origin(**fields)
    except InputError:
        return None


def is_conversation(trajectory: Trajectory) -> bool:
    told = trajectory.metadata.get("instruction") or trajectory.task.get("instruction")
    known = bool(told) or trajectory.task["environment"] == "maze_path_of_light"
    return trajectory.outcome.carries_reward and bool(trajectory.steps) and known


ORIGINS = st.builds(origin, weights=WORDS, run=WORDS, parent=WORDS, cycle=st.one_of(st.integers(0, 2), NUMBERS))


def same(found: Any, given: Any) -> bool:
    """As JSON: halves of pairs that stand together are one character, and NaN is NaN."""
    return json.dumps(found, sort_keys=True) == json.dumps(json.loads(json.dumps(given)), sort_keys=True)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TRAJECTORIES, min_size=1, max_size=3), ORIGINS)
def test_what_is_taken_in_can_be_read_exported_and_checked(given: list[Trajectory], origin: Origin | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store(path, create=True) as store:
            taken = []
            for trajectory in given:
                try:
                    (id,) = store.add([trajectory], origin or Origin())
                except InputError:
                    continue
                taken.append((id, trajectory))
        assert check(path) == []
        with Store(path) as store:
            for id, trajectory in taken:
                found = store.load(id)
                assert same(found.task, trajectory.task) and found.success == trajectory.success
                assert len(found.steps) == len(trajectory.steps)
                for each, mine in zip(trajectory.steps, found.steps, strict=True):
                    assert each.screenshot == mine.screenshot and each.reward == mine.reward
                    for name in ("response", "thought", "action", "info", "text"):
                        assert same(getattr(mine, name), getattr(each, name))
            everything = list(store.load_judged())
        for written, count in (
            (Path(folder) / "jsonl", write_jsonl(Path(folder) / "jsonl", everything)),
            (Path(folder) / "rows.parquet", write_parquet(Path(folder) / "rows.parquet", everything)),
        ):
            assert len(list(read_dataset(str(written)))) == count == sum(map(is_conversation, everything))


def step(**change: Any) -> Step:
    return dataclasses.replace(played(1, True).steps[0], **change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": {"environment": "maze", "seed": 2**63, "max_steps": 1}}, "seed of a task must be a whole number"),
        ({"task": {"environment": "maze", "seed": True, "max_steps": 1}}, "seed of a task must be .*; got True"),
        ({"task": {"environment": "", "seed": 1, "max_steps": 1}}, "environment of a task must be text .*; got ''"),
        ({"task": {**played(1, True).task, "split": "eval", "about": {"split": "held_out"}}},
         "field task.about.split must not be there, as split beside"),
        ({"task": {**played(1, True).task, "split": "test"}}, "field task.split must be train or eval; got 'test'"),
        ({"task": {"options": {"speed": float("nan")}}}, "field task must be JSON of finite numbers"),
        ({"task": {"options": {1: 2, "a": 3}}}, "field task must be JSON"),
        ({"id": "\ud83d"}, "field id must be JSON of .* texts that have a UTF-8 form"),
        ({"metadata": {"environment_success": "yes"}},
         "field metadata.environment_success must be True, False or None; got 'yes'"),
        ({"metadata": {"environment_reward": "1"}}, "field metadata.environment_reward must be a finite number"),
        ({"metadata": {"judge": {"name": "a"}}}, "field metadata.judge must be text .*; got {'name': 'a'}"),
        ({"metadata": {"judge": "a", "judge_version": 2}}, "field metadata.judge_version must be text .*; got 2"),
        ({"metadata": {"judge": "a" * 2**20}}, "field metadata.judge must be text .* of at most 4096 characters"),
        ({"metadata": {"instruction": ["go"]}}, "field metadata.instruction must be text"),
        ({"metadata": {"held_out": "no"}}, "field metadata.held_out must be True or False; got 'no'"),
        ({"metadata": {"purpose": "eval"}}, "field metadata.purpose must be training or evaluation; got 'eval'"),
        ({"metadata": {"a": [{"b": float("-inf")}]}}, "field metadata must be JSON of finite numbers"),
        ({"metadata": {"a": 10**5000}}, "field metadata must be JSON of finite numbers .* of thousands of digits"),
        ({"metadata": {"pixels": np.zeros(2)}}, "field metadata must be JSON of .*array"),
        ({"final_text": "\udfff"}, "field final_text must be JSON of .* texts that have a UTF-8 form"),
        ({"steps": (step(text="\ud800"),)}, r"field steps\[0\].text must be JSON of .* a UTF-8 form"),
        ({"steps": (step(), step(info={"a": float("nan")}))}, r"field steps\[1\].info must be JSON of finite numbers"),
        ({"reward": float("inf")}, "field reward must be a finite number"),
        ({"task": {"environment": "maze"}}, "field task must have an environment and max_steps"),
        ({"steps": (played(1, True).steps[0], dataclasses.replace(played(1, True).steps[1], screenshot=b"no picture"))},
         "trajectory 'played 1': the screenshot of step 1 must be an image; got 10 bytes"),
        ({"steps": (dataclasses.replace(played(1, True).steps[0], screenshot=picture(9)[:-30]),
                    played(1, True).steps[1])},
         "the screenshot of step 0 must be an image"),  # torn
        ({"final_screenshot": b"\x89PNG"}, "the final screenshot must be an image; got 4 bytes"),
        ({"success": "no"}, "field success must be True, False or None; got 'no'"),
        ({"reward": "1"}, "field reward must be a finite number; got '1'"),
        ({"reward": 10**400}, "field reward must be a finite number; got 1000"),
        ({"task": None}, "field task must be an object; got None"),
        ({"outcome": "finished"}, "field outcome must be an Outcome; got 'finished'"),
        ({"id": None}, "field id must be text; got None"),
        ({"metadata": None}, "field metadata must be an object; got None"),
        ({"steps": (None,)}, r"field steps\[0\] must be a Step; got None"),
        ({"steps": (step(reward="1"),)}, r"steps\[0\].reward must be a"),
        ({"steps": (step(valid=None),)}, r"steps\[0\].valid must be True or"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_and_those_before_it_are_kept(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    wrong = dataclasses.replace(played(1, True), **change)
    with Store(tmp_path / "store", create=True) as store:
        with pytest.raises(InputError, match=said):
            store.add([played(0, True), wrong, played(2, True)])
        assert [row["seed"] for row in store.rows()] == [0]
    assert check(store.path) == []


def test_what_is_said_by_names_of_no_text_is_refused(tmp_path: Path) -> None:
    nothing: Any = None
    word: Any = "maze"
    with Store(tmp_path / "store", create=True) as store:
        (id,) = store.add([played(0, True)])
        listed: Any = [id]
        for wrong in (
            lambda: Origin(run=os.fsdecode(b"runs/gr\xf6\xdfe")),
            lambda: Origin(cycle=2**63),
            lambda: Verdict(True, "judge", "\ud83d"),
            lambda: store.assign("s\ud83d", "1", [id]),
            lambda: store.assign("s", "\ud83d", [id]),
            lambda: store.assign("", "1", [id]),
            lambda: store.assign("s", "", [id]),
            lambda: store.assign("s", "1" * 2**20, [id]),
            lambda: store.reassign("1" * 2**20, {"s": [id]}),
            lambda: store.reassign("1", {"": [id]}),
            lambda: store.judge({id: Verdict(True, "judge", "a" * 2**20)}),
            lambda: store.add([played(1, True)], Origin(run="a" * 2**20)),
            lambda: store.add([played(1, True)], verdicts={"played 1": nothing}),
            lambda: store.assign("s", "1", ["\ud83d"]),
            lambda: store.assign("s", "1", [id, nothing]),
            lambda: store.assign("s", "1", [listed]),
            lambda: store.assign(nothing, "1", [id]),
            lambda: store.judge({id: nothing}),
            lambda: store.judge({id: [nothing]}),
            lambda: store.judge({nothing: Verdict(True, "judge")}),
            lambda: store.hold_out([nothing]),
            lambda: store.hold_out([word]),
            lambda: store.holds_out(nothing),
            lambda: store.add([nothing]),
            lambda: store.judge({"\ud83d": Verdict(True, "judge")}),
            lambda: store.hold_out([{"environment": "maze", "seed": 1, "options": {"a": {1, 2}}}]),
            lambda: store.hold_out(
                [{"environment": "maze", "seed": 1, "options": json.loads('{"a":' * 900 + "1" + "}" * 900)}]
            ),
            lambda: store.hold_out([{}]),
            lambda: store.hold_out([{"environment": "maze"}]),
            lambda: store.hold_out([{"environment": "maze\ud83d", "seed": 1}]),
            lambda: store.hold_out([{"environment": "maze", "seed": float("nan")}]),
            lambda: store.hold_out([{"environment": "maze", "seed": 1, "options": {"a": float("nan")}}]),
            lambda: store.hold_out([{"environment": "maze", "seed": 2**200}]),
            lambda: store.hold_out([{"environment": "recorded", "seed": 0}]),
        ):
            with pytest.raises(InputError):
                wrong()
        assert store.members("s") == []
    assert check(store.path) == []


def test_a_whole_number_is_the_same_in_any_form(tmp_path: Path) -> None:
    task = {"environment": "maze", "seed": 1, "options": {"level": 2}}
    with Store(tmp_path / "store", create=True) as store:
        store.hold_out([task])
        for same in ({**task, "seed": 1.0}, {**task, "options": {"level": 2.0}}):
            assert store.holds_out(same)
        for other in ({**task, "seed": 2.0}, {**task, "options": {"level": 3.0}}, {**task, "options": {"level": True}}):
            assert not store.holds_out(other)
        for none in (1.5, "1", True, None):
            with pytest.raises(InputError, match="seed of a task must be a whole number"):
                store.holds_out({**task, "seed": none})
        one = played(0, True)
        store.add([dataclasses.replace(one, task={**one.task, "seed": 3.0})])
        assert store.count("seed=3") == 1


# ---- versions


def later(path: Path, event: dict[str, Any]) -> None:
    with open(path / "journal.jsonl", "ab") as journal:
        journal.write(encoded(event))


@pytest.mark.parametrize(
    "event",
    [
        {"archive": ["a"], "by": "ada"},
        {"drop": "a", "because": "it is old"},
        {"verdict": {"value": True, "kind": "judge"}, "episode": "a", "confidence": 0.5},
        {"verdict": {"value": True, "kind": "judge", "confidence": 0.5}, "episode": "a"},
    ],
)
def test_a_store_of_a_newer_version_is_refused_and_left_alone(event: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        store.add([played(0, True)])
    later(path, event)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and "index" not in file.name}
    for tried in (Store, check, repair, lambda path: list(read_dataset(str(path)))):
        with pytest.raises(
            NewerFormat, match="must be of this version of tars_jax or an older one; got .* a newer version"
        ):
            tried(path)
    assert before == {file: file.read_bytes() for file in before}


def test_a_record_of_a_newer_version_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.trajectory.files.FORMAT", "tars_jax trajectory 3")
    with Store(tmp_path / "store", create=True) as store:
        (id,) = store.add([played(0, True)])
    monkeypatch.undo()
    for tried in (lambda: Store(store.path).load(id), lambda: check(store.path), lambda: repair(store.path)):
        with pytest.raises(
            NewerFormat, match="field format must be .* or older; got 'tars_jax trajectory 3', of a newer"
        ):
            tried()


def test_what_an_earlier_version_took_is_read(tmp_path: Path) -> None:
    """What is refused today may stand in a store."""
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        (id,) = store.add([played(0, True)])
        with store.journal.locked():
            store.journal.append([{"assign": [id], "set": "", "batch": "1" * 10_000}])
            said = {"value": False, "kind": "annotator", "name": "a" * 9000}
            store.journal.append([{"verdict": said, "episode": id}])
    assert check(path) == []
    with Store(path) as again:
        assert again.members("") == [id] and again.count("verdict=0") == 1
    (path / "index.sqlite").unlink()
    repair(path)
    with Store(path) as again:
        assert again.members("") == [id] and again.count("verdict=0") == 1


# ---- damage


@pytest.mark.parametrize(
    "event",
    [
        {"drop": 5},
        {"assign": ["a"], "set": "\ud83d", "batch": "1"},
        {"hold_out": [["\ud83d", ""]]},
        {"hold_out": [["a"]]},
        {"assign": ["a"], "set": "sft"},
        {"verdict": {"value": 1}, "episode": "a"},
        {"add": {"id": "a"}},
        {"add": 7},
    ],
)
def test_a_line_that_no_table_can_hold_is_found_and_mended(event: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        (id,) = store.add([played(0, True)])
        store.hold_out([played(5, True).task])
    later(path, event)
    with pytest.raises(InputError, match=r"journal.jsonl, byte \d+: .*--config.action=repair sets the line aside"):
        Store(path)
    assert [problem.kind for problem in check(path)] == ["journal"]
    repair(path)
    assert check(path) == []
    with Store(path) as again:
        assert again.ids() == [id] and again.holds_out(played(5, True).task)


def test_what_a_damaged_line_said_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(3)])
        store.hold_out([played(9, True).task])
        store.judge({ids[0]: Verdict(False, "annotator", "ada")})
        store.assign("sft", "cycle-0001", ids)
    journal = path / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    journal.write_bytes(
        b"".join(lines[:3]) + b"".join(b"00000000" + line[8:] for line in lines[3:5]) + lines[5][:20] + b"\n"
    )
    lost = [" ".join(problem.lost) for problem in check(path) if problem.kind == "journal"]
    assert lost[0].startswith("the hold-out of 1 tasks: ") and len(lost[0].split()[-1]) == 32
    assert lost[1] == f"the verdict False of annotator ada on {ids[0][:12]}"
    assert lost[2] == "what it said, of the kind assign"
    assert "Lost with it: the hold-out" in str(check(path)[0])
    repair(path)
    assert check(path) == []


def test_what_is_lost_with_an_episode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(2)])
        store.judge({ids[0]: Verdict(True, "annotator", "ada")})
        store.assign("sft", "cycle-0001", ids)
    episode_file(path, ids[0]).write_bytes(b"torn")
    (problem,) = check(path)
    assert problem.lost == (
        f"the verdict True of annotator ada on {ids[0][:12]}", "its place in set sft, batch cycle-0001",
    )  # fmt: skip


def test_an_intact_image_replaces_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(2)])
        for file in [*(path / "images").glob("*/*.png"), *(path / "episodes").glob("*/*.episode")]:
            content = bytearray(file.read_bytes())
            content[-20] ^= 1
            file.write_bytes(content)
        assert {problem.episode for problem in check(path)} == set(ids)
        assert store.add([played(number, True) for number in range(2)]) == ids
        assert check(path) == [] and store.load(ids[1]).steps == played(1, True).steps


def test_a_damaged_record_that_nobody_lists_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        store.add([played(0, True)])
    stray = path / "episodes" / "ab" / f"{'ab' * 32}.episode"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"half")
    assert [problem.kind for problem in check(path)] == ["unlisted"]
    repair(path)
    assert check(path) == [] and (path / "damaged" / stray.name).read_bytes() == b"half"


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM applied", "UPDATE applied SET bytes = bytes - 7", "UPDATE applied SET bytes = 'many'",
        "DROP TABLE episodes; CREATE TABLE episodes (id TEXT)", "DROP TABLE held_out",
    ],
)  # fmt: skip
def test_what_opening_finds_in_an_index_is_found_and_mended(change: str, tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        (id,) = store.add([played(0, True)])
        store.hold_out([played(5, True).task])
    with sqlite3.connect(path / "index.sqlite") as connection:
        connection.executescript(change)
    connection.close()
    assert "index" in {problem.kind for problem in check(path)}
    repair(path)
    assert check(path) == []
    with Store(path) as again:
        assert again.ids() == [id] and again.holds_out(played(5, True).task)


def test_a_repair_that_was_cut_off_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(3)])
    lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (path / "journal.jsonl").write_bytes(b"X" + b"".join(lines)[1:])

    def killed(journal: StoreJournal) -> None:
        with open(journal.file, "r+b") as stream:
            stream.write(journal.next.read_bytes()[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(StoreJournal, "_finish_replacing", killed)
    with pytest.raises(KeyboardInterrupt):
        repair(path)
    monkeypatch.undo()
    assert any("a repair was cut off" in str(problem) for problem in check(path))
    with Store(path) as again:
        assert set(again.ids()) == set(ids)
    assert check(path) == []


# ---- beside others


def test_an_index_may_be_removed_while_it_is_open(tmp_path: Path) -> None:
    with Store(tmp_path / "store", create=True) as store, Store(store.path) as other:
        ids = store.add([played(number, True) for number in range(2)])
        assert other.ids() == ids
        lose_index(store.path)
        assert other.ids() == ids
        ids += store.add([played(2, True)])
        assert other.ids() == ids == Store(store.path).ids()


def test_a_repair_takes_turns_with_who_writes(tmp_path: Path) -> None:
    """The writer is in the middle of an episode, with its files written and its line not yet."""
    path = tmp_path / "store"
    store = Store(path, create=True)
    (first,) = store.add([played(0, True)])
    Path(next((path / "images").glob("*/*.png"))).unlink()
    done = threading.Event()

    def mend() -> None:
        repair(path)
        done.set()

    append = store.journal.append
    beside = threading.Thread(target=mend)

    def slow(events: Any) -> None:
        if not beside.ident:
            beside.start()
            assert not done.wait(0.5)  # it waits for its turn
        append(events)

    store.journal.append = slow  # type: ignore[method-assign]
    said = Verdict(True, "annotator", "ada")
    (second,) = store.add([played(7, False)], verdicts={"played 7": [said]})
    beside.join(60)
    assert done.is_set() and check(path) == []
    assert store.ids() == [second] and first not in store.ids()
    assert store.verdicts(second)[-1] == said
    store.add([played(8, True)])
    assert store.count() == 2 and check(path) == []


def test_verdicts_on_an_episode_that_is_there_are_taken(tmp_path: Path) -> None:
    said = Verdict(False, "annotator", "ada")
    with Store(tmp_path / "store", create=True) as store:
        (id,) = store.add([played(0, True)])
        for _ in range(2):
            store.add([played(0, True)], verdicts={"played 0": [said]})
        assert [each.kind for each in store.verdicts(id)] == ["environment", "annotator"]


# ---- below a mount that can only be read


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder, and the same below a mount that can only be read."""
    folder, seen = tmp_path / "läger", tmp_path / "mount ?#%"
    folder.mkdir()
    seen.mkdir()
    bind = subprocess.run(["mount", "--bind", folder, seen], capture_output=True, check=False)
    if bind.returncode:
        pytest.skip("mounting takes root and a namespace that may")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", seen], check=True)
        yield folder, seen
    finally:
        subprocess.run(["umount", seen], check=True)


@pytest.mark.parametrize("index", ["whole", "missing", "behind", "damaged", "in its log"])
def test_a_store_that_can_only_be_read_is_read(index: str, mounted: tuple[Path, Path]) -> None:
    folder, seen = mounted
    held = None
    with Store(folder / "store", create=True) as store:
        ids = store.add([played(number, number > 0) for number in range(3)])
        store.hold_out([played(9, True).task])
        if index == "in its log":  # nobody has folded it in
            held = Store(store.path)
            held.ids()
    file = folder / "store" / "index.sqlite"
    if index == "missing":
        lose_index(file.parent)
    elif index == "damaged":
        file.write_bytes(b"SQLite format 3\0" + b"nonsense" * 500)
    elif index == "behind":
        later(file.parent, {"verdict": {"value": False, "kind": "annotator", "name": "ada"}, "episode": ids[2]})
        with open(file.parent / "journal.jsonl", "ab") as journal:
            journal.write(b"1234abcd {")  # and a line that is half written
    with Store(seen / "store") as read:
        assert read.ids() == ids and read.load(ids[0]).steps == played(0, True).steps
        assert read.count("verdict=1") == (1 if index == "behind" else 2) and read.holds_out(played(9, True).task)
        with pytest.raises(InputError, match="store must be a store that can be written; got Read-only file system"):
            read.add([played(5, True)])
        if index != "damaged":
            with Store(folder / "store") as writer:
                writer.add([played(6, True)])
            assert read.count() == 4  # what is written elsewhere is seen
    assert len(list(read_dataset(f"{seen / 'store'}?seed<3"))) == 3
    assert check(seen / "store") == []
    (file.parent / "episodes" / ids[0][:2] / f"{ids[0]}.episode").unlink()
    assert [problem.kind for problem in check(seen / "store")] == ["episode"]
    with pytest.raises(InputError, match="must be a store that can be written"):
        repair(seen / "store")
    if held:
        held.close()
