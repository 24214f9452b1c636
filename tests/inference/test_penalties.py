"""Penalties of what an answer holds already: counted over its chunks, and not beyond it."""

import asyncio
import collections
import dataclasses

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.session import Session
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters

IMAGE = 5
CONFIG = EngineConfig(
    slots=2, max_length=64, chunk=3, row_buckets=(2,), length_buckets=(32,), top_logprobs=32, penalties=True
)
PENALISED = Sampling(temperature=0, frequency_penalty=0.7, presence_penalty=0.4, max_new_tokens=10)


async def step_by_step(session: Session, prompt: list[int]) -> Sampled:
    """The answer that PENALISED asks for, each token from the whole distribution of an answer without penalties."""
    tokens: list[int] = []
    log_probs: list[float] = []
    while len(tokens) < 10:
        one = Sampling(max_new_tokens=1, top_logprobs=32)
        sampled = await session.respond([*prompt, *tokens], [], restart=True, sampling=one)
        logits = {token: log_prob for token, log_prob in sampled.likeliest[0]}
        for token, count in collections.Counter(tokens).items():
            logits[token] -= 0.7 * count + 0.4
        tokens.append(max(logits, key=logits.__getitem__))
        log_probs.append(logits[tokens[-1]] - float(np.logaddexp.reduce(list(logits.values()))))
    return Sampled(tuple(tokens), tuple(log_probs), (0,) * 10, "length")


@pytest.mark.slow
def test_each_token_is_penalized_by_the_answer_before_it(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    async def play(engine: Engine) -> None:
        async with engine.session(1) as session, engine.session(2) as other:
            wanted = await step_by_step(session, [1, 7, 8])
            alone = await other.respond([1, 9], [], restart=True, sampling=Sampling(seed=3, max_new_tokens=20))
            beside, found = await asyncio.gather(
                other.respond([1, 9], [], restart=True, sampling=Sampling(seed=3, max_new_tokens=20)),
                session.respond([1, 7, 8], [], restart=True, sampling=PENALISED),
            )
            assert found.tokens == wanted.tokens and beside.tokens == alone.tokens
            np.testing.assert_allclose(found.log_probs, wanted.log_probs, atol=1e-4)
            assert len(set(found.tokens)) > 1
            # What an answer before held is no business of the next one.
            again = await session.respond([2], [], restart=False, sampling=PENALISED)
            assert again.tokens == (await step_by_step(other, [1, 7, 8, *found.tokens, 2])).tokens

    with Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=IMAGE, seed=0) as engine:
        asyncio.run(asyncio.wait_for(play(engine), 600))


@pytest.mark.parametrize("field", ["frequency_penalty", "presence_penalty"])
def test_an_engine_that_counts_nothing_says_so(
    field: str, tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    config = dataclasses.replace(CONFIG, penalties=False)

    async def ask(engine: Engine) -> None:
        async with engine.session(1) as session:
            await session.respond([1], [], restart=True, sampling=Sampling(**{field: 1.0}))  # type: ignore[arg-type]

    with (
        Engine(tiny_model, tiny_parameters, config, image=IMAGE, stop=IMAGE, seed=0) as engine,
        pytest.raises(InputError, match=f"sampling.{field} must be 0, .*; got 1.0"),
    ):
        asyncio.run(ask(engine))
