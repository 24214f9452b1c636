"""Whole lines of a store's journal are lost: nobody opens it as if all were there, and what can be is saved."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.data.datasets import read_dataset
from tars_jax.data.store import Store, Verdict
from tars_jax.data.store.integrity import check, repair
from tars_jax.data.store.lines import decoded, encoded
from tests.data.test_store import lose_index, played

HELD = played(9, True).task
ADA = Verdict(False, "annotator", "ada")
LINES = 8


@dataclasses.dataclass(frozen=True)
class Kept:
    """What a store says."""

    ids: frozenset[str]
    held_out: bool
    verdicts: tuple[tuple[Verdict, ...], ...]
    members: tuple[str, ...]
    left: tuple[str, ...]


def made(path: Path) -> Kept:
    """Its lines: three episodes, a hold-out, a verdict, an assignment, and one who leaves and one who stays."""
    with Store(path, create=True) as store:
        ids = store.add([played(number, True) for number in range(3)])
        store.hold_out([HELD])
        store.judge({ids[0]: ADA})
        store.assign("sft", "1", ids)
        store.reassign("2", {"sft": ids[1:]})
    return kept(path)


def kept(path: Path) -> Kept:
    with Store(path) as store:
        ids = store.ids()
        said = tuple(tuple(store.verdicts(id)) for id in sorted(ids))
        return Kept(frozenset(ids), store.holds_out(HELD), said, tuple(store.members("sft")), tuple(store.left("2")))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kept]:
    path = tmp_path_factory.mktemp("whole") / "store"
    return path, made(path)


def copied(whole: tuple[Path, Kept], folder: Path) -> Path:
    return Path(shutil.copytree(whole[0], folder / "store"))


def written(path: Path) -> list[bytes]:
    return (path / "journal.jsonl").read_bytes().splitlines(keepends=True)


def write(path: Path, lines: list[bytes]) -> None:
    (path / "journal.jsonl").write_bytes(b"".join(lines))


def assert_refused(path: Path) -> None:
    wanted = "must have all lines .*=check says what is lost, and .*=repair takes back"
    for tried in (Store, lambda path: Store(path, create=True), lambda path: list(read_dataset(str(path)))):
        with pytest.raises(InputError, match=wanted) as error:
            tried(path)
        assert "\n" not in str(error.value)


def lose_journal(path: Path) -> None:
    (path / "journal.jsonl").unlink()


def cut(count: int) -> Callable[[Path], None]:
    return lambda path: write(path, written(path)[:count])


def without(*numbers: int) -> Callable[[Path], None]:
    return lambda path: write(path, [line for n, line in enumerate(written(path), 1) if n not in numbers])


def cut_within_a_line(path: Path) -> None:
    os.truncate(path / "journal.jsonl", (path / "journal.jsonl").stat().st_size - 5)


def head_over_journal(path: Path) -> None:
    shutil.copyfile(path / "journal.head", path / "journal.jsonl")


DAMAGES = {
    "cut": cut(3), "cut to one": cut(1), "empty": cut(0), "missing": lose_journal, "last": cut(LINES - 1),
    "hold-out": without(4), "two in the middle": without(4, 5), "first": without(1), "apart": without(2, 6),
    "torn": cut_within_a_line, "its head's bytes": head_over_journal,
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_lost_lines_are_noticed_named_and_taken_back_from_the_index(
    name: str, whole: tuple[Path, Kept], tmp_path: Path
) -> None:
    path = copied(whole, tmp_path)
    assert len(written(path)) == LINES
    DAMAGES[name](path)
    assert_refused(path)
    found = check(path)
    lost = [each for problem in found if problem.kind == "journal" for each in problem.lost]
    if name in ("cut", "cut to one", "empty", "missing", "two in the middle", "its head's bytes"):
        assert any(re.fullmatch("the hold-out of 1 tasks: [0-9a-f]{32}", each) for each in lost)
        assert any(each.startswith("the verdict False of annotator ada on ") for each in lost)
        assert all("repair takes back what the index knows" in problem.what for problem in found if problem.lost)
    if name in ("cut", "empty"):
        assert any("episodes to set sft, batch 1" in each or "to set sft, batch 2" in each for each in lost)
    assert_refused(path)  # looking has changed nothing
    assert repair(path) == found
    assert check(path) == [] and kept(path) == whole[1]


@pytest.mark.parametrize("name", ["cut", "empty", "missing", "two in the middle", "torn", "its head's bytes"])
def test_lost_lines_are_noticed_without_an_index(name: str, whole: tuple[Path, Kept], tmp_path: Path) -> None:
    path = copied(whole, tmp_path)
    DAMAGES[name](path)
    lose_index(path)
    assert_refused(path)
    *_, found = [problem for problem in check(path) if problem.kind == "journal"]
    assert found.lost == (
        "what they said, hold-outs, verdicts and assignments perhaps among it: hold out again what has to be",
    )
    repair(path)
    assert check(path) == [] and kept(path).ids == whole[1].ids  # which the records tell


def head(**fields: object) -> Callable[[Path], object]:
    return lambda path: (path / "journal.head").write_bytes(encoded({"size": 1, "lines": 1, "checksum": "", **fields}))


def beside(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """A replacement that is no whole one, next to a journal that is."""
    return lambda path: (path / "journal.next").write_bytes(change((path / "journal.jsonl").read_bytes()))


def head_of_a_folder(path: Path) -> None:
    (path / "journal.head").unlink()
    (path / "journal.head").mkdir()


def nest(path: Path) -> None:
    text = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    write(path, [*written(path), b"%08x %s\n" % (zlib.crc32(text), text)])


REFUSED = {
    "an empty replacement": beside(lambda _: b""), "one without its end": beside(lambda lines: lines[:-20]),
    "some of its lines": beside(lambda lines: b"".join(lines.splitlines(keepends=True)[:3])),
    "no replacement": beside(lambda _: b"garbage\n"), "no number": head(size="a"), "a negative one": head(size=-5),
    "too large": head(size=10**400), "more": head(more=1), "a folder": head_of_a_folder, "nested": nest,
    "all twice": lambda path: write(path, 2 * written(path)),
    "one twice": lambda path: write(path, [*written(path), written(path)[-1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_opening_refuses_check_finds_and_repair_mends(name: str, whole: tuple[Path, Kept], tmp_path: Path) -> None:
    path = copied(whole, tmp_path)
    REFUSED[name](path)
    with pytest.raises(InputError, match="repair"):
        Store(path)
    assert {problem.kind for problem in check(path)} == {"journal"}
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("first", (0, 3, LINES - 2))
def test_lines_in_another_order_are_noticed(first: int, index: bool, whole: tuple[Path, Kept], tmp_path: Path) -> None:
    """Also beside an index that has them in the right one."""
    path = copied(whole, tmp_path)
    lines = written(path)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    write(path, lines)
    if not index:
        lose_index(path)
    assert_refused(path)
    assert "journal" in {problem.kind for problem in check(path)}
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]


def test_a_line_that_was_changed_is_noticed_beside_a_whole_index(whole: tuple[Path, Kept], tmp_path: Path) -> None:
    path = copied(whole, tmp_path)
    lines = written(path)
    write(path, [*lines[:3], lines[3].replace(b"hold_out", b"hold_off"), *lines[4:]])
    with pytest.raises(InputError, match="must be an event with its checksum; .*repair sets it aside"):
        Store(path)
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]  # the index knew it


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sets(st.integers(1, LINES), min_size=1), st.booleans(), st.booleans())
def test_any_lines_that_are_lost_are_noticed(
    whole: tuple[Path, Kept], tmp_path_factory: pytest.TempPathFactory, numbers: set[int], index: bool, head: bool
) -> None:
    """With the head or the index beside it."""
    path = copied(whole, tmp_path_factory.mktemp("lost"))
    without(*numbers)(path)
    if not index:
        lose_index(path)
    elif not head:
        (path / "journal.head").unlink()
    assert_refused(path)
    assert any(problem.kind == "journal" and problem.lost for problem in check(path))


@pytest.mark.parametrize("content", [None, b"", b"00000000 {}\n"])
def test_a_head_that_is_lost_is_made_anew_by_repair(
    content: bytes | None, whole: tuple[Path, Kept], tmp_path: Path
) -> None:
    path = copied(whole, tmp_path)
    (path / "journal.head").unlink() if content is None else (path / "journal.head").write_bytes(content)
    assert_refused(path)
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]


def test_who_has_a_store_open_writes_nothing_after_lost_lines(whole: tuple[Path, Kept], tmp_path: Path) -> None:
    path = copied(whole, tmp_path)
    with Store(path) as store:
        cut(5)(path)
        before = written(path)
        for tried in (lambda: store.hold_out([played(8, True).task]), store.ids, lambda: store.holds_out(HELD)):
            with pytest.raises(InputError, match="must have all lines"):
                tried()
    assert written(path) == before


# ---- of earlier versions, without numbers and head


def made_old(path: Path) -> None:
    lines = [decoded(line).event for line in written(path)]
    write(path, [encoded(event) for event in lines if event is not None])
    (path / "journal.head").unlink()
    lose_index(path)


def test_a_store_without_numbers_is_read_and_numbered_from_its_next_line(
    whole: tuple[Path, Kept], tmp_path: Path
) -> None:
    path = copied(whole, tmp_path)
    made_old(path)
    assert [problem.kind for problem in check(path)] == ["journal", "index"]  # uncounted, and missing
    assert kept(path) == whole[1] and check(path) == []
    with Store(path) as store:
        store.hold_out([played(8, True).task])
    assert [decoded(line).number for line in written(path)] == [None] * LINES + [LINES + 1]
    assert check(path) == [] and kept(path) == whole[1]
    without(4)(path)
    assert_refused(path)
    assert "1 line is missing before line 9" in str(next(each for each in check(path) if each.kind == "journal"))
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]


@pytest.mark.parametrize("name", ["cut", "empty", "missing", "hold-out", "last"])
def test_what_a_store_without_numbers_loses_its_index_tells(
    name: str, whole: tuple[Path, Kept], tmp_path: Path
) -> None:
    path = copied(whole, tmp_path)
    made_old(path)
    kept(path)  # makes the index
    (path / "journal.head").unlink(missing_ok=True)
    DAMAGES[name](path)
    assert_refused(path)
    repair(path)
    assert check(path) == [] and kept(path) == whole[1]


@pytest.mark.parametrize("name", ["whole", "hold-out", "first", "cut to one"])
def test_a_store_that_nothing_counts_says_so(
    name: str, whole: tuple[Path, Kept], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without numbers, head and index: what others speak of is missed, for the rest nobody can tell."""
    path = copied(whole, tmp_path)
    if name != "whole":
        DAMAGES[name](path)
    made_old(path)
    said = [str(problem) for problem in check(path) if problem.kind == "journal"]
    untold = "nothing tells whether hold-outs, verdicts or assignments are lost"
    assert any(f"{untold}; repair numbers" in each for each in said)
    if name == "first":
        assert_refused(path)
        assert any("the lines that added 1 episodes are missing, the first one" in each for each in said)
    else:
        other = shutil.copytree(path, tmp_path / "opened")
        Store(other).close()
        assert untold in capsys.readouterr().err
        assert bool(check(other)) == (name == "cut to one")  # records without a line
    repair(path)
    capsys.readouterr()
    Store(path).close()
    assert capsys.readouterr().err == "" and check(path) == []
    assert [decoded(line).number for line in written(path)] == list(range(1, len(written(path)) + 1))
    assert kept(path).ids == whole[1].ids


# ---- killed

KILLED = """
import os, signal, sys
from tars_jax.data.store import Store, journal
from tests.data.test_store import played
from tests.data.test_store_lost_lines import HELD
write, left = journal.write_atomic, [int(sys.argv[2])]
def killed(path, data):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    write(path, data)
journal.write_atomic = killed
with Store(sys.argv[1], create=True) as store:
    store.hold_out([HELD])
    store.add([played(0, True)])
"""


@pytest.mark.multiprocess
@pytest.mark.parametrize("heads", [0, 1, 2])
def test_who_is_killed_before_the_head_leaves_a_store_that_opens(heads: int, tmp_path: Path) -> None:
    path, root = tmp_path / "store", Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(heads)], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(path) as store:
        assert (store.holds_out(HELD), store.count()) == (heads > 0, int(heads > 1))
        store.add([played(0, True), played(1, True)])
        assert store.count() == 2
    assert check(path) == []
    cut(len(written(path)) - 1)(path)
    assert_refused(path)
