"""An environment of verifiers whose infrastructure fails when it is told to, with rows to evaluate on of its own."""

from __future__ import annotations

from typing import Any

import verifiers as vf
from datasets import Dataset


class Repeats(vf.MultiTurnEnv):
    async def env_response(self, messages: Any, state: Any, **more: Any) -> Any:
        if calls := messages[-1].tool_calls:
            return [{"role": "tool", "content": f"{calls[0].name} {calls[0].arguments}", "tool_call_id": calls[0].id}]
        said = messages[-1]["content"]
        if said == "fail":
            raise vf.InfraError("its sandbox is gone")
        return [{"role": "user", "content": f"du sagst {said} 你好"}]


def turns(completion: Any) -> float:
    return float(len(completion))


def among(completions: Any) -> list[float]:
    return [0.0 for _ in completions]


def load_environment(group: bool = False) -> Any:
    rows = [{"question": f"train {number}", "answer": ""} for number in range(6)]
    held_out = [{"question": f"eval {number}", "answer": ""} for number in range(2)]
    functions = [turns, among] if group else [turns]
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return Repeats(
        dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(held_out),
        rubric=vf.Rubric(functions),
        tool_defs=[{"name": name, "description": "", "parameters": text} for name in ("answer", "click")],
    )
