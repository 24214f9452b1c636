"""What all sides of `update_tokens.py` and `decode_tokens.py` are given: a decoder's shape and weights, the work.

Numpy alone, and every number from a seed: the sides run in environments of their own and draw the same.

Axes: N episodes, T tokens of an episode, P tokens of the longest prompt, C tokens of the longest rest, V vocabulary,
D width, L layers, H heads, K key-value heads, F feed-forward width.
"""

from __future__ import annotations

import dataclasses

import numpy as np

BATCHES = ("equal", "ragged")
PAD = 0  # no episode has this token: Tunix finds padding by it


@dataclasses.dataclass(frozen=True)
class Shape:
    """A Qwen3 decoder of 4.2 million parameters. Vocabulary and head are an eighth each, as in Qwen3-4B."""

    vocabulary: int = 2048
    width: int = 256
    depth: int = 4
    query_heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    mlp_width: int = 768
    rope_theta: float = 1e6  # Tunix's Qwen3 turns with this one, whatever its config says


@dataclasses.dataclass(frozen=True)
class Hyperparameters:
    learning_rate: float = 1e-4
    beta2: float = 0.99
    clip_norm: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    value_clip: float = 0.2
    gamma: float = 1.0
    gae_lambda: float = 0.95


@dataclasses.dataclass(frozen=True)
class Decoding:
    """Prompts of one length, each with an answer of one length."""

    batch: int = 8
    prompt: int = 64  # tokens; a power of 2, so that Tunix pads nothing
    answer: int = 128

    @property
    def length(self) -> int:
        return self.prompt + self.answer


@dataclasses.dataclass(frozen=True)
class Episode:
    """Observation and answer in turns; it begins with an observation, which is the prompt, and ends with an answer."""

    tokens: np.ndarray  # [T] int32, from 1
    action_mask: np.ndarray  # [T] bool: answers
    steps: np.ndarray  # [T] int32: the turn of each token
    reward: int  # of the whole, at the last token; Tunix cuts fractions off

    @property
    def prompt(self) -> int:
        """Tokens before the first answer."""
        return int(np.argmax(self.action_mask))


@dataclasses.dataclass(frozen=True)
class Padded:
    """Episodes as Tunix takes them: prompts end at column P, the rest begins there."""

    prompt_ids: np.ndarray  # [N, P] int32
    completion_ids: np.ndarray  # [N, C] int32
    action_mask: np.ndarray  # [N, C] bool
    last: np.ndarray  # [N] int32: the column of the last token, of C


def episodes(batch: str) -> list[Episode]:
    """The batch "equal" or "ragged".

    Equal lengths: 8 episodes of 256 tokens, 64 read and then 192 sampled. Ragged: 16 episodes of 1 to 12 turns with a
    heavy tail (1 + Pareto of index 1.1, cut off), a turn of 12 to 28 tokens read and 6 to 18 sampled.
    """
    rng = np.random.default_rng(0)
    if batch == "equal":
        return [_episode(rng, [(64, 192)]) for _ in range(8)]
    turns = np.minimum(1 + rng.pareto(1.1, 16).astype(int), 12)
    return [_episode(rng, [(int(rng.integers(12, 29)), int(rng.integers(6, 19))) for _ in range(n)]) for n in turns]


def _episode(rng: np.random.Generator, turns: list[tuple[int, int]]) -> Episode:
    lengths = np.array(turns).ravel()
    return Episode(
        tokens=rng.integers(1, Shape.vocabulary, lengths.sum(), dtype=np.int32),
        action_mask=np.repeat(np.arange(lengths.size) % 2 == 1, lengths),
        steps=np.repeat(np.arange(lengths.size) // 2, lengths).astype(np.int32),
        reward=int(rng.integers(0, 2)),
    )


def prompts(given: Decoding) -> np.ndarray:
    """[batch, prompt] int32, from 1."""
    return np.random.default_rng(3).integers(1, Shape.vocabulary, (given.batch, given.prompt), dtype=np.int32)


def padded(batch: list[Episode]) -> Padded:
    """Prompts padded on the left, the rest on the right, each to the longest of the batch."""
    longest = max(each.prompt for each in batch)
    rest = max(each.tokens.size - each.prompt for each in batch)
    prompt_ids = np.full((len(batch), longest), PAD, np.int32)
    completion_ids = np.full((len(batch), rest), PAD, np.int32)
    action_mask = np.zeros((len(batch), rest), bool)
    last = np.zeros(len(batch), np.int32)
    for row, each in enumerate(batch):
        prompt_ids[row, longest - each.prompt :] = each.tokens[: each.prompt]
        completion_ids[row, : each.tokens.size - each.prompt] = each.tokens[each.prompt :]
        action_mask[row, : each.tokens.size - each.prompt] = each.action_mask[each.prompt :]
        last[row] = each.tokens.size - each.prompt - 1
    return Padded(prompt_ids, completion_ids, action_mask, last)


def weights(shape: Shape) -> dict[str, np.ndarray]:
    """Every parameter, float32, layers stacked; kernels have their inputs first."""
    rng = np.random.default_rng(1)
    layers, width, head = shape.depth, shape.width, shape.head_dim

    def kernel(*size: int, inputs: int) -> np.ndarray:
        return (rng.standard_normal(size) * inputs**-0.5).astype(np.float32)

    def scale(*size: int) -> np.ndarray:
        return (1 + 0.1 * rng.standard_normal(size)).astype(np.float32)

    return {
        "embed": kernel(shape.vocabulary, width, inputs=width),
        "attention_norm": scale(layers, width),
        "query": kernel(layers, width, shape.query_heads, head, inputs=width),
        "key": kernel(layers, width, shape.kv_heads, head, inputs=width),
        "value": kernel(layers, width, shape.kv_heads, head, inputs=width),
        "query_norm": scale(layers, head),
        "key_norm": scale(layers, head),
        "out": kernel(layers, shape.query_heads, head, width, inputs=shape.query_heads * head),
        "mlp_norm": scale(layers, width),
        "gate": kernel(layers, width, shape.mlp_width, inputs=width),
        "up": kernel(layers, width, shape.mlp_width, inputs=width),
        "down": kernel(layers, shape.mlp_width, width, inputs=shape.mlp_width),
        "norm": scale(width),
        "vocabulary_head": kernel(width, shape.vocabulary, inputs=width),
        "scalar_head": kernel(width, 1, inputs=width),
    }


def advantage_inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards, values and a mask, each [64, 4096]: for the timing of GAE alone."""
    rng = np.random.default_rng(2)
    shape = (64, 4096)
    valid = np.arange(shape[1]) < rng.integers(1, shape[1] + 1, shape[0])[:, None]
    rewards = np.zeros(shape, np.float32)
    rewards[np.arange(shape[0]), valid.sum(1) - 1] = rng.integers(0, 2, shape[0])
    return rewards, rng.standard_normal(shape).astype(np.float32) * valid, valid
