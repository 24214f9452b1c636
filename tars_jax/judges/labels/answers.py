"""Answers to questions with references, and whether they are right, as somebody says who had not seen the rules.

    answers_SPLIT.jsonl, beside this file
        {"id", "kind", "question", "reference", "answer", "correct", "needs", "why", and "split" where it is another}

The author wrote questions, answers and labels without having seen the embedded judge, its rules or its earlier labels.
The splits are of different kinds of answers: the rules were mended by the kinds of "development" alone. `needs` says
what a reader has to have besides the text ("knowledge": an alias, another script); empty: nothing.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import Response
from tars_jax.decoding import decoded_lines
from tars_jax.environment import Task, Verification
from tars_jax.judges.labels.labelled import Labelled
from tars_jax.trajectory import Outcome, Step, Trajectory

FOLDER = Path(__file__).parent
PREFIX = "answers_"


def shipped_answers() -> list[Labelled]:
    """Labelled answers of all splits that lie beside this file."""
    return [each for file in sorted(FOLDER.glob(f"{PREFIX}*.jsonl")) for each in read_answers(file)]


class _Record(msgspec.Struct, frozen=True):
    id: str
    kind: str
    question: str
    reference: str
    answer: str
    correct: bool
    split: str = ""


def read_answers(file: str | Path) -> list[Labelled]:
    """Episodes of one step that ends with the answer; `site` is the kind of answer, and `agent` the split, which is the
    record's own or in the file's name.

    Raises InputError that names the file, the line and the field for what is not as above.
    """
    path = Path(file)
    found: list[Labelled] = []
    labels: dict[tuple[str, str, str], bool] = {}
    for where, record in decoded_lines(path, _Record, "a labelled answer", unknown=None):
        if labels.setdefault((record.question, record.reference, record.answer), record.correct) != record.correct:
            raise InputError(f"{where}: an answer must have one label; got both for {record.answer!r:.60}")
        task = Task(record.id, "answers", 0, {}, 1, record.question, Verification("judge", record.reference))
        split = record.split or path.stem.removeprefix(PREFIX)
        found.append(Labelled(record.id, record.kind, split, (record.correct,), answered(task, record.answer), task))
    if not found:
        raise InputError(f"{file} must hold labelled answers; got none")
    return found


def answered(task: Task, answer: str) -> Trajectory:
    """An episode in which nothing was done but to answer."""
    text = format_response(Response("", (Finished(answer),)))
    action = text.rpartition("Action: ")[2].strip()
    step = Step(b"", text, "", action, None, 0.0, 0, True, {}, "")
    return Trajectory(task.id, task.to_json(), (), (step,), Outcome.FINISHED, 0.0, {"instruction": task.instruction})
