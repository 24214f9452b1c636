"""Open weights to checkpoints and back on disk; what stages make of them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import tracemalloc
from collections.abc import Callable
from typing import Any

import chex
import jax
import numpy as np
import pytest

pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.model.config import ModelConfig, config_from_json, config_to_json
from tars_jax.model.huggingface import export_checkpoint, import_checkpoint
from tars_jax.model.policy import Parameters, parameter_shapes
from tars_jax.model.presets import PRESETS, preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import COMMITTED, load_tokenizer
from tars_jax.pipelines.starting_weights import start_from, starting_point
from tars_jax.training import tensors
from tars_jax.training.checkpoint import extra_files_of, lineage, load_parameters, recorded_model, save_parameters
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.open_weights import export_weights, import_weights

ROOT = pathlib.Path(__file__).parents[2]
GOLDENS = ROOT / "tests" / "model" / "goldens"
MEGABYTE = 2**20


def mesh() -> jax.sharding.Mesh:
    return make_mesh({}, jax.devices()[:1])


FULL = pytest.mark.full


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["qwen3_vl_moe", pytest.param("qwen3_vl", marks=FULL), pytest.param("qwen2_5_vl", marks=FULL)]
)
def test_to_a_checkpoint_and_back(kind: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What transformers wrote, in pieces that cut layers and experts apart."""
    monkeypatch.setattr(tensors, "PIECE_BYTES", 3000)
    source = pathlib.Path(shutil.copytree(GOLDENS / kind, tmp_path / "source"))
    shutil.copy(COMMITTED, source / "tokenizer.json")
    written = json.loads((source / "config.json").read_bytes())
    written["text_config"]["max_position_embeddings"] = 262_144
    (source / "config.json").write_text(json.dumps(written))
    done: list[tuple[int, int]] = []
    config = import_weights(source, tmp_path / "ours", on_tensor=lambda *progress: done.append(progress))
    expected_config, expected = import_checkpoint(source, mesh())
    assert config == expected_config == recorded_model(tmp_path / "ours")
    assert done[-1][0] == done[-1][1] == len(done) == len(jax.tree.leaves(expected))
    chex.assert_trees_all_equal(load_parameters(tmp_path / "ours", parameter_shapes(config)), expected)

    export_weights(tmp_path / "ours", tmp_path / "theirs", dtype="bfloat16", shard_bytes=20_000)
    assert (tmp_path / "theirs" / "tokenizer.json").read_bytes() == COMMITTED.read_bytes()
    exported = json.loads((tmp_path / "theirs" / "config.json").read_bytes())
    assert exported["text_config"]["max_position_embeddings"] == 262_144
    assert len(list((tmp_path / "theirs").glob("*.safetensors"))) > 3
    again_config, again = import_checkpoint(tmp_path / "theirs", mesh())
    assert again_config == config
    chex.assert_trees_all_equal(again, expected)  # the golden files are in bfloat16


@pytest.mark.slow
def test_a_policy_that_went_out_and_came_back_has_its_ancestors(tmp_path: pathlib.Path) -> None:
    """So that it is merged with others that were trained from the same start; those of strangers have none."""
    import_weights(GOLDENS / "qwen3_vl", tmp_path / "start")
    assert lineage(tmp_path / "start").ancestors == ()
    trained = load_parameters(tmp_path / "start", parameter_shapes(recorded_model(tmp_path / "start")))
    for name in ("a", "b"):
        save_parameters(tmp_path / name, trained, parent=tmp_path / "start")
    export_weights(tmp_path / "a", tmp_path / "out")
    import_weights(tmp_path / "out", tmp_path / "back")
    assert lineage(tmp_path / "back").ancestors == (lineage(tmp_path / "start").id, lineage(tmp_path / "a").id)
    merge_checkpoints([tmp_path / "back", tmp_path / "b"], tmp_path / "merged")
    assert lineage(tmp_path / "merged").ancestors == (lineage(tmp_path / "start").id,)
    (tmp_path / "out" / "tars_jax_lineage.json").write_text('{"ancestors": 3}')
    with pytest.raises(InputError, match=r"tars_jax_lineage\.json: field ancestors must be a list of texts; got 3"):
        import_weights(tmp_path / "out", tmp_path / "again")


@pytest.mark.parametrize(("rows", "expected"), [(151_667, 149), (151_936, 149), (1, 1), (7, 1)])
def test_a_tensor_is_cut_into_few_pieces_however_many_rows_it_has(rows: int, expected: int) -> None:
    """16 MiB each, of rows of 16 KiB: 151,667 is what a vocabulary with two tokens more has, and a prime."""
    shape = jax.ShapeDtypeStruct((rows, 4096), np.float32)
    piece = tensors.piece_shape(shape, 16 * MEGABYTE)
    assert piece[1] == 4096 and piece[0] <= 1024
    assert len(list(tensors.pieces(shape.shape, tuple(piece)))) == expected


