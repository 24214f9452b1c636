"""config.json of `transformers` to our `ModelConfig` and back.

A file may leave out what equals the default of its family (or say null), and be flat or nested (`text_config`). What
images are read with stands in a file of its own, preprocessor_config.json, or as a part of processor_config.json
(transformers 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.huggingface.fields import CheckpointFields, json_object, three
from tars_jax.model.huggingface.rotary import read_rope, rope_fields
from tars_jax.model.presets import CLIP_MEAN, CLIP_STD

ARCHITECTURES = {
    "qwen3_vl_moe": "Qwen3VLMoeForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
}
CONFIG_FILE, PREPROCESSOR_FILE, PROCESSOR_FILE = "config.json", "preprocessor_config.json", "processor_config.json"
# Layers and blocks each have a table of tensors; a token's experts are recorded as int16; pixels are counted in int32.
MOST_LAYERS, MOST_MERGED, MOST_EXPERTS, MOST_PIXELS = 4096, 64, 2**15 - 1, 2**31 - 1

_QWEN3_VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [8, 16, 24],
    "hidden_act": "gelu_pytorch_tanh",
}
_QWEN25_VISION = {
    "depth": 32,
    "hidden_size": 3584,
    "intermediate_size": 3420,
    "num_heads": 16,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31],
    "hidden_act": "silu",
}
_TEXT: dict[str, dict[str, Any]] = {
    "qwen3_vl_moe": {"intermediate_size": 5632, "decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_vl": {"head_dim": 128},
    "qwen2_5_vl": {
        "vocab_size": 152_064,
        "hidden_size": 8192,
        "intermediate_size": 29_568,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5,
        "use_sliding_window": False,
    },
}

# What servers and tokenizers read of a config.json, and the model does not.
_KEPT_ABOVE = ("video_token_id", "vision_start_token_id", "vision_end_token_id", "vision_token_id")
_KEPT_OF_TEXT = ("max_position_embeddings", "bos_token_id", "eos_token_id", "pad_token_id")

Config = TypeVar("Config", ModelConfig, VisionConfig)


def family(config: ModelConfig) -> str:
    """The `model_type` whose architecture a config has; raises InputError when it is none of them."""
    vision = config.vision
    qwen25 = (config.qkv_bias, not config.query_key_norm, not config.rope_interleaved, vision.gated)
    if all(qwen25) and not config.experts and not vision.grid and not vision.deepstack and vision.window:
        if config.query_heads * config.head_dim == config.width:
            return "qwen2_5_vl"
    elif not any(qwen25) and vision.grid and not vision.window:
        return "qwen3_vl_moe" if config.experts else "qwen3_vl"
    raise InputError(f"this model config is none of the architectures {', '.join(ARCHITECTURES)}")


def read_config(directory: Path) -> ModelConfig:
    """The config of a checkpoint directory.

    Raises:
        InputError: a file cannot be read, a field is missing or has an impossible value, or the architecture is none
            of ours; the message names file and field.
    """
    path = directory / CONFIG_FILE
    top = read_object(path)
    kind = top.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        raise InputError(f"{path}: model_type must be one of {', '.join(ARCHITECTURES)}; got {kind!r}")
    flat = top.get("text_config") is None
    text = CheckpointFields(path, top if flat else json_object(path, top, "text_config"), _TEXT[kind])
    text.require("hidden_act", "silu", default="silu")
    text.require("attention_bias", False, default=False)
    if kind == "qwen2_5_vl":
        text.require("use_sliding_window", False)
    width, heads = text.size("hidden_size"), text.size("num_attention_heads")
    vocabulary = text.size("vocab_size")
    head_dim = text.size("head_dim") if "head_dim" in text.values else width // heads
    depth = text.size("num_hidden_layers", most=MOST_LAYERS)
    dense = _dense_layers(text, depth) if kind == "qwen3_vl_moe" else tuple(range(depth))
    experts = len(dense) < depth
    return _made(
        path,
        ModelConfig,
        vocabulary=vocabulary,
        width=width,
        depth=depth,
        query_heads=heads,
        kv_heads=text.size("num_key_value_heads"),
        head_dim=head_dim,
        experts=text.size("num_experts", "num_local_experts", most=MOST_EXPERTS) if experts else 0,
        experts_per_token=text.size("num_experts_per_tok") if experts else 0,
        expert_width=text.size("moe_intermediate_size") if experts else 0,
        mlp_width=text.size("intermediate_size") if dense else 0,
        dense_layers=dense if experts else (),
        qkv_bias=kind == "qwen2_5_vl",
        query_key_norm=kind != "qwen2_5_vl",
        rope_interleaved=kind != "qwen2_5_vl",
        norm_epsilon=text.positive("rms_norm_eps", 1e-6),
        tied_embeddings=_is_tied(CheckpointFields(path, top), text, kind),
        vision=_read_vision(directory, json_object(path, top, "vision_config"), kind),
        image_token=CheckpointFields(path, top, {"image_token_id": 151_655}).size(
            "image_token_id", least=0, most=vocabulary - 1
        ),
        **read_rope(path, text.values, kind, head_dim),
    )


def _dense_layers(text: CheckpointFields, depth: int) -> tuple[int, ...]:
    """Numbers of the dense layers: those that are listed, and all but every n-th of the rest."""
    listed, step = text.blocks("mlp_only_layers"), text.size("decoder_sparse_step")
    return tuple(layer for layer in range(depth) if layer in listed or (layer + 1) % step)


def _is_tied(top: CheckpointFields, text: CheckpointFields, kind: str) -> bool:
    """Whether the embeddings are tied. Where the two sections differ, transformers reads one of them, and not the same
    one in every family."""
    inner = text.flag("tie_word_embeddings")
    outer = top.flag("tie_word_embeddings")
    return outer or inner if kind == "qwen2_5_vl" else outer


def _read_vision(directory: Path, section: Mapping[str, Any], kind: str) -> VisionConfig:
    qwen25 = kind == "qwen2_5_vl"
    defaults = _QWEN25_VISION if qwen25 else _QWEN3_VISION
    path = directory / CONFIG_FILE
    vision = CheckpointFields(path, section, defaults, "vision_config.")
    vision.require("hidden_act", defaults["hidden_act"])
    rope = CheckpointFields(
        path, json_object(path, vision.values, "rope_parameters"), prefix="vision_config.rope_parameters."
    )
    if (form := rope.values.get("rope_type", "axial")) not in ("default", "axial"):
        raise InputError(f"{rope.prefix}rope_type must be default or axial; got {form!r}")
    mean, std = (CLIP_MEAN, CLIP_STD) if qwen25 else ((0.5,) * 3, (0.5,) * 3)
    preprocessor, pixels = _read_preprocessor(directory)
    smallest, largest = _pixel_bounds(preprocessor, pixels)
    grid = 0 if qwen25 else math.isqrt(vision.size("num_position_embeddings"))
    if not qwen25 and grid**2 != vision.size("num_position_embeddings"):
        raise InputError(f"{path}: vision_config.num_position_embeddings must be a square number")
    patch, merge = vision.size("patch_size"), vision.size("spatial_merge_size", most=MOST_MERGED)
    depth, unit = vision.size("depth", most=MOST_LAYERS), patch * merge
    return _made(
        path,
        VisionConfig,
        patch=patch,
        merge=merge,
        temporal=vision.size("temporal_patch_size"),
        grid=grid,
        width=vision.size("hidden_size"),
        depth=depth,
        heads=vision.size("num_heads"),
        mlp_width=vision.size("intermediate_size"),
        rope_theta=rope.positive("rope_theta", VisionConfig.rope_theta),
        gated=qwen25,
        # A window is of whole tokens, and a block that is not there attends to nothing: so `transformers` reads them.
        window=vision.size("window_size", least=unit) // unit * unit if qwen25 else 0,
        whole_image_blocks=tuple(b for b in vision.blocks("fullatt_block_indexes") if b < depth) if qwen25 else (),
        deepstack=() if qwen25 else vision.blocks("deepstack_visual_indexes"),
        pixel_mean=three(preprocessor, "image_mean", pixels.get("image_mean", mean)),
        pixel_std=three(preprocessor, "image_std", pixels.get("image_std", std), positive=True),
        min_pixels=smallest,
        max_pixels=largest,
    )


def _made(path: Path, config: type[Config], **values: Any) -> Config:
    """A config of these values; what is wrong with them together is an InputError that names the file."""
    try:
        return config(**values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read_preprocessor(directory: Path) -> tuple[Path, dict[str, Any]]:
    """The file that says how images are read, and what it says; nothing where there is none.

    Of two the newer form counts, as in transformers, which leaves the older one where it lies.
    """
    path = directory / PROCESSOR_FILE
    if path.exists() and (pixels := json_object(path, read_object(path), "image_processor")):
        return path, pixels
    path = directory / PREPROCESSOR_FILE
    return path, read_object(path) if path.exists() else {}


def _pixel_bounds(path: Path, pixels: Mapping[str, Any]) -> tuple[int, int]:
    """The fewest and most pixels that an image is read with: in fields of their own, or under two names in `size`."""
    size = json_object(path, pixels, "size")
    bounds = []
    for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
        default = getattr(VisionConfig, name)
        value = pixels.get(name) or size.get(edge) or size.get(name) or default
        bounds.append(CheckpointFields(path, {name: value}).size(name, most=MOST_PIXELS))
    if bounds[0] > bounds[1]:
        raise InputError(f"{path}: min_pixels {bounds[0]} must be at most max_pixels {bounds[1]}")
    return bounds[0], bounds[1]


def config_files(config: ModelConfig, dtype: str, before: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """File name to content of the JSON files from which `transformers` rebuilds model and image processor.

    Args:
        before: the config.json that the weights once came with; what others read of it and we do not, such as the
            longest window, is kept.

    Raises InputError when the config is none of its architectures.
    """
    kind, vision = family(config), config.vision
    text: dict[str, Any] = {
        "model_type": f"{kind}_text",
        "vocab_size": config.vocabulary,
        "hidden_size": config.width,
        "num_hidden_layers": config.depth,
        "num_attention_heads": config.query_heads,
        "num_key_value_heads": config.kv_heads,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_epsilon,
        **rope_fields(config, kind),
        "tie_word_embeddings": config.tied_embeddings,
    }
    seen: dict[str, Any] = {
        "model_type": kind,
        "depth": vision.depth,
        "hidden_size": vision.width,
        "out_hidden_size": config.width,
        "intermediate_size": vision.mlp_width,
        "num_heads": vision.heads,
        "patch_size": vision.patch,
        "spatial_merge_size": vision.merge,
        "temporal_patch_size": vision.temporal,
    }
    if kind == "qwen2_5_vl":
        seen |= {"window_size": vision.window, "fullatt_block_indexes": list(vision.whole_image_blocks)}
        seen["hidden_act"] = "silu"
    else:
        text["head_dim"] = config.head_dim
        seen |= {"num_position_embeddings": vision.grid**2, "deepstack_visual_indexes": list(vision.deepstack)}
        seen["hidden_act"] = "gelu_pytorch_tanh"
    if vision.rope_theta != VisionConfig.rope_theta:
        seen["rope_parameters"] = {"rope_type": "axial", "rope_theta": vision.rope_theta}
    if config.experts:
        text |= {"num_experts": config.experts, "num_experts_per_tok": config.experts_per_token}
        text |= {"moe_intermediate_size": config.expert_width, "decoder_sparse_step": 1}
        text["mlp_only_layers"] = list(config.dense_layers)
    if config.mlp_width:
        text["intermediate_size"] = config.mlp_width
    main = {
        "architectures": [ARCHITECTURES[kind]],
        "model_type": kind,
        "torch_dtype": dtype,
        "tie_word_embeddings": config.tied_embeddings,
        "text_config": text,
        "vision_config": seen,
    }
    if config.image_token is not None:
        main["image_token_id"] = config.image_token
    if before is not None:
        main |= {name: before[name] for name in _KEPT_ABOVE if name in before}
        inner = before.get("text_config") or before
        text |= {name: inner[name] for name in _KEPT_OF_TEXT if name in inner}
    preprocessor = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "patch_size": vision.patch,
        "merge_size": vision.merge,
        "temporal_patch_size": vision.temporal,
        "image_mean": list(vision.pixel_mean),
        "image_std": list(vision.pixel_std),
        # transformers 4 reads the first two, 5 the last.
        "min_pixels": vision.min_pixels,
        "max_pixels": vision.max_pixels,
        "size": {"shortest_edge": vision.min_pixels, "longest_edge": vision.max_pixels},
    }
    return {CONFIG_FILE: main, PREPROCESSOR_FILE: preprocessor}
