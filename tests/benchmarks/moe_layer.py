"""Our expert layer against a dense layer of equal products per token, in one process, with gradients and without.

    PYTHONPATH=. python tests/benchmarks/moe_layer.py [--tokens=4096] [--width=256] [--expert_width=256] [--repeats=9]

The dense layer is one SwiGLU as wide as the experts that a token goes to; only the router is more. The two take turns
and the ratio of each pair is taken, so that a machine that others use too slows both; printed are the median ratio and
the quartiles, of seconds and of processor time. Goal: at most 1.3 on CPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.execution import Execution
from tars_jax.model.experts import Dense, Experts
from tars_jax.model.presets import preset
from tests.benchmarks.turns import times_in_turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tokens", 4096), ("width", 256), ("expert_width", 256), ("experts", 8), ("top_k", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()

    sparse = dataclasses.replace(
        preset("nano", vocabulary=32),
        width=arguments.width,
        experts=arguments.experts,
        experts_per_token=arguments.top_k,
        expert_width=arguments.expert_width,
        execution=Execution(experts=arguments.backend),
    )
    dense = dataclasses.replace(
        sparse, experts=0, experts_per_token=0, expert_width=0, mlp_width=arguments.top_k * arguments.expert_width
    )
    x = jax.random.normal(jax.random.key(0), (1, arguments.tokens, arguments.width))
    valid = jnp.ones((1, arguments.tokens), bool)
    modules: tuple[tuple[Any, tuple[Any, ...]], ...] = ((Experts(sparse), (x, valid)), (Dense(dense), (x,)))
    operations = 6 * arguments.tokens * arguments.width * arguments.top_k * arguments.expert_width
    for name in ("forward", "with gradients"):
        runs = []
        for module, inputs in modules:
            variables = jax.jit(module.init)(jax.random.key(1), *inputs)

            def total(variables: Any, *inputs: Any, module: Any = module) -> jax.Array:
                return jnp.square(module.apply(variables, *inputs)[0]).sum()

            run = jax.jit(total if name == "forward" else jax.value_and_grad(total, argnums=(0, 1)))
            runs.append(functools.partial(run, variables, *inputs))
        times = times_in_turns(runs, arguments.repeats)
        work = operations * (1 if name == "forward" else 3)
        for column, kind in enumerate(("seconds", "processor time")):
            low, median, high = np.percentile(times[:, 0, column] / times[:, 1, column], [25, 50, 75])
            experts, mlp = np.median(times[..., column], axis=0)
            print(
                f"{name}, {kind}: experts {experts * 1e3:.1f} ms, dense {mlp * 1e3:.1f} ms "
                f"({work / mlp / 1e9:.1f} GFLOP/s), ratio {median:.2f} (quartiles {low:.2f} to {high:.2f})"
            )


if __name__ == "__main__":
    main()
