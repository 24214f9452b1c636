"""Ours against `transformers` itself, on models that it makes here; only where torch and transformers are installed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image
from tokenizers.pre_tokenizers import ByteLevel

pytest.importorskip("safetensors")

from tars_jax.model.config import VisionConfig
from tars_jax.model.huggingface import export_checkpoint, import_checkpoint
from tars_jax.model.policy import Output, Parameters, forward
from tars_jax.model.preprocessing import fit_image, patches
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import COMMITTED, load_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ("Click the <point>12 34</point>.", "", " \n\tnaïve  e\u0301 文字 🙂🙂", "I'll do 1234 x-y_z", "<|im_end|>a")


def sibling(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), Path(__file__).parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make, goldens, fp8 = sibling("goldens/make"), sibling("test_huggingface"), sibling("test_fp8")

WIDE, NARROW = {"mrope_section": [24, 20, 20]}, {"mrope_section": [1, 1, 0]}
# Positions of the contexts here are some 40: a trained length of 16 puts the ramp among the frequencies of small heads.
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
RARE = {"mscale": 0.7, "mscale_all_dim": 1.5, "beta_fast": 2, "beta_slow": 0.05, "truncate": False}


def rope_of(kind: str) -> dict[str, Any]:
    rope: dict[str, Any] = make.KINDS[kind]["text_config"]["rope_parameters"]
    return rope


def compare(model: Any, config: Any, parameters: Parameters, seed: int, sizes: tuple[tuple[int, int], ...]) -> None:
    tokens, images = make.make_context(seed, sizes, start=True)
    theirs = make.run(model, tokens, images)
    inputs = goldens.one_context(config, tokens, images)
    np.testing.assert_array_equal(inputs.positions[:, 0], theirs["positions"])
    ours: Output = jax.jit(lambda parameters, inputs: forward(config, parameters, inputs))(parameters, inputs)
    others = np.arange(config.vocabulary) != config.image_token
    np.testing.assert_allclose(ours.hidden[0], theirs["hidden"], atol=1e-4)
    np.testing.assert_allclose(ours.logits[0][:, others], theirs["logits"][:, others], atol=1e-4)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", list(make.KINDS))
def test_both_ways(kind: str, tied: bool, tmp_path: Path) -> None:
    """Their model imported, and the export of it loaded by them: the same hidden states and logits all three times."""
    model = make.make_model(kind, seed=20 + tied, tied=tied)
    model.save_pretrained(tmp_path / "theirs")
    config, parameters = import_checkpoint(tmp_path / "theirs", make_mesh({}, jax.devices()[:1]))
    assert config.tied_embeddings == tied
    compare(model, config, parameters, seed=3, sizes=((8, 8), (24, 56), (24, 56), (40, 16)))

    export_checkpoint(tmp_path / "ours", config, parameters, shard_bytes=50_000)
    loaded, report = transformers.AutoModelForImageTextToText.from_pretrained(
        tmp_path / "ours", dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    for name, weight in model.named_parameters():
        assert torch.equal(weight, loaded.get_parameter(name)), name


@pytest.mark.parametrize(
    ("kind", "text", "vision"),
    [
        # Sections of larger heads and of smaller ones, which leave the rest to time.
        ("qwen3_vl_moe", {"rope_parameters": rope_of("qwen3_vl") | WIDE}, {}),
        ("qwen3_vl", {"rope_parameters": rope_of("qwen3_vl") | NARROW}, {}),
        # Blocks that are not there; a window of two tokens and a half.
        ("qwen2_5_vl", {}, {"fullatt_block_indexes": [1, 7, 15], "window_size": 20}),
        ("qwen3_vl", {}, {"rope_parameters": {"rope_type": "axial", "rope_theta": 100.0}}),
        *((kind, {"rope_parameters": rope_of(kind) | YARN}, {}) for kind in make.KINDS),
        ("qwen3_vl", {"rope_parameters": rope_of("qwen3_vl") | YARN | RARE}, {}),
        # Some layers without experts, and all of them.
        ("qwen3_vl_moe", {"mlp_only_layers": [0, 9], "intermediate_size": 48}, {}),
        ("qwen3_vl_moe", {"decoder_sparse_step": 2, "intermediate_size": 48, "num_hidden_layers": 5}, {}),
        ("qwen3_vl_moe", {"decoder_sparse_step": 4, "intermediate_size": 48}, {}),
    ],
)
def test_unusual_configs(kind: str, text: dict[str, Any], vision: dict[str, Any], tmp_path: Path) -> None:
    if not make.FIVE and "rope_parameters" in vision:
        pytest.skip("transformers 4 has one theta for all vision encoders")
    model = make.make_model(kind, seed=30, text=text, vision=vision)
    model.save_pretrained(tmp_path / "theirs")
    config, parameters = import_checkpoint(tmp_path / "theirs", make_mesh({}, jax.devices()[:1]))
    sizes = ((24, 56), (8, 40))
    compare(model, config, parameters, seed=4, sizes=sizes)
    export_checkpoint(tmp_path / "ours", config, parameters)
    loaded = transformers.AutoModelForImageTextToText.from_pretrained(
        tmp_path / "ours", dtype=torch.float32, attn_implementation="eager"
    )
    compare(loaded, config, parameters, seed=4, sizes=sizes)


@pytest.mark.parametrize("kind", ["qwen3_vl", "qwen2_5_vl"])
def test_fp8_stands_for_what_transformers_takes_it_for(kind: str, tmp_path: Path) -> None:
    """Without experts: 5.23 reads none of Qwen3-VL-MoE in FP8. It knows the size of a block by the scales' number."""
    pytest.importorskip("accelerate")
    if not make.FIVE:
        pytest.skip("transformers 4 dequantizes on a GPU alone")
    block = (8, 4)
    stored, scales, _ = fp8.quantized(fp8.load_file(fp8.GOLDENS / kind / "model.safetensors"), block)
    quantization = fp8.QUANTIZATION | {"weight_block_size": list(block)}
    folder = fp8.written(tmp_path / "fp8", kind, quantization, stored | scales)
    config, parameters = import_checkpoint(folder, make_mesh({}, jax.devices()[:1]))
    loaded = transformers.AutoModelForImageTextToText.from_pretrained(
        folder,
        dtype=torch.float32,
        attn_implementation="eager",
        quantization_config=transformers.FineGrainedFP8Config(
            dequantize=True, weight_block_size=block, modules_to_not_convert=quantization["modules_to_not_convert"]
        ),
    ).float()  # what is not quantized was loaded in the type of the file
    compare(loaded, config, parameters, seed=4, sizes=((24, 56), (8, 40)))
    export_checkpoint(tmp_path / "ours", config, parameters)
    again = transformers.AutoModelForImageTextToText.from_pretrained(tmp_path / "ours", dtype=torch.float32)
    for name, weight in again.named_parameters():
        assert torch.equal(weight, loaded.get_parameter(name)), name


