"""What was sampled under a constraint has, in the learner, the probability that it had among what was allowed."""

import asyncio
import dataclasses
import types
from collections.abc import Sequence
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np
import pytest
from flax.core import FrozenDict

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters
from tars_jax.training.advantages import make_advantage_fn
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.constrained import Allowed, AnswerConstraint
from tars_jax.training.log_probs import token_statistics
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import PackedBatch, Packer, PackingConfig
from tars_jax.training.ppo import make_policy_update, make_score_fn
from tars_jax.training.state import init_train_state
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tests.training.updates import prepare

STOP, ASKED = 3, 9
# A letter (tokens 1 and 2) or two, then the stop token 3. State 1 begins, 2 is behind one letter, 3 behind two, 4 ends.
LETTERS = Constraints(
    token_class=np.array([0, 1, 1, 2] + [0] * 28, np.int32),
    next_state=np.array([[0, 0, 0], [-1, 2, -1], [-1, 3, 4], [-1, -1, 4], [-1, -1, -1]], np.int32),
    distance=np.array([0, 2, 1, 1, 0], np.int32),
    start=FrozenDict({"letters": 1}),
)
CONSTRAINT = AnswerConstraint(LETTERS, 1, 3)


def played(answers: Sequence[tuple[Sequence[int], Sequence[float]]], rewards: Sequence[float] = ()) -> Trajectory:
    """In one window, in which each answer, tokens with their log-probabilities, follows the token 9."""
    columns: list[tuple[int, bool, float, int]] = []
    for step, (tokens, log_probs) in enumerate(answers):
        drawn = zip(tokens, log_probs, strict=True)
        columns += [(ASKED, False, 0.0, step), *((token, True, score, step) for token, score in drawn)]
    read, mask, scores, steps = (np.array(column) for column in zip(*columns, strict=True))
    window = ContextWindow(
        read.astype(np.int32), mask, scores.astype(np.float32), np.where(mask, 0, -1).astype(np.int32),
        steps.astype(np.int32), (),
    )  # fmt: skip
    of_steps = rewards or [0.0] * len(answers)
    made = tuple(Step(b"", "", "", "", None, reward, 0, True, {}) for reward in of_steps)
    return Trajectory("made", {}, (window,), made, Outcome.FINISHED, 1.0, success=True)


def in_rows(model: ModelConfig, trajectory: Trajectory) -> PackedBatch:
    return Packer(model, PackingConfig(16, 1), image=5).pack([trajectory], 1)


def packed(model: ModelConfig, answers: Sequence[tuple[Sequence[int], Sequence[float]]]) -> PackedBatch:
    return CONSTRAINT.followed(in_rows(model, played(answers)))


def written(*tokens: int) -> tuple[Sequence[int], Sequence[float]]:
    return tokens, [-1.0] * len(tokens)


def test_states_and_budgets_of_decisions_by_hand(tiny_model: ModelConfig) -> None:
    """Behind two letters only the end may come: nobody chose it."""
    batch = packed(tiny_model, [written(1, 2, 3), written(2, 3)])
    np.testing.assert_array_equal(batch.rows.states[0, :8], [0, 1, 2, 0, 0, 1, 2, 0])
    np.testing.assert_array_equal(batch.rows.budgets[0, :8], [0, 3, 2, 0, 0, 3, 2, 0])
    np.testing.assert_array_equal(batch.rows.action_mask[0, :8], [0, 1, 1, 0, 0, 1, 1, 0])
    np.testing.assert_array_equal(batch.action_valid[0, :6], [1, 1, 0, 1, 1, 0])


