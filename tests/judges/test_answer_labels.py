"""Files of labelled answers: what is in them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.judges.labels.answers import read_answers, shipped_answers

LABEL = {"id": "a", "kind": "signs", "question": "How many?", "reference": "-5", "answer": "−5", "correct": True}


def written(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(json.dumps(each) for each in records), encoding="utf-8")
    return path


def test_a_split_is_in_the_file_or_in_its_name(tmp_path: Path) -> None:
    other = {**LABEL, "id": "b", "answer": "5\u2028", "correct": False, "split": "held out"}
    found = read_answers(written(tmp_path / "answers_development.jsonl", LABEL, other))
    assert [(each.id, each.site, each.agent, each.labels) for each in found] == [
        ("a", "signs", "development", (True,)), ("b", "signs", "held out", (False,)),
    ]  # fmt: skip
    shipped = shipped_answers()
    assert len(shipped) >= 600 and "development" in {each.agent for each in shipped}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({**LABEL, "correct": 1}, ":2: correct must be true or false; got 1"),
        ({**LABEL, "correct": False}, ":2: an answer must have one label; got both for '−5'"),
        ({key: LABEL[key] for key in LABEL if key != "kind"}, ":2: kind must be"),
        ([], ":2 must be a labelled answer; got"),
    ],
)
def test_labels_that_are_none(record: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_answers(written(tmp_path / "mine.jsonl", LABEL, record))
    with pytest.raises(InputError, match="must hold labelled answers; got none"):
        read_answers(written(tmp_path / "empty.jsonl"))
