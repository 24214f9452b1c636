"""Supervised training: cross-entropy on the agent's own tokens, or in continual pre-training on all text.

Axes: B rows, T tokens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import token_mean
from tars_jax.training.log_probs import headless, token_statistics
from tars_jax.training.packing import Rows
from tars_jax.training.state import Metrics, TrainState, Update, gradient_step


def text_mask(rows: Rows) -> jax.Array:
    """[B, T] bool: text that can be predicted, whoever wrote it; no image tokens, no window's first token, no padding.

    Those are the targets of continual pre-training, which is language modeling: instructions, budgets and whatever a
    failed player thought and did teach what screens and tasks are like, if not what to do (UI-TARS-2, 2.3).
    """
    inputs = rows.inputs
    goes_on = jnp.pad(inputs.segments[:, 1:] == inputs.segments[:, :-1], ((0, 0), (1, 0)))
    return goes_on & (inputs.segments > 0) & (inputs.image_tokens < 0)


def supervised_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, router_aux_loss_weight: float, loss_on: str = "agent"
) -> Callable[[TrainState, Rows], tuple[TrainState, Metrics]]:
    """(state, rows) to (state, metrics). Pure, to be traced.

    `loss_on`: "agent" for the agent's own tokens, nothing on what it read; "text" for all of `text_mask`.
    """

    def loss_fn(parameters: Parameters, rows: Rows) -> tuple[jax.Array, Metrics]:
        targets = rows.action_mask if loss_on == "agent" else text_mask(rows)
        output = forward(headless(model), parameters, rows.inputs)
        read = token_statistics(model, parameters, output.hidden, rows.inputs.tokens, targets)
        loss = token_mean(-read.log_probs, targets)
        metrics = {
            "loss": loss,
            "perplexity": jnp.exp(loss),
            "accuracy": token_mean(read.likeliest, targets),
            "largest_expert_load": output.routers.load.max(),
        }
        return loss + router_aux_loss_weight * output.routers.balance_loss.mean(), metrics

    return gradient_step(loss_fn, optimizer)


@functools.lru_cache(maxsize=8)
def make_supervised_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, router_aux_loss_weight: float, loss_on: str = "agent"
) -> Update[Rows]:
    """`supervised_update`, jitted; the state is donated. Stages with the same arguments share it, and what has been
    compiled."""
    return Update(supervised_update(model, optimizer, router_aux_loss_weight, loss_on))
