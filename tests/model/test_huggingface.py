"""Checkpoints that transformers wrote, and what its models computed from them; see goldens/make.py."""

import dataclasses
import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict, unflatten_dict

pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface import checkpoint_import, export_checkpoint, import_checkpoint, read_config
from tars_jax.model.huggingface.files import OpenWeights
from tars_jax.model.policy import Inputs, Output, Parameters, forward, init_parameters, parameter_shapes
from tars_jax.model.positions import rope_positions
from tars_jax.model.preprocessing import patches
from tars_jax.model.sharding import make_mesh, parameter_shardings
from tars_jax.training.state import value_parameters

GOLDENS = Path(__file__).with_name("goldens")
EMBEDDING = "model.language_model.embed_tokens.weight"
KINDS = ("qwen3_vl_moe", "qwen3_vl_moe_mixed", "qwen3_vl", "qwen2_5_vl")


def mesh() -> jax.sharding.Mesh:
    return make_mesh({}, jax.devices()[:1])


def one_context(config: ModelConfig, tokens: np.ndarray, images: list[np.ndarray]) -> Inputs:
    """One row; images of a size are batched, so image tokens point into the sizes one after another."""
    grids = [config.vision.token_grid(*image.shape[:2]) for image in images]
    sizes = sorted({image.shape for image in images})
    order = [number for size in sizes for number, image in enumerate(images) if image.shape == size]
    counts = np.array([rows * columns for rows, columns in grids])
    first = np.zeros(len(images), int)
    first[order] = np.cumsum(counts[order]) - counts[order]
    is_image = tokens == config.image_token
    image_tokens = np.full(tokens.shape, -1, np.int32)
    image_tokens[is_image] = np.concatenate([start + np.arange(n) for start, n in zip(first, counts, strict=True)])
    return Inputs(
        tokens=tokens[None],
        positions=rope_positions(is_image, grids)[0][:, None],
        segments=np.ones((1, tokens.size), np.int32),
        images=tuple(np.stack([image for image in images if image.shape == size])[None] for size in sizes),
        image_tokens=image_tokens[None],
    )


@functools.cache
def forward_fn(config: ModelConfig) -> Callable[[Parameters, Inputs], Output]:
    return jax.jit(lambda parameters, inputs: forward(config, parameters, inputs))


def golden_context(kind: str, config: ModelConfig) -> tuple[Any, Inputs, list[np.ndarray]]:
    golden = np.load(GOLDENS / kind / "golden.npz")
    images = [golden[f"image_{number}"] for number in range(3)]
    return golden, one_context(config, golden["tokens"], images), images


