"""Tasks of OSWorld 2.0's kind, in a format of ours: checkpoints, events in the middle, a user who answers, and a report
of what must not happen. Its own data is gated, and none of it is here.

A task is a TOML file (`docs/benchmarks/osworld2.md` has one); `tasks` is such a file or a folder of them.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import Fields, is_number, is_text, read_toml, short_repr
from tars_jax.sandbox.computer.home import File, Tree
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.osworld2_conditions import StateCondition, read_condition
from tars_jax.tasks.benchmarks.osworld2_patterns import found

BUDGETS = (150, 300, 500)  # steps
PAGE, COMPUTER = "page", "computer"
DEFAULT_CALLED = "What do you want to know? Ask with ask_user."
DEFAULT_OTHERWISE = "I do not know."
EFFECTS = ("write", "page", "says")
Side = Annotated[int, Meta(ge=64, le=4096)]
Table = dict[str, Any]
SOLUTION_STEPS = ("click", "type", "hotkey", "wait", "ask", "bash", "finish")


@dataclasses.dataclass(frozen=True)
class WeightedCheckpoint:
    name: str
    weight: float
    once: bool  # it counts where it held after any turn, and not at the end alone
    condition: StateCondition


@dataclasses.dataclass(frozen=True)
class ScheduledEvent:
    """An event that happens by itself, once: after a turn, after so many seconds, or when something is so."""

    at_step: int | None
    after_seconds: float | None  # of the page's virtual time; on computers of real time
    when: StateCondition | None
    write: Tree
    page: str  # JavaScript, run in the page
    says: str  # of the user, to be read with the next observation


@dataclasses.dataclass(frozen=True)
class User:
    """The user who answers: a script of patterns, or a model that is told who it plays."""

    answers: tuple[tuple[str, str], ...] = ()  # (regular expression of a question, what is answered)
    otherwise: str = DEFAULT_OTHERWISE
    called: str = DEFAULT_CALLED  # to `call_user`, which says nothing
    persona: str = ""  # a model plays it; empty: the script answers

    def scripted(self, question: str) -> str:
        """The user's answer to a question by the script. It may block, as `osworld2_patterns.found` does."""
        return next((answer for pattern, answer in self.answers if found(pattern, question)), self.otherwise)


@dataclasses.dataclass(frozen=True)
class PagePart:
    index: str  # below the task's folder; it may carry a query
    state: str  # a JavaScript expression that gives JSON
    size: Annotated[tuple[Side, Side], Meta(description="a width and a height from 64 to 4096 pixels")] | None = None


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
        """Files of a computer that the task's conditions name."""
        conditions = [*(each.condition for each in (*self.checkpoints, *self.keep)), *(each for _, each in self.never)]
        return frozenset(each.of for each in conditions if each.subject == "file")


class _Event(msgspec.Struct, frozen=True):
    at_step: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    after_seconds: Annotated[float, Meta(gt=0)] | None = None
    when: Table | None = None
    write: Mapping[str, str] = {}
    page: str = ""
    says: str = ""


class _Answer(msgspec.Struct, frozen=True):
    question: str
    answer: str


class _User(msgspec.Struct, frozen=True):
    answers: tuple[_Answer, ...] = ()
    otherwise: str = DEFAULT_OTHERWISE
    called: str = DEFAULT_CALLED
    persona: str = ""


class _Computer(msgspec.Struct, frozen=True):
    files: Mapping[str, str] = {}
    opens: tuple[Annotated[tuple[str, ...], Meta(min_length=1)], ...] = ()  # applications with their arguments


class _File(msgspec.Struct, frozen=True):
    """A task as it is written."""

    schema: Literal[1]  # other versions have other fields
    id: Annotated[str, Meta(pattern=r"^[\w.-]{1,100}$", description="letters, digits and . _ -")]
    instruction: str
    checkpoints: Annotated[tuple[Table, ...], Meta(min_length=1, description="one or more tables")]
    group: str = ""
    steps: Literal[150, 300, 500] = 150  # BUDGETS
    page: PagePart | None = None
    computer: _Computer | None = None
    keep: tuple[Table, ...] = ()
    never: tuple[Table, ...] = ()
    events: tuple[_Event, ...] = ()
    user: _User = _User()
    solution: tuple[Table, ...] = ()
    needs: tuple[Annotated[str, Meta(min_length=1)], ...] = ()