@pytest.mark.slow
@pytest.mark.full
def test_layers_of_several_types_keep_every_bit(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layer is in bfloat16, whose type no piece may take on for what the others hold."""
    monkeypatch.setattr(tensors, "PIECE_BYTES", 3000)
    source = pathlib.Path(shutil.copytree(GOLDENS / "qwen3_vl_moe", tmp_path / "source"))
    held = load_file(source / "model.safetensors")
    rng = np.random.default_rng(0)
    for name in [name for name in held if ".layers.1." in name or ".layers.2." in name]:
        kind = np.float32 if ".layers.1." in name else np.float16
        held[name] = rng.normal(size=held[name].shape).astype(kind)
    save_file(held, source / "model.safetensors")
    config = import_weights(source, tmp_path / "ours")
    _, expected = import_checkpoint(source, mesh())
    chex.assert_trees_all_equal(load_parameters(tmp_path / "ours", parameter_shapes(config)), expected)


@FULL
def test_memory_holds_a_tensor_and_never_the_model(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy and safetensors tell tracemalloc of their buffers. The model has 50 megabytes, its largest tensor 2."""
    monkeypatch.setattr(tensors, "PIECE_BYTES", MEGABYTE)
    nano = preset("nano", vocabulary=64)
    shape: dict[str, Any] = {
        "width": 256,
        "depth": 8,
        "query_heads": 4,
        "experts": 0,
        "experts_per_token": 0,
        "expert_width": 0,
    }
    config = dataclasses.replace(nano, **shape, mlp_width=2048)
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), parameter_shapes(config))
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(zeros)) > 50 * MEGABYTE
    export_checkpoint(tmp_path / "source", config, zeros, shard_bytes=4 * MEGABYTE)

    def peak(run: Callable[[], Any]) -> float:
        tracemalloc.start()
        run()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / MEGABYTE

    assert 2 < peak(lambda: import_weights(tmp_path / "source", tmp_path / "ours")) < 8
    # A file of 4 megabytes, and the safetensors that are made of it.
    back = peak(lambda: export_weights(tmp_path / "ours", tmp_path / "theirs", shard_bytes=4 * MEGABYTE))
    assert 4 < back < 20


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An imported policy with a tokenizer beside it."""
    folder = tmp_path_factory.mktemp("weights")
    source = pathlib.Path(shutil.copytree(GOLDENS / "qwen2_5_vl", folder / "source"))
    shutil.copy(COMMITTED, source / "tokenizer.json")
    import_weights(source, folder / "ours")
    return folder / "ours"


def test_what_no_weights_can_be_is_refused(ours: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for call in (import_weights, export_weights):
        with pytest.raises(InputError, match="dtype must be one of float32, bfloat16; got 'int8'"):
            call(GOLDENS / "qwen2_5_vl" if call is import_weights else ours, tmp_path / "new", dtype="int8")
    with pytest.raises(InputError, match="output must be outside the checkpoint"):
        export_weights(ours, ours / "inner")


@pytest.mark.slow
def test_one_file_counts_and_not_the_index_beside_it(tmp_path: pathlib.Path) -> None:
    """A fine-tune that was saved as one file into a copy of the published folder."""
    source = pathlib.Path(shutil.copytree(GOLDENS / "qwen2_5_vl", tmp_path / "source"))
    held = load_file(source / "model.safetensors")
    old = "model-00001-of-00001.safetensors"
    save_file({name: np.zeros_like(tensor) for name, tensor in held.items()}, source / old)
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": dict.fromkeys(held, old)}))
    _, expected = import_checkpoint(GOLDENS / "qwen2_5_vl", mesh())
    chex.assert_trees_all_equal(import_checkpoint(source, mesh())[1], expected)


def test_what_is_trained_from_weights_inherits_their_model_and_tokenizer(
    ours: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    parameters = load_parameters(ours, parameter_shapes(recorded_model(ours)))
    for name in ("a", "b"):
        save_parameters(tmp_path / name, parameters, parent=ours)
    merge_checkpoints([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    for name in ("a", "merged"):
        assert recorded_model(tmp_path / name) == recorded_model(ours)
        assert [file.name for file in extra_files_of(tmp_path / name)] == ["config.json", "tokenizer.json"]
    assert lineage(tmp_path / "merged").ancestors == (lineage(ours).id,)
    other = dataclasses.replace(recorded_model(ours), scalar_head=True)
    save_parameters(tmp_path / "a", parameters, parent=ours, model=other)
    assert recorded_model(tmp_path / "a") == other


@pytest.mark.slow
@pytest.mark.full
def test_a_policy_with_a_value_head_in_it_is_a_policy(ours: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """What `model.shared_value` leaves is served, exported and gone on with as any other; the head stays behind."""
    model = recorded_model(ours)
    policy = load_parameters(ours, parameter_shapes(model))
    head = {"kernel": np.ones((model.width, 1), np.float32), "bias": np.ones(1, np.float32)}
    recorded = {"unsaid": None, "said": dataclasses.replace(model, scalar_head=True)}
    for name, told in recorded.items():
        save_parameters(tmp_path / name, {**policy, "scalar_head": head}, parent=ours, model=told)
        chex.assert_trees_all_equal(load_parameters(tmp_path / name, parameter_shapes(model)), policy)
        export_weights(tmp_path / name, tmp_path / f"{name}_theirs")
        config, exported = import_checkpoint(tmp_path / f"{name}_theirs", mesh())
        assert config == model
        chex.assert_trees_all_equal(exported, policy)
    with pytest.raises(InputError, match="scalar_head/bias is missing"):
        load_parameters(ours, parameter_shapes(recorded["said"] or model))


def test_stages_start_from_a_preset_or_from_weights(
    tmp_path: pathlib.Path, tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    model, tokenizer, parent = starting_point("nano")
    assert (model, tokenizer.vocabulary, parent) == (preset("nano"), load_tokenizer().vocabulary, None)
    wide = dataclasses.replace(preset("nano"), depth=1)
    shapes = parameter_shapes(wide)
    save_parameters(tmp_path / "w", jax.tree.map(lambda leaf: np.ones(leaf.shape, np.float32), shapes), model=wide)
    assert starting_point(str(tmp_path / "w"))[::2] == (wide, tmp_path / "w")

    with_head = dataclasses.replace(wide, scalar_head=True)
    fresh = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), parameter_shapes(with_head))
    started = start_from(tmp_path / "w", fresh)
    assert (started["scalar_head"]["kernel"] == 0).all() and (started["embed"]["embedding"] == 1).all()

    save_parameters(tmp_path / "tiny", tiny_parameters, model=tiny_model)
    with pytest.raises(InputError, match=r"tiny must have its own tokenizer.json .*: a model of 32 tokens"):
        starting_point(str(tmp_path / "tiny"))
    save_parameters(tmp_path / "old", {"x": np.ones(2)})
    with pytest.raises(InputError, match="old must record its model"):
        starting_point(str(tmp_path / "old"))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_recorded_model_is_the_model(name: str) -> None:
    config = preset(name)
    again = json.loads(json.dumps(config_to_json(config)))
    assert config_from_json(again, "here") == config
    with pytest.raises(InputError, match="^here is not one of this version: .*'wide'"):
        config_from_json(again | {"wide": 1}, "here")
    with pytest.raises(InputError, match="^here: rope_sections"):
        config_from_json(again | {"head_dim": 2}, "here")


@pytest.mark.slow
def test_the_commands(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(name: str, *arguments: str) -> tuple[int, str]:
        code = main([name, f"--config.run={tmp_path / 'run'}", *arguments], ROOT)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return code, capsys.readouterr().err

    source, ours, theirs = (f"{tmp_path}/{name}" for name in ("source", "ours", "theirs"))
    shutil.copytree(GOLDENS / "qwen3_vl", source)
    assert run("import_weights", f"--config.source={source}", f"--config.output={ours}")[0] == 0
    assert run("export_weights", f"--config.checkpoint={ours}", f"--config.output={theirs}")[0] == 0
    chex.assert_trees_all_equal(*(import_checkpoint(pathlib.Path(path), mesh())[1] for path in (source, theirs)))

    for arguments, words in [
        (
            ("import_weights",),
            "config.source must be a folder of this machine with config.json",
        ),
        (("import_weights", f"--config.source={tmp_path}/none"), "must be a folder of this machine with config.json"),
        (
            ("import_weights", f"--config.source={source}", f"--config.output={source}"),
            "source, which is something else",
        ),
        (("export_weights", f"--config.checkpoint={ours}", f"--config.output={theirs}"), "theirs, which exists"),
        (("export_weights", f"--config.checkpoint={tmp_path}/none"), "checkpoint.json: cannot be read as a checkpoint"),
    ]:
        code, said = run(*arguments)
        assert code == 2 and words in said and len(said.splitlines()) == 1

    weights = pathlib.Path(source, "model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-10])
    code, said = run("import_weights", f"--config.source={source}", f"--config.output={tmp_path}/new")
    assert code == 2 and "model.safetensors is not a whole safetensors file" in said
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".", "new"))]

    packed: dict[str, Any] = {"w": {"int4": np.ones((2, 2), np.uint8)}}
    save_parameters(tmp_path / "int4", packed, parent=ours)
    with pytest.raises(
        InputError, match=r"72 tensors are not the floating-point weights of its model, the first \S+: missing"
    ):
        export_weights(tmp_path / "int4", tmp_path / "out")
