"""Checkpoints in FP8 are what their blocks and scales say, whatever file and layout they are in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file

from tars_jax import InputError
from tars_jax.model.huggingface import import_checkpoint
from tars_jax.model.huggingface.files import OpenWeights
from tars_jax.model.sharding import make_mesh

GOLDENS = Path(__file__).with_name("goldens")
ROWS, COLUMNS = 8, 12  # of a block; 32, 24 and 16 rows and columns are no multiples of 12
QUANTIZATION = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "weight_block_size": [ROWS, COLUMNS],
    "modules_to_not_convert": ["lm_head", "model.visual"],
}
QUERY = "model.language_model.layers.0.self_attn.q_proj.weight"

Tensors = dict[str, np.ndarray]


def written(folder: Path, kind: str, quantization: Any, *files: Tensors) -> Path:
    """A checkpoint of several files, with the config of a golden one."""
    folder.mkdir()
    config = json.loads((GOLDENS / kind / "config.json").read_bytes())
    if quantization is not None:
        config["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(config))
    weight_map: dict[str, str] = {}
    for number, tensors in enumerate(files):
        save_file(tensors, folder / f"{number}.safetensors")
        weight_map |= dict.fromkeys(tensors, f"{number}.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def quantized(tensors: Tensors, block: tuple[int, int] = (ROWS, COLUMNS)) -> tuple[Tensors, Tensors, Tensors]:
    """Stored tensors, their scales, and what both stand for; vision, norms, routers, embedding and head stay."""
    stored, scales, exact = {}, {}, {}
    for name, tensor in tensors.items():
        stays = ("visual", "norm", "mlp.gate.", "embed", "lm_head")
        if tensor.ndim < 2 or any(part in name for part in stays):
            stored[name] = exact[name] = tensor
            continue
        *leading, rows, columns = tensor.shape
        i, j = np.arange(rows)[:, None] // block[0], np.arange(columns) // block[1]
        scale = np.random.default_rng(len(stored)).uniform(0.01, 0.02, (*leading, i[-1, 0] + 1, j[-1] + 1))
        scales[f"{name}_scale_inv"] = scale.astype(jnp.bfloat16)
        spread = scales[f"{name}_scale_inv"].astype(np.float32)[..., i, j]
        stored[name] = (tensor.astype(np.float32) / spread).astype(jnp.float8_e4m3fn)
        exact[name] = stored[name].astype(np.float32) * spread
    return stored, scales, exact


def as_published(tensors: Tensors) -> Tensors:
    experts = [name for name in tensors if ".experts." in name]
    return tensors | {name: np.ascontiguousarray(tensors[name].swapaxes(1, 2)) for name in experts}


def separate(tensors: Tensors) -> Tensors:
    split: Tensors = {}
    for name, array in tensors.items():
        if ".experts." not in name:
            split[name] = array
            continue
        for number, kernel in enumerate(array):
            half = len(kernel) // 2
            parts = {"down": kernel} if "down" in name else {"gate": kernel[:half], "up": kernel[half:]}
            for part, matrix in parts.items():
                split[f"{name.rpartition('.')[0]}.{number}.{part}_proj.weight"] = np.ascontiguousarray(matrix)
    return split


@pytest.mark.parametrize(
    ("kind", "layout"),
    [("qwen3_vl_moe", as_published), ("qwen3_vl_moe", separate), ("qwen3_vl", dict), ("qwen2_5_vl", dict)],
)
@pytest.mark.first(2)
def test_tensors_are_their_bytes_times_the_scale_of_the_block(
    kind: str, layout: Callable[[Tensors], Tensors], tmp_path: Path
) -> None:
    stored, scales, exact = quantized(layout(load_file(GOLDENS / kind / "model.safetensors")))
    assert len(scales) >= 3 * 6
    ours = OpenWeights(written(tmp_path / "fp8", kind, QUANTIZATION, stored, scales))
    plain = OpenWeights(written(tmp_path / "float32", kind, None, exact))
    assert ours.config == plain.config
    expected = {tensor.theirs: parts for tensor, parts in plain.by_file()}
    read = {tensor.theirs: parts for tensor, parts in ours.by_file()}
    assert read.keys() == expected.keys()
    for name, parts in expected.items():
        np.testing.assert_array_equal(read[name], parts, err_msg=name)
    for path, shape in plain.shapes.items():
        piece = (slice(1, 2), *(slice(0, size) for size in shape.shape[1:]))
        np.testing.assert_array_equal(ours.read(path, piece), plain.read(path, piece), err_msg=path)


def test_an_fp8_checkpoint_beside_its_scales_is_imported(tmp_path: Path) -> None:
    stored, scales, exact = quantized(load_file(GOLDENS / "qwen3_vl" / "model.safetensors"))
    mesh = make_mesh({}, jax.devices()[:1])
    _, ours = import_checkpoint(written(tmp_path / "fp8", "qwen3_vl", QUANTIZATION, stored | scales), mesh)
    _, expected = import_checkpoint(written(tmp_path / "float32", "qwen3_vl", None, exact), mesh)
    jax.tree.map(np.testing.assert_array_equal, ours, expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quant_method": "awq"}, "config.json: quantization_config.quant_method must be 'fp8'; got 'awq'"),
        ({"quant_method": None}, "config.json: quantization_config.quant_method must be 'fp8'; got nothing"),
        ({"activation_scheme": "static"}, "quantization_config.activation_scheme must be 'dynamic'; got 'static'"),
        ({"weight_block_size": None}, "quantization_config.weight_block_size must be two positive integers; got None"),
        ({"weight_block_size": [8]}, r"weight_block_size must be two positive integers; got \[8\]"),
        ({"weight_block_size": [8, True]}, r"weight_block_size must be two positive integers; got \[8, True\]"),
        ({"weight_block_size": [8, 8]}, r"2\d of another shape or type: .*proj.weight_scale_inv is BF16 "),
    ],
)
def test_other_quantizations_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    stored, scales, _ = quantized(load_file(GOLDENS / "qwen3_vl" / "model.safetensors"))
    folder = written(tmp_path / "fp8", "qwen3_vl", QUANTIZATION | changes, stored, scales)
    with pytest.raises(InputError, match=message):
        OpenWeights(folder)


def test_scales_that_are_not_there_or_have_no_tensor_are_named(tmp_path: Path) -> None:
    stored, scales, _ = quantized(load_file(GOLDENS / "qwen3_vl" / "model.safetensors"))
    scales["lm_head.weight_scale_inv"] = scales.pop(f"{QUERY}_scale_inv")
    with pytest.raises(InputError, match=rf"1 missing: {QUERY}_scale_inv; 1 unexpected: lm_head.weight_scale_inv$"):
        OpenWeights(written(tmp_path / "fp8", "qwen3_vl", QUANTIZATION, stored, scales))
    with pytest.raises(InputError, match=rf"unexpected: .*of another .*: .*{QUERY} is F8_E4M3 \[64, 32\] instead of"):
        OpenWeights(written(tmp_path / "silent", "qwen3_vl", None, {QUERY: stored.pop(QUERY)}, stored, scales))
