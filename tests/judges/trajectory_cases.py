"""Short episodes of several domains with their labels, made and labelled by hand by the author of the rules.

Failures are of the kinds that fooled rules ("attack": of somebody who had not seen them; "fresh": more like these);
successes are plain. `facts` is the rubric of the same task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    domain: str
    kind: str
    instruction: str
    steps: list[tuple[str, str]]  # what was seen, then the action
    final: str
    facts: str
    solved: bool


def _read() -> list[Case]:
    lines = (Path(__file__).parent / "trajectory_cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


CASES = _read()
SUCCESSES = [case for case in CASES if case.solved]
FAILURES = [case for case in CASES if not case.solved]