def test_our_own_nano_shape_is_loaded_by_transformers(tiny_model: Any, tiny_parameters: Any, tmp_path: Path) -> None:
    if not make.FIVE:
        pytest.skip("an expert's square kernel reads otherwise in transformers 4 and 5; the export is for 5")
    export_checkpoint(tmp_path / "nano", tiny_model, tiny_parameters)
    model = transformers.AutoModelForImageTextToText.from_pretrained(tmp_path / "nano", attn_implementation="eager")
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (16, 24, 3), np.uint8)]
    tokens = np.array([1, 7, *[5] * 6, 9, 10], np.int32)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "nano", do_resize=False, backend="pil")
    batch = processor(images=images, return_tensors="pt")
    ids = torch.tensor(tokens[None].astype(np.int64))
    with torch.no_grad():
        theirs = model.model(
            input_ids=ids,
            pixel_values=batch["pixel_values"].float(),
            image_grid_thw=batch["image_grid_thw"],
            mm_token_type_ids=(ids == 5).int(),
        ).last_hidden_state[0]
    inputs = goldens.one_context(tiny_model, tokens, images)
    ours: Output = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs))(inputs)
    np.testing.assert_allclose(ours.hidden[0], theirs.numpy(), atol=1e-4)


@pytest.mark.parametrize("size", [(37, 90), (300, 1000), (1080, 1920)])
def test_preprocessing(size: tuple[int, int]) -> None:
    """Sizes, bytes, patches and normalization are equal, bit for bit."""
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (*size, 3), np.uint8))
    clip = {"image_mean": make.MEAN["qwen2_5_vl"], "image_std": make.STD["qwen2_5_vl"]}
    processor = make.ImageProcessor(patch_size=14, **clip)
    config = VisionConfig(
        patch=14, merge=2, temporal=2, pixel_mean=make.MEAN["qwen2_5_vl"], pixel_std=make.STD["qwen2_5_vl"]
    )
    theirs = processor(images=[image])
    ours = fit_image(image, config)
    assert [1, ours.shape[0] // 14, ours.shape[1] // 14] == theirs["image_grid_thw"][0].tolist()
    np.testing.assert_array_equal(patches(ours[None], config)[0], theirs["pixel_values"])


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "CMYK", "I;16"])
def test_images_of_every_mode(mode: str) -> None:
    """Since 5.23 what is transparent stands on white; before, it had whatever color lay below."""
    pixels = np.random.default_rng(2).integers(0, 256, (40, 72, 4), np.uint8)
    image = Image.fromarray(pixels).convert("LA" if mode == "I;16" else mode)
    if mode == "P":
        image.info["transparency"] = 7
    if mode == "I;16":
        image = Image.fromarray(pixels[..., 0].astype(np.uint16) * 257)
    if image.has_transparency_data and tuple(map(int, transformers.__version__.split(".")[:2])) < (5, 23):
        pytest.skip("an earlier transformers drops the alpha channel")
    config = VisionConfig(patch=14, merge=2, temporal=2)
    processor = make.ImageProcessor(patch_size=14, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    np.testing.assert_array_equal(
        patches(fit_image(image, config)[None], config)[0], processor([image])["pixel_values"]
    )


def test_tokenizer_of_the_family(tmp_path: Path) -> None:
    """Qwen's own normalizer, splitting and byte-level BPE, with a small vocabulary."""
    alphabet = sorted(ByteLevel.alphabet())
    merges = [("l", "i"), ("c", "k"), ("li", "ck"), ("C", "lick"), ("Ġ", "t"), ("Ġt", "h"), ("o", "in"), ("i", "n")]
    vocabulary = dict.fromkeys([*alphabet, *("".join(pair) for pair in merges)])
    if not make.FIVE:
        pytest.skip("transformers 4 builds this tokenizer of files, not of a vocabulary")
    theirs = transformers.Qwen2Tokenizer(
        vocab={token: number for number, token in enumerate(vocabulary)},
        merges=merges,
        extra_special_tokens=["<|image_pad|>", "<|im_end|>"],
    )
    theirs.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path / "tokenizer.json")
    assert (ours.image, ours.end) == tuple(theirs.convert_tokens_to_ids(["<|image_pad|>", "<|im_end|>"]))
    assert len(theirs) == ours.vocabulary
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)
        assert ours.decode(ours.encode(text)) == theirs.decode(ours.encode(text), clean_up_tokenization_spaces=False)


def test_our_tokenizer_in_transformers() -> None:
    ours, theirs = load_tokenizer(), transformers.PreTrainedTokenizerFast(tokenizer_file=str(COMMITTED))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)
