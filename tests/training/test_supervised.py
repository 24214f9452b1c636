"""Cross-entropy on what the agent said."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters, forward
from tars_jax.model.positions import rope_positions
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Rows
from tars_jax.training.state import TrainState, init_train_state
from tars_jax.training.supervised import Metrics, make_supervised_update, text_mask

IMAGE = 5
OPTIMIZER = make_optimizer(OptimizerConfig(1e-2, warmup=0))
Update = Callable[[TrainState, Rows], tuple[TrainState, Metrics]]


def small_set() -> Rows:
    """Four windows: two tokens and an image of 2 x 3 tokens, whose top left corner says which answer (7 or 8, 9, 3)
    is right; then a token that nobody answers for."""
    colors = np.array([0, 255, 0, 255], np.uint8)
    images = np.full((4, 1, 16, 24, 3), 99, np.uint8)
    images[:, 0, :8, :8] = colors[:, None, None, None]
    answers = np.where(colors[:, None] == 0, [7, 9, 3], [8, 9, 3])
    tokens = np.concatenate([np.tile([1, 2] + [IMAGE] * 6, (4, 1)), answers, [[20], [21], [22], [23]]], axis=1)
    is_image = tokens[0] == IMAGE
    positions = np.repeat(rope_positions(is_image, (2, 3))[0][:, None], 4, axis=1)
    image_tokens = np.tile(np.where(is_image, np.cumsum(is_image) - 1, -1), (4, 1)).astype(np.int32)
    mask = np.tile((np.arange(12) >= 8) & (np.arange(12) < 11), (4, 1))
    inputs = Inputs(tokens.astype(np.int32), positions, np.ones((4, 12), np.int32), (images,), image_tokens)
    return Rows(inputs, mask, np.zeros((4, 12), np.float32), np.full((4, 12), -1, np.int32))


@pytest.fixture(scope="module")
def update(tiny_model: ModelConfig) -> Update:
    return make_supervised_update(tiny_model, OPTIMIZER, router_aux_loss_weight=0.01)


@pytest.mark.slow
def test_loss_is_the_mean_over_the_agents_tokens(
    tiny_model: ModelConfig, tiny_parameters: Parameters, update: Update
) -> None:
    rows = small_set()
    _, metrics = update(init_train_state(tiny_parameters, OPTIMIZER), rows)
    logits = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs).logits)(rows.inputs)
    log_probs = jnp.take_along_axis(jax.nn.log_softmax(logits[:, 7:10]), rows.inputs.tokens[:, 8:11, None], axis=-1)
    np.testing.assert_allclose(metrics["loss"], -log_probs.mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["perplexity"], np.exp(-log_probs.mean()), rtol=1e-5)
    right = np.asarray(logits)[:, 7:10].argmax(-1) == rows.inputs.tokens[:, 8:11]
    np.testing.assert_allclose(metrics["accuracy"], right.mean(), rtol=1e-6)


def test_what_was_only_read_is_no_target(tiny_parameters: Parameters, update: Update) -> None:
    """The last token comes after the answer and is read only: neither the loss nor the new parameters know it."""
    rows = small_set()
    tokens = rows.inputs.tokens.copy()
    tokens[:, -1] = 30
    other = dataclasses.replace(rows, inputs=dataclasses.replace(rows.inputs, tokens=tokens))
    first, metrics = update(init_train_state(tiny_parameters, OPTIMIZER), rows)
    second, changed = update(init_train_state(tiny_parameters, OPTIMIZER), other)
    assert float(metrics["loss"]) == float(changed["loss"])
    head, other_head = (np.asarray(state.parameters["vocabulary_head"]["kernel"]) for state in (first, second))
    np.testing.assert_allclose(head, other_head, atol=1e-6)


@pytest.mark.slow
def test_the_loss_on_text_reads_everything_that_can_be_predicted(
    tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    """No image, no first token of a window, no padding. Each row has two windows, the second one of three tokens."""
    rows = small_set()
    segments = np.tile([1] * 8 + [2] * 3 + [0], (4, 1))
    rows = dataclasses.replace(rows, inputs=dataclasses.replace(rows.inputs, segments=segments))
    targets = np.tile([False, True] + [False] * 7 + [True, True, False], (4, 1))
    np.testing.assert_array_equal(text_mask(rows), targets)
    update = make_supervised_update(tiny_model, OPTIMIZER, router_aux_loss_weight=0.01, loss_on="text")
    _, metrics = update(init_train_state(tiny_parameters, OPTIMIZER), rows)
    logits = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs).logits)(rows.inputs)
    log_probs = jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), rows.inputs.tokens[:, 1:, None], axis=-1)[
        ..., 0
    ]
    np.testing.assert_allclose(metrics["loss"], -np.asarray(log_probs)[targets[:, 1:]].mean(), rtol=1e-5)


def test_a_small_set_is_learned(tiny_parameters: Parameters, update: Update) -> None:
    rows, state = small_set(), init_train_state(tiny_parameters, OPTIMIZER)
    history = []
    for _ in range(80):
        old = state
        state, metrics = update(state, rows)
        history.append(metrics)
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(old))
    assert float(history[-1]["loss"]) < 0.1 < 1.0 < float(history[0]["loss"])
    assert float(history[-1]["accuracy"]) == 1.0
    assert int(state.step) == 80
    assert all(np.isfinite(float(value)) for metrics in history for value in metrics.values())
