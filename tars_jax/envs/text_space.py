"""Texts of any script as a gymnasium space, which vectors can keep in shared memory.

gymnasium's own Text counts in a set of characters, and what `AsyncVectorEnv` reads of it from shared memory is what
stood there when the vector was made. Here a text is UTF-8, and read when somebody looks.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any, overload

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from tars_jax import InputError
from tars_jax.agent import Response, format_response
from tars_jax.agent.random_player import random_action
from tars_jax.environment import ActionSpace

MOST_BYTES = 2**18  # of a text in shared memory, for each environment
_HEAD = 4  # bytes that hold the length


class AnyText(spaces.Text):
    """Texts of any length and in any script; samples are short."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(max_length=64, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class SharedTexts(Sequence[str]):
    """The texts that the environments of a vector have last written. A copy is a tuple of what they are now."""

    def __init__(self, memory: Any, count: int) -> None:
        self._rows = np.frombuffer(memory.get_obj(), np.uint8).reshape(count, _HEAD + MOST_BYTES)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        row = self._rows[index]
        length = int.from_bytes(row[:_HEAD].tobytes(), "little")
        return row[_HEAD : _HEAD + length].tobytes().decode("utf-8", "surrogatepass")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)

    def write(self, index: int, text: str) -> None:
        """Raises InputError for a text that has no room."""
        written = text.encode("utf-8", "surrogatepass")
        if len(written) > MOST_BYTES:
            raise InputError(
                f"text of an observation must have at most {MOST_BYTES} bytes in shared memory; got {len(written)}: "
                "make the vector with shared_memory=False"
            )
        self._rows[index, _HEAD : _HEAD + len(written)] = np.frombuffer(written, np.uint8)
        self._rows[index, :_HEAD] = np.frombuffer(len(written).to_bytes(_HEAD, "little"), np.uint8)


@create_shared_memory.register(AnyText)
def _create(space: AnyText, n: int = 1, ctx: ModuleType = multiprocessing) -> Any:
    return ctx.Array("B", n * (_HEAD + MOST_BYTES))


@read_from_shared_memory.register(AnyText)
def _read(space: AnyText, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(shared_memory, n)


@write_to_shared_memory.register(AnyText)
def _write(space: AnyText, index: int, value: str, shared_memory: Any) -> None:
    SharedTexts(shared_memory, len(shared_memory) // (_HEAD + MOST_BYTES)).write(index, value)


class CallSpace(AnyText):
    """Responses in the text grammar. Every text is one, as a policy may write anything; samples can be read."""

    def __init__(self, calls: ActionSpace, seed: int | None = None) -> None:
        super().__init__(seed)
        self.calls = calls

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A call with arguments, drawn at random."""
        rng = random.Random(int(self.np_random.integers(2**32)))
        return format_response(Response("", (random_action(self.calls, rng),)), grammar="text")
