"""Shapes of the policy: one architecture, from a million parameters to 230 billion, told apart by numbers alone."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError


@dataclasses.dataclass(frozen=True)
class VisionConfig:
    """The vision encoder. An image of [height, width] pixels becomes height * width / (patch * merge)^2 tokens."""

    patch: int = 16  # pixels a side
    merge: int = 1  # patches a side that one token of the decoder stands for
    grid: int = 6  # side of the learned position grid, interpolated to other sizes
    width: int = 64
    depth: int = 2
    heads: int = 4
    mlp_width: int = 128
    rope_theta: float = 10_000.0

    def token_grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of decoder tokens for an image; raises InputError when the size does not divide."""
        unit = self.patch * self.merge
        if height % unit or width % unit:
            raise InputError(f"image size {height}x{width} must be a multiple of {unit} pixels on both sides")
        return height // unit, width // unit


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Vision encoder plus mixture-of-experts decoder; the shapes of Qwen3-VL-MoE."""

    vocabulary: int
    width: int
    depth: int
    query_heads: int
    kv_heads: int
    head_dim: int
    experts: int
    experts_per_token: int
    expert_width: int
    vision: VisionConfig
    rope_theta: float = 10_000.0
    rope_sections: tuple[int, int, int] = (6, 5, 5)  # frequencies turned by time, row, column; sums to head_dim / 2
    norm_epsilon: float = 1e-6
    scalar_head: bool = False  # a value for each token
    vocabulary_head: bool = True  # logits for each token; off in a separate value model
    image_token: int | None = None  # stands for a piece of a screenshot: read, and never written

    def __post_init__(self) -> None:
        if sum(self.rope_sections) * 2 != self.head_dim:
            raise InputError(f"rope_sections {self.rope_sections} must sum to half of head_dim {self.head_dim}")
        if self.query_heads % self.kv_heads:
            raise InputError(f"query_heads {self.query_heads} must be a multiple of kv_heads {self.kv_heads}")
        if not 1 <= self.experts_per_token <= self.experts:
            raise InputError(f"experts_per_token must be 1 to {self.experts}, got {self.experts_per_token}")


def nano(vocabulary: int) -> ModelConfig:
    """About 400,000 active parameters: trains from scratch on two cores."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=96,
        depth=2,
        query_heads=2,
        kv_heads=1,
        head_dim=32,
        experts=8,
        experts_per_token=2,
        expert_width=96,
        vision=VisionConfig(merge=2, depth=1, heads=2),
        image_token=5,  # of the committed tokenizer
    )


PRESETS = {"nano": nano}


def preset(name: str, vocabulary: int) -> ModelConfig:
    """The named preset; raises InputError for a name that is not in `PRESETS`."""
    if name not in PRESETS:
        raise InputError(f"model.preset must be one of {', '.join(sorted(PRESETS))}, got {name!r}")
    return PRESETS[name](vocabulary)
