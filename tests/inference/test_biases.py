"""Biases of an answer's logits: all of its tokens, and nobody else's."""

import asyncio

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampling
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters

IMAGE = 5
CONFIG = EngineConfig(
    slots=2,
    max_length=64,
    chunk=3,
    row_buckets=(2,),
    length_buckets=(32,),
    decode_buckets=(1,),
    top_logprobs=32,
    biases=2,
)
BIASES = ((7, 3.0), (11, -4.5))


@pytest.mark.slow
def test_every_token_of_the_answer_is_biased(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Alone, which decodes in fewer rows, and beside another one."""
    asked = Sampling(seed=4, max_new_tokens=10, logit_bias=BIASES)
    plain = Sampling(seed=3, max_new_tokens=20)

    async def play(engine: Engine) -> None:
        async with engine.session(1) as session, engine.session(2) as other:
            found = await session.respond([1, 7, 8], [], restart=True, sampling=asked)
            alone = await other.respond([1, 9], [], restart=True, sampling=plain)
            beside, again = await asyncio.gather(
                other.respond([1, 9], [], restart=True, sampling=plain),
                session.respond([1, 7, 8], [], restart=True, sampling=asked),
            )
            assert again.tokens == found.tokens and beside.tokens == alone.tokens
            for place, (token, log_prob) in enumerate(zip(found.tokens, found.log_probs, strict=True)):
                one = Sampling(max_new_tokens=1, top_logprobs=32)
                read = [1, 7, 8, *found.tokens[:place]]
                logits = dict((await session.respond(read, [], restart=True, sampling=one)).likeliest[0])
                for biased, added in BIASES:
                    logits[biased] += added
                wanted = logits[token] - np.logaddexp.reduce(list(logits.values()))
                np.testing.assert_allclose(log_prob, wanted, atol=1e-4)

    with Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=IMAGE, seed=0) as engine:
        asyncio.run(asyncio.wait_for(play(engine), 600))


@pytest.mark.parametrize(
    ("biases", "words"),
    [
        (((7, 1.0), (8, 1.0), (9, 1.0)), "must have at most 2 tokens .*; got 3"),
        (((32, 1.0),), "must name tokens 0 to 31; got 32"),
    ],
)
def test_what_an_engine_has_no_room_for_is_refused(
    biases: tuple[tuple[int, float], ...], words: str, tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    async def ask(engine: Engine) -> None:
        async with engine.session(1) as session:
            await session.respond([1], [], restart=True, sampling=Sampling(logit_bias=biases))

    with (
        Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=IMAGE, seed=0) as engine,
        pytest.raises(InputError, match=f"sampling.logit_bias {words}"),
    ):
        asyncio.run(ask(engine))


@pytest.mark.parametrize("added", [100.5, float("nan")])
def test_a_bias_has_bounds(added: float) -> None:
    with pytest.raises(InputError, match=r"sampling.logit_bias must be tokens with -100 to 100 each"):
        Sampling(logit_bias=((7, added),))
