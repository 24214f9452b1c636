"""What `tars_jax.rl` promises of every function, against slow references in numpy: loops straight from the equations.

Any real dtype; in jit, vmap and grad; of length 0, of length 1, with everything masked; and NaN outside the mask.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import rl

LENGTH = 11
LAMBDAS = {"lambda_policy": 0.8, "lambda_critic": 0.9, "gamma": 0.95, "bootstrap_value": 0.3}
CLIPS: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 1.5}
MAX_IMPORTANCE = 1.2


def slow_gae(r: Any, v: Any, mask: Any, turns: Any) -> tuple[np.ndarray, np.ndarray]:
    """Turn by turn, as double sums; every action token is a turn of its own where `turns` is None."""
    runs: list[list[int]] = []
    for t in np.flatnonzero(mask).tolist():
        if turns is None or not runs or turns[t] != turns[runs[-1][-1]]:
            runs.append([])
        runs[-1].append(t)
    advantages, targets = np.zeros(len(mask)), np.zeros(len(mask))
    value = [v[run[0]] for run in runs] + [LAMBDAS["bootstrap_value"]]
    gamma, delta = LAMBDAS["gamma"], []
    for k, run in enumerate(runs):
        delta.append(sum(r[t] for t in run) + gamma * value[k + 1] - value[k])
    for k, members in enumerate(runs):
        for t in members:
            for steps, d in enumerate(delta[k:]):
                advantages[t] += (gamma * LAMBDAS["lambda_policy"]) ** steps * d
                targets[t] += (gamma * LAMBDAS["lambda_critic"]) ** steps * d
            targets[t] += value[k]
    return advantages, targets


def slow_policy_loss(now: Any, old: Any, a: Any, mask: Any, weights: Any) -> np.ndarray:
    loss = np.zeros(len(mask))
    for t in np.flatnonzero(mask):
        ratio, low, high = np.exp(now[t] - old[t]), 1 - CLIPS["clip_low"], 1 + CLIPS["clip_high"]
        objective = min(ratio * a[t], min(max(ratio, low), high) * a[t])
        if a[t] < 0:
            objective = max(objective, CLIPS["dual_clip"] * a[t])
        loss[t] = -weights[t] * objective
    return loss


def slow_importance(prox: Any, behavior: Any, mask: Any) -> np.ndarray:
    weights = np.zeros(len(mask))
    for t in np.flatnonzero(mask):
        weights[t] = min(np.exp(prox[t] - behavior[t]), MAX_IMPORTANCE)
    return weights


def slow_value_loss(v: Any, target: Any, mask: Any, old: Any) -> np.ndarray:
    loss = np.zeros(len(mask))
    for t in np.flatnonzero(mask):
        near = old[t] + min(max(v[t] - old[t], -0.2), 0.2)
        loss[t] = max((v[t] - target[t]) ** 2, (near - target[t]) ** 2) / 2
    return loss


def slow_kl(now: Any, reference: Any, mask: Any) -> np.ndarray:
    x = [reference[t] - now[t] if mask[t] else 0.0 for t in range(len(mask))]
    return np.array([np.exp(each) - each - 1 for each in x])


def slow_group(r: Any, mask: Any) -> np.ndarray:
    found, members = np.zeros(len(mask)), np.flatnonzero(mask)
    mean, std = (np.mean(r[members]), np.std(r[members], ddof=1)) if len(members) > 1 else (0, 1)
    for i in members:
        found[i] = (r[i] - mean) / (std + 1e-6)
    return found


def slow_mean(x: Any, mask: Any, weights: Any) -> float:
    w = np.where(mask, np.abs(weights), 0)
    return sum(w[t] * x[t] for t in np.flatnonzero(mask)) / w.sum() if w.sum() else 0.0


def slow_whiten(x: Any, mask: Any) -> np.ndarray:
    found, members = np.zeros(len(mask)), np.flatnonzero(mask)
    for t in members:
        found[t] = (x[t] - np.mean(x[members])) / (np.std(x[members]) + 1e-6)
    return found


def slow_explained(returns: Any, values: Any, mask: Any) -> float:
    left, all_ = np.var((returns - values)[mask]) if mask.any() else 0, np.var(returns[mask]) if mask.any() else 0
    return 1 - left / all_ if all_ else 0.0


# name -> ours and the slow one, both of (four columns of numbers, mask, turns), each [T]; compared where masked in.
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "decoupled_gae": (
        lambda a, b, c, d, mask, turns: rl.decoupled_gae(a, b, mask, **LAMBDAS),
        lambda a, b, c, d, mask, turns: slow_gae(a, b, mask, None),
    ),
    "turn_level_gae": (
        lambda a, b, c, d, mask, turns: rl.turn_level_gae(a, b, mask, turns, **LAMBDAS),
        lambda a, b, c, d, mask, turns: slow_gae(a, b, mask, turns),
    ),
    "ppo_policy_loss": (
        lambda a, b, c, d, mask, turns: rl.ppo_policy_loss(a, b, c, mask, weights=d, **CLIPS).loss,
        lambda a, b, c, d, mask, turns: slow_policy_loss(a, b, c, mask, d),
    ),
    "importance_weights": (
        lambda a, b, c, d, mask, turns: rl.importance_weights(a, b, mask, MAX_IMPORTANCE),
        lambda a, b, c, d, mask, turns: slow_importance(a, b, mask),
    ),
    "value_loss": (
        lambda a, b, c, d, mask, turns: rl.value_loss(a, b, mask, old_values=c, clip=0.2),
        lambda a, b, c, d, mask, turns: slow_value_loss(a, b, mask, c),
    ),
    "reference_kl": (
        lambda a, b, c, d, mask, turns: rl.reference_kl(a, b, mask),
        lambda a, b, c, d, mask, turns: slow_kl(a, b, mask),
    ),
    "group_advantages": (
        lambda a, b, c, d, mask, turns: rl.group_advantages(a, mask=mask),
        lambda a, b, c, d, mask, turns: slow_group(a, mask),
    ),
    "informative_group": (
        lambda a, b, c, d, mask, turns: rl.informative_group(a, mask),
        lambda a, b, c, d, mask, turns: len({float(each) for each in a[mask]}) > 1,
    ),
    "token_mean": (
        lambda a, b, c, d, mask, turns: rl.token_mean(a, mask, abs(b)),
        lambda a, b, c, d, mask, turns: slow_mean(a, mask, b),
    ),
    "token_std": (
        lambda a, b, c, d, mask, turns: rl.token_std(a, mask),
        lambda a, b, c, d, mask, turns: np.std(a[mask]) if mask.any() else 0.0,
    ),
    "whiten": (
        lambda a, b, c, d, mask, turns: rl.whiten(a, mask),
        lambda a, b, c, d, mask, turns: slow_whiten(a, mask),
    ),
    "positive_language_model_loss": (
        lambda a, b, c, d, mask, turns: rl.positive_language_model_loss(a, mask, turns > 1),
        lambda a, b, c, d, mask, turns: slow_mean(-a, mask & (turns > 1), np.ones(len(mask))),
    ),
    "explained_variance": (
        lambda a, b, c, d, mask, turns: rl.explained_variance(a, b, mask),
        lambda a, b, c, d, mask, turns: slow_explained(a, b, mask),
    ),
}
MASKS = {
    "some": lambda rng, size: rng.random(size) < 0.6,
    "one": lambda rng, size: np.arange(size) == size // 2,
    "none": lambda rng, size: np.zeros(size, bool),
    "all": lambda rng, size: np.ones(size, bool),
}


def columns(rng: np.random.Generator, size: int, mask: np.ndarray, dtype: type) -> list[np.ndarray]:
    """Four columns of numbers; where the dtype has a NaN it stands everywhere outside the mask."""
    if dtype is bool:
        return list(rng.random((4, size)) < 0.5)
    if dtype is np.int32:
        return list(rng.integers(-2, 3, (4, size)).astype(np.int32))
    return [np.where(mask, each, np.nan).astype(dtype) for each in rng.normal(size=(4, size))]


jitted = {name: jax.jit(ours) for name, (ours, _) in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_equals_the_loops(name: str) -> None:
    """One compilation a dtype and length; lengths 0 and 1 too."""
    rng = np.random.default_rng(0)
    for size in (LENGTH, 1, 0):
        for dtype in (np.float32, np.float64, np.int32, bool)[: 4 if size == LENGTH else 1]:
            for make in list(MASKS.values()) * 3:
                mask, turns = make(rng, size), np.sort(rng.integers(0, 4, size))
                numbers = columns(rng, size, mask, dtype)
                got = jitted[name](*numbers, mask, turns)
                expected = CASES[name][1](*(each.astype(np.float64) for each in numbers), mask, turns)
                for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
                    # A slow reference of group advantages meets a standard deviation of 1e-16 where ours is exact.
                    np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", CASES)
def test_without_jit_and_in_vmap(name: str) -> None:
    rng, ours = np.random.default_rng(1), CASES[name][0]
    mask, turns = rng.random((2, LENGTH)) < 0.6, np.sort(rng.integers(0, 4, (2, LENGTH)))
    numbers = [np.where(mask, each, np.nan).astype(np.float32) for each in rng.normal(size=(4, 2, LENGTH))]
    together = jax.vmap(ours)(*map(jnp.asarray, numbers), mask, turns)
    for b in range(2):
        alone = ours(*(each[b] for each in numbers), mask[b], turns[b])
        for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(one[b], other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("informative_group", "importance_weights")])
def test_gradients_are_finite_and_nothing_outside_the_mask(name: str) -> None:
    rng, ours = np.random.default_rng(2), CASES[name][0]
    mask, turns = rng.random(LENGTH) < 0.6, np.sort(rng.integers(0, 4, LENGTH))
    numbers = columns(rng, LENGTH, mask, np.float32)

    def total(first: jax.Array) -> jax.Array:
        found = jax.tree.leaves(ours(first, *numbers[1:], mask, turns))
        return jnp.stack([jnp.square(leaf).sum() for leaf in found]).sum()

    gradient = np.asarray(jax.jit(jax.grad(total))(numbers[0]))
    assert np.isfinite(gradient).all() and gradient[mask].any() and not gradient[~mask].any()


# name -> a call of columns "abcd" of numbers, mask and turns, each [T]: every one of them is made longer, and a batch.
SHAPES: dict[str, tuple[str, Callable[..., Any]]] = {
    "decoupled_gae": ("ab", lambda a, b, mask: rl.decoupled_gae(a, b, mask, lambda_policy=0.9)),
    "turn_level_gae": ("abi", lambda a, b, i, mask: rl.turn_level_gae(a, b, mask, i, lambda_policy=0.9)),
    "importance_weights": ("ab", rl.importance_weights),
    "ppo_policy_loss": ("abcd", lambda a, b, c, d, mask: rl.ppo_policy_loss(a, b, c, mask, weights=d, **CLIPS)),
    "value_loss": ("abc", lambda a, b, c, mask: rl.value_loss(a, b, mask, c, 0.2)),
    "value_loss, unclipped": ("abc", lambda a, b, c, mask: rl.value_loss(a, b, mask, c)),
    "reference_kl": ("ab", rl.reference_kl),
    "group_advantages": ("a", lambda a, mask: rl.group_advantages(a, mask=mask)),
    "informative_group": ("a", rl.informative_group),
}
ANY_SHAPE: dict[str, tuple[str, Callable[..., Any]]] = {
    "token_mean": ("ab", lambda a, b, mask: rl.token_mean(a, mask, b)),
    "token_std": ("a", rl.token_std),
    "whiten": ("a", rl.whiten),
    "sequence_mean": ("a", rl.sequence_mean),
    "explained_variance": ("ab", rl.explained_variance),
    "correlation": ("ab", rl.correlation),
    "positive_language_model_loss": ("a", lambda a, mask: rl.positive_language_model_loss(a, mask, mask)),
}


@pytest.mark.parametrize("name", [*SHAPES, *ANY_SHAPE])
def test_wrong_shapes_are_refused(name: str) -> None:
    """One column that is longer than the others is; and a whole batch, where functions are of one trajectory."""
    kinds, call = {**SHAPES, **ANY_SHAPE}[name]
    right = [*(np.zeros(LENGTH, int if kind == "i" else np.float32) for kind in kinds), np.ones(LENGTH, bool)]
    call(*right)
    for wrong in range(len(right)):
        with pytest.raises(AssertionError):
            call(*(np.append(each, each[:1]) if at == wrong else each for at, each in enumerate(right)))
    if name in SHAPES:
        with pytest.raises(AssertionError):
            call(*(np.stack([each, each]) for each in right))


def test_wrong_ranks_of_scalars_and_types_are_refused() -> None:
    x, mask = np.zeros(LENGTH), np.ones(LENGTH)
    two: Any = np.ones(2)
    calls: list[Callable[[], Any]] = [
        lambda: rl.decoupled_gae(x, x, mask, lambda_policy=two),
        lambda: rl.turn_level_gae(x, x, mask, x, lambda_policy=0.9),  # turns are whole numbers
        lambda: rl.length_adaptive_lambda(x, two),
        lambda: rl.importance_weights(x, x, mask, two),
        lambda: rl.ppo_policy_loss(x, x, x, mask, clip_low=0.2, clip_high=two),
        lambda: rl.ppo_policy_loss(x, x, x, mask, clip_low=0.2, clip_high=0.28, dual_clip=two),
        lambda: rl.value_loss(x, x, mask, x, clip=two),
        lambda: rl.soft_overlong_penalty(x, two, 4),
        lambda: rl.early_ending_penalty(x, two, 0.5),
        lambda: rl.early_ending_penalty(x, 9, two),
        lambda: rl.saved_steps(x, two),
        lambda: rl.positive_language_model_loss(x, mask, two),
        lambda: rl.entropy(x, mask),
    ]
    for call in calls:
        with pytest.raises(AssertionError):
            call()
