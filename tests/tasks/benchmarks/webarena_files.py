"""Tasks of ours in WebArena-Verified's form, of a site that is called gitlab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGES = {
    "/": "<title>Mills</title><body style='margin:0;font-size:40px'><div><a href=/mill>The old mill</a></div>"
    "<form method=post action=/notes style='margin:0'><input name=text style='font-size:40px;height:60px'></form>",
    "/mill": "<title>The old mill</title><p>It has 3 wheels.",
    "/mill/wheels": "<title>Wheels</title><p>One, two, three.",
    "/notes": "<title>Notes</title>",
}


def task(number: int, intent: str, expected: dict[str, Any], schema: dict[str, Any], *more: Any) -> dict[str, Any]:
    answer = {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": expected}
    return {
        "sites": ["gitlab"], "task_id": number, "intent_template_id": number, "start_urls": ["__GITLAB__"],
        "intent": intent, "intent_template": intent, "instantiation_dict": {}, "eval": [answer, *more], "revision": 1,
    }  # fmt: skip


def expected(kind: str, data: list[Any] | None = None, status: str = "SUCCESS") -> dict[str, Any]:
    return {"task_type": kind, "status": status, "retrieved_data": data}


def network(**spec: Any) -> dict[str, Any]:
    return {"evaluator": "NetworkEventEvaluator", "expected": spec}


WHEELS, MILL, NOTE, TOWER = TASKS = [
    task(0, "How many wheels has the mill?", expected("retrieve", [3]),
         {"type": "array", "items": {"type": "number"}}),
    task(1, "Show the page of the old mill.", expected("navigate"), {"type": "null"}, network(url="__GITLAB__/mill")),
    task(2, "Leave the note “fresh flour”.", expected("mutate"), {"type": "null"},
         network(url="__GITLAB__/notes", http_method="POST", post_data={"text": "fresh flour"}, response_status=302)),
    task(3, "How tall is the tower?", expected("retrieve", None, "NOT_FOUND_ERROR"),
         {"type": "array", "items": {"type": "number"}}),
]  # fmt: skip


def write_config(folder: Path, url: str, tasks: Any = None, **more: Any) -> Path:
    (folder / "tasks.json").write_text(json.dumps(TASKS if tasks is None else tasks))
    file = folder / "config.json"
    environments = {"__GITLAB__": {"urls": [url], **more}}
    file.write_text(json.dumps({"test_data_file": "tasks.json", "environments": environments}))
    return file


def answer(kind: str, data: Any = None, status: str = "SUCCESS") -> str:
    return json.dumps({"task_type": kind, "status": status, "retrieved_data": data, "error_details": None})
