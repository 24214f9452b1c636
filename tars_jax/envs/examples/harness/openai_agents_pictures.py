"""Which half of a picture is bright? Several turns, each with a picture, by an agent of `openai-agents` with a tool.

    TASK='{"seed": 7}' REWARD_FILE=reward .cache/harnesses/openai-agents/bin/python openai_agents_pictures.py

The agent may call `measure` before it answers. It streams, and keeps its whole history until there are three pictures
in it; then it drops what has pictures, as agents do to whom those are dear.
"""

import asyncio
import base64
import json
import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    AgentsException,
    ModelSettings,
    Runner,
    function_tool,
    set_default_openai_api,
    set_tracing_disabled,
)

TURNS, SIZE = 4, 96
SIDES = ("left", "right")


def picture_of(bright: str, rng: random.Random) -> str:
    """A data URL of a PNG of gray bytes, those of one half above 127."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    light, dark = (rng.randbytes(SIZE * SIZE // 2) for _ in range(2))
    high, low = bytes(each | 128 for each in light), bytes(each & 127 for each in dark)
    half = SIZE // 2
    halves = (high, low) if bright == "left" else (low, high)
    rows = b"".join(b"\0" + b"".join(side[y * half : (y + 1) * half] for side in halves) for y in range(SIZE))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 0, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


@function_tool
def measure(side: str) -> str:
    """Says how bright a half of the last picture is.

    Args:
        side: left or right.
    """
    return f"{side}: a lot"


async def play(task: dict[str, Any]) -> int:
    """The turns that were answered rightly."""
    rng, right = random.Random(task["seed"]), 0
    forced = task.get("tool_choice")  # required: each turn begins with a call
    agent = Agent(
        name="pictures",
        instructions="Which half is bright?",
        tools=[measure],
        model=os.environ.get("OPENAI_MODEL", "nano"),
        model_settings=ModelSettings(
            max_tokens=64 if forced else 12, tool_choice=forced, parallel_tool_calls=False, metadata={"turns": "4"}
        ),
    )
    history: list[Any] = []
    for turn in range(TURNS):
        bright = rng.choice(SIDES)
        shown = {"type": "input_image", "image_url": picture_of(bright, rng), "detail": "low"}
        history.append({"role": "user", "content": [{"type": "input_text", "text": f"{turn}:"}, shown]})
        try:
            streamed = Runner.run_streamed(agent, history, max_turns=3)
            async for _ in streamed.stream_events():
                pass
        except AgentsException as error:  # a tool that does not exist, too many calls, no words
            history.append({"role": "user", "content": f"{type(error).__name__}. Only say left or right."})
            continue
        said = str(streamed.final_output or "")
        right += bright in said and SIDES[bright == "left"] not in said
        history = streamed.to_input_list()
        if sum("input_image" in json.dumps(each) for each in history) > 2:
            history = [each for each in history if "input_image" not in json.dumps(each)] or history[-1:]
    return right


def main() -> None:
    """Plays one episode."""
    task = json.loads(os.environ["TASK"])
    set_default_openai_api(task.get("api", "chat_completions"))  # or responses
    set_tracing_disabled(True)
    right = asyncio.run(play(task))
    Path(os.environ["REWARD_FILE"]).write_text(json.dumps({"reward": right / TURNS, "success": right == TURNS}))


if __name__ == "__main__":
    main()
