"""Text-only data to mix into CT and SFT, made here: `--config.text.datasets=tars_jax.data.texts:sums,`.

The report mixes "general-purpose data, including chat and reasoning domains" (UI-TARS-2, 2.3); at nano size that is
short sums with the way to their answer. `tutorials.py` has how tasks are done; files of chats (`chat_messages.py`)
serve as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import Response
from tars_jax.data.chat_messages import trajectory_of_messages
from tars_jax.trajectory import Trajectory

SUMS = 200


def sums() -> Iterator[Trajectory]:
    """Sums of two numbers below ten, the thought first; always the same."""
    generator = random.Random(0)
    for number in range(SUMS):
        a, b = generator.randrange(10), generator.randrange(10)
        yield answered(f"sum-{number}", f"{a} + {b}", str(a + b), f"{a} + {b} = {a + b}")


def answered(id: str, question: str, answer: str, thought: str = "") -> Trajectory:
    """A question and its answer, in the way in which an agent answers."""
    said = format_response(Response(thought, (Finished(answer),)), grammar="text")
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": said}]
    return trajectory_of_messages({"messages": messages, "success": True}, id, id, _no_image)


def _no_image(given: object, where: str) -> bytes:
    raise AssertionError(f"{where} shows no image")
