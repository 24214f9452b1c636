"""config.json of other people's checkpoints: what is read in every place where files write it, and what is refused."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import jax
import pytest

pytest.importorskip("safetensors")

from tars_jax import InputError
from tars_jax.model.config import ModelConfig, config_from_json, config_to_json
from tars_jax.model.huggingface import import_checkpoint, read_config
from tars_jax.model.huggingface.configuration import config_files
from tars_jax.model.presets import PRESETS, preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.yarn import Yarn

GOLDENS = Path(__file__).with_name("goldens")
TOP = ("model_type", "quantization_config", "image_token_id", "text_config", "vision_config")  # fields of no section


def copied(tmp_path: Path, kind: str = "qwen3_vl_moe") -> Path:
    return Path(shutil.copytree(GOLDENS / kind, tmp_path / "checkpoint"))


def test_pixels_of_an_image_in_every_place_where_files_say_so(tmp_path: Path) -> None:
    folder = copied(tmp_path, "qwen3_vl")
    size = {"size": {"shortest_edge": 65536, "longest_edge": 16777216}}
    for file, content in (("processor_config.json", {"image_processor": size}), ("preprocessor_config.json", size)):
        (folder / file).write_text(json.dumps(content))
        vision = read_config(folder).vision
        assert (vision.min_pixels, vision.max_pixels) == (65536, 16777216)
        (folder / file).unlink()
    for old in ({"min_pixels": 100, "max_pixels": 900}, {"size": {"min_pixels": 100, "max_pixels": 900}}):
        (folder / "preprocessor_config.json").write_text(json.dumps(old))
        vision = read_config(folder).vision
        assert (vision.min_pixels, vision.max_pixels) == (100, 900)
    # Of two files the newer form, as in transformers; its other parts say nothing of images.
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": size}))
    assert read_config(folder).vision.min_pixels == 65536
    (folder / "processor_config.json").write_text('{"processor_class": "Qwen3VLProcessor"}')
    assert read_config(folder).vision.min_pixels == 100
    for wrong, message in (
        ('{"max_pixels": "many"}', "max_pixels must be a positive integer; got 'many'"),
        ('{"min_pixels": 900, "max_pixels": 100}', "min_pixels 900 must be at most max_pixels 100"),
        ('{"size": 900}', "size must be a JSON object; got 900"),
        ('{"image_mean": [0.5, 0.5, "0.5"]}', "image_mean must be three numbers"),
        ('{"image_std": [0.5, 0, 0.5]}', "image_std must be three positive numbers"),
        ("[" * 100_000, "must be a whole JSON file"),
    ):
        (folder / "preprocessor_config.json").write_text(wrong)
        with pytest.raises(InputError, match=f"preprocessor_config.json:? {message}"):
            read_config(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "llama"}, "config.json: model_type must be one of qwen3_vl_moe, .*; got 'llama'"),
        ({"hidden_size": "32"}, "config.json: hidden_size must be a positive integer; got '32'"),
        ({"mlp_only_layers": [0]}, "checkpoint: .* missing: model.language_model.layers.0.mlp.down_proj.weight"),
        ({"mlp_only_layers": 0}, "config.json: mlp_only_layers must be a list of blocks; got 0"),
        ({"decoder_sparse_step": 0}, "config.json: decoder_sparse_step must be a positive integer; got 0"),
        ({"quantization_config": [8]}, r"config.json: quantization_config must be a JSON object; got \[8\]"),
        ({"hidden_act": "gelu"}, "config.json: hidden_act must be 'silu'; got 'gelu'"),
        ({"rope_parameters": {"rope_type": "linear"}}, "must be of type default, mrope or yarn; got 'linear'"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 5e6, "factor": 0.5}}, "factor must be 1 or more"),
        ({"num_hidden_layers": 2}, r"checkpoint: .* 11 unexpected: model.language_model.layers.2"),
        ({"model_type": ["qwen3_vl"]}, r"config.json: model_type must be one of .*; got \['qwen3_vl'\]"),
        ({"image_token_id": "5"}, "config.json: image_token_id must be an integer of 0 or more; got '5'"),
        ({"image_token_id": 40}, "config.json: image_token_id must be at most 39; got 40"),
        ({"tie_word_embeddings": "false"}, "config.json: tie_word_embeddings must be true or false; got 'false'"),
        ({"vision_config": [1]}, r"config.json: vision_config must be a JSON object; got \[1\]"),
        ({"text_config": "qwen3"}, "config.json: text_config must be a JSON object; got 'qwen3'"),
        ({"rope_parameters": "default"}, "config.json: rope_parameters must be a JSON object; got 'default'"),
        ({"rope_parameters": {"rope_theta": "5e6"}}, "config.json: rope_theta must be a positive number; got '5e6'"),
        ({"rope_parameters": {"rope_theta": 1e6, "mrope_section": ["4", 2, 2]}}, "mrope_section must be three numbers"),
        ({"rope_parameters": {"rope_theta": 1e6, "mrope_section": [4, 2, 2.5]}}, "three integers of 0 or more; got "),
        ({"rms_norm_eps": float("nan")}, "config.json: rms_norm_eps must be a positive number; got nan"),
        ({"head_dim": 16.0}, "config.json: head_dim must be a positive integer; got 16.0"),
        ({"num_key_value_heads": True}, "config.json: num_key_value_heads must be a positive integer; got True"),
        ({"hidden_size": 10**30}, "config.json: hidden_size must be at most 1048576; got 10000"),
        ({"head_dim": 10**12}, "config.json: head_dim must be at most 1048576; got 1000000000000"),
        ({"vocab_size": 10**12}, "config.json: vocab_size must be at most 1048576; got 1000000000000"),
        ({"num_hidden_layers": 10**9}, "config.json: num_hidden_layers must be at most 4096; got 1000000000"),
        ({"num_experts": 2**15}, "config.json: num_experts must be at most 32767; got 32768"),
        ({"rms_norm_eps": 10**400}, "config.json: rms_norm_eps must be a positive number; got 10000"),
        ({"vision_config": {"num_position_embeddings": 10**30}}, "num_position_embeddings must be at most 1048576"),
        ({"vision_config": {"spatial_merge_size": 10**5}}, "spatial_merge_size must be at most 64; got 100000"),
        ({"num_key_value_heads": 3}, "config.json: query_heads must be a multiple of 3, which is kv_heads; got 4"),
        ({"vision_config": {"num_position_embeddings": 35}}, "num_position_embeddings must be a square number"),
        (
            {"vision_config": {"deepstack_visual_indexes": [1, 1]}},
            r"vision.deepstack must name a block once at most; got \(1, 1",
        ),
        ({"vision_config": {"deepstack_visual_indexes": 2}}, "vision_config.deepstack_visual_indexes must be a list"),
        ({"vision_config": {"depth": 3}}, r"config.json: vision.deepstack must be blocks 0 to 2; got \(8, 16, 24\)"),
        ({"vision_config": {"rope_parameters": {"rope_type": "yarn"}}}, "rope_type must be default or axial"),
    ],
)
def test_configs_that_are_not_ours(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = copied(tmp_path)
    config = json.loads((folder / "config.json").read_bytes())
    for name, value in changes.items():
        (config if name in TOP else config["text_config"])[name] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=message):
        import_checkpoint(folder, make_mesh({}, jax.devices()[:1]))


def test_configs_that_transformers_reads_in_another_way_than_they_are_written(tmp_path: Path) -> None:
    folder = copied(tmp_path, "qwen3_vl")
    written = json.loads((folder / "config.json").read_bytes())

    def read(section: str, **changes: Any) -> ModelConfig:
        (folder / "config.json").write_text(json.dumps(written | {section: written[section] | changes}))
        return read_config(folder)

    rope = {"rope_theta": 5e6, "mrope_section": [24, 20, 20]}
    # Of 8 frequencies, rows get 1, 4, 7 and columns 2, 5, though the sections are for 64; then rows 1 alone.
    assert read("text_config", rope_parameters=rope).rope_sections == (3, 3, 2)
    assert read("text_config", rope_parameters=rope | {"mrope_section": [1, 1, 0]}).rope_sections == (7, 1, 0)
    assert read("text_config", rope_parameters=None, **rope).rope_sections == (3, 3, 2)
    assert read("text_config", rms_norm_eps=None).norm_epsilon == 1e-6
    del written["text_config"]["head_dim"]  # the family's, not 32 / 4
    assert read("text_config").head_dim == 128

    turned = read("vision_config", rope_parameters={"rope_type": "axial", "rope_theta": 100.0})
    assert turned.vision.rope_theta == 100
    for file, content in config_files(turned, "float32").items():
        (folder / file).write_text(json.dumps(content))
    assert read_config(folder) == turned

    folder = Path(shutil.copytree(GOLDENS / "qwen2_5_vl", tmp_path / "2.5"))
    written = json.loads((folder / "config.json").read_bytes())
    # Of 3 blocks; a window of 20 pixels holds 2 whole tokens of 8 each way.
    windows = read("vision_config", fullatt_block_indexes=[2, 7, 15], window_size=20).vision
    assert (windows.whole_image_blocks, windows.window) == ((2,), 16)
    with pytest.raises(InputError, match="vision_config.window_size must be an integer of 8 or more; got 7"):
        read("vision_config", window_size=7)


@pytest.mark.parametrize(
    ("kind", "above", "inside", "tied"),
    [
        ("qwen2_5_vl", False, True, True),
        ("qwen2_5_vl", True, False, True),
        ("qwen2_5_vl", None, True, True),
        ("qwen3_vl", None, True, False),
        ("qwen3_vl", False, True, False),
        ("qwen3_vl", True, None, True),
        ("qwen3_vl_moe", None, True, False),
    ],
)
def test_which_section_ties_the_embeddings(
    kind: str, above: bool | None, inside: bool | None, tied: bool, tmp_path: Path
) -> None:
    """As transformers 5.23 loads such files."""
    folder = copied(tmp_path, kind)
    config = json.loads((folder / "config.json").read_bytes())
    for section, value in ((config, above), (config["text_config"], inside)):
        section.pop("tie_word_embeddings", None)
        if value is not None:
            section["tie_word_embeddings"] = value
    (folder / "config.json").write_text(json.dumps(config))
    assert read_config(folder).tied_embeddings is tied


def test_what_only_others_read_of_a_config_is_kept(tmp_path: Path) -> None:
    folder = copied(tmp_path, "qwen3_vl")
    nested = json.loads((folder / "config.json").read_bytes())
    nested["text_config"] |= {"max_position_embeddings": 262_144, "eos_token_id": 7}
    flat = {**{name: each for name, each in nested.items() if name != "text_config"}, **nested["text_config"]}
    for before in (nested | {"video_token_id": 9}, flat | {"video_token_id": 9}):
        made = config_files(read_config(folder), "float32", before)["config.json"]
        assert (made["text_config"]["max_position_embeddings"], made["text_config"]["eos_token_id"]) == (262_144, 7)
        assert made["video_token_id"] == 9 and made["text_config"]["hidden_size"] == 32


def test_yarn_where_files_write_it(tmp_path: Path) -> None:
    """As Qwen tells users of Qwen2.5-VL (`type`, beside theta) and of Qwen3-VL; and what is left out."""
    for kind, factor, said, trained in (
        ("qwen2_5_vl", 4.0, {"type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}, 32768),
        ("qwen3_vl", 3.0, {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 262144}, 262144),
        ("qwen3_vl_moe", 3.0, {"rope_type": "yarn", "factor": 3.0}, 128_000),
    ):
        folder = Path(shutil.copytree(GOLDENS / kind, tmp_path / kind))
        config = json.loads((folder / "config.json").read_bytes())
        text = config["text_config"]
        rope = text.pop("rope_parameters")
        text |= {"rope_theta": rope["rope_theta"], "rope_scaling": {"mrope_section": rope["mrope_section"], **said}}
        text.pop("max_position_embeddings", None)
        (folder / "config.json").write_text(json.dumps(config))
        model = read_config(folder)
        assert model.rope_scaling == Yarn(factor, trained, 0.1 * math.log(factor) + 1)
        assert config_from_json(json.loads(json.dumps(config_to_json(model))), "here") == model
        # Version 5 writes rope_parameters, and a user adds the other form to it: transformers lets that one count.
        text["rope_parameters"] = rope
        (folder / "config.json").write_text(json.dumps(config))
        assert read_config(folder) == model
        exported = config_files(model, "float32")["config.json"]
        assert exported["text_config"]["max_position_embeddings"] == factor * trained
        (folder / "config.json").write_text(json.dumps(exported))
        assert read_config(folder).rope_scaling == model.rope_scaling


def test_a_flat_config_of_transformers_4_with_defaults_left_out(tmp_path: Path) -> None:
    """As UI-TARS-1.5-7B has it: text fields at the top, `rope_scaling`, a vision section of differences only."""
    config = {
        "model_type": "qwen2_5_vl",
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_attention_heads": 28,
        "num_hidden_layers": 28,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06,
        "rope_scaling": {"mrope_section": [16, 24, 24], "rope_type": "default", "type": "default"},
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
        "vision_config": {"hidden_size": 1280, "in_chans": 3, "model_type": "qwen2_5_vl", "spatial_patch_size": 14},
        "vocab_size": 152064,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    preprocessor = {"min_pixels": 3136, "max_pixels": 12845056, "patch_size": 14}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    assert read_config(tmp_path) == preset("qwen2.5-vl-7b")


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_has_a_config_of_transformers(name: str, tmp_path: Path) -> None:
    for file, content in config_files(preset(name), "float32").items():
        (tmp_path / file).write_text(json.dumps(content))
    assert read_config(tmp_path) == preset(name)
