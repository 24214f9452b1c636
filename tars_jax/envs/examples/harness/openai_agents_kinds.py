"""Letters or digits, whichever a row has more of: one answer by an agent of `openai-agents`.

    TASK='{"seed": 7}' REWARD_FILE=reward .cache/harnesses/openai-agents/bin/python openai_agents_kinds.py

It asks what OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name. The reward is the share of the answer's characters
that are of that kind, so that a policy that writes anything at all is told which way is better; an answer of one kind
alone earns a half by chance. A prompt has some 20 tokens of the nano policy's, an answer at most 4.
"""

import json
import os
import random
from pathlib import Path

from agents import (
    Agent,
    ModelBehaviorError,
    ModelSettings,
    Runner,
    set_default_openai_api,
    set_tracing_disabled,
)

DIGITS, LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyz"
LENGTH = 5  # of a row


def row_of(seed: int) -> str:
    """LENGTH digits and letters: three or more of one kind, as often of either."""
    rng = random.Random(seed)
    kinds = [rng.choice((DIGITS, LETTERS))] * rng.randint(LENGTH // 2 + 1, LENGTH)
    kinds += [DIGITS if kinds[0] is LETTERS else LETTERS] * (LENGTH - len(kinds))
    rng.shuffle(kinds)
    return " ".join(map(rng.choice, kinds))


def reward_of(row: str, answer: str) -> float:
    """The share of the answer's characters, blanks aside, that are of the kind that the row has more of."""
    wanted = DIGITS if sum(each in DIGITS for each in row) > LENGTH // 2 else LETTERS
    said = "".join(answer.split())
    return sum(each in wanted for each in said) / len(said) if said else 0.0


def main() -> None:
    """Plays one episode."""
    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    row = row_of(json.loads(os.environ["TASK"])["seed"])
    agent = Agent(
        name="kinds",
        instructions="Digits or letters?",
        model=os.environ.get("OPENAI_MODEL", "nano"),
        model_settings=ModelSettings(max_tokens=4),
    )
    try:
        answer = str(Runner.run_sync(agent, row, max_turns=1).final_output or "")
    except ModelBehaviorError:  # tokens that are no text
        answer = ""
    reward = reward_of(row, answer)
    Path(os.environ["REWARD_FILE"]).write_text(json.dumps({"reward": reward, "success": reward == 1.0}))


if __name__ == "__main__":
    main()
