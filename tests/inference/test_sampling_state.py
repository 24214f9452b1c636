"""Distributions that tokens are drawn from, against ones that are worked out by hand."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.core import FrozenDict

from tars_jax import InputError
from tars_jax.inference.constraint import FREE, Constraints
from tars_jax.inference.sampling import Sampling, seed_of, until_text
from tars_jax.inference.sampling_state import Draw, SamplingState, rows_of, sample, sample_categorical, uniforms_for
from tars_jax.model.policy import NEVER

PROBABILITIES = (0.1, 0.4, 0.2, 0.3)
ROWS = 200


def in_rows(requests: Sequence[tuple[Sampling, int, int]], starts: Mapping[str, int], rows: int) -> SamplingState:
    """Of the first rows."""
    return rows_of(dict(enumerate(requests)), starts, rows)


def first_draw(
    logits: Any, states: SamplingState, budget: Any, constraints: Constraints | None, top_logprobs: int
) -> Draw:
    return sample(logits, states, uniforms_for(states, 1, base_seed=0)[:, 0], budget, constraints, top_logprobs)


jitted = jax.jit(first_draw, static_argnums=4)


def draws(logits: np.ndarray, sampling: Sampling) -> Draw:
    """One draw from each of many streams."""
    states = in_rows([(sampling, seed, 0) for seed in range(ROWS)], {}, ROWS)
    return jitted(jnp.tile(jnp.asarray(logits, jnp.float32), (ROWS, 1)), states, jnp.full(ROWS, 9), None, 0)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), (0.1, 0.4, 0.2, 0.3)),
        (Sampling(temperature=0.5), (1 / 30, 16 / 30, 4 / 30, 9 / 30)),  # squares of .1 .4 .2 .3 sum to .3
        (Sampling(top_k=2), (0, 4 / 7, 0, 3 / 7)),
        (Sampling(top_p=0.6), (0, 4 / 7, 0, 3 / 7)),  # .4 is not enough, .7 is
        (Sampling(top_p=0.39), (0, 1, 0, 0)),
        (Sampling(top_p=1e-6), (0, 1, 0, 0)),
        (Sampling(top_k=3, top_p=0.7), (0, 4 / 7, 0, 3 / 7)),  # of 4/9 3/9 2/9, two reach .7
        (Sampling(top_k=99), (0.1, 0.4, 0.2, 0.3)),
        (Sampling(temperature=0.5, top_k=2), (0, 16 / 25, 0, 9 / 25)),
    ],
)
def test_what_is_drawn_and_recorded(sampling: Sampling, expected: tuple[float, ...]) -> None:
    tokens, log_probs = map(np.asarray, draws(np.log(PROBABILITIES), sampling)[:2])
    np.testing.assert_allclose(np.exp(log_probs), np.array(expected)[tokens], rtol=1e-5)
    counts = np.bincount(tokens, minlength=4) / ROWS
    np.testing.assert_allclose(counts, expected, atol=4 * np.sqrt(0.25 / ROWS))
    assert (counts[np.array(expected) == 0] == 0).all()


@pytest.mark.parametrize("temperature", [0, 1e-30])
def test_greedy_takes_the_likeliest_and_records_what_it_was_worth(temperature: float) -> None:
    tokens, log_probs, *_ = draws(np.log(PROBABILITIES), Sampling(temperature=temperature))
    assert set(np.asarray(tokens).tolist()) == {1}
    np.testing.assert_allclose(log_probs, np.log(0.4), rtol=1e-5)


def test_the_likeliest_are_those_of_the_distribution_that_was_drawn_from() -> None:
    rows = [(Sampling(top_logprobs=3), 0, 0), (Sampling(top_k=2, temperature=0.5), 1, 0)]
    logits = jnp.tile(jnp.log(jnp.array(PROBABILITIES)), (2, 1))
    likeliest = jitted(logits, in_rows(rows, {}, 2), jnp.full(2, 9), None, 3).likeliest
    np.testing.assert_array_equal(likeliest.tokens[:, :2], [[1, 3], [1, 3]])
    np.testing.assert_allclose(np.exp(likeliest.log_probs), [[0.4, 0.3, 0.2], [16 / 25, 9 / 25, 0]], rtol=1e-5)
    nobody = jitted(logits, in_rows([(Sampling(), 0, 0)] * 2, {}, 2), jnp.full(2, 9), None, 3).likeliest
    assert not np.asarray(nobody.log_probs).any()
    assert jitted(logits, in_rows(rows, {}, 2), jnp.full(2, 9), None, 0).likeliest is None


def test_what_an_answer_holds_is_penalized() -> None:
    token_counts = jnp.array([[3, 0, 1, 0]] * 3)
    asked = Sampling(frequency_penalty=0.5), Sampling(presence_penalty=-1.0), Sampling()
    states = in_rows([(sampling, seed, 0) for seed, sampling in enumerate(asked)], {}, 3)
    logits = jnp.log(jnp.tile(jnp.array(PROBABILITIES), (3, 1))).at[:, 3].set(NEVER)
    drawn = sample(
        logits, states, uniforms_for(states, 1, base_seed=0)[:, 0], jnp.full(3, 9), None, token_counts=token_counts
    )
    for row, penalty in enumerate(([1.5, 0, 0.5, 0], [-1.0, 0, -1.0, 0], [0, 0, 0, 0])):
        wanted = np.array(PROBABILITIES) * np.exp(-np.array(penalty)) * (1, 1, 1, 0)
        token = int(drawn.tokens[row])
        np.testing.assert_allclose(np.exp(drawn.log_probs[row]), wanted[token] / wanted.sum(), rtol=1e-5)


def test_k_of_equals_are_k() -> None:
    tokens, log_probs, *_ = draws(np.zeros(8), Sampling(top_k=3))
    assert set(np.asarray(tokens).tolist()) == {0, 1, 2}
    np.testing.assert_allclose(log_probs, np.log(1 / 3), rtol=1e-5)


def test_a_token_is_picked_by_a_block_and_a_place_in_it() -> None:
    """Seven tokens in blocks of two, of .1 + .2, 0 + .4, .3 + 0 and 0."""
    row = jnp.array([0.1, 0.2, 0.0, 0.4, 0.3, 0.0, 0.0])
    uniforms = jnp.array([[0, 0], [0.29, 0.32], [0.29, 0.34], [0.31, 0], [0.69, 0.99], [0.71, 0.99], [1, 1]])
    assert sample_categorical(jnp.tile(row, (7, 1)), uniforms).tolist() == [0, 0, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("vocabulary", [1, 2, 17, 2048, 5003])
def test_tokens_come_as_often_as_they_should_and_impossible_ones_never(vocabulary: int) -> None:
    """Weights over eight decades, half of them 0; the largest uniforms that there are, too."""
    rng = np.random.default_rng(vocabulary)
    weights = 10.0 ** rng.uniform(-8, 0, vocabulary) * (rng.random(vocabulary) < 0.5)
    weights[rng.integers(vocabulary)] = 1
    probabilities, draws = (weights / weights.sum()).astype(np.float32), 40_000
    uniforms = rng.random((draws, 2), np.float32)
    uniforms[:2] = np.nextafter(np.float32(1), np.float32(0)), 0
    tokens = np.asarray(
        jax.jit(jax.vmap(lambda each: sample_categorical(jnp.asarray(probabilities)[None], each[None])[0]))(uniforms)
    )
    assert (probabilities[tokens] > 0).all()
    counts = np.bincount(tokens, minlength=vocabulary)
    np.testing.assert_array_less(np.abs(counts - draws * probabilities), 6 * np.sqrt(draws * probabilities) + 6)


def test_heat_does_not_bring_back_what_may_never_be_drawn() -> None:
    logits = np.array([0.0, NEVER, 1.0, NEVER])
    assert set(np.asarray(draws(logits, Sampling(temperature=9e3)).tokens).tolist()) == {0, 2}


def test_a_row_is_the_same_whatever_the_others_ask() -> None:
    logits = jax.random.normal(jax.random.key(0), (3, 50))
    mine = (Sampling(temperature=0.8), 5, 7)
    alone = jitted(logits, in_rows([mine] * 3, {}, 3), jnp.full(3, 9), None, 0)
    others = [(Sampling(top_k=3), 1, 1), mine, (Sampling(top_p=0.5), 2, 2)]
    crowded = jitted(logits, in_rows(others, {}, 3), jnp.full(3, 9), None, 0)
    assert alone.tokens[1] == crowded.tokens[1] and alone.log_probs[1] == crowded.log_probs[1]
    again = jitted(logits[::-1], in_rows([mine] * 3, {}, 3), jnp.full(3, 9), None, 0)
    assert again.tokens[1] == alone.tokens[1]


def test_chances_are_a_streams_own_however_many_are_asked_for() -> None:
    rows = [(Sampling(), 5, 7), (Sampling(), 6, 7)]
    together = np.asarray(uniforms_for(in_rows(rows, {}, 2), 4, base_seed=0))
    for later in range(4):
        alone = uniforms_for(in_rows([(Sampling(), 5, 7 + later)], {}, 1), 1, base_seed=0)
        np.testing.assert_array_equal(alone[0, 0], together[0, later])
    assert np.unique(together).size == together.size
    assert (uniforms_for(in_rows(rows, {}, 2), 4, base_seed=1) != together).all()


def test_the_vocabulary_is_sorted_only_on_demand() -> None:
    def sorts(jaxpr: Any) -> int:
        """Sorts outside of any branch."""
        inner = (value for eqn in jaxpr.eqns if eqn.primitive.name != "cond" for value in eqn.params.values())
        below = [getattr(value, "jaxpr", None) for value in inner]
        own = sum(eqn.primitive.name == "sort" for eqn in jaxpr.eqns)
        return own + sum(sorts(each) for each in below if each is not None)

    logits, states = jnp.zeros((2, 4)), SamplingState.fresh(2)
    traced = jax.make_jaxpr(lambda logits: first_draw(logits, states, jnp.full(2, 9), None, 0))(logits)
    assert "sort" in str(traced) and sorts(traced.jaxpr) == 0


# Constraints


# Answers that are a, aa, aaa ... with b or c at the end, then the stop token: a=0 b=1 c=2 stop=3.
# 0: freedom; 1: nothing yet; 2: after a; 3: after b or c; 4: complete. Classes: a, b and c, stop.
COUNTING = Constraints(
    token_class=np.array([0, 1, 1, 2], np.int32),
    next_state=np.array([[0, 0, 0], [2, -1, -1], [2, 3, -1], [-1, -1, 4], [-1, -1, -1]], np.int32),
    distance=np.array([0, 3, 2, 1, 0], np.int32),
    start=FrozenDict(counting=1),
)
START = COUNTING.start


def test_every_answer_is_complete_within_its_budget() -> None:
    logits = np.log(np.tile([0.9, 0.05, 0.03, 0.02], (ROWS, 1))).astype(np.float32)
    states: Any = in_rows([(Sampling(constraint="counting"), seed, 0) for seed in range(ROWS)], START, ROWS)
    budget, answers, recorded = 5, [], []
    for left in range(budget, 0, -1):
        tokens, log_probs, state, _ = jitted(logits, states, jnp.full(ROWS, left), COUNTING, 0)
        states = states.replace(drawn=states.drawn + 1, state=state)
        answers.append(np.asarray(tokens))
        recorded.append(np.asarray(log_probs))
    texts = {"".join("abc."[token] for token in answer).split(".")[0] + "." for answer in zip(*answers, strict=True)}
    assert texts <= {"ab.", "ac.", "aab.", "aac.", "aaab.", "aaac."} and {"aaab.", "aaac."} <= texts
    np.testing.assert_allclose(recorded[0], 0, atol=1e-6)  # a is all that can come first
    # Then a, b or c: .9 .05 .03 of .98. At last there is no time for another a: b or c, 5/8 and 3/8.
    second = np.log(np.array([0.9, 0.05, 0.03, 0.02]) / 0.98)[answers[1]]
    np.testing.assert_allclose(recorded[1], second, atol=1e-5)
    late = np.array([row[:3].tolist() == [0, 0, 0] for row in np.stack(answers, 1)])
    np.testing.assert_allclose(recorded[3][late], np.log([1, 5 / 8, 3 / 8, 1])[answers[3][late]], atol=1e-5)


def test_slots_without_a_constraint_are_free() -> None:
    sampling = [(Sampling(), 3, 0), (Sampling(constraint="counting"), 3, 0)]
    logits = jnp.log(jnp.array([[0.01, 0.01, 0.01, 0.97]] * 2))
    tokens, log_probs, state, _ = jitted(logits, in_rows(sampling, START, 2), jnp.full(2, 9), COUNTING, 0)
    assert (tokens.tolist(), state.tolist()) == ([3, 0], [FREE, 2])
    np.testing.assert_allclose(log_probs, [np.log(0.97), 0], atol=1e-5)


# What a caller may ask


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("top_k", -1),
        ("top_k", 2**31),  # more than an array of the device holds
        ("max_new_tokens", -1),
        ("frequency_penalty", 2.5),
        ("presence_penalty", float("nan")),
    ],
)
def test_values_that_mean_nothing(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"sampling.{field} must be .*; got {value}"):
        Sampling(**{field: value})


def test_stop_sequences_cut_before_their_first_token() -> None:
    vocabulary = ["a", "b", "\n", "x\n", "END", "é"]

    def decode(tokens: Any) -> str:
        return "".join(vocabulary[token] for token in tokens)

    until = until_text(["\n", "aEND"], decode)
    cases = [([0, 1], None), ([0, 1, 2], 2), ([2], 0), ([1, 1, 3], 2), ([1, 4], None), ([1, 5, 0, 4], 2)]
    assert [until(tokens) for tokens, _ in cases] == [kept for _, kept in cases]
    with pytest.raises(InputError, match=r"must be one or more stop sequences, .*; got \[''\]"):
        until_text([""], decode)


def test_no_two_answers_of_neighboring_requests_share_a_seed() -> None:
    seeds = [seed_of(seed, index) for seed in range(40) for index in range(16)]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**32 for seed in seeds)
    assert [seed_of(seed, 0) for seed in (0, 7, 2**32 + 1)] == [0, 7, 1]  # one answer is what the seed says


def test_biases_are_added_to_the_logits_that_they_name() -> None:
    """In a batch where others ask for none; what may never be drawn stays so."""
    logits = np.array([0.0, 1.0, 2.0, NEVER], np.float32)
    asked = Sampling(logit_bias=((0, 3.0), (2, -100.0), (3, 100.0)))
    states = rows_of({0: (asked, 0, 0), 1: (Sampling(), 0, 0), 2: (asked, 5, 0)}, {}, 4, biases=3)
    drawn = jitted(jnp.tile(jnp.asarray(logits), (4, 1)), states, jnp.full(4, 9), None, 4)
    assert drawn.likeliest is not None
    alone = draws(logits, Sampling(temperature=0))
    greedy = rows_of({0: (dataclasses.replace(asked, temperature=0), 0, 0)}, {}, 1, biases=3)
    found = jitted(jnp.asarray(logits)[None], greedy, jnp.full(1, 9), None, 0)
    wanted = np.array([3.0, 1.0, -98.0]) - np.logaddexp.reduce([3.0, 1.0, -98.0])
    assert int(found.tokens[0]) == 0 and int(alone.tokens[0]) == 2
    np.testing.assert_allclose(found.log_probs[0], wanted[0], rtol=1e-6)
    for row in (0, 2):
        np.testing.assert_allclose(drawn.log_probs[row], wanted[int(drawn.tokens[row])], rtol=1e-6)
