"""Tasks of OSWorld 2.0's kind, in a format of ours: checkpoints, events in the middle, a user who answers, and a report
of what must not happen. Its own data is gated, and none of it is here.

A task is a TOML file (`docs/benchmarks/osworld2.md` has one); `tasks` is such a file or a folder of them.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, is_number, is_text, read_toml, shown
from tars_jax.sandbox.computer.home import File, Tree
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.osworld2_conditions import StateCondition, read_condition
from tars_jax.tasks.benchmarks.osworld2_patterns import found

SCHEMA = 1
BUDGETS = (150, 300, 500)  # steps
PAGE, COMPUTER = "page", "computer"
DEFAULT_CALLED = "What do you want to know? Ask with ask_user."
DEFAULT_OTHERWISE = "I do not know."
EFFECTS = ("write", "page", "says")
SOLUTION_STEPS = ("click", "type", "hotkey", "wait", "ask", "bash", "finish")


@dataclasses.dataclass(frozen=True)
class WeightedCheckpoint:
    name: str
    weight: float
    once: bool  # it counts where it held after any turn, and not at the end alone
    condition: StateCondition


@dataclasses.dataclass(frozen=True)
class ScheduledEvent:
    """What happens by itself, once: after a turn, after so many seconds, or when something is so."""

    at_step: int | None
    after_seconds: float | None  # of the page's virtual time; on computers of real time
    when: StateCondition | None
    write: Tree
    page: str  # JavaScript, run in the page
    says: str  # of the user, to be read with the next observation


@dataclasses.dataclass(frozen=True)
class User:
    """Who answers: a script of patterns, or a model that is told who it plays."""

    answers: tuple[tuple[str, str], ...] = ()  # (regular expression of a question, what is answered)
    otherwise: str = DEFAULT_OTHERWISE
    called: str = DEFAULT_CALLED  # to `call_user`, which says nothing
    persona: str = ""  # a model plays it; empty: the script answers

    def scripted(self, question: str) -> str:
        """It may block, as `osworld2_patterns.found` does."""
        return next((answer for pattern, answer in self.answers if found(pattern, question)), self.otherwise)


@dataclasses.dataclass(frozen=True)
class PagePart:
    index: str  # below the task's folder; it may carry a query
    state: str  # a JavaScript expression that gives JSON
    size: tuple[int, int] | None


@dataclasses.dataclass(frozen=True)
class ComputerPart:
    files: Tree
    opens: tuple[tuple[str, ...], ...]  # applications on a desktop


@dataclasses.dataclass(frozen=True)
class OSWorld2Task:
    id: str
    instruction: str
    group: str
    steps: int
    stage: PagePart | ComputerPart
    checkpoints: tuple[WeightedCheckpoint, ...]
    keep: tuple[WeightedCheckpoint, ...]  # what holds at first and is to hold at the end
    never: tuple[tuple[str, StateCondition], ...]
    events: tuple[ScheduledEvent, ...]
    user: User
    solution: tuple[tuple[str, Any], ...]
    needs: tuple[str, ...]  # programs of this machine

    @property
    def judged(self) -> bool:
        """Whether a model has to say something of it."""
        return any(each.condition.subject == "judge" for each in (*self.checkpoints, *self.keep))

    @property
    def files(self) -> frozenset[str]:
        """Of a computer, those that its conditions name."""
        conditions = [*(each.condition for each in (*self.checkpoints, *self.keep)), *(each for _, each in self.never)]
        return frozenset(each.of for each in conditions if each.subject == "file")


def read_task(record: Mapping[str, Any], where: str) -> OSWorld2Task:
    """Raises InputError that begins with `where` and names the field."""
    fields = Fields(record, f"{where}: ")
    if fields.integer("schema", None, 1, 1 << 30) != SCHEMA:
        raise fields.error("schema", f"{SCHEMA}, as other versions have other fields")
    if not re.fullmatch(r"[\w.-]{1,100}", fields.text("id")):
        raise fields.error("id", "letters, digits and . _ -")
    if (steps := fields.integer("steps", BUDGETS[0], 1, 10_000)) not in BUDGETS:
        raise fields.error("steps", f"one of {', '.join(map(str, BUDGETS))}")
    stages = [name for name in (PAGE, COMPUTER) if name in record]
    if len(stages) != 1:
        raise InputError(f"{where}: a task must have page or computer; got {' and '.join(stages) or 'neither'}")
    task = OSWorld2Task(
        fields.text("id"),
        fields.text("instruction"),
        fields.text("group", ""),
        steps,
        _page(_table(fields, PAGE)) if stages == [PAGE] else _computer(_table(fields, COMPUTER)),
        tuple(_checkpoint(each) for each in _tables(fields, "checkpoints")),
        tuple(_checkpoint(each) for each in _tables(fields, "keep")),
        tuple(_never(each) for each in _tables(fields, "never")),
        tuple(_event(each, stages[0]) for each in _tables(fields, "events")),
        _user(_table(fields, "user")),
        tuple(_solution_step(each) for each in _tables(fields, "solution")),
        _texts(fields, "needs"),
    )
    if not task.checkpoints:
        raise fields.error("checkpoints", "one or more tables")
    _all_read(fields)
    return task


def read_tasks(path: Path) -> Sequence[BenchmarkTask]:
    """Of a TOML file, or of all in a folder, in the order of their names; those whose programs are missing are left
    out. Raises InputError that names the file and the field."""
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} must hold tasks, as files that end with .toml; got none")
    return [_read_file(file) for file in files]


def _read_file(path: Path) -> BenchmarkTask:
    record = read_toml(path)
    task, left_out = read_task(record, str(path)), ""
    if isinstance(task.stage, PagePart):
        index = task.stage.index.partition("?")[0]
        if ".." in Path(index).parts or Path(index).is_absolute():
            raise InputError(f"{path}: page.index must lie below the file's folder; got {index!r}")
        if not (path.parent / index).is_file():
            left_out = f"its page {index} is missing"
    if missing := [program for program in task.needs if shutil.which(program) is None]:
        left_out = f"the program {missing[0]} is not installed here"
    folder = path.parent.resolve()
    return BenchmarkTask(
        task.id, task.instruction, task.group, task.steps, record=record, folder=folder, left_out=left_out
    )


def _page(fields: Fields) -> PagePart:
    size = fields.array("size")
    if size and not (len(size) == 2 and all(type(side) is int and 64 <= side <= 4096 for side in size)):
        raise fields.error("size", "a width and a height from 64 to 4096 pixels")
    part = PagePart(fields.text("index"), fields.text("state"), (size[0], size[1]) if size else None)
    _all_read(fields)
    return part


def _computer(fields: Fields) -> ComputerPart:
    opens = fields.array("opens")
    if not all(isinstance(each, list) and each and all(is_text(word) for word in each) for each in opens):
        raise fields.error("opens", "an array of applications with their arguments")
    part = ComputerPart(_files(fields, "files"), tuple(tuple(each) for each in opens))
    _all_read(fields)
    return part


def _checkpoint(fields: Fields) -> WeightedCheckpoint:
    own = ("name", "weight", "once")
    weight = fields.number("weight", 1.0, 0.001, 1000.0)
    condition = _condition(fields, own)
    return WeightedCheckpoint(fields.text("name"), weight, fields.flag("once"), condition)


def _never(fields: Fields) -> tuple[str, StateCondition]:
    condition = _condition(fields, ("name",))
    if condition.subject == "judge":
        raise fields.error("judge", "left out, as it is looked at after every turn")
    return fields.text("name"), condition


def _condition(fields: Fields, own: Sequence[str]) -> StateCondition:
    return read_condition({name: value for name, value in fields.values.items() if name not in own}, fields.prefix[:-1])


def _event(fields: Fields, stage: str) -> ScheduledEvent:
    at_step, seconds = fields.integer("at_step", None, 1, 10_000), fields.value("after_seconds")
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise fields.error("after_seconds", "a number of more than 0")
    when = fields.value("when")
    if when is not None and not isinstance(when, dict):
        raise fields.error("when", "a condition")
    if sum(each is not None for each in (at_step, seconds, when)) != 1:
        raise InputError(f"{fields.prefix}an event must have one of at_step, after_seconds and when")
    condition = None if when is None else read_condition(when, f"{fields.prefix}when")
    if condition is not None and condition.subject in ("judge", "answer"):
        raise fields.error("when", "what can be seen after a turn")
    of_stage = ("page", "says") if stage == PAGE else ("write", "says")
    effects = [name for name in EFFECTS if name in fields.values]
    if not effects or not {*effects} <= {*of_stage}:
        raise InputError(f"{fields.prefix}an event must have some of {', '.join(of_stage)}; got {effects or 'none'}")
    after = None if seconds is None else float(seconds)
    event = ScheduledEvent(
        at_step, after, condition, _files(fields, "write"), fields.text("page", ""), fields.text("says", "")
    )
    _all_read(fields)
    return event


def _user(fields: Fields) -> User:
    answers = []
    for each in _tables(fields, "answers"):
        question = each.text("question")
        read_condition({"asked": question}, each.prefix[:-1])
        answers.append((question, each.text("answer")))
        _all_read(each)
    user = User(
        tuple(answers), fields.text("otherwise", DEFAULT_OTHERWISE), fields.text("called", DEFAULT_CALLED),
        fields.text("persona", ""),
    )  # fmt: skip
    _all_read(fields)
    return user


def _solution_step(fields: Fields) -> tuple[str, Any]:
    [*given] = fields.values.items()
    if len(given) != 1 or given[0][0] not in SOLUTION_STEPS:
        raise InputError(f"{fields.prefix}a step must have one of {', '.join(SOLUTION_STEPS)}; got {shown(given)}")
    name, value = given[0]
    if not (is_number(value) if name == "wait" else is_text(value)):
        raise fields.error(name, "a number of seconds" if name == "wait" else "text")
    return name, value


def _files(fields: Fields, name: str) -> Tree:
    given = fields.value(name) or {}
    if not isinstance(given, dict) or not all(is_text(each) for each in given.values()):
        raise fields.error(name, "an object of texts, by paths")
    for path in given:
        if not path or path[0] == "/" or "\0" in path or ".." in path.split("/"):
            raise InputError(f"{fields.prefix}{name}: a path must lie below the home folder; got {path!r}")
    return {path: File(text.encode()) for path, text in given.items()}


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    values = fields.array(name)
    if not all(is_text(value) and value for value in values):
        raise fields.error(name, "an array of texts")
    return tuple(values)


def _table(fields: Fields, name: str) -> Fields:
    value = fields.value(name)
    if value is not None and not isinstance(value, dict):
        raise fields.error(name, "a table")
    return Fields(value or {}, f"{fields.prefix}{name}.")


def _tables(fields: Fields, name: str) -> list[Fields]:
    values = fields.array(name)
    if not all(isinstance(value, dict) for value in values):
        raise fields.error(name, "an array of tables")
    return [Fields(value, f"{fields.prefix}{name}[{number}].") for number, value in enumerate(values)]


def _all_read(fields: Fields) -> None:
    if unknown := fields.unread():
        raise InputError(f"{fields.prefix}{unknown[0]} must be left out, as there is no such field")


OSWORLD2 = Benchmark(
    name="osworld2",
    title="OSWorld 2.0's semantics, on tasks of ours",
    version="schema 1",
    read=read_tasks,
    environment="tars_jax.envs.benchmarks.osworld2:OSWorld2Environment",
    max_steps=BUDGETS[-1],
    results="tars_jax.evaluation.benchmarks.osworld2:write_results",
)
