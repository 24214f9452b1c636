"""Supervised training: cross-entropy on the agent's own tokens, nothing on what it read."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import token_mean
from tars_jax.training.packing import Rows
from tars_jax.training.state import Metrics, TrainState, apply_gradients, jit_update


def next_token_log_probs(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """log p(token_t | tokens before t), [B, T]; logits [B, T, V] are of the next token, so entry 0 is 0."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.pad(chosen, ((0, 0), (1, 0)))


def make_supervised_update(
    model: ModelConfig, optimiser: optax.GradientTransformation, balance: float
) -> Callable[[TrainState, Rows], tuple[TrainState, Metrics]]:
    """The jitted update; the state is donated. `balance` weighs the routers' load-balancing loss."""

    def loss_fn(parameters: Parameters, rows: Rows) -> tuple[jax.Array, Metrics]:
        output = forward(model, parameters, rows.inputs)
        log_probs = next_token_log_probs(output.logits, rows.inputs.tokens)
        loss = token_mean(-log_probs, rows.action_mask)
        metrics = {
            "loss": loss,
            "perplexity": jnp.exp(loss),
            "accuracy": token_mean(
                jnp.pad(output.logits[:, :-1].argmax(-1) == rows.inputs.tokens[:, 1:], ((0, 0), (1, 0))),
                rows.action_mask,
            ),
            "largest_expert_load": output.routers.load.max(),
        }
        return loss + balance * output.routers.balance_loss.mean(), metrics

    def update(state: TrainState, rows: Rows) -> tuple[TrainState, Metrics]:
        (_, metrics), gradients = jax.value_and_grad(loss_fn, has_aux=True)(state.parameters, rows)
        state, norm = apply_gradients(state, gradients, optimiser)
        return state, {**metrics, "gradient_norm": norm}

    return jit_update(update)
