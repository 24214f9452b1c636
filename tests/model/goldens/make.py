"""Tiny random models of `transformers`, their checkpoints, and what they compute. Makes the files beside it.

    python tests/model/goldens/make.py  # needs torch and transformers (2.13 and 5.23 made what is committed)

Each folder of GOLDENS is what `save_pretrained` writes in bfloat16, with golden.npz: one context with images of several
sizes, the patches that the image processor makes of them, and the float32 positions, hidden states and logits of the
model.
preprocessing.npz holds the sizes that images are read at, and two resized images; frequencies.npz those of positions.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import transformers

FIVE = not transformers.__version__.startswith("4.")
if FIVE:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    ImageProcessor = transformers.Qwen2VLImageProcessorPil
else:
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

    ImageProcessor = transformers.Qwen2VLImageProcessor

VOCABULARY, IMAGE, IMAGE_START, PATCH, MERGE = 40, 5, 4, 4, 2
SIZES = ((16, 24), (40, 24), (16, 24))  # pixels of the images of the context
MEAN, STD = {"qwen2_5_vl": (0.48145466, 0.4578275, 0.40821073)}, {"qwen2_5_vl": (0.26862954, 0.26130258, 0.27577711)}

_TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "bos_token_id": None,
    "eos_token_id": None,
}
_VISION: dict[str, Any] = {
    "hidden_size": 16,
    "depth": 3,
    "num_heads": 2,
    "intermediate_size": 24,
    "patch_size": PATCH,
    "spatial_merge_size": MERGE,
    "temporal_patch_size": 2,
    "out_hidden_size": 32,
}
_QWEN3_VISION = _VISION | {"num_position_embeddings": 9, "deepstack_visual_indexes": [0, 2]}
_QWEN3_ROPE = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
KINDS: dict[str, dict[str, Any]] = {
    "qwen3_vl_moe": {
        "text_config": _TEXT | _EXPERTS | {"head_dim": 16, "rope_parameters": _QWEN3_ROPE},
        "vision_config": _QWEN3_VISION,
    },
    "qwen3_vl": {
        "text_config": _TEXT | {"head_dim": 16, "intermediate_size": 48, "rope_parameters": _QWEN3_ROPE},
        "vision_config": _QWEN3_VISION,
    },
    "qwen2_5_vl": {
        "text_config": _TEXT
        | {
            "intermediate_size": 48,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 2, 1]},
        },
        "vision_config": _VISION | {"window_size": 16, "fullatt_block_indexes": [1]},
    },
}

# Folder -> family, and how its text section departs from that above.
GOLDENS: dict[str, tuple[str, dict[str, Any]]] = {
    **{kind: (kind, {}) for kind in KINDS},
    "qwen3_vl_moe_mixed": ("qwen3_vl_moe", {"mlp_only_layers": [1], "intermediate_size": 20}),
}


def make_model(
    kind: str,
    seed: int,
    tied: bool = False,
    text: Mapping[str, Any] = MappingProxyType({}),
    vision: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """A model with weights large enough that every part of it matters; `text` and `vision` change its sections."""
    sections = {name: part | changes for (name, part), changes in zip(KINDS[kind].items(), (text, vision), strict=True)}
    sections = sections if FIVE else _for_four(sections)
    config = transformers.CONFIG_MAPPING[kind](
        **sections, image_token_id=IMAGE, vision_start_token_id=IMAGE_START, tie_word_embeddings=tied
    )
    config._attn_implementation = "eager"
    model = transformers.AutoModelForImageTextToText.from_config(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim > 1:
                fan_in = weight.shape[-1] if weight.ndim == 3 else weight[0].numel()
                weight.copy_(noise if "embed_tokens" in name or "pos_embed" in name else noise * fan_in**-0.5)
            else:
                weight.copy_(1 + 0.2 * noise if "norm" in name and name.endswith("weight") else 0.3 * noise)
            weight.copy_(weight.bfloat16())
    return model


def _for_four(sections: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rotary settings as transformers 4 takes them."""
    text = dict(sections["text_config"])
    rope = dict(text.pop("rope_parameters"))
    return sections | {"text_config": text | {"rope_theta": rope.pop("rope_theta"), "rope_scaling": rope}}


