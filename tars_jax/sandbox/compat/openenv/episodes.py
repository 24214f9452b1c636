"""Episodes that an OpenEnv server plays, with dictionaries in and out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

OBJECT = {"type": "object"}


class InvalidAction(Exception):
    """An action or an option of `reset` that cannot be; the episode is as it was."""


@dataclasses.dataclass(frozen=True)
class EpisodeTurn:
    """Result of a reset or a step. All of it is JSON."""

    observation: Mapping[str, Any]
    reward: float | None = None
    done: bool = False
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        metadata = dict(self.metadata)
        answer = {"observation": {**self.observation, "metadata": metadata}, "reward": self.reward, "done": self.done}
        return {**answer, "metadata": metadata} if metadata else answer


@dataclasses.dataclass(frozen=True)
class Description:
    """Schemas are JSON schemas of objects."""

    name: str
    description: str
    action: Mapping[str, Any]
    observation: Mapping[str, Any]
    state: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # properties besides episode_id and step_count

    def schemas(self) -> dict[str, Any]:
        properties = {
            "episode_id": {"type": ["string", "null"]},
            "step_count": {"type": "integer", "minimum": 0},
            **self.state,
        }
        return {
            "action": dict(self.action),
            "observation": dict(self.observation),
            "state": {"type": "object", "title": "State", "properties": properties},
        }


class OpenEnvEpisode(Protocol):
    """One episode after another, by one client at a time."""

    async def reset(self, seed: int | None, options: Mapping[str, Any]) -> EpisodeTurn:
        """Begins an episode. Raises Refused, SandboxFailure."""
        ...

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        """Raises Refused for an action that makes no sense, SandboxFailure."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Further properties of the state."""
        ...

    async def close(self) -> None:
        """Gives back what it holds. May be called at any time, and again."""
        ...
