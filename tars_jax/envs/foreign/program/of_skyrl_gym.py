"""Environments of `skyrl-gym`: its `make`, `init` and `step`, over its records in a .parquet or .jsonl file.

The environment is the record's `env_class`, else the one that was asked for. The reward of an episode is the sum of its
steps'; numbers of `get_metrics` are measured.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import skyrl_gym


class SkyRLGymEnvironment:
    def __init__(self, id: str, data: str, max_turns: int = 1, env_config: dict[str, Any] | None = None) -> None:
        self._id, self._max_turns, self._config = id, max_turns, env_config or {}
        self._rows = _records(data)

    def described(self) -> dict[str, Any]:
        texts = [json.dumps(row["prompt"], sort_keys=True) for row in self._rows]
        keys = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
        rows = [[key, len(text), ""] for key, text in zip(keys, texts, strict=True)]
        return {"rows": rows, "max_turns": self._max_turns, "threshold": 1.0}

    async def episode(self, row: int, dialog: Any) -> dict[str, Any]:
        record = {"max_turns": self._max_turns, **self._rows[row]}
        prompt = record.pop("prompt")
        env_class = record.pop("env_class", None) or self._id
        environment = await asyncio.to_thread(skyrl_gym.make, env_class, env_config=self._config, extras=record)
        try:
            messages, _ = await asyncio.to_thread(environment.init, prompt)
            reward, done, messages = 0.0, False, list(messages)
            while not done and (said := await dialog.ask(messages, [])) is not None:
                out = await asyncio.to_thread(environment.step, said["content"])
                reward, done = reward + float(out["reward"]), bool(out["done"])
                messages += [said, *out["observations"]]
            measured = {name: float(value) for name, value in environment.get_metrics().items() if _number(value)}
        finally:
            await asyncio.to_thread(environment.close)
        rest = dialog.new(messages)
        return {"ended": {"reward": reward, "rewards": measured, "messages": rest, "truncated": not done}}

    async def close(self) -> None:
        """Does nothing: no resources are held."""


def load(id: str, arguments: dict[str, Any]) -> SkyRLGymEnvironment:
    return SkyRLGymEnvironment(id, **arguments)


def _records(data: str) -> list[dict[str, Any]]:
    if data.endswith(".parquet"):
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(data).to_pylist())
    with open(data, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _number(value: Any) -> bool:
    return isinstance(value, int | float)