def test_lines_of_memory_are_free_and_the_answer_behind_one_begins_anew(tiny_model: ModelConfig) -> None:
    """What was written to be remembered, at the end of the window before, is of the step that follows: all of it was
    chosen."""
    before, after = played([written(1, 2, 3), written(1, 2, 2, 3)]), played([written(2, 3)])
    (window,) = after.windows
    steps = np.ones(window.tokens.size, np.int32)
    windows = (*before.windows, dataclasses.replace(window, steps=steps))
    batch = CONSTRAINT.followed(in_rows(tiny_model, dataclasses.replace(before, windows=windows)))
    np.testing.assert_array_equal(batch.rows.states[0, :12], [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(batch.rows.action_mask[0, :12], [0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(batch.action_valid[0, :9], [1, 1, 0, 1, 1, 1, 1, 1, 1])


def test_decisions_of_an_answer_by_hand() -> None:
    assert CONSTRAINT.decisions([1, 2, 3]) == CONSTRAINT.decisions([2, 3]) == 2
    assert dataclasses.replace(CONSTRAINT, max_new_tokens=2).decisions([2, 3]) == 1  # no room for a second letter
    assert dataclasses.replace(CONSTRAINT, start=3).decisions([3]) == CONSTRAINT.decisions([]) == 0
    assert CONSTRAINT.decisions([7, 3]) == 2  # somebody else's


@pytest.mark.parametrize(("advantages", "aggregation"), [("gae", "token"), ("turn", "sequence"), ("group", "token")])
@pytest.mark.first(2)
def test_forced_tokens_teach_nothing(
    tiny_model: ModelConfig, tiny_parameters: Parameters, advantages: str, aggregation: str
) -> None:
    """An answer has the advantages, the targets and the gradient that it has where its forced token was only read."""
    config = PPOConfig(advantages=advantages, aggregation=aggregation, gamma=0.9, length_adaptive=False,
                       lambda_policy=0.8, lambda_critic=0.7,
                       positive_weight=0.5, entropy_bonus=0.1, normalize_advantages=False)  # fmt: skip
    whole = played([written(1, 2, 3), written(2, 3)], [0.25, 1.0])
    (window,) = whole.windows
    mask = window.action_mask & (np.arange(window.tokens.size) != 3)
    free = dataclasses.replace(whole, windows=(dataclasses.replace(window, action_mask=mask),))
    followed, read = CONSTRAINT.followed(in_rows(tiny_model, whole)), in_rows(tiny_model, free)
    told: Any = dataclasses.replace(read.rows, states=followed.rows.states, budgets=followed.rows.budgets)
    optimizer = make_optimizer(OptimizerConfig(1e-2, warmup=0))
    update, found = make_policy_update(tiny_model, optimizer, config, LETTERS), []
    for batch, trajectory in ((followed, whole), (dataclasses.replace(read, rows=told), free)):
        log_probs = np.asarray(make_score_fn(tiny_model, LETTERS)(tiny_parameters, batch.rows))
        values = np.sin(np.arange(16, dtype=np.float32))[None] if config.uses_values else None
        prepared, metrics = prepare(
            batch, [trajectory], log_probs, values, config, RewardConfig(), make_advantage_fn(config)
        )
        state, of_update = update(init_train_state(tiny_parameters, optimizer), prepared)
        found.append((prepared.advantages, prepared.value_targets, metrics, of_update, state.parameters))
    assert found[0][2]["decisions"] == 2 and float(found[0][3]["entropy"]) > 0.1
    chex.assert_trees_all_close(*found, rtol=1e-5, atol=1e-7)


def test_answers_without_a_decision_teach_nothing(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    config = PPOConfig(positive_weight=0.5, router_aux_loss_weight=0.0)
    trajectory = played([written(3), written(3)], [0.0, 1.0])
    batch = dataclasses.replace(CONSTRAINT, start=3).followed(in_rows(tiny_model, trajectory))
    zeros = np.zeros((1, 16), np.float32)
    prepared, metrics = prepare(batch, [trajectory], zeros, zeros, config, RewardConfig(), make_advantage_fn(config))
    assert metrics["decisions"] == 0 and np.isfinite(list(metrics.values())).all()
    optimizer = make_optimizer(OptimizerConfig(1e-2, warmup=0))
    _, of_update = make_policy_update(tiny_model, optimizer, config, LETTERS)(
        init_train_state(tiny_parameters, optimizer), prepared
    )
    assert of_update["gradient_norm"] == 0


def test_what_somebody_else_wrote_is_free(tiny_model: ModelConfig) -> None:
    """From the forbidden token on, to the end of its answer."""
    rows = packed(tiny_model, [written(1, 7, 3), written(2, 3)]).rows
    np.testing.assert_array_equal(rows.states[0, :8], [0, 1, 0, 0, 0, 1, 2, 0])


def test_among_what_is_allowed_by_hand() -> None:
    """The head says [1, 2, 5, 8] / 16 wherever one looks. Behind one letter another one or the end may come, while
    there are two tokens left: 2 or 5 or 8 of 15; with one token left only the end may."""
    model: Any = types.SimpleNamespace(vocabulary=4, image_token=None, tied_embeddings=False, execution=Execution())
    parameters = {"vocabulary_head": {"kernel": jnp.log(jnp.asarray([[1.0, 2.0, 5.0, 8.0]]))}}
    automaton = LETTERS.replace(token_class=LETTERS.token_class[:4])  # type: ignore[attr-defined]
    allowed = Allowed(automaton, jnp.asarray([[0, 2, 2, 0]]), jnp.asarray([[0, 2, 1, 1]]))
    tokens, wanted = jnp.asarray([[0, 2, 3, 1]]), jnp.ones((1, 4), bool)
    read = token_statistics(model, parameters, jnp.ones((1, 4, 1)), tokens, wanted, allowed)
    np.testing.assert_allclose(read.log_probs, [[0, np.log(5 / 15), 0, np.log(2 / 16)]], atol=1e-6)
    disorder = -sum(p * np.log(p) for p in (2 / 15, 5 / 15, 8 / 15))
    np.testing.assert_allclose(read.entropies[0, 1:3], [disorder, 0], atol=1e-6)


def test_learner_and_engine_agree(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    config = EngineConfig(slots=1, max_length=16, max_new_tokens=3, row_buckets=(1,), length_buckets=(16,),
                          constraint="letters")  # fmt: skip

    async def play(engine: Engine) -> list[Sampled]:
        async with engine.session(0) as session:
            return [await session.respond([ASKED], [], restart=not step) for step in range(3)]

    with Engine(tiny_model, tiny_parameters, config, image=5, stop=STOP, seed=0, constraints=LETTERS) as engine:
        answers = asyncio.run(play(engine))
    assert all(answer.tokens[-1] == STOP and {*answer.tokens[:-1]} <= {1, 2} for answer in answers)
    rows = packed(tiny_model, [(answer.tokens, answer.log_probs) for answer in answers]).rows
    scored = np.asarray(make_score_fn(tiny_model, LETTERS)(tiny_parameters, rows))
    assert rows.log_probs[rows.action_mask].std() > 0.1
    np.testing.assert_allclose(scored, rows.log_probs, atol=1e-4)
