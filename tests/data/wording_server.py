"""An OpenAI-compatible server that words questions and reads them back, in a process of its own; how is its name.

good        joins the statements, and reads them back as they are
forgetful   leaves the last condition out
inventing   adds a figure
twisting    says one fact for another, with all figures kept
gossiping   names Land1
blind       cannot read a question back
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.judges.answering_server import Handler, good, serve


def written(mode: str, prompt: str) -> str:
    (said,) = re.findall(r"<statements>\n(.*?)\n</statements>", prompt, re.DOTALL)
    statements = said.splitlines()
    if mode == "forgetful":
        del statements[max(place for place, each in enumerate(statements) if " has " in each)]
    text = " | ".join(statements).replace("asked for: the", "What is the")
    text += {"inventing": " | 7777 of them", "gossiping": " | unlike Land1"}.get(mode, "")
    if mode == "twisting":
        text = text.replace("population", "altitude").replace("area", "population").replace("altitude", "area")
    return f"Here it is.\nQUESTION: {text}"


def read_back(mode: str, prompt: str) -> str:
    if mode == "blind":
        return "I see no question."
    (text,) = re.findall(r"<question>\n(.*?)\n</question>", prompt, re.DOTALL)
    entities: list[dict[str, Any]] = []
    asked = ""
    for statement in text.split(" | "):
        if found := re.fullmatch(r"[A-J] is a (\w+)(?:, which [A-J] leads to by: (.*))?", statement):
            way, _, most = (found[2] or "").partition(", the one with the ")
            largest, _, by = most.partition(" ")
            entities.append({"kind": found[1], "relation": way, "by": by, "largest": largest != "smallest"})
            entities[-1]["conditions"] = []
        elif found := re.match(r"[A-J] has (.*)", statement):
            entities[-1]["conditions"].append(condition(found[1]))
        elif found := re.match(r"What is the (.*) of [A-J], as", statement):
            asked = found[1]
    hops = [{key: value for key, value in each.items() if key != "kind"} for each in entities[1:]]
    first = entities[0]
    reading = {"kind": first["kind"], "conditions": first["conditions"], "hops": hops, "asked": asked}
    return f"READING: {json.dumps(reading)}"


def condition(said: str) -> dict[str, Any]:
    if found := re.fullmatch(r"as one (.*?): a (\w+) with (.*)", said):
        return {"name": found[1], "kind": found[2], "of": condition(found[3])}
    if found := re.fullmatch(r"(.*) from (\S+) to (\S+).*", said):
        return {"name": found[1], "low": float(found[2].replace(",", "")), "high": float(found[3].replace(",", ""))}
    if found := re.fullmatch(r"(.*) in the (\d+)s", said):
        return {"name": found[1], "decade": int(found[2])}
    found = re.fullmatch(r"(.*) “(.*)”", said)
    assert found is not None, said
    return {"name": found[1], "is": found[2]}


class WordingHandler(Handler):
    def said(self, mode: str, prompt: str) -> str:
        if "<statements>" in prompt:
            return written(mode, prompt)
        return read_back(mode, prompt) if "READING:" in prompt else good(prompt)


if __name__ == "__main__":
    serve(WordingHandler)