@pytest.fixture(scope="module")
def imported() -> Any:
    return functools.cache(lambda kind: import_checkpoint(GOLDENS / kind, mesh()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.first(2)
def test_hidden_states_and_logits_are_those_of_transformers(kind: str, imported: Any) -> None:
    config, parameters = imported(kind)
    golden, inputs, _ = golden_context(kind, config)
    np.testing.assert_array_equal(inputs.positions[:, 0], golden["positions"])
    output = forward_fn(config)(parameters, inputs)
    np.testing.assert_allclose(output.hidden[0], golden["hidden"], atol=1e-4)
    others = np.arange(config.vocabulary) != config.image_token  # ours never writes an image token
    np.testing.assert_allclose(output.logits[0][:, others], golden["logits"][:, others], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_patches_are_those_of_transformers(kind: str) -> None:
    config = read_config(GOLDENS / kind)
    golden, _, images = golden_context(kind, config)
    ours = np.concatenate([patches(image[None], config.vision)[0] for image in images])
    np.testing.assert_array_equal(ours, golden["patches"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.first(2)
def test_export_and_import_give_the_same_tensors_config_and_log_probabilities(
    kind: str, imported: Any, tmp_path: Path
) -> None:
    config, parameters = imported(kind)
    export_checkpoint(tmp_path / "export", config, parameters, shard_bytes=40_000)
    assert len(list((tmp_path / "export").glob("*.safetensors"))) > 3
    again_config, again = import_checkpoint(tmp_path / "export", mesh())
    assert again_config == config
    jax.tree.map(np.testing.assert_array_equal, again, parameters)
    _, inputs, _ = golden_context(kind, config)
    before, after = (jax.nn.log_softmax(forward_fn(config)(each, inputs).logits) for each in (parameters, again))
    np.testing.assert_array_equal(after, before)


@pytest.mark.full
def test_an_export_in_bfloat16_is_the_file_that_transformers_wrote(tmp_path: Path) -> None:
    """But for experts, which it writes in another layout than it publishes."""
    config, parameters = import_checkpoint(GOLDENS / "qwen3_vl", mesh(), dtype="bfloat16")
    export_checkpoint(tmp_path / "export", config, parameters)
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (tmp_path / "export", GOLDENS / "qwen3_vl"))
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(ours[name], tensor, err_msg=name)
    assert read_config(tmp_path / "export") == config


def test_an_export_keeps_every_type(tmp_path: Path) -> None:
    """Gates and ups of experts are one tensor of a file, which takes the wider type."""
    config = read_config(GOLDENS / "qwen3_vl_moe")
    narrow = {"vision/": jnp.bfloat16, "decoder/layers/experts/gate": jnp.float16, "embed/": jnp.bfloat16}
    leaves: dict[str, np.ndarray] = {}
    for path, shape in flatten_dict(parameter_shapes(config), sep="/").items():
        kind = next((kind for start, kind in narrow.items() if path.startswith(start)), np.float32)
        leaves[path] = np.random.default_rng(0).normal(size=shape.shape).astype(kind)
    folder = tmp_path / "export"
    export_checkpoint(folder, config, unflatten_dict(leaves, sep="/"), shard_bytes=40_000)
    for tensor, parts in OpenWeights(folder).by_file():
        for path, part in zip(tensor.ours, parts, strict=True):
            np.testing.assert_array_equal(part, leaves[path][tensor.index], err_msg=path)
    stored: dict[str, np.ndarray] = {}
    for file in folder.glob("*.safetensors"):
        stored |= load_file(file)
    kinds = {name: str(array.dtype) for name, array in stored.items()}
    assert kinds[EMBEDDING] == "bfloat16" and kinds["lm_head.weight"] == "float32"
    assert kinds["model.language_model.layers.0.mlp.experts.gate_up_proj"] == "float32"
    index = json.loads((folder / "model.safetensors.index.json").read_bytes())
    assert index["metadata"]["total_size"] == sum(array.nbytes for array in stored.values())
    assert json.loads((folder / "config.json").read_bytes())["torch_dtype"] == "float32"


@pytest.mark.slow
def test_a_value_model_starts_from_a_checkpoint(imported: Any) -> None:
    config, policy = imported("qwen2_5_vl")
    value_model = dataclasses.replace(config, scalar_head=True, vocabulary_head=False)
    shapes = jax.eval_shape(lambda: init_parameters(value_model, jax.random.key(0)))
    fresh = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), shapes)
    value = value_parameters(policy, fresh)
    assert "vocabulary_head" not in value
    golden, inputs, _ = golden_context("qwen2_5_vl", config)
    output = forward_fn(value_model)(value, inputs)
    np.testing.assert_allclose(output.hidden[0], golden["hidden"], atol=1e-4)
    assert output.logits is None and (output.values == 0).all()


def copied(tmp_path: Path, kind: str = "qwen3_vl_moe") -> Path:
    return Path(shutil.copytree(GOLDENS / kind, tmp_path / "checkpoint"))


def test_wrong_tensors_are_all_named_and_nothing_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.language_model.norm.weight"]
    tensors["model.language_model.layers.7.mlp.gate.weight"] = np.zeros((4, 32), np.float32)
    tensors["lm_head.weight"] = tensors["lm_head.weight"][:-1]
    tensors["model.visual.merger.norm.bias"] = np.zeros(16, np.int32)
    save_file(tensors, folder / "model.safetensors")
    monkeypatch.setattr(checkpoint_import, "spread", None)
    message = (
        r"1 missing: model\.language_model\.norm\.weight; "
        r"1 unexpected: model\.language_model\.layers\.7\.mlp\.gate\.weight; "
        r"2 of another shape or type: lm_head\.weight is BF16 \[39, 32\] instead of \[40, 32\], "
        r"model\.visual\.merger\.norm\.bias is I32 \[16\] instead of F32/BF16/F16 \[16\]"
    )
    with pytest.raises(InputError, match=message):
        import_checkpoint(folder, mesh())


def resaved(folder: Path, change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> Path:
    tensors = load_file(folder / "model.safetensors")
    save_file(change(tensors), folder / "model.safetensors")
    return folder


def test_experts_in_every_layout_that_files_have(tmp_path: Path, imported: Any) -> None:
    """Transformers 5 wrote the golden file as [e, out, in]. Published are [e, in, out]; other tools write matrices."""

    def published(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        experts = [name for name in tensors if ".experts." in name]
        return tensors | {name: np.ascontiguousarray(tensors[name].swapaxes(1, 2)) for name in experts}

    def separate(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        split: dict[str, np.ndarray] = {}
        for name, array in tensors.items():
            prefix, found, last = name.rpartition("mlp.experts.")
            parts = {"gate": array[:, :12], "up": array[:, 12:]} if last == "gate_up_proj" else {"down": array}
            for number in range(len(array)) if found else ():
                for part, kernels in parts.items():
                    split[f"{prefix}mlp.experts.{number}.{part}_proj.weight"] = np.ascontiguousarray(kernels[number])
            if not found:
                split[name] = array
        return split

    _, expected = imported("qwen3_vl_moe")
    for change in (published, separate):
        folder = resaved(Path(shutil.copytree(GOLDENS / "qwen3_vl_moe", tmp_path / change.__name__)), change)
        _, parameters = import_checkpoint(folder, mesh())
        jax.tree.map(np.testing.assert_array_equal, parameters, expected)


def test_a_head_beside_tied_embeddings(tmp_path: Path) -> None:
    """Files of some trainers hold it; it is taken when it is the embedding, and refused when it is another."""
    folder = resaved(copied(tmp_path), lambda old: old | {"lm_head.weight": old[EMBEDDING]})
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": True}))
    model, parameters = import_checkpoint(folder, mesh())
    assert model.tied_embeddings and "vocabulary_head" not in parameters
    resaved(folder, lambda old: old | {"lm_head.weight": old[EMBEDDING] + 1})
    with pytest.raises(InputError, match="lm_head.weight must be the embedding.* tie_word"):
        import_checkpoint(folder, mesh())


def test_a_truncated_file_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(InputError, match="model.safetensors is not a whole safetensors file"):
        import_checkpoint(folder, mesh())
    weights.unlink()
    with pytest.raises(InputError, match="there is no file model.safetensors"):
        import_checkpoint(folder, mesh())
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"config.json does not exist"):
        import_checkpoint(folder, mesh())


@pytest.mark.parametrize(
    "name",
    [
        "x" * 5000,
        "x\0.safetensors",
        "/elsewhere.safetensors",
        "../elsewhere.safetensors",
        "folder",
        "loop",
        "",
        "\ud800",
    ],
)
@pytest.mark.first(3)
def test_an_index_names_files_of_its_folder(tmp_path: Path, name: str) -> None:
    folder = copied(tmp_path)
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    held = dict.fromkeys(load_file(folder / "one.safetensors"), "one.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": held}))
    assert OpenWeights(folder).files == [folder / "one.safetensors"]
    shutil.copy(folder / "one.safetensors", tmp_path / "elsewhere.safetensors")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    name = name.replace("/else", f"{tmp_path}/else", 1) if name.startswith("/") else name
    index.write_text(json.dumps({"weight_map": held | {"lm_head.weight": name}}))
    with pytest.raises(InputError, match=r"index.json: weight_map must name files of that folder, and there is no '"):
        OpenWeights(folder)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    folder, name = copied(tmp_path, "qwen3_vl"), "model.language_model.norm.weight"
    resaved(folder, lambda old: old | {name: np.full_like(old[name], np.nan)})
    with pytest.raises(InputError, match=rf"model.safetensors: {name} must be finite"):
        import_checkpoint(folder, mesh())


def test_weights_are_kept_in_no_other_type(imported: Any, tmp_path: Path) -> None:
    for dtype in ("int8", "float16", "half"):
        with pytest.raises(InputError, match=f"dtype must be one of float32, bfloat16; got '{dtype}'"):
            import_checkpoint(GOLDENS / "qwen3_vl", mesh(), dtype=dtype)
        with pytest.raises(InputError, match=f"dtype must be one of float32, bfloat16; got '{dtype}'"):
            export_checkpoint(tmp_path / "a", *imported("qwen3_vl"), dtype=dtype)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported(imported: Any, tmp_path: Path) -> None:
    config, parameters = imported("qwen3_vl")
    with pytest.raises(InputError, match="none of the architectures"):
        export_checkpoint(tmp_path / "a", dataclasses.replace(config, qkv_bias=True), parameters)
    with pytest.raises(InputError, match="has no value models"):
        export_checkpoint(tmp_path / "a", dataclasses.replace(config, vocabulary_head=False), parameters)
    table, integers = {"embedding": np.ones((3, 32), np.float32)}, {"kernel": np.ones((32, 40), np.int32)}
    for wrong, words in (
        ({"embed": {}}, "1 tensors .*, the first embed/embedding: missing"),
        ({"embed": table}, r"1 tensors .*, the first embed/embedding: float32\[3,32\]"),
        ({"vocabulary_head": integers}, r"1 tensors .*, the first vocabulary_head/kernel: int32\[32,40\]"),
        ({"more": integers}, r"1 tensors .*, the first more/kernel: int32\[32,40\]"),
    ):
        with pytest.raises(InputError, match=f"parameters: {words}"):
            export_checkpoint(tmp_path / "a", config, {**parameters, **wrong})
    with pytest.raises(InputError, match="which exists"):
        export_checkpoint(tmp_path, config, parameters)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("...")
    with pytest.raises(InputError, match="got .*a, and .*file is a file"):
        export_checkpoint(tmp_path / "file" / "a", config, parameters)


@pytest.mark.multiprocess
@pytest.mark.full
def test_eight_devices_get_their_slices(on_eight_devices: Callable[..., list[str]]) -> None:
    """Eight devices take a process of their own: this file, run as a script."""
    assert on_eight_devices(__file__) == ["same"]


def watched(spread: Callable[..., jax.Array], largest: list[int]) -> Callable[..., jax.Array]:
    """`reading.spread` that looks at all arrays there are, and at what it puts on one device."""

    def run(array: np.ndarray, *args: Any) -> jax.Array:
        made = spread(array, *args)
        live = jax.live_arrays()
        largest.append(max(shard.data.size for each in live for shard in each.addressable_shards))
        return made

    return run


def main() -> None:
    eight = make_mesh({"expert": 4, "fsdp": 2})
    largest: list[int] = []
    spread, checkpoint_import.spread = checkpoint_import.spread, watched(checkpoint_import.spread, largest)
    _, parameters = import_checkpoint(GOLDENS / "qwen3_vl_moe", eight)
    # The largest parameter is the queries' kernel, 3 layers of 32 x 4 x 16; no array has more than its eighth anywhere.
    assert max(largest) == 3 * 32 * 4 * 16 // 8, max(largest)
    checkpoint_import.spread = spread
    _, whole = import_checkpoint(GOLDENS / "qwen3_vl_moe", mesh())
    jax.tree.map(np.testing.assert_array_equal, parameters, whole)
    shardings = parameter_shardings(eight, whole)
    assert jax.tree.map(lambda leaf: leaf.sharding, parameters) == shardings
    gate = parameters["decoder"]["layers"]["experts"]["gate"]
    assert gate.addressable_shards[0].data.shape == (3, 1, 16, 12)  # of 3 layers, 4 experts, 32, 12
    print("same")


if __name__ == "__main__":
    main()
