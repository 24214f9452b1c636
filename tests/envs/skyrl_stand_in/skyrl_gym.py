"""The public names of skyrl-gym that are called, with environments that have one fault each."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

FOREVER = 10**6


class Env:
    """The user counts what was said; the third word ends it, and earns 1 if it is the record's answer."""

    def __init__(self, name: str, extras: dict[str, Any]) -> None:
        self.name, self.answer, self.said = name, extras["answer"], 0

    def init(self, prompt: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        print("what an environment prints is no answer", flush=True)
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        self.said += 1
        print("nor is this", flush=True)
        if self.said == 2:
            self.fail()
        done = self.said == 3
        seen = [] if done else [{"role": "user", "content": f"{self.said} – 你说 {action} \u2028 🎉"}]
        reward = float("nan") if self.name == "no_number" else float(done and action == self.answer)
        return {"observations": seen, "reward": reward, "done": done, "metadata": None}

    def fail(self) -> None:
        if self.name == "raises":
            raise ValueError("no more 你好")
        if self.name == "exits":
            raise SystemExit("enough")
        if self.name == "dies":
            os.write(2, b"its last words\n")
            os._exit(3)
        if self.name == "hangs":
            time.sleep(FOREVER)  # in a thread

    def get_metrics(self) -> dict[str, Any]:
        return {"words": self.said, "name": self.name}

    def close(self) -> None:
        if self.name == "hangs_at_the_end":
            time.sleep(FOREVER)


def make(id: str, env_config: dict[str, Any], extras: dict[str, Any]) -> Env:
    if id == "blocks":
        asyncio.to_thread = _blocking  # type: ignore[assignment]
    return Env(id, extras)


async def _blocking(call: Any, *arguments: Any, **more: Any) -> Any:
    """Whatever the worker hears meanwhile, it does not listen."""
    if getattr(call, "__name__", "") == "step":
        time.sleep(FOREVER)
    return call(*arguments, **more)
