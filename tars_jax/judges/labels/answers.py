"""Answers to questions with references, labelled by hand: what people write for the same, and what only looks like it.

answers.json, beside this file: category, half, question, reference, answer, right. Half of each category is held out:
the embedded judge was mended by the other half alone. A label says what a careful person would:

- A number is right where it is the reference rounded to three digits or more; in another unit, converted, as well.
- A day or a year is right in every form that has one reading; less exact than the reference, wrong.
- One answer with a hedge ("I think") is right; two answers, a range, or that it was not found, wrong.
- Other spellings, languages, usual abbreviations and longer names of the same are right; other things wrong.
- A list is right in any order, whole and without more.
- What talks to the judge instead of answering is wrong.
"""

from __future__ import annotations

from pathlib import Path

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import Response
from tars_jax.environment import Task, Verification
from tars_jax.json_fields import Fields, read_json
from tars_jax.judges.labels.labelled import Labelled
from tars_jax.trajectory import Outcome, Step, Trajectory

FILE = Path(__file__).with_suffix(".json")
HALVES = ("development", "held out")


def read_answers(file: str | Path = FILE) -> list[Labelled]:
    """Episodes of one step that ends with the answer; `site` is the category, and `agent` the half.

    Raises InputError that names the file, the entry and the field for what is not as above.
    """
    records = read_json(Path(file))
    if not isinstance(records, list) or not records:
        raise InputError(f"{file} must hold a list of answers; got {type(records).__name__}, or none in it")
    found = []
    for number, record in enumerate(records):
        where = f"{file}: entry {number}"
        if not isinstance(record, dict):
            raise InputError(f"{where} must be an object; got {type(record).__name__}")
        fields = Fields(record, f"{where}: field ")
        half, category = fields.text("half"), fields.text("category")
        if half not in HALVES:
            raise InputError(f"{where}: field half must be one of {', '.join(HALVES)}; got {half!r:.60}")
        if type(record.get("right")) is not bool:
            raise InputError(f"{where}: field right must be true or false; got {record.get('right')!r:.60}")
        task = Task(
            f"answer-{number}", "answers", 0, {}, 1, fields.text("question"),
            Verification("judge", fields.text("reference")),
        )  # fmt: skip
        played = answered(task, fields.text("answer"))
        found.append(Labelled(task.id, category, half, (record["right"],), played, task))
    return found


def answered(task: Task, answer: str) -> Trajectory:
    """An episode in which nothing was done but to answer."""
    text = format_response(Response("", (Finished(answer),)))
    action = text.rpartition("Action: ")[2].strip()
    step = Step(b"", text, "", action, None, 0.0, 0, True, {}, "")
    return Trajectory(task.id, task.to_json(), (), (step,), Outcome.FINISHED, 0.0, {"instruction": task.instruction})
