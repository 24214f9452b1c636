"""Pieces of the rows give the numbers of the whole logits, and so do their gradients."""

import dataclasses
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters, vocabulary_logits
from tars_jax.rl import entropy
from tars_jax.training import log_probs
from tars_jax.training.log_probs import TokenStatistics, token_statistics

B, T = 3, 11


def sample(model: ModelConfig) -> tuple[jax.Array, jax.Array, np.ndarray]:
    """Hidden states, tokens, and a mask with an empty row, a full one (its first token too) and a ragged one."""
    rng = np.random.default_rng(0)
    tokens = jnp.asarray(rng.integers(6, 32, (B, T)), jnp.int32)
    wanted = np.stack([np.zeros(T, bool), np.ones(T, bool), np.isin(np.arange(T), [2, 3, 9])])
    return jax.random.normal(jax.random.key(1), (B, T, model.width)), tokens, wanted


def whole(
    model: ModelConfig, parameters: Parameters, hidden: jax.Array, tokens: jax.Array, wanted: np.ndarray
) -> TokenStatistics:
    """The definition: logits of all places at once."""
    logits = vocabulary_logits(model, parameters, hidden)[:, :-1]
    mask = jnp.asarray(wanted)[:, 1:]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)[..., 0]
    chosen = jnp.where(mask, chosen, 0)
    columns = (chosen, jax.vmap(entropy)(logits, mask), mask & (logits.argmax(-1) == tokens[:, 1:]))
    return TokenStatistics(*(jnp.pad(column, ((0, 0), (1, 0))) for column in columns))


@pytest.mark.slow
def test_by_hand() -> None:
    """Hidden state 1, head [0, log 2, log 5]: the distribution is [1, 2, 5] / 8 wherever one looks."""
    model: Any = types.SimpleNamespace(vocabulary=3, image_token=None, tied_embeddings=False, execution=Execution())
    parameters = {"vocabulary_head": {"kernel": jnp.log(jnp.asarray([[1.0, 2.0, 5.0]]))}}
    tokens = jnp.asarray([[0, 2, 1]])
    read = token_statistics(model, parameters, jnp.ones((1, 3, 1)), tokens, jnp.ones((1, 3), bool))
    np.testing.assert_allclose(read.log_probs, [[0, np.log(5 / 8), np.log(2 / 8)]], rtol=1e-6)
    disorder = -sum(p * np.log(p) for p in (1 / 8, 2 / 8, 5 / 8))
    np.testing.assert_allclose(read.entropies, [[0, disorder, disorder]], rtol=1e-6)
    np.testing.assert_array_equal(read.likeliest, [[0, 1, 0]])


@pytest.mark.parametrize(
    "chunk", [pytest.param(1, marks=pytest.mark.full), 4, pytest.param(64, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("tied", [False, True])
def test_pieces_are_the_whole(tiny_model: ModelConfig, tiny_parameters: Parameters, chunk: int, tied: bool) -> None:
    model = dataclasses.replace(tiny_model, tied_embeddings=tied, execution=Execution(head_chunk=chunk))
    hidden, tokens, wanted = sample(model)

    def total(read: TokenStatistics) -> jax.Array:
        weights = jnp.cos(jnp.arange(B * T).reshape(B, T))
        return (weights * read.log_probs + jnp.sin(weights) * read.entropies).sum()

    @jax.jit
    def both(parameters: Parameters, hidden: jax.Array) -> tuple[Any, Any]:
        def pieces(parameters: Parameters, hidden: jax.Array) -> tuple[jax.Array, TokenStatistics]:
            read = token_statistics(model, parameters, hidden, tokens, jnp.asarray(wanted))
            return total(read), read

        def definition(parameters: Parameters, hidden: jax.Array) -> tuple[jax.Array, TokenStatistics]:
            read = whole(model, parameters, hidden, tokens, wanted)
            return total(read), read

        with_gradient = [jax.value_and_grad(f, argnums=(0, 1), has_aux=True) for f in (pieces, definition)]
        return with_gradient[0](parameters, hidden), with_gradient[1](parameters, hidden)

    ((_, got), gradients), ((_, expected), expected_gradients) = both(tiny_parameters, hidden)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), got, expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), gradients, expected_gradients)
    assert np.abs(gradients[1]).max() > 1e-2


def test_the_whole_logits_are_never_held(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """No array of the compiled gradient, within its loops or outside, is as large as B * T * V."""
    rows, length = 4, 256
    model = dataclasses.replace(tiny_model, execution=Execution(head_chunk=32))
    tokens, wanted = jnp.zeros((rows, length), jnp.int32), jnp.ones((rows, length), bool)

    def loss(parameters: Parameters, hidden: jax.Array) -> jax.Array:
        return token_statistics(model, parameters, hidden, tokens, wanted).log_probs.sum()

    shapes = jax.ShapeDtypeStruct((rows, length, tiny_model.width), jnp.float32)
    parameters = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tiny_parameters)
    program = str(jax.make_jaxpr(jax.grad(loss))(parameters, shapes))
    assert f"f32[{rows},32,{tiny_model.vocabulary}]" in program
    assert f"f32[{rows},{length},{tiny_model.vocabulary}]" not in program
    assert f"f32[8,{rows},32,{tiny_model.vocabulary}]" not in program  # kept for the backward pass, piece by piece


def test_pieces_without_sampled_tokens_are_skipped(
    tiny_model: ModelConfig, tiny_parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight tokens of each row were sampled, wherever they stand: two pieces of four are read, six are not."""
    calls: list[int] = []

    def counted(*arguments: Any) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return vocabulary_logits(*arguments)

    monkeypatch.setattr(log_probs, "vocabulary_logits", counted)
    model = dataclasses.replace(tiny_model, execution=Execution(head_chunk=4))
    rng = np.random.default_rng(0)
    wanted = np.stack([np.isin(np.arange(32), rng.choice(np.arange(1, 32), 8, replace=False)) for _ in range(B)])
    hidden, tokens = jnp.ones((B, 32, tiny_model.width)), jnp.zeros((B, 32), jnp.int32)
    read = jax.jit(lambda: token_statistics(model, tiny_parameters, hidden, tokens, jnp.asarray(wanted)))()
    jax.block_until_ready(read)
    jax.effects_barrier()
    assert len(calls) == 2
    np.testing.assert_array_equal(np.asarray(read.log_probs) < 0, wanted)


@pytest.mark.slow
def test_policies_side_by_side_have_rounds_of_their_own(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Under vmap the loop goes on for whoever has most sampled tokens, and changes nothing for the others."""
    model = dataclasses.replace(tiny_model, execution=Execution(head_chunk=4))
    hidden, tokens, _ = sample(model)
    wanted = jax.random.bernoulli(jax.random.key(2), jnp.asarray([0.1, 0.9])[:, None, None], (2, B, T))

    def gradients(hidden: jax.Array, wanted: jax.Array) -> Any:
        def total(parameters: Parameters, hidden: jax.Array) -> jax.Array:
            read = token_statistics(model, parameters, hidden, tokens, wanted)
            return (read.log_probs + read.entropies).sum()

        return jax.grad(total, argnums=(0, 1))(tiny_parameters, hidden)

    states = jnp.stack([hidden, -hidden])
    together = jax.jit(jax.vmap(gradients))(states, wanted)
    for number in range(2):
        alone = jax.jit(gradients)(states[number], wanted[number])
        jax.tree.map(lambda a, b, n=number: np.testing.assert_allclose(a[n], b, atol=2e-6), together, alone)
