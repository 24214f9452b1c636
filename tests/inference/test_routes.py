"""The experts of every token, as the engine records them, against one forward pass on the whole window."""

import asyncio

import jax
import numpy as np

from tars_jax.inference import Engine, EngineConfig, Sampled, Sampling
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters, forward

IMAGE = 5  # also the stop token: it is never written, so answers take their whole budget


def test_routes_of_what_was_gone_through(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Every token of a window but its last, once and in order: what a learner's forward pass on the window takes."""

    async def talk(engine: Engine) -> tuple[list[int], list[Sampled]]:
        window: list[int] = []
        answers = []
        async with engine.session(0) as session:
            for tokens, sampling in (
                ([7, 8, 9], None),
                ([4], Sampling(until=lambda written: 2 if len(written) == 4 else None)),
                ([6, 3], Sampling(max_new_tokens=0)),
                ([12], Sampling(until=lambda _: 0)),
                ([13, 14], Sampling(max_new_tokens=1)),
            ):
                answers.append(await session.respond(tokens, [], restart=not window, sampling=sampling))
                window += [*tokens, *answers[-1].tokens]
        return window, answers

    config = EngineConfig(
        slots=1, max_length=64, max_new_tokens=6, chunk=3, row_buckets=(1,), length_buckets=(12,), record_routes=True
    )
    with Engine(tiny_model, tiny_parameters, config, image=IMAGE, stop=IMAGE, seed=0) as engine:
        window, answers = asyncio.run(asyncio.wait_for(talk(engine), 120))
    assert [len(answer.tokens) for answer in answers] == [6, 2, 0, 0, 1]
    recorded = [answer.routes for answer in answers if answer.routes is not None]
    routes = np.concatenate(recorded)
    assert len(routes) == len(window) - 1
    inputs = Inputs(
        tokens=np.array([window], np.int32),
        positions=np.broadcast_to(np.arange(len(window), dtype=np.int32), (3, 1, len(window))),
        segments=np.ones((1, len(window)), np.int32),
        images=np.zeros((1, 0, 1, 1, 3), np.uint8),
        image_tokens=np.full((1, len(window)), -1, np.int32),
    )
    gone_through = jax.jit(lambda: forward(tiny_model, tiny_parameters, inputs).routers.routes)()
    np.testing.assert_array_equal(routes, np.moveaxis(np.asarray(gone_through[:, 0]), 0, 1)[:-1])
