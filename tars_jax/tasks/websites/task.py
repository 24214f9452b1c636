"""A verified task over a website, as plain data, and files of them: one JSON object a line, or a JSON array."""

from __future__ import annotations

import dataclasses
import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_json, read_json_lines, short_repr
from tars_jax.tasks.splits import FIELD, split_of
from tars_jax.tasks.websites.effect import NOTHING_CHANGES, Effect
from tars_jax.tasks.websites.tables import Tables

DEFAULT_MAX_STEPS = 30
_SIGNS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")  # dashes, and the sign of a negative number
_PERIOD = re.compile(r"(?<=[^.])\.$")  # of a sentence; three of them stand for what is left out, and belong to a text
_MARKS = "[\"'`\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb]"  # of quotation
_QUOTED = re.compile(rf"^{_MARKS}\s*(.+?)\s*{_MARKS}$")
SYNTHESIZED = Path(__file__).with_name("synthesized.jsonl")  # tasks of data/website_synthesis; docs/websites.md


@dataclasses.dataclass(frozen=True)
class WebsiteTask:
    """A task on a website, and how one tells that it was done.

    Success is that the site's state differs from what it was by the task's effect and by nothing else, and, where there
    is an `answer`, that `finished` has said it. Raises InputError for a task that nothing could fail.
    """

    id: str
    site: str  # a name that `load_website` takes
    instruction: str
    effect: Effect = NOTHING_CHANGES  # without changes: all stays as it was
    answer: str | None = None  # compared as `plain_answer` has it
    seed: int = 0  # of the site's content
    version: str = ""  # of the site that it was made for; another is refused; empty: any
    start: str = ""  # a path of the site that is shown first; empty: its first page
    max_steps: int = DEFAULT_MAX_STEPS
    # Forms that are sent before it begins, as (path, fields) of `WebsiteSession.submit`: what the seed alone has not.
    sent_first: tuple[tuple[str, Mapping[str, str]], ...] = ()
    split: str = ""  # `tars_jax.tasks.splits`: to train on or to evaluate; empty: not said
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # where it comes from; no policy sees it

    def __post_init__(self) -> None:
        if not self.instruction.strip():
            raise InputError(f"instruction of task {self.id!r} must say something; got {self.instruction!r}")
        if not self.effect.changes and self.answer is None:
            raise InputError(f"effect of task {self.id!r} must have a change, or answer be given; got neither")
        if self.answer is not None and not any(unicodedata.category(sign)[0] in "LNS" for sign in self.answer):
            raise InputError(f"answer of task {self.id!r} must have a letter, digit or symbol; got {self.answer!r}")
        if self.start and not self.start.startswith("/"):
            raise InputError(f"start of task {self.id!r} must be a path of the site; got {self.start!r}")

    def wrong(self, before: Tables, now: Tables, answer: str | None, days: Sequence[datetime.date] = ()) -> str:
        """The first thing that is still wrong; empty: the task is done.

        `before`, `now`: the state at the beginning and as it is; `answer`: what `finished` said; None: nothing yet;
        `days` as `Effect.wrong`. Raises InputError for a row that is not there at the beginning.
        """
        if said := self.effect.wrong(before, now, days):
            return said
        if self.answer is not None and (answer is None or plain_answer(answer) != plain_answer(self.answer)):
            return "the answer is not the expected one" if answer is not None else "there is no answer yet"
        return ""

    def to_json(self) -> dict[str, Any]:
        said = {name: value for name, value in dataclasses.asdict(self).items() if name != FIELD or value}
        return {
            **said, "effect": self.effect.to_json(), "about": dict(self.about),
            "sent_first": [[path, dict(fields)] for path, fields in self.sent_first],
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Any, prefix: str = "task.") -> WebsiteTask:
        """Inverse of `to_json`. Raises InputError that names the field."""
        if not isinstance(value, Mapping):
            raise InputError(f"{prefix.rstrip('.: ')} must be an object; got {short_repr(value)}")
        fields = Fields(value, prefix)
        fields.ignore(("split",))
        about = fields.value("about") or {}
        if not isinstance(about, Mapping):
            raise fields.error("about", "an object")
        effect = fields.value("effect")
        task = cls(
            fields.text("id"), fields.text("site"), fields.text("instruction"),
            NOTHING_CHANGES if effect is None else Effect.from_json(effect, f"{prefix}effect."),
            fields.optional_text("answer"),
            fields.integer("seed", 0, 0, 2**53 - 1) or 0, fields.text("version", ""), fields.text("start", ""),
            fields.integer("max_steps", DEFAULT_MAX_STEPS, 1, 10_000) or DEFAULT_MAX_STEPS, _forms(fields),
            split_of(value, prefix), dict(about),
        )  # fmt: skip
        if unread := fields.unread():
            known = ", ".join(field.name for field in dataclasses.fields(cls))
            raise InputError(f"{prefix}{unread[0]} must not be there; fields are {known}")
        return task


def _forms(fields: Fields) -> tuple[tuple[str, dict[str, str]], ...]:
    forms = fields.array("sent_first") if fields.value("sent_first") is not None else []
    for form in forms:
        if not (isinstance(form, list | tuple) and len(form) == 2 and isinstance(form[1], Mapping)):
            raise fields.error("sent_first", "an array of [path, fields]")
    return tuple((str(path), {str(name): str(value) for name, value in sent.items()}) for path, sent in forms)


def read_website_tasks(path: Path) -> tuple[WebsiteTask, ...]:
    """The tasks of a file: a JSON array, or an object a line (.jsonl). Raises InputError that names file and field."""
    if path.suffix == ".jsonl":
        values: list[tuple[str, Any]] = [(f"{where}: ", each) for where, each in read_json_lines(path, "a task")]
    else:
        read = read_json(path, each_once=True)
        if not isinstance(read, list):
            raise InputError(f"{path} must hold a JSON array of tasks; got {type(read).__name__}")
        values = [(f"{path}: [{number}].", each) for number, each in enumerate(read)]
    tasks = tuple(WebsiteTask.from_json(value, prefix) for prefix, value in values)
    if not tasks:
        raise InputError(f"{path} must hold at least one task; got none")
    return together(tasks, f"{path}: ")


def together(tasks: Sequence[WebsiteTask], prefix: str = "") -> tuple[WebsiteTask, ...]:
    """Tasks that one reader gives. Raises InputError for two of one id, and where a site stands on two sides: what is
    held out would be seen in training. `prefix` stands before what an error says.
    """
    counts = Counter(task.id for task in tasks)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"{prefix}ids of tasks must differ; got {twice[0]!r} twice")
    first: dict[str, WebsiteTask] = {}
    for task in tasks:
        other = first.setdefault(task.site, task)
        if other.split != task.split:
            raise InputError(
                f"{prefix}split of all tasks of {task.site} must be the same, train or eval; got "
                f"{other.split or 'none'} for {other.id!r} and {task.split or 'none'} for {task.id!r}"
            )
    return tuple(tasks)


def plain_answer(text: str) -> str:
    """An answer in the form in which answers are compared: without a period at the end or marks of quotation around
    it."""
    plain = " ".join(unicodedata.normalize("NFKC", text.translate(_SIGNS)).casefold().split())
    while (bare := _QUOTED.sub(r"\1", _PERIOD.sub("", plain))) != plain:
        plain = bare
    return plain
