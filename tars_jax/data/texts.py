"""Text-only data to mix into CT and SFT, made here: `--config.text.datasets=tars_jax.data.texts:sums,`.

The report mixes "general-purpose data, including chat and reasoning domains" (UI-TARS-2, 2.3); at nano size that is
short sums with the way to their answer. Files of chats (`conversations.py`) serve as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tars_jax.data.conversations import trajectory_of_messages
from tars_jax.trajectory import Trajectory

SUMS = 200


def sums() -> Iterator[Trajectory]:
    """Always the same: two numbers below ten and their sum, the thought first."""
    generator = random.Random(0)
    for number in range(SUMS):
        a, b = generator.randrange(10), generator.randrange(10)
        asked = {"role": "user", "content": f"{a} + {b}"}
        answer = {"role": "assistant", "content": f"Thought: {a} + {b} = {a + b}\nAction: finished(content='{a + b}')"}
        record = {"messages": [asked, answer], "success": True}
        yield trajectory_of_messages(record, f"sums:{number + 1}", f"sum-{number}", _no_image)


def _no_image(given: object, where: str) -> bytes:
    raise AssertionError(f"{where} shows no image")
