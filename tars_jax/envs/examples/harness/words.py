"""The first or the last word of a row, in a conversation of two questions: a program of the standard library alone.

    ./launch/local.sh train --config=configs/harness_words.py

It knows of chat completions and of nothing else here. Each right answer is worth half of the reward. `reference` is no
part of it: it answers in the policy's place, to show how.
"""

from __future__ import annotations

import json
import os
import random
import re
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = ("plum", "kiwi", "fig", "pear", "lime", "date")


def ask(messages: Sequence[Mapping[str, str]]) -> str:
    """Asks for one chat completion."""
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def main() -> None:
    task = json.loads(os.environ["TASK"])
    rng = random.Random(task["seed"])
    messages: list[dict[str, str]] = []
    right = 0
    for _ in range(2):
        row, side = rng.sample(WORDS, 3), rng.choice(("first", "last"))
        messages.append({"role": "user", "content": f"{' '.join(row)}: {side}?"})
        said = ask(messages)
        messages.append({"role": "assistant", "content": said})
        right += said.strip() == row[0 if side == "first" else -1]
    with open(os.environ["REWARD_FILE"], "w", encoding="utf-8") as file:
        json.dump({"reward": right / 2, "success": right == 2}, file)


def reference(messages: Sequence[Mapping[str, Any]], rng: random.Random, skill: float) -> str:
    """The right word; a bad answer is any of the three."""
    row, side = re.fullmatch(r"(.+): (first|last)\?", messages[-1]["content"].strip()).groups()  # type: ignore[union-attr]
    words = row.split()
    return words[0 if side == "first" else -1] if rng.random() < skill else rng.choice(words)


if __name__ == "__main__":
    main()
