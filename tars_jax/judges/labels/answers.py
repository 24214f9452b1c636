"""Answers to questions with references, and whether they are right, as somebody says who had not seen the rules.

    answers_SPLIT.jsonl, beside this file
        {"id", "kind", "question", "reference", "answer", "correct", "needs", "why", and "split" where it is another}

The author wrote questions, answers and labels without having seen the embedded judge, its rules or its earlier labels.
The splits are of different kinds of answers: the rules were mended by the kinds of "development" alone. `needs` says
what a reader has to have besides the text ("knowledge": an alias, another script); empty: nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import Response
from tars_jax.environment import Task, Verification
from tars_jax.json_fields import Fields
from tars_jax.judges.labels.labelled import Labelled
from tars_jax.trajectory import Outcome, Step, Trajectory

FOLDER = Path(__file__).parent
PREFIX = "answers_"


def shipped_answers() -> list[Labelled]:
    """Of all splits that lie beside this file."""
    return [each for file in sorted(FOLDER.glob(f"{PREFIX}*.jsonl")) for each in read_answers(file)]


def read_answers(file: str | Path) -> list[Labelled]:
    """Episodes of one step that ends with the answer; `site` is the kind of answer, and `agent` the split, which is the
    record's own or in the file's name.

    Raises InputError that names the file, the line and the field for what is not as above.
    """
    path = Path(file)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} must be a file of labelled answers: {error}") from error
    found: list[Labelled] = []
    labels: dict[tuple[str, str, str], bool] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{file} line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} must be a JSON object: {error}") from error
        if not isinstance(record, dict):
            raise InputError(f"{where} must be a JSON object; got {type(record).__name__}")
        fields = Fields(record, f"{where}: field ")
        if type(record.get("correct")) is not bool:
            raise InputError(f"{where}: field correct must be true or false; got {record.get('correct')!r:.60}")
        asked = fields.text("question"), fields.text("reference"), fields.of_type("answer", str)
        if labels.setdefault(asked, record["correct"]) != record["correct"]:
            raise InputError(f"{where}: an answer must have one label; got both for {asked[2]!r:.60}")
        id = fields.text("id")
        task = Task(id, "answers", 0, {}, 1, asked[0], Verification("judge", asked[1]))
        split = record.get("split") or path.stem.removeprefix(PREFIX)
        kind = fields.text("kind")
        found.append(Labelled(id, kind, str(split), (record["correct"],), answered(task, asked[2]), task))
    if not found:
        raise InputError(f"{file} must hold labelled answers; got none")
    return found


def answered(task: Task, answer: str) -> Trajectory:
    """An episode in which nothing was done but to answer."""
    text = format_response(Response("", (Finished(answer),)))
    action = text.rpartition("Action: ")[2].strip()
    step = Step(b"", text, "", action, None, 0.0, 0, True, {}, "")
    return Trajectory(task.id, task.to_json(), (), (step,), Outcome.FINISHED, 0.0, {"instruction": task.instruction})
