"""The store of trajectories: kept once, judged, routed, sampled, used by many at once, and mended."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.data.datasets import read_dataset
from tars_jax.data.store import Origin, Store, Verdict
from tars_jax.data.store.integrity import check, repair
from tars_jax.data.store.records import HELD_OUT
from tars_jax.data.store.routing import CT, SFT, batch_of, changed, route
from tars_jax.data.store.verdicts import counted
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import save_trajectory
from tests.data.test_exporters import episode
from tests.waiting import PATIENCE_S

YES, NO = Verdict(True, "environment", "maze"), Verdict(False, "environment", "maze")


def played(number: int, solved: bool, outcome: Outcome = Outcome.FINISHED) -> Trajectory:
    """Of a task of its own, with two screenshots of which it shares one with its neighbour."""
    one = episode(f"played {number}", float(solved), (number % 200, (number + 1) % 200), outcome)
    return dataclasses.replace(one, task={**one.task, "id": f"task-{number}", "seed": number})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "Läger 1", create=True) as made:
        yield made


def test_an_episode_is_kept_once_and_read_back_as_it_was(store: Store) -> None:
    given = [played(number, number % 2 == 0) for number in range(6)]
    origin = Origin(weights="abc", cycle=2, run="runs/größe 1")
    ids = store.add(given, origin)
    assert store.add(given, origin) == ids and store.count() == 6 and len(set(ids)) == 6
    images = list((store.path / "images").glob("*/*.png"))
    assert len(images) == 7  # of twelve screenshots
    again = store.load(ids[3])
    assert again.metadata.pop("origin") == dataclasses.asdict(origin)
    assert again.steps == given[3].steps and again.task == given[3].task
    assert (again.windows[0].tokens == given[3].windows[0].tokens).all()
    row = store.rows("cycle=2 and verdict=1", limit=1)[0]
    assert (row["weights"], row["run"], row["judged_by"], row["steps"]) == ("abc", "runs/größe 1", "environment", 2)


def test_which_verdict_counts() -> None:
    ada, ben = Verdict(False, "annotator", "ada"), Verdict(True, "annotator", "ben")
    judge = Verdict(False, "judge", "rubric", "2")
    assert counted([]) == (None, "", False)
    assert counted([judge, YES]) == (True, "environment", True)
    assert counted([YES, judge, ada]) == (False, "annotator", True)
    assert counted([YES, ada, ben]) == (None, "annotator", True)
    assert counted([YES, ada, ben, Verdict(True, "annotator", "ada")]) == (True, "annotator", False)
    assert counted([Verdict(True, "judge", "rubric", "1"), judge]) == (False, "judge", False)  # its newer version
    with pytest.raises(InputError, match="kind of a verdict must be one of annotator, environment, judge; got 'me'"):
        Verdict(True, "me")


def test_what_was_said_is_kept_and_the_contradictory_is_found(store: Store) -> None:
    (id, other) = store.add([played(1, True), played(2, False)])
    store.judge({id: Verdict(False, "judge", "web", "1")})
    store.judge({id: Verdict(False, "judge", "web", "1")})  # a killed caller says it again
    assert [verdict.kind for verdict in store.verdicts(id)] == ["environment", "judge"]
    assert store.ids("contradictory=1") == [id] == store.ids("verdict=1")
    store.judge({other: [Verdict(True, "annotator", "ada"), Verdict(False, "annotator", "ben")]})
    assert store.ids("verdict=none") == [other]
    with pytest.raises(InputError, match="an episode must be one of the store; got 'nobody'"):
        store.judge({"nobody": YES})


def test_routing_is_the_equations_once(store: Store) -> None:
    for cycle in (0, 1):
        store.add([played(10 * cycle + number, number < 3) for number in range(5)], Origin(cycle=cycle))
        store.add([played(10 * cycle + 7, True)], Origin(cycle=cycle, purpose="evaluation"))
        store.add([played(10 * cycle + 8, True, Outcome.FAILED)], Origin(cycle=cycle))
        first = route(store, cycle)
        assert (first.sft, first.ct, first.solved, first.failed, first.unjudged) == (3, 2, 3, 2, 0)
        assert route(store, cycle) == first
    assert len(store.members(SFT)) == 6 and len(store.members(CT, batch_of(1))) == 2
    assert not set(store.members(SFT)) & set(store.members(CT))
    assert (route(store, 2).sft, store.has_batch(SFT, batch_of(2))) == (0, True)


def test_what_people_decided_is_learned_from_and_is_no_share_of_the_models(store: Store) -> None:
    """The model solves one of three; a person solves two, and fails at one."""
    store.add([played(number, number == 0) for number in range(3)], Origin(cycle=1))
    store.add([played(10 + number, number < 2) for number in range(3)], Origin("annotation", cycle=1))
    found = route(store, 1)
    assert (found.sft, found.ct, found.solved, found.failed) == (3, 3, 1, 2)


def test_a_later_verdict_moves_its_episode_at_the_next_routing(store: Store) -> None:
    """To the other set, out of both, and back; what was done in between can be read in the journal."""
    to_ct, out, stays = store.add([played(number, True) for number in range(3)])
    route(store, 0)
    store.judge({each: Verdict(False, "annotator", "ada") for each in (to_ct, out)})
    store.judge({out: Verdict(True, "annotator", "ben")})
    assert sorted(changed(store)) == sorted([to_ct, out])
    assert route(store, 0).sft == 3 == len(store.members(SFT))  # it has routed
    found = route(store, 1)
    assert (found.sft, found.ct, found.moved, changed(store)) == (0, 1, 2, [])
    assert (store.members(SFT), store.members(CT), store.left(batch_of(1))) == ([stays], [to_ct], sorted([to_ct, out]))
    assert route(store, 1) == found
    store.judge({to_ct: Verdict(True, "annotator", "ada")})
    assert (route(store, 2).moved, store.members(CT)) == (1, [])
    assert set(store.members(SFT)) == {stays, to_ct} and check(store.path) == []
    store.close()
    lose_index(store.path)
    with Store(store.path) as again:
        assert set(again.members(SFT)) == {stays, to_ct} and again.left(batch_of(2)) == [to_ct]


def test_a_set_is_reassigned_once_and_without_what_is_held_out(store: Store) -> None:
    one, two, held = store.add([played(number, True) for number in range(3)])
    store.reassign("1", {"mine": [one, two], "yours": [two]})
    store.reassign("1", {"mine": [], "yours": []})
    assert (store.members("mine"), store.members("yours")) == ([one, two], [two])
    store.reassign("2", {"mine": [two]})
    assert (store.members("mine"), store.members("mine", "2"), store.members("yours")) == ([two], [], [two])
    store.hold_out([played(2, True).task])
    with pytest.raises(
        InputError, match="set mine must hold episodes for training only; got .* whose task is held out"
    ):
        store.reassign("3", {"mine": [held]})
    assert store.members("mine") == [two] and not store.has_batch("mine", "3")


def test_an_index_of_other_tables_is_made_anew(store: Store) -> None:
    """As an earlier version has left it: no stage, and nobody who left."""
    ids = store.add([played(0, True), played(1, False)], Origin(stage="attempts"))
    before = store.rows()
    store.close()
    with sqlite3.connect(store.path / "index.sqlite") as connection:
        connection.execute("ALTER TABLE episodes DROP COLUMN stage")
        connection.execute("DROP TABLE leavers")
        connection.execute("PRAGMA user_version = 0")
    connection.close()
    with Store(store.path) as again:
        assert again.rows() == before and again.ids("stage=attempts and version=0") == ids


def test_without_routing_everything_goes_everywhere(store: Store) -> None:
    store.add([played(number, number < 3) for number in range(5)])
    assert (route(store, 0, "everything").sft, store.count("set=ct"), store.count("set=sft")) == (5, 5, 5)


def test_what_is_held_out_gets_into_no_set(store: Store) -> None:
    kept, held = played(1, True), played(2, True)
    store.hold_out([held.task])
    ids = store.add([kept, held])
    found = route(store, 0)
    assert (found.sft, found.held_out, store.members(SFT)) == (1, 1, ids[:1])
    with pytest.raises(InputError, match="must hold episodes for training only; got .* whose task is held out"):
        store.assign("mine", "1", ids)
    assert store.members("mine") == [] and not store.has_batch("mine", "1")
    with pytest.raises(InputError, match="tasks to hold out must be of no training set; got 1"):
        store.hold_out([kept.task])
    assert store.leaked() == [] == store.same_first_screens()
    # Another seed that leads to the same level is found by what it begins with.
    twin = dataclasses.replace(kept, id="twin", task={**kept.task, "seed": 99})
    store.hold_out([twin])
    assert (store.leaked(), store.same_first_screens()) == ([], ids[:1])


def again(one: Trajectory, **task: object) -> Trajectory:
    return dataclasses.replace(one, task={**one.task, **task})


@pytest.mark.parametrize("options", [{"a": 1.0, "of": [{"b": 2.0}]}, {"of": [{"b": 2, "c": None}], "a": 1, "d": None}])
def test_one_task_is_held_out_however_its_numbers_are_written(store: Store, options: dict[str, object]) -> None:
    store.hold_out([again(played(1, True), options={"a": 1, "of": [{"b": 2}]}).task])
    held, free = store.add([again(played(1, True), options=options), again(played(1, True), options={"a": 2})])
    assert store.ids("held_out=1") == [held] and route(store, 0).sft == 1 and store.members(SFT) == [free]


def test_what_earlier_versions_held_out_stays_so(store: Store) -> None:
    """They told 1.0 in options from 1."""
    held = again(played(1, True), options={"speed": 1.0})
    written = json.dumps([held.task["environment"], 1, {"speed": 1.0}], sort_keys=True)
    with store.journal.locked():
        store.journal.append([{"hold_out": [[hashlib.sha256(written.encode()).hexdigest()[:32], ""]]}])
    assert store.holds_out(held.task)
    ids = store.add([held, again(held, options={"speed": 1})])
    assert store.ids("held_out=1") == ids and route(store, 0).sft == 0


def test_rows_of_earlier_versions_are_read(store: Store) -> None:
    ids = store.add([played(0, True), played(1, True)])
    store.close()
    old = [{"add": {**event["add"]}} for event, _ in store.journal.events()]
    for event in old:
        for name in ("stage", "version", "played"):
            del event["add"][name]
    with store.journal.locked():
        store.journal.replace(old)
    with Store(store.path) as opened:
        assert opened.ids("held_out=0") == ids and route(opened, 0).sft == 2 and check(store.path) == []


def test_a_task_that_says_eval_is_held_out(store: Store) -> None:
    """Its other episodes, too; one that is in a set already is not taken in."""
    same, evaluated, trained = store.add(
        [played(1, True), again(played(1, False), split="eval"), again(played(2, True), split="train")]
    )
    assert store.ids("held_out=1") == [same, evaluated] and store.holds_out(played(1, True).task)
    assert route(store, 0).sft == 1 and store.members(SFT) == [trained]
    with pytest.raises(InputError, match="tasks to hold out must be of no training set; got 1"):
        store.add([played(3, True), again(played(2, False), split="eval")])
    assert store.count("seed=3") == 1 and store.count("seed=2") == 1 and store.leaked() == []


def test_an_episode_of_an_evaluation_is_no_training_whoever_adds_it_again(store: Store) -> None:
    one, other = played(1, True), again(played(2, True), seed=1)  # of one task
    (early,) = store.add([other])
    evaluation = Origin(purpose="evaluation")
    store.add([one, other], evaluation)
    copies = store.add([one, dataclasses.replace(one, id="renamed", metadata={"from": "elsewhere"})])
    assert store.ids("held_out=1") == [early, *copies] and store.count("purpose=evaluation") == 2
    for id in (early, *copies):
        with pytest.raises(InputError, match="for training only; got .* which an evaluation has recorded, too"):
            store.assign("mine", "1", [id])
    assert [HELD_OUT in each.metadata for each in store.load_judged("purpose=training")] == [True] * 3
    (free,) = store.add([again(played(5, False), seed=1)])  # of the same task, played in another way
    assert route(store, 0).ct == 1 and store.members(CT) == [free]
    store.add([again(played(5, False), seed=1)], evaluation)
    assert store.leaked() == [free] and (route(store, 1).ct, store.members(CT)) == (0, [])


def test_a_sample_depends_on_the_seed_alone(store: Store, tmp_path: Path) -> None:
    given = [played(number, True) for number in range(30)]
    store.add(given)
    with Store(tmp_path / "other", create=True) as other:
        other.add(given[::-1])
        assert other.sample("verdict=1", 10, seed=3) == store.sample("verdict=1", 10, seed=3)
    assert store.sample("", 10, seed=3) != store.sample("", 10, seed=4)
    assert sorted(store.sample("", 99, seed=0)) == sorted(store.ids())


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("", 6), ("cycle>=1 and verdict=1", 2), ("cycle=1, verdict=0", 1), ("environment=maze*", 6),
        ("run='a b, c'", 3),
        ("run!='a b, c' AND reward<0.5", 1), ("source=policy and weights=''", 3), ("verdict=none", 0), ("seed<=2", 3),
        ("set=sft", 0), ("contradictory=true", 0), ("environment=none", 0), ("id!=none", 6),
        ("weights=none and parent=''", 6), ("verdict!=1", 2), ("verdict!=none", 6), ("reward>=.5", 4), ("seed!=2", 5),
        ("held_out!=1", 6), ("purpose=train*", 6), ("batch!=1", 6), ("run=\"a b, c\" , seed>-1", 3),
    ],
)  # fmt: skip
def test_queries(store: Store, where: str, count: int) -> None:
    store.add([played(number, number != 1) for number in range(3)], Origin("demonstration"))
    store.add([played(number, number != 4) for number in range(3, 6)], Origin(cycle=1, run="a b, c"))
    assert store.count(where) == len(store.ids(where)) == count


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("colour=red", "must compare one of id, task"),
        ("verdcit=1", r"must compare one of .*; got 'verdcit' \(did you mean 'verdict'\?\)"),
        ("cycle", "must be conditions such as"),
        ("cycle=", "must be conditions such as"),
        ("cycle==1", "must be conditions such as"),
        ("cycle=1 or cycle=2", "must have 'and' or a comma between conditions; got .*, at 'or cycle=2'"),
        ("environment=island cycle=0", "must have 'and' or a comma between conditions; got .*, at 'cycle=0'"),
        ("run='a'and cycle=0", "must have 'and' or a comma"),
        ("run='a", "must be conditions such as"),
        ("cycle=1 and", "must have 'and' or a comma"),
        ("cycle=1,", "must be conditions such as"),
        ("cycle=many", "must compare cycle with a whole number; got cycle=many"),
        ("cycle=1.5", "must compare cycle with a whole number; got cycle=1.5"),
        ("cycle=none", "must compare cycle with a whole number"),
        (f"seed={2**63}", "must compare seed with a whole number or none"),
        ("reward>nan", "must compare reward with a number; got reward>nan"),
        ("verdict<none", "must compare verdict by = or != with 0, 1 or none; got <"),
        ("verdict=2", "must compare verdict with 0, 1 or none; got verdict=2"),
        ("seed<none", "must compare seed with none by = or !=; got <"),
        ("held_out>=1", "must compare held_out by = or != with 0 or 1; got >="),
        ("held_out=2", "must compare held_out with 0 or 1; got held_out=2"),
        ("set>sft", "must compare set by = or != with a name; got >"),
        ("environment<maze", "must compare environment by = or != with a text; got <"),
        ("purpose=train", "must compare purpose with one of training, evaluation; got purpose=train"),
        ("outcome=lost", "must compare outcome with one of finished, truncated, rejected, failed"),
        ("cycle=1;DROP TABLE episodes", "must compare cycle with a whole number"),
    ],
)
def test_what_is_no_query(store: Store, where: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        store.count(where)


WRITER = """
import sys
from tests.data.test_store import Origin, Store, played
with Store(sys.argv[1]) as store:
    for number in range(0, 12, 3):
        ids = store.add([played(each, True) for each in range(number, number + 3)], Origin(cycle=1))
        store.assign("mine", "batch", store.ids())
        print(len(ids), flush=True)
