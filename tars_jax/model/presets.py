"""Presets: model configs by name."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.model.config import ModelConfig, VisionConfig

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)

QWEN3_VISION = VisionConfig(
    patch=16,
    merge=2,
    temporal=2,
    grid=48,
    width=1152,
    depth=27,
    heads=16,
    mlp_width=4304,
    deepstack=(8, 16, 24),
    min_pixels=256 * 256,
    max_pixels=4096 * 4096,
)


SMALL_QWEN3_VISION = dataclasses.replace(
    QWEN3_VISION, width=1024, depth=24, mlp_width=4096, deepstack=(5, 11, 17)
)  # of the models below 8 billion parameters


def nano(vocabulary: int = 768) -> ModelConfig:
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


def pico(vocabulary: int = 768) -> ModelConfig:
    """About 220,000 active parameters, embeddings included: for statistics over many seeds, on the device."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=64,
        depth=2,
        query_heads=2,
        kv_heads=1,
        head_dim=16,
        rope_sections=(3, 3, 2),
        experts=4,
        experts_per_token=2,
        expert_width=64,
        vision=VisionConfig(merge=2, width=32, depth=1, heads=2, mlp_width=64),
        image_token=5,  # of the committed tokenizer
    )


def micro(vocabulary: int = 768) -> ModelConfig:
    """About 7 million parameters, without experts: trains from scratch on one GPU."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=256,
        depth=6,
        query_heads=4,
        kv_heads=2,
        head_dim=64,
        rope_sections=(12, 10, 10),
        mlp_width=1024,
        vision=VisionConfig(merge=2, width=128, depth=2, heads=4, mlp_width=512),
        image_token=5,  # of the committed tokenizer
    )


def small(vocabulary: int = 151_936) -> ModelConfig:
    """5.2 billion parameters, 1.8 of them active: what one accelerator of 141 GB trains with AdamW in float32.

    Layers of Qwen3-VL-30B-A3B with half of its experts, and the vision encoder of Qwen3-VL-2B.
    """
    return dataclasses.replace(
        qwen3_vl_30b_a3b(vocabulary),
        depth=13,
        experts=64,
        vision=SMALL_QWEN3_VISION,
    )


def qwen3_vl_30b_a3b(vocabulary: int = 151_936) -> ModelConfig:
    """Qwen3-VL-30B-A3B: 31.1 billion parameters, 128 experts, 8 for each token."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=2048,
        depth=48,
        query_heads=32,
        kv_heads=4,
        head_dim=128,
        experts=128,
        experts_per_token=8,
        expert_width=768,
        rope_theta=5e6,
        rope_sections=(24, 20, 20),
        vision=QWEN3_VISION,
        image_token=151_655,
    )


def qwen3_vl_8b(vocabulary: int = 151_936) -> ModelConfig:
    """Qwen3-VL-8B: the same architecture without experts."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=4096,
        depth=36,
        query_heads=32,
        kv_heads=8,
        head_dim=128,
        mlp_width=12_288,
        rope_theta=5e6,
        rope_sections=(24, 20, 20),
        vision=QWEN3_VISION,
        image_token=151_655,
    )


def qwen3_vl_2b(vocabulary: int = 151_936) -> ModelConfig:
    """Qwen3-VL-2B: the same again, with the embedding as its head."""
    return dataclasses.replace(
        qwen3_vl_8b(vocabulary),
        width=2048,
        depth=28,
        query_heads=16,
        mlp_width=6144,
        tied_embeddings=True,
        vision=SMALL_QWEN3_VISION,
    )


def qwen2_5_vl_7b(vocabulary: int = 152_064) -> ModelConfig:
    """Qwen2.5-VL-7B, and so UI-TARS-1.5-7B."""
    return ModelConfig(
        vocabulary=vocabulary,
        width=3584,
        depth=28,
        query_heads=28,
        kv_heads=4,
        head_dim=128,
        mlp_width=18_944,
        qkv_bias=True,
        query_key_norm=False,
        rope_theta=1e6,
        rope_sections=(16, 24, 24),
        rope_interleaved=False,
        vision=VisionConfig(
            patch=14,
            merge=2,
            temporal=2,
            grid=0,
            width=1280,
            depth=32,
            heads=16,
            mlp_width=3420,
            gated=True,
            window=112,
            whole_image_blocks=(7, 15, 23, 31),
            pixel_mean=CLIP_MEAN,
            pixel_std=CLIP_STD,
            max_pixels=28 * 28 * 16_384,
        ),
        image_token=151_655,
    )


def ui_tars_2(vocabulary: int = 151_936) -> ModelConfig:
    """The size of the report's policy: 230 billion parameters, 23 active, 532 million of them the vision encoder.

    The report gives these three numbers only. All widths, depths and head counts here were chosen by us to meet them,
    in the architecture of Qwen3-VL-MoE and in multiples of 128.
    """
    return ModelConfig(
        vocabulary=vocabulary,
        width=6144,
        depth=61,
        query_heads=64,
        kv_heads=8,
        head_dim=128,
        experts=128,
        experts_per_token=8,
        expert_width=1536,
        rope_theta=5e6,
        rope_sections=(24, 20, 20),
        vision=VisionConfig(
            patch=16,
            merge=2,
            temporal=2,
            grid=48,
            width=1024,
            depth=28,
            heads=16,
            mlp_width=4224,
            deepstack=(7, 14, 21),
            min_pixels=QWEN3_VISION.min_pixels,
            max_pixels=QWEN3_VISION.max_pixels,
        ),
        image_token=151_655,
    )


PRESETS = {
    "micro": micro,
    "nano": nano,
    "pico": pico,
    "qwen3-vl-30b-a3b": qwen3_vl_30b_a3b,
    "qwen3-vl-2b": qwen3_vl_2b,
    "qwen3-vl-8b": qwen3_vl_8b,
    "qwen2.5-vl-7b": qwen2_5_vl_7b,
    "small": small,
    "ui-tars-2": ui_tars_2,
}


def preset(name: str, vocabulary: int | None = None) -> ModelConfig:
    """The preset of this name, with its own vocabulary unless another is given; raises InputError for a name not in
    `PRESETS`."""
    if name not in PRESETS:
        raise InputError(f"model.preset must be one of {', '.join(sorted(PRESETS))}; got {name!r}")
    return PRESETS[name]() if vocabulary is None else PRESETS[name](vocabulary)
