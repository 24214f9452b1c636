"""Supervised training: cross-entropy on the agent's own tokens, nothing on what it read."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import token_mean
from tars_jax.training.log_probs import headless, token_statistics
from tars_jax.training.packing import Rows
from tars_jax.training.state import Metrics, TrainState, Update, apply_gradients


def supervised_update(
    model: ModelConfig, optimiser: optax.GradientTransformation, balance: float
) -> Callable[[TrainState, Rows], tuple[TrainState, Metrics]]:
    """(state, rows) to (state, metrics); `balance` weighs the routers' load-balancing loss. Pure, to be traced."""

    def loss_fn(parameters: Parameters, rows: Rows) -> tuple[jax.Array, Metrics]:
        output = forward(headless(model), parameters, rows.inputs)
        read = token_statistics(model, parameters, output.hidden, rows.inputs.tokens, rows.action_mask)
        loss = token_mean(-read.log_probs, rows.action_mask)
        metrics = {
            "loss": loss,
            "perplexity": jnp.exp(loss),
            "accuracy": token_mean(read.likeliest, rows.action_mask),
            "largest_expert_load": output.routers.load.max(),
        }
        return loss + balance * output.routers.balance_loss.mean(), metrics

    def update(state: TrainState, rows: Rows) -> tuple[TrainState, Metrics]:
        (_, metrics), gradients = jax.value_and_grad(loss_fn, has_aux=True)(state.parameters, rows)
        state, norm = apply_gradients(state, gradients, optimiser)
        return state, {**metrics, "gradient_norm": norm}

    return update


def make_supervised_update(model: ModelConfig, optimiser: optax.GradientTransformation, balance: float) -> Update[Rows]:
    """`supervised_update`, jitted; the state is donated."""
    return Update(supervised_update(model, optimiser, balance))
