"""A model whose heads, experts and widths can be divided among eight devices."""

import dataclasses

from tars_jax.model.config import VisionConfig
from tars_jax.model.presets import preset

MODEL = dataclasses.replace(
    preset("nano", vocabulary=32),
    width=16,
    query_heads=4,
    kv_heads=2,
    head_dim=8,
    rope_sections=(2, 1, 1),
    experts=8,
    expert_width=24,
    vision=VisionConfig(patch=4, merge=1, grid=2, width=16, depth=1, heads=2, mlp_width=16),
)
