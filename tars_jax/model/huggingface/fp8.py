"""Checkpoints in FP8, as Qwen and DeepSeek publish them: blocks of float8_e4m3fn, each with a scale.

A tensor NAME [.., rows, columns] has a second one, NAME_scale_inv [.., row blocks, column blocks], and stands for

    W[.., i, j] = stored[.., i, j] * scale_inv[.., i // rows of a block, j // columns of a block]

in float32. What is kept in another type (the vision encoder, norms, routers, the head) has no scales.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.model.huggingface.fields import CheckpointFields, json_object

KIND, SCALE = "F8_E4M3", "_scale_inv"  # the type in a file; what the name of a scale ends with

_VALUES = np.arange(256, dtype=np.uint8).view(jnp.float8_e4m3fn).astype(np.float32)  # of each byte


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Sizes of the blocks that have a scale; those at the edges may be smaller."""

    rows: int
    columns: int

    def scales(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the scales of a tensor [.., rows, columns]."""
        return *shape[:-2], -(-shape[-2] // self.rows), -(-shape[-1] // self.columns)

    def dequantized(self, stored: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Values of the bytes [.., rows, columns], float32."""
        whole = _VALUES[stored]
        of_columns = scales.astype(np.float32).repeat(self.columns, -1)[..., None, : stored.shape[-1]]
        for block in range(scales.shape[-2]):
            whole[..., block * self.rows : (block + 1) * self.rows, :] *= of_columns[..., block, :, :]
        return whole


def read_blocks(path: Path, config: dict[str, Any]) -> Blocks | None:
    """Reads the quantized blocks of a config.json; None where it says nothing of quantized weights.

    Raises InputError that names file and field for weights that are quantized in another way.
    """
    if not (said := json_object(path, config, "quantization_config")):
        return None
    fields = CheckpointFields(path, said, prefix="quantization_config.")
    fields.require("quant_method", "fp8")
    fields.require("activation_scheme", "dynamic", default="dynamic")
    fields.require("fmt", "e4m3", default="e4m3")
    sizes = fields.values.get("weight_block_size")
    if not isinstance(sizes, list) or len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise InputError(f"{fields.prefix}weight_block_size must be two positive integers; got {sizes!r}")
    return Blocks(*sizes)


def first_bytes(path: Path) -> dict[str, int]:
    """Offset of each tensor in a safetensors file; its own library gives numpy no float8.

    The format: 8 bytes that hold the size of the header, the header in JSON, the tensors.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    return {name: 8 + size + told["data_offsets"][0] for name, told in header.items() if name != "__metadata__"}
