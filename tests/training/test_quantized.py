"""Quantized weights on disk, and in the engine by one field."""

from __future__ import annotations

import asyncio
import pathlib

import chex
import jax
import numpy as np
import pytest

import configs.evaluate
import configs.quantize
from experiments.__main__ import main
from experiments.quantize import held_out
from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters, forward
from tars_jax.model.quantization import quantize, quantize_on_mesh, quantized_forward
from tars_jax.training.checkpoint import lineage, save_parameters
from tars_jax.training.quantized import bytes_on_disk, load_for_engine, load_quantized, save_quantized

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    "kept", [pytest.param(("/router$",), marks=pytest.mark.full), ("^vision/", "/router$", "/attention/")]
)
def test_round_trip(
    tmp_path: pathlib.Path, tiny_model: ModelConfig, tiny_parameters: Parameters, kept: tuple[str, ...]
) -> None:
    pytest.importorskip("qwix")
    save_parameters(tmp_path / "float", tiny_parameters)
    quantized = quantize(tiny_model, tiny_parameters, kept)
    save_quantized(tmp_path / "w4a8", quantized, parent=tmp_path / "float")
    shapes = jax.eval_shape(lambda: tiny_parameters)
    chex.assert_trees_all_equal(load_quantized(tmp_path / "w4a8", tiny_model, shapes), quantized)
    assert lineage(tmp_path / "w4a8").ancestors == (lineage(tmp_path / "float").id,)
    assert bytes_on_disk(tmp_path / "w4a8") > 0
    with pytest.raises(InputError, match="float must be a checkpoint that save_quantized wrote"):
        load_quantized(tmp_path / "float", tiny_model, shapes)
    chex.assert_trees_all_equal(load_for_engine(tmp_path / "w4a8", tiny_model, shapes, "w4a8"), quantized)
    for weights in ("float", "w4a8"):  # an engine of w4a8 quantizes what it is given
        given = load_for_engine(tmp_path / "float", tiny_model, shapes, weights)
        chex.assert_trees_all_equal(given, tiny_parameters)
    with pytest.raises(
        InputError, match="engine.weights must be w4a8 for the quantized weights of .*w4a8; got 'float'"
    ):
        load_for_engine(tmp_path / "w4a8", tiny_model, shapes, "float")


@pytest.mark.slow
def test_the_engine_samples_from_what_the_quantized_policy_says(
    tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    pytest.importorskip("qwix")
    quantized = quantize_on_mesh(tiny_model, tiny_parameters)
    config = EngineConfig(
        slots=1, max_length=16, max_new_tokens=6, chunk=3, row_buckets=(1,), length_buckets=(8,), weights="w4a8"
    )
    prompt = [1, 7, 8, 9]

    async def ask(engine: Engine) -> Sampled:
        async with engine.session(seed=4) as session:
            return await session.respond(prompt, [], restart=True)

    with Engine(tiny_model, tiny_parameters, config, image=5, stop=5, seed=0) as engine:
        answer = asyncio.run(ask(engine))
        engine.set_weights(quantized, 1)  # as loaded from disk
        again = asyncio.run(ask(engine))
    assert again.tokens == answer.tokens and again.versions[0] == 1
    np.testing.assert_allclose(again.log_probs, answer.log_probs, atol=1e-5)

    window = np.array([*prompt, *answer.tokens], np.int32)[None]
    inputs = Inputs(
        tokens=window,
        positions=np.broadcast_to(np.arange(window.size, dtype=np.int32), (3, 1, window.size)),
        segments=np.ones_like(window),
        images=(),
        image_tokens=np.full_like(window, -1),
    )

    def scores(logits: jax.Array) -> np.ndarray:
        table = np.asarray(jax.nn.log_softmax(logits))[0]
        return np.array([table[len(prompt) - 1 + at, token] for at, token in enumerate(answer.tokens)])

    ours = scores(jax.jit(lambda: quantized_forward(tiny_model, quantized, inputs).logits)())
    exact = scores(jax.jit(lambda: forward(tiny_model, tiny_parameters, inputs).logits)())
    # An activation on the edge between two of its 255 values falls to one side in one program and to the other in
    # another: single tokens may differ, which ones depends on the processor.
    off = np.abs(ours - answer.log_probs)
    assert np.median(off) < 0.01 and off.mean() < 0.5 * np.abs(exact - answer.log_probs).mean()


@pytest.mark.full
@pytest.mark.parametrize("next_levels", [True, False])
def test_a_suite_is_played_as_an_evaluation_plays_it(next_levels: bool) -> None:
    """A policy of games whose levels follow each other has read prompts that say so, and no others."""
    config = configs.quantize.get_config()
    assert config.next_levels == configs.evaluate.get_config().next_levels
    config.suite, config.names, config.next_levels = "games15", ("maze_path_of_light",), next_levels
    [tasks] = held_out(config).values()
    assert len(tasks) == 6 and all(task.options.get("next_levels", False) == next_levels for task in tasks)


def test_the_command_replaces_no_folder_of_something_else(
    tmp_path: pathlib.Path, tiny_parameters: Parameters, capsys: pytest.CaptureFixture[str]
) -> None:
    save_parameters(tmp_path / "float", tiny_parameters)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("...")
    for output, words in (
        ("mine", "mine, which is something else"),
        ("mine/thesis.tex/w4a8", "thesis.tex is a file"),
        ("float", "output must be outside of the checkpoints"),
        ("float/w4a8", "output must be outside of the checkpoints"),
    ):
        folders = f"--config.checkpoint={tmp_path / 'float'}", f"--config.output={tmp_path / output}"
        assert main(["quantize", f"--config.run={tmp_path / 'run'}", *folders], ROOT) == 2
        said = capsys.readouterr().err
        assert words in said and len(said.splitlines()) == 1
        assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="mine, which is something else"):
        save_parameters(tmp_path / "mine", tiny_parameters)
    assert (tmp_path / "mine" / "thesis.tex").exists()