def make_context(
    seed: int, sizes: tuple[tuple[int, int], ...], start: bool = False
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Token ids of text with images in it, and the images, uint8; with `start` a token stands before each image, by
    which transformers 4 finds it."""
    rng = np.random.default_rng(seed)
    tokens: list[int] = []
    images = []
    for height, width in sizes:
        tokens += [*rng.integers(6, VOCABULARY, 3).tolist(), *[IMAGE_START] * start]
        tokens += [IMAGE] * (height * width // (PATCH * MERGE) ** 2)
        images.append(rng.integers(0, 256, (height, width, 3), np.uint8))
    return np.array([*tokens, *rng.integers(6, VOCABULARY, 4)], np.int32), images


def pixel_values(images: list[np.ndarray], kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Patches and grids by the image processor of `transformers`, with sizes kept."""
    processor = ImageProcessor(
        patch_size=PATCH,
        merge_size=MERGE,
        do_resize=False,
        image_mean=MEAN.get(kind, (0.5,) * 3),
        image_std=STD.get(kind, (0.5,) * 3),
    )
    batch = processor(images=images, return_tensors="pt")
    return batch["pixel_values"].float(), batch["image_grid_thw"]


@torch.no_grad()
def run(model: Any, tokens: np.ndarray, images: list[np.ndarray]) -> dict[str, Any]:
    """Positions [3, T], hidden states [T, D] after the last norm and logits [T, V], all of the float32 model."""
    ids = torch.tensor(tokens[None].astype(np.int64))
    told = {"mm_token_type_ids": (ids == IMAGE).int()} if FIVE else {}
    pixels, grids = pixel_values(images, model.config.model_type)
    positions, _ = model.model.get_rope_index(ids, image_grid_thw=grids, **told)
    output = model.model(input_ids=ids, pixel_values=pixels, image_grid_thw=grids, **told)
    logits = model.lm_head(output.last_hidden_state)
    return {
        "positions": positions[:, 0].numpy().astype(np.int32),
        "hidden": output.last_hidden_state[0].numpy(),
        "logits": logits[0].numpy(),
    }


def make_preprocessing() -> dict[str, Any]:
    """Sizes that images are read at, and the bytes of two resized ones, in the patches' order."""
    rng = np.random.default_rng(9)
    sizes = [(1, 1), (1, 200), (28, 28), (48, 80), (1080, 1920), (2400, 1080), (5000, 30), (14, 14), (80, 16)]
    sizes += [tuple(size) for size in np.exp(rng.uniform(2, 8, (40, 2))).astype(int).tolist()]
    sizes = [size for size in sizes if max(size) <= 200 * min(size)]
    made = {"sizes": np.array(sizes, np.int32)}
    for patch in (14, 16):
        made[f"read_at_{patch}"] = np.array([smart_resize(*size, 2 * patch) for size in sizes], np.int32)
        processor = ImageProcessor(patch_size=patch, do_rescale=False, do_normalize=False)
        image = rng.integers(0, 256, (37, 90, 3), np.uint8)
        made[f"image_{patch}"] = image
        made[f"patches_{patch}"] = np.asarray(processor(images=[image])["pixel_values"]).astype(np.uint8)
    return made


def make_frequencies() -> dict[str, Any]:
    """Rotary frequencies of heads of 128 by torch's float32 power, for the thetas of the families: 1e6 and 5e6."""
    exponent = torch.arange(0, 128, 2, dtype=torch.int64).float() / 128
    return {f"{theta:.0f}": (1.0 / (theta**exponent)).numpy() for theta in (1e6, 5e6)}


def main() -> None:
    np.savez(Path(__file__).with_name("frequencies.npz"), **make_frequencies())
    np.savez_compressed(Path(__file__).with_name("preprocessing.npz"), **make_preprocessing())
    for number, (name, (kind, text)) in enumerate(GOLDENS.items()):
        folder = Path(__file__).with_name(name)
        shutil.rmtree(folder, ignore_errors=True)
        model = make_model(kind, seed=number, text=text)
        tokens, images = make_context(number, SIZES)
        golden = run(model, tokens, images)
        model.bfloat16().save_pretrained(folder)
        for unneeded in ("generation_config.json", "README.md"):
            (folder / unneeded).unlink(missing_ok=True)
        patches = pixel_values(images, kind)[0].numpy()
        named: dict[str, Any] = {f"image_{index}": image for index, image in enumerate(images)}
        np.savez_compressed(folder / "golden.npz", tokens=tokens, patches=patches, **named, **golden)


if __name__ == "__main__":
    main()