def read_task(record: Mapping[str, Any], where: str) -> OSWorld2Task:
    """Raises InputError that begins with `where` and names the field."""
    stages = [name for name in (PAGE, COMPUTER) if name in record]
    if len(stages) != 1:
        raise InputError(f"{where}: a task must have page or computer; got {' and '.join(stages) or 'neither'}")
    given = decoded(record, _File, f"{where}: ")

    def each(name: str) -> list[Fields]:
        return [Fields(table, f"{where}: {name}[{n}].") for n, table in enumerate(getattr(given, name))]

    events = [(event, f"{where}: events[{n}].") for n, event in enumerate(given.events)]
    return OSWorld2Task(
        given.id,
        given.instruction,
        given.group,
        given.steps,
        given.page or _computer(given.computer or _Computer(), f"{where}: computer."),
        tuple(map(_checkpoint, each("checkpoints"))),
        tuple(map(_checkpoint, each("keep"))),
        tuple(map(_never, each("never"))),
        tuple(_event(event, stages[0], place) for event, place in events),
        _user(given.user, f"{where}: user.answers"),
        tuple(map(_solution_step, each("solution"))),
        given.needs,
    )


def read_tasks(path: Path) -> Sequence[BenchmarkTask]:
    """Reads the tasks of a TOML file, or of all in a folder, in the order of their names; those whose programs are
    missing are left out. Raises InputError that names the file and the field."""
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


def _computer(given: _Computer, where: str) -> ComputerPart:
    return ComputerPart(_files(given.files, f"{where}files"), given.opens)


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


def _event(given: _Event, stage: str, where: str) -> ScheduledEvent:
    if sum(each is not None for each in (given.at_step, given.after_seconds, given.when)) != 1:
        raise InputError(f"{where}an event must have one of at_step, after_seconds and when")
    condition = None if given.when is None else read_condition(given.when, f"{where}when")
    if condition is not None and condition.subject in ("judge", "answer"):
        raise InputError(f"{where}when must be what can be seen after a turn; got {short_repr(given.when)}")
    of_stage = ("page", "says") if stage == PAGE else ("write", "says")
    effects = [name for name in EFFECTS if getattr(given, name)]
    if not effects or not {*effects} <= {*of_stage}:
        raise InputError(f"{where}an event must have some of {', '.join(of_stage)}; got {effects or 'none'}")
    write = _files(given.write, f"{where}write")
    return ScheduledEvent(given.at_step, given.after_seconds, condition, write, given.page, given.says)


def _user(given: _User, where: str) -> User:
    for number, each in enumerate(given.answers):
        read_condition({"asked": each.question}, f"{where}[{number}]")
    answers = tuple((each.question, each.answer) for each in given.answers)
    return User(answers, given.otherwise, given.called, given.persona)


def _solution_step(fields: Fields) -> tuple[str, Any]:
    [*given] = fields.values.items()
    if len(given) != 1 or given[0][0] not in SOLUTION_STEPS:
        raise InputError(f"{fields.prefix}a step must have one of {', '.join(SOLUTION_STEPS)}; got {short_repr(given)}")
    name, value = given[0]
    if not (is_number(value) if name == "wait" else is_text(value)):
        raise fields.error(name, "a number of seconds" if name == "wait" else "text")
    return name, value


def _files(given: Mapping[str, str], where: str) -> Tree:
    for path in given:
        if not path or path[0] == "/" or "\0" in path or ".." in path.split("/"):
            raise InputError(f"{where}: a path must lie below the home folder; got {path!r}")
    return {path: File(text.encode()) for path, text in given.items()}


OSWORLD2 = Benchmark(
    name="osworld2",
    title="OSWorld 2.0's semantics, on tasks of ours",
    version="schema 1",
    read=read_tasks,
    environment="tars_jax.envs.benchmarks.osworld2:OSWorld2Environment",
    max_steps=BUDGETS[-1],
    results="tars_jax.evaluation.benchmarks.osworld2:write_results",
)
