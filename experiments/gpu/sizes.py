"""Models and shapes to measure: those that fill a large device, and those that only show that everything runs."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax import InputError
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.presets import preset

# With a head of its own, as larger models have: 1.7 billion parameters active for a token of text.
DENSE = dataclasses.replace(preset("qwen3-vl-2b"), tied_embeddings=False, dtype="bfloat16")
# 1.05 billion parameters active for a token of text.
MOE = dataclasses.replace(preset("small"), dtype="bfloat16")


def _tiny(model: ModelConfig) -> ModelConfig:
    return dataclasses.replace(
        model,
        vocabulary=64,
        width=32,
        depth=2,
        query_heads=4,
        kv_heads=2,
        head_dim=16,
        rope_sections=(4, 2, 2),
        mlp_width=32 if model.mlp_width else 0,
        experts=4 if model.experts else 0,
        experts_per_token=2 if model.experts else 0,
        expert_width=16 if model.experts else 0,
        vision=VisionConfig(patch=4, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16),
        image_token=5,
    )


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Of batches and caches. The fields of the config, which document them, with nothing left open."""

    rows: int
    row_length: int
    windows: int
    sampled: float
    images_per_row: int
    image_height: int
    image_width: int
    slots: int
    context: int
    chunk: int
    cache_length: int
    matmul: int
    copy_bytes: int


MODELS = {
    "full": {"dense": DENSE, "moe": MOE},
    "tiny": {"dense": _tiny(DENSE), "moe": _tiny(MOE)},
}
SHAPES = {
    "full": Shapes(8, 4096, 3, 0.25, 0, 704, 1280, 16, 1024, 64, 1280, 8192, 4 << 30),
    "tiny": Shapes(2, 96, 3, 0.25, 0, 8, 8, 2, 8, 4, 16, 128, 1 << 20),
}


def model(config: Any, name: str) -> ModelConfig:
    return MODELS[config["size"]][name]


def shapes(config: Any) -> Shapes:
    """The size's shapes, but for what the config says itself. Raises InputError for windows that leave no tokens."""
    given = {**config["batch"], **config["decode"], **config["peak"]}
    fields = (field.name for field in dataclasses.fields(Shapes))
    found = dataclasses.replace(SHAPES[config["size"]], **{name: given[name] for name in fields if given.get(name)})
    if found.windows * 4 > found.row_length:
        raise InputError(
            f"config.batch.windows must be at most {found.row_length // 4}, a fourth of a row; got {found.windows}"
        )
    if found.images_per_row > found.windows:
        raise InputError(
            f"config.batch.images_per_row must be at most {found.windows}, one a window; got {found.images_per_row}"
        )
    if found.context + found.chunk > found.cache_length:
        raise InputError(
            f"config.decode.cache_length must be at least {found.context + found.chunk}, context and chunk; "
            f"got {found.cache_length}"
        )
    return found