"""


@pytest.mark.multiprocess
@pytest.mark.slow
def test_many_write_at_once_and_one_is_killed(store: Store) -> None:
    """All add the same episodes and claim the same batch."""
    command = [sys.executable, "-c", WRITER, str(store.path)]
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    killed = writers[0]
    assert killed.stdout is not None and killed.stdout.readline()
    killed.kill()
    for writer in writers:
        out, _ = writer.communicate(timeout=PATIENCE_S)
        assert writer is killed or (writer.returncode, out.split()) == (0, ["3"] * 4)
    assert store.count() == 12
    assert len(store.members("mine")) in (3, 6, 9, 12)
    assert [problem for problem in check(store.path) if problem.kind != "partial"] == []


def damage_index(path: Path) -> None:
    (path / "index.sqlite").write_bytes(b"SQLite format 3\0" + b"nonsense" * 500)
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (path / name).unlink(missing_ok=True)


def lose_index(path: Path) -> None:
    for file in path.glob("index.sqlite*"):
        file.unlink()


def lose_image(path: Path) -> None:
    next((path / "images").glob("*/*.png")).unlink()


def tear_record(path: Path) -> None:
    file = min((path / "episodes").glob("*/*.episode"))
    file.write_bytes(file.read_bytes()[:100])


def tear_journal(path: Path) -> None:
    with open(path / "journal.jsonl", "ab") as file:
        file.write(b'1234abcd {"add": {"id"')


def spoil_line(path: Path) -> None:
    lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (path / "journal.jsonl").write_bytes(b"".join([lines[0][:-4] + b"X" + lines[0][-3:], *lines[1:]]))


@pytest.mark.parametrize(
    ("damage", "kinds", "left"),
    [
        (damage_index, {"index"}, {4}),
        (lose_image, {"image"}, {2, 3}),  # one episode shows it, or two
        (tear_record, {"episode"}, {3}),
        (tear_journal, {"journal"}, {4}),
        (spoil_line, {"journal", "unlisted", "index"}, {4}),
    ],
)
def test_damage_is_named_and_mended(tmp_path: Path, damage, kinds: set[str], left: set[int]) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "store"
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(4)])
        store.assign(SFT, "1", ids)
    assert check(path) == []
    damage(path)
    found = check(path)
    assert {problem.kind for problem in found} <= kinds and found
    assert all(str(path) in str(problem) for problem in found)
    assert repair(path) == found
    assert check(path) == []
    with Store(path) as store:
        assert store.count() in left and store.count("verdict=1") == store.count()
        assert all(store.load(id).steps for id in store.ids())
        assert set(store.members(SFT)) == set(store.ids())


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE episodes SET verdict = 0", "episodes"),
        ("UPDATE verdicts SET said = ''", "verdicts"),
        ("DELETE FROM held_out", "held_out"),
        ("DELETE FROM members", "members"),
        ("DELETE FROM batches", "batches"),
    ],
)
def test_an_index_that_says_something_else_than_the_journal_is_found(tmp_path: Path, change: str, table: str) -> None:
    path = tmp_path / "Läger"
    with Store(path, create=True) as store:
        store.hold_out([played(9, True).task])
        store.assign(SFT, "1", store.add([played(0, True), played(1, True)]))
        before = store.rows(), store.members(SFT)
        with sqlite3.connect(path / "index.sqlite") as connection:
            connection.execute(change)
        connection.close()
    assert [(each.kind, f"table {table} " in each.what) for each in check(path)] == [("index", True)]
    repair(path)
    with Store(path) as store:
        assert check(path) == [] and (store.rows(), store.members(SFT)) == before
        assert store.holds_out(played(9, True).task) and not store.holds_out(played(0, True).task)


def test_what_an_episode_came_with_survives_its_damaged_line(store: Store) -> None:
    """Repair takes the record in again; what was said of it later is later still."""
    (id,) = store.add([played(0, True)])
    store.judge({id: Verdict(False, "annotator", "ada")})
    before = store.verdicts(id), store.rows()[0]["contradictory"]
    store.close()
    spoil_line(store.path)
    repair(store.path)
    with Store(store.path) as again:
        assert (again.verdicts(id), again.rows()[0]["contradictory"]) == before and before[1] == 1


def test_what_was_dropped_and_is_put_back_is_taken_in_again(store: Store) -> None:
    ids = store.add([played(number, True) for number in range(4)])
    store.close()
    image = next((store.path / "images").glob("*/*.png"))
    content = image.read_bytes()
    image.unlink()
    repair(store.path)
    image.write_bytes(content)
    for file in (store.path / "damaged").glob("*.episode"):
        file.rename(store.path / "episodes" / file.stem[:2] / file.name)
    assert {problem.kind for problem in check(store.path)} == {"unlisted"}
    repair(store.path)
    with Store(store.path) as again:
        assert check(store.path) == [] and sorted(again.ids()) == sorted(ids)
    journals = {file.read_bytes() for file in (store.path / "damaged").glob("journal.before*")}
    assert len(journals) == 2 and all(b'"add"' in each for each in journals)  # the first repair's is kept, too


def test_damaged_files_stop_a_reader_with_their_name(store: Store) -> None:
    (id,) = store.add([played(0, True)])
    image = next((store.path / "images").glob("*/*.png"))
    image.write_bytes(b"not a picture")
    with pytest.raises(InputError, match="damaged: its content must have the checksum of its name") as error:
        store.load(id)
    assert image.name in str(error.value)
    store.close()
    damage_index(store.path)
    with pytest.raises(InputError, match="--config.action=repair"):
        Store(store.path)


def test_a_folder_of_others_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="store must be the folder of one, with a journal.jsonl"):
        Store(tmp_path)
    (tmp_path / "letter.txt").write_text(json.dumps("hello"))
    with pytest.raises(InputError, match="a new folder or an empty one"):
        Store(tmp_path, create=True)


def ask(store: Path, capsys: pytest.CaptureFixture[str], *flags: str, code: int = 0) -> str:
    run = f"--config.run={store.parent / 'asked'}"
    shutil.rmtree(store.parent / "asked", ignore_errors=True)
    assert main(["store", str(store), run, *(f"--config.{flag}" for flag in flags)]) == code
    printed = capsys.readouterr()
    return printed.err if code == 2 else printed.out


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = tmp_path / "played", tmp_path / "Läger"
    folder.mkdir()
    for number in range(4):
        save_trajectory(folder / f"{number}.trajectory", played(number, number > 0))
    assert "4 episodes, 4 of them new" in ask(path, capsys, "action=import", f"datasets={folder},")
    assert "4 episodes, 0 of them new" in ask(path, capsys, "action=import", f"datasets={folder},")
    assert json.loads(ask(path, capsys).splitlines()[-1])["V=1"] == 3
    assert ask(path, capsys, "action=count", "where=verdict=1 and source=imported").split()[-1] == "3"
    sample = [ask(path, capsys, "action=sample", "limit=2", "seed=5").splitlines()[1:] for _ in range(2)]
    assert sample[0] == sample[1] and len(sample[0]) == 2 and json.loads(sample[0][0])["steps"] == 2
    assert "1 are contradictory" in ask(
        path, capsys, "action=judge", "where=seed=1", "verdict=0", "annotator=ada", "note=wrong exit"
    )
    for form, written in (("jsonl", "messages.jsonl"), ("parquet", "trajectories.parquet"), ("trajectories", "")):
        out = tmp_path / form
        said = ask(path, capsys, "action=export", "where=verdict=1", f"format={form}", f"output={out}")
        assert "2 of 4 episodes" in said
        again = list(read_dataset(str(out / written) if written else str(out / "trajectories")))
        assert sorted(each.id for each in again) == ["played 2", "played 3"]
        assert all(each.steps[0].screenshot for each in again)
    assert [each.id for each in read_dataset(f"{path}?verdict=0 and seed=0")] == ["played 0"]
    assert len(list(read_dataset(str(path)))) == 4
    ask(path, capsys, "action=export", "format=trajectories", f"output={tmp_path}")
    for name in (str(path), str(tmp_path / "trajectories")):  # by ada the second is none
        assert {each.id: each.success for each in read_dataset(name)} == {
            f"played {number}": number > 1 for number in range(4)
        }
    with Store(path) as store:
        store.hold_out([played(2, True).task])
        store.add([played(7, True)], Origin(purpose="evaluation"))
    assert sorted(each.id for each in read_dataset(str(path))) == ["played 0", "played 1", "played 3"]
    for where, numbers in (
        ("verdict=1 and held_out=0", {3}), ("purpose=training and verdict=1", {3}), ("held_out=1", {2}),
        ("purpose=evaluation", {7}), ("purpose!=training, verdict=1", {7}), ("purpose=*", {0, 1, 2, 3, 7}),
    ):  # fmt: skip
        assert {each.id for each in read_dataset(f"{path}?{where}")} == {f"played {number}" for number in numbers}
    said = ask(path, capsys, "action=export", f"output={tmp_path / 'all'}")
    assert "3 of 5 episodes" in said and "2 of evaluations or held-out tasks are left out" in said
    assert list(read_dataset(f"{path}?run=purpose*")) == [] and len(list(read_dataset(f"{path}?run!=held_out"))) == 3
    assert "whole" in ask(path, capsys, "action=check")
    lose_image(path)
    assert "image: " in ask(path, capsys, "action=check", code=1)
    assert "mended" in ask(path, capsys, "action=repair")
    assert "whole" in ask(path, capsys, "action=check")
    assert "must compare one of" in ask(path, capsys, "action=count", "where=color=1", code=2)
    assert "config.store must be the folder" in ask(path, capsys, "store=", code=2)
    assert "config.verdict must be 0 or 1" in ask(path, capsys, "action=judge", code=2)
    assert "got '" in ask(tmp_path / "nowhere", capsys, "action=list", code=2)
