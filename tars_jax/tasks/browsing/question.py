"""Questions over an encyclopedia, one JSON object a line, with the proof that there is one answer."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.json_fields import read_json_lines

ALTERNATIVES = " || "  # between the answers of a reference


@dataclasses.dataclass(frozen=True)
class BrowsingQuestion:
    id: str
    text: str
    answers: tuple[str, ...]  # the answer, then other ways to say it
    source: str  # as `load_encyclopedia` takes it
    names_seed: int | None = None
    kind: str = "conditions"  # or "chain"
    plan: tuple[str, ...] = ()  # titles of the pages that hold the proof, in their order
    proof: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The reference that a judge compares with. It is closed (it ends with ||): the source knows all names of the
        thing."""
        return ALTERNATIVES.join((*self.answers, "")).rstrip()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Raises InputError for a missing, unknown or ill-typed field."""
        kinds: dict[str, Any] = {
            "id": str, "text": str, "answers": (list, tuple), "source": str, "names_seed": (int, type(None)),
            "kind": str, "plan": (list, tuple), "proof": Mapping,
        }  # fmt: skip
        for name in ("id", "text", "answers", "source"):
            if not record.get(name):
                raise InputError(f"a question must have {name}; got {dict(record)!r:.200}")
        for name, value in record.items():
            if name not in kinds:
                raise InputError(f"a field of a question must be one of {', '.join(kinds)}; got {name!r}")
            if not isinstance(value, kinds[name]):
                raise InputError(f"field {name} of a question must be another type; got {value!r:.100}")
        made: dict[str, Any] = {
            name: tuple(value) if name in ("answers", "plan") else value for name, value in record.items()
        }
        if not all(isinstance(each, str) for name in ("answers", "plan") for each in made.get(name, ())):
            raise InputError(f"answers and plan of a question must be texts; got {dict(record)!r:.200}")
        return cls(**made)


def read_questions(file: str) -> tuple[BrowsingQuestion, ...]:
    """Raises InputError, which names file and line, for what is no question, and for an id that comes twice."""
    try:
        changed = os.stat(file).st_mtime_ns
    except OSError as error:
        raise InputError(f"questions must be a file of questions; got {file!r}: {error.strerror}") from error
    return _read(file, changed)


@functools.lru_cache(maxsize=8)
def _read(file: str, changed: int) -> tuple[BrowsingQuestion, ...]:
    found: dict[str, BrowsingQuestion] = {}
    for where, record in read_json_lines(file, "a question"):
        try:
            question = BrowsingQuestion.from_json(record)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        if found.setdefault(question.id, question) is not question:
            raise InputError(f"{where}: ids of questions must differ; got {question.id!r} twice")
    if not found:
        raise InputError(f"{file} must hold questions; got none")
    return tuple(found.values())
