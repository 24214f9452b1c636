"""The vocabulary head in pieces of the rows against whole logits: time and memory of the gradient, in one process.

    PYTHONPATH=. python tests/benchmarks/chunked_head.py [--vocabulary=768] [--rows=8] [--length=512] [--wanted=0.3]

The head is that of nano: hidden states [rows, length, width] to log-probabilities and entropies of the wanted tokens,
with gradients for hidden states and parameters. Whole logits and all sizes of a piece take turns, and each is compared
with the whole logits of its turn; printed are the median ratio of seconds and of processor time, and what XLA plans for
temporaries. `execution.head_chunk` is the size of a piece.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters, init_parameters, vocabulary_logits
from tars_jax.model.presets import preset
from tars_jax.rl import entropy
from tars_jax.training.log_probs import token_statistics
from tests.benchmarks.turns import times_in_turns


def whole(
    model: ModelConfig, parameters: Parameters, hidden: jax.Array, tokens: jax.Array, wanted: jax.Array
) -> jax.Array:
    """What `in_pieces` computes, from the logits of all places at once."""
    logits, mask = vocabulary_logits(model, parameters, hidden)[:, :-1], wanted[:, 1:]
    own = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)[..., 0]
    return (jnp.where(mask, own, 0) + jax.vmap(entropy)(logits, mask)).sum()


def in_pieces(
    model: ModelConfig, parameters: Parameters, hidden: jax.Array, tokens: jax.Array, wanted: jax.Array
) -> jax.Array:
    read = token_statistics(model, parameters, hidden, tokens, wanted)
    return (read.log_probs + read.entropies).sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, default=768)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--wanted", type=float, default=0.3, help="share of tokens that were sampled")
    parser.add_argument("--chunks", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()

    model = preset("nano", vocabulary=arguments.vocabulary)
    whole_parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(0))
    head = {name: whole_parameters[name] for name in ("embed", "vocabulary_head")}
    shape, rng = (arguments.rows, arguments.length), np.random.default_rng(0)
    hidden = jax.random.normal(jax.random.key(1), (*shape, model.width))
    tokens = jnp.asarray(rng.integers(6, arguments.vocabulary, shape), jnp.int32)
    wanted = jnp.asarray(rng.random(shape) < arguments.wanted).at[:, 0].set(False)

    def compiled(function: Callable[..., jax.Array], chunk: int) -> Any:
        config = dataclasses.replace(model, execution=Execution(head_chunk=chunk))
        run = jax.jit(jax.value_and_grad(lambda *inputs: function(config, *inputs), argnums=(0, 1)))
        return run.lower(head, hidden, tokens, wanted).compile()

    programs = {"whole": compiled(whole, arguments.length)}
    programs |= {f"{chunk}": compiled(in_pieces, chunk) for chunk in arguments.chunks}
    value = float(programs["whole"](head, hidden, tokens, wanted)[0])
    for name, program in programs.items():
        np.testing.assert_allclose(float(program(head, hidden, tokens, wanted)[0]), value, rtol=1e-4, err_msg=name)
    times = times_in_turns(
        [functools.partial(run, head, hidden, tokens, wanted) for run in programs.values()], arguments.repeats
    )
    for (name, program), ratio in zip(programs.items(), np.median(times / times[:, :1], axis=0), strict=True):
        mebibytes = program.memory_analysis().temp_size_in_bytes / 2**20
        print(f"{name:>6}: {ratio[0]:.2f} of the seconds, {ratio[1]:.2f} of the processor time, {mebibytes:.1f} MiB")


if __name__ == "__main__":
    main()
