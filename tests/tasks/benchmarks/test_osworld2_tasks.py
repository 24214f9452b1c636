"""Task files of OSWorld 2.0's kind: read whole, or refused in a sentence that names the field."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.benchmarks import osworld2
from tars_jax.tasks.benchmarks.osworld2 import PagePart, read_task, read_tasks
from tars_jax.tasks.benchmarks.osworld2_conditions import ObservedState, read_condition

SAMPLES = Path(osworld2.__file__).parent / "osworld2_samples"
TASK = """
schema = 1
id = "one"
instruction = "Do it."
[page]
index = "page.html"
state = "1"
[[checkpoints]]
name = "done"
page = "a"
equals = 1
"""


def written(folder: Path, text: str) -> Path:
    (folder / "page.html").write_text("<p>")
    (folder / "one.toml").write_text(text)
    return folder / "one.toml"


def test_the_samples_are_read() -> None:
    tasks = read_tasks(SAMPLES)
    assert [task.id for task in tasks] == ["booking", "invoice", "lamp", "late_report", "old_logs"]
    assert not any(task.left_out for task in tasks) and {task.max_steps for task in tasks} == {150}
    invoice = read_task(tasks[1].record, "invoice")
    assert isinstance(invoice.stage, PagePart) and invoice.stage.size == (640, 480)
    assert invoice.user.scripted("Which ACCOUNT?") == "Pay it from the account Garden."
    assert invoice.user.scripted("How are you?") == osworld2.DEFAULT_OTHERWISE


def test_what_is_missing_is_left_out_before_anything_is_played(tmp_path: Path) -> None:
    [task] = read_tasks(written(tmp_path, TASK.replace("[page]", 'needs = ["no-such-program"]\n[page]')))
    assert task.left_out == "the program no-such-program is not installed here"
    path = written(tmp_path, TASK)
    (tmp_path / "page.html").unlink()
    [task] = read_tasks(path)
    assert task.left_out == "its page page.html is missing"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema must be 1"),
        ("schema = 1", "", "schema must be 1"),
        ('id = "one"', 'id = "../one"', "id must be letters"),
        ('id = "one"', 'id = "one"\nsteps = 200', "steps must be one of 150, 300, 500"),
        ('id = "one"', 'id = "one"\nfrobnicate = 1', "frobnicate must be left out"),
        ("[page]", "[computer]\n[page]", "must have page or computer; got page and computer"),
        ('index = "page.html"', 'index = "../page.html"', "page.index must lie below"),
        ('state = "1"', "", "page.state must be text"),
        ('state = "1"', 'state = "1"\nsize = [1]', "page.size must be a width and a height"),
        ("equals = 1", "", r"checkpoints\[0\] must have one of equals, matches"),
        ("equals = 1", "equals = 1\nat_least = 2", "must have one of equals, .*; got equals, at_least"),
        ("equals = 1", 'matches = "("', "must be a regular expression"),
        ('page = "a"', 'page = "a"\nfile = "b"', "must have one of file, page, .*; got file, page"),
        ("equals = 1", "equals = 1\nweight = 0", "weight must be a number from"),
        ("[[checkpoints]]", '[[events]]\npage = "x()"\n[[checkpoints]]', "must have one of at_step"),
        ("[[checkpoints]]", "[[events]]\nat_step = 1\n[[checkpoints]]", "must have some of page, says; got none"),
        (
            "[[checkpoints]]",
            '[[events]]\nat_step = 1\n[events.write]\n"a" = "b"\n[[checkpoints]]',
            "some of page, says",
        ),
        ("[[checkpoints]]", '[[never]]\nname = "n"\njudge = "Bad?"\nof = "answer"\n[[checkpoints]]', "left out"),
        ("[[checkpoints]]", '[[solution]]\njump = "x"\n[[checkpoints]]', "a step must have one of click"),
        ("equals = 1", "equals = ", "must be a whole TOML file"),
        ('page = "a"\nequals = 1', 'file = "../../etc/passwd"\nexists = true', "file must lie below the home folder"),
        ('page = "a"\nequals = 1', 'file = "/etc/passwd"\nexists = true', "file must lie below the home folder"),
        ('page = "a"\nequals = 1', 'judge = "Good?"\nof = "a/../../b"', "of must lie below the home folder"),
        ('page = "a"\nequals = 1', 'only_changed = ["../b"]', "only_changed must lie below the home folder"),
        ("[[checkpoints]]", "[[keep]]", "checkpoints must be one or more tables"),
    ],
)
def test_files_that_are_wrong_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, TASK.replace(old, new))
    with pytest.raises(InputError, match=message) as refused:
        read_tasks(path)
    assert str(refused.value).startswith(str(path))


def test_a_mark_of_byte_order_is_no_part_of_a_file(tmp_path: Path) -> None:
    [task] = read_tasks(written(tmp_path, "\ufeff" + TASK))
    assert task.id == "one"


def test_folders_without_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must hold tasks, as files that end with .toml"):
        read_tasks(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_tasks(tmp_path / "none.toml")


FIRST = ObservedState(
    {"a.txt": File(b"one\n"), "b.txt": File(b"two\n")}, {"list": [{"n": 3}], "flag": True, "word": "abc"}
)
LATER = ObservedState(
    {"a.txt": File(b"one \n"), "c.txt": File(b"three\n")}, {"list": [], "flag": False, "word": "xyz"}, "It is 42.",
    ("which?",), ("file:///a", "file:///b"), ("hello",), ("rm b.txt",),
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"file": "a.txt", "equals": "one"}, True),
        ({"file": "a.txt", "equals": "one\ntwo"}, False),
        ({"file": "none", "equals": ""}, False),
        ({"file": "c.txt", "matches": "^th"}, True),
        ({"file": "b.txt", "exists": False}, True),
        ({"file": "a.txt", "exists": False}, False),
        ({"file": "a.txt", "changed": True}, True),
        ({"file": "none", "changed": False}, True),
        ({"only_changed": ["a.txt", "[bc].txt"]}, True),
        ({"only_changed": ["a.txt", "c.txt"]}, False),
        ({"page": "list", "equals": []}, True),
        ({"page": "list.0.n", "changed": True}, True),
        ({"page": "flag", "equals": False}, True),
        ({"page": "flag", "equals": 0}, False),
        ({"page": "word", "matches": "y"}, True),
        ({"page": "list.0.n", "at_least": 1}, False),
        ({"answer": "42"}, True),
        ({"asked": "which"}, True),
        ({"visited": "/b$"}, True),
        ({"typed": "hell"}, True),
        ({"command": "^ls"}, False),
    ],
)
def test_conditions_hold_or_do_not(condition: dict[str, Any], holds: bool) -> None:
    assert read_condition(condition, "here").holds(LATER, FIRST) is holds


def test_only_changed_sees_folders_links_and_pipes() -> None:
    first = ObservedState(places={"kept": "folder", "old": "folder", "way": "link to /a"})
    later = ObservedState(
        {"out/deep/a.txt": File(b"")},
        places={"kept": "folder", "out": "folder", "out/deep": "folder", "m": "folder", "way": "link to /b",
                "p": "fifo"},
    )  # fmt: skip

    def holds(*globs: str) -> bool | None:
        return read_condition({"only_changed": list(globs)}, "here").holds(later, first)

    every = ("out/deep/*", "m", "old", "way", "p")
    assert holds(*every) and holds("*")
    for number, glob in enumerate(every):
        assert not holds(*every[:number], *every[number + 1 :]), glob
    # what may be in a folder is no leave for folders beside
    assert not holds("out/*.txt", "m", "old", "way") and not holds("other/*", *every[1:])


def test_what_could_not_be_read_is_told_as_that() -> None:
    partly = ObservedState({"a.txt": File(b"2")}, unread="too many", looked_at=frozenset({"a.txt", "b.txt"}))
    first = ObservedState({"a.txt": File(b"1"), "c.txt": File(b"1")})

    def holds(**values: Any) -> bool | None:
        return read_condition(values, "here").holds(partly, first)

    assert holds(file="a.txt", changed=True) is True and holds(file="b.txt", exists=True) is False
    assert holds(file="c.txt", changed=True) is None and holds(only_changed=["*"]) is None


@pytest.mark.parametrize("pattern", ["(a*)*b", r"(.*)\1{8}x(1|1)*$"])
def test_patterns_that_go_back_and_forth_are_bounded(pattern: str) -> None:
    text = "1" * 400 + "a" * 40 + "!"
    condition = read_condition({"file": "a.txt", "matches": pattern}, "here")
    begun = time.monotonic()
    slow = condition.holds(ObservedState({"a.txt": File(text.encode())}), FIRST)
    assert slow in (None, False) and time.monotonic() - begun < 60
    assert read_condition({"answer": "4[a-z]"}, "here").holds(LATER, FIRST) is False, "the next one is searched for"
    assert read_condition({"answer": "4[0-9]"}, "here").holds(LATER, FIRST) is True


def test_a_pattern_that_takes_too_long_says_nothing() -> None:
    condition = read_condition({"command": "^(1+)+$"}, "here")
    said = ("ls", "1" * 60 + "x")
    assert condition.holds(ObservedState(command=said), FIRST) is None
    assert condition.holds(ObservedState(command=(*said, "111")), FIRST) is True
    user = osworld2.User((("^(1+)+$", "Ones."), ("x", "An x.")))
    assert user.scripted(said[1]) == "An x."
