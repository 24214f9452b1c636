"""Our side of `decode_tokens.py`: sessions of the engine, which answer at once."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses

import numpy as np

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled, Sampling
from tests.benchmarks.peers.decoding import Answers, Turns
from tests.benchmarks.peers.setting import Decoding, Shape, prompts
from tests.benchmarks.peers.tars_update import model_config, parameters
from tests.benchmarks.peers.turns import serve

NEVER = -1  # the stop token and the image's: no token is either


def answers(engine: Engine, given: Decoding, tokens: int, *, greedy: bool, seed: int) -> Answers:
    """A session for each prompt, all at the same time."""
    sampling = Sampling(temperature=0.0 if greedy else 1.0, max_new_tokens=tokens)

    async def one(number: int, prompt: np.ndarray) -> Sampled:
        async with engine.session(seed * given.batch + number) as session:
            return await session.respond(prompt.tolist(), [], restart=True, sampling=sampling)

    async def all_of_them() -> list[Sampled]:
        return await asyncio.gather(*(one(number, prompt) for number, prompt in enumerate(prompts(given))))

    sampled = asyncio.run(all_of_them())
    return Answers(np.array([each.tokens for each in sampled]), np.array([each.log_probs for each in sampled]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunk", type=int, default=EngineConfig.chunk, help="decode steps between looks at the queue")
    chunk = parser.parse_args().chunk
    given = Decoding()
    config = EngineConfig(
        slots=given.batch,
        max_length=given.length,
        chunk=chunk,
        row_buckets=(given.batch,),
        length_buckets=(given.prompt,),
    )
    model = dataclasses.replace(model_config(Shape()), image_token=NEVER)
    with Engine(model, parameters(Shape())[0], config, image=NEVER, stop=NEVER, seed=0) as engine:
        engine.warm_up()

        def answer(tokens: int, *, greedy: bool, seed: int) -> Answers:
            return answers(engine, given, tokens, greedy=greedy, seed=seed)

        serve(Turns(answer))


if __name__ == "__main__":
    main()
