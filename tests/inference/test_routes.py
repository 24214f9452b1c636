"""The experts of every token, as the engine records them, against one forward pass on the whole window."""

import asyncio
import dataclasses

import jax
import numpy as np
import pytest

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters, forward, init_parameters
from tests.waiting import PATIENCE_S

IMAGE = 5  # also the stop token: it is never written, so answers take their whole budget


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dense_layers", "layers"),
    [
        ((), "unstacked"),
        pytest.param((1, 2), "unstacked", marks=pytest.mark.full),
        pytest.param((1, 2), "stacked", marks=pytest.mark.full),
    ],
    ids=str,
)
def test_routes_of_what_was_gone_through(
    dense_layers: tuple[int, ...], layers: str, tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    """Every token of a window but its last, once and in order: what a learner's forward pass on the window takes.

    It is the same function: what was recorded of the tokens that were sampled is what the learner computes.
    """
    model, parameters = tiny_model, tiny_parameters
    if dense_layers:
        model = dataclasses.replace(tiny_model, depth=4, mlp_width=24, dense_layers=dense_layers)
        parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(3))

    async def talk(engine: Engine) -> tuple[list[int], dict[int, float], list[Sampled]]:
        window: list[int] = []
        log_probs: dict[int, float] = {}  # by place in the window
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
                log_probs |= enumerate(answers[-1].log_probs, start=len(window) - len(answers[-1].tokens))
        return window, log_probs, answers

    config = EngineConfig(
        slots=1,
        max_length=64,
        max_new_tokens=6,
        chunk=3,
        row_buckets=(1,),
        length_buckets=(12,),
        layers=layers,
        record_routes=True,
    )
    with Engine(model, parameters, config, image=IMAGE, stop=IMAGE, seed=0) as engine:
        window, log_probs, answers = asyncio.run(asyncio.wait_for(talk(engine), PATIENCE_S))
    assert [len(answer.tokens) for answer in answers] == [6, 2, 0, 0, 1]
    recorded = [answer.routes for answer in answers if answer.routes is not None]
    routes = np.concatenate(recorded)
    assert len(routes) == len(window) - 1
    inputs = Inputs(
        tokens=np.array([window], np.int32),
        positions=np.broadcast_to(np.arange(len(window), dtype=np.int32), (3, 1, len(window))),
        segments=np.ones((1, len(window)), np.int32),
        images=(),
        image_tokens=np.full((1, len(window)), -1, np.int32),
    )
    learned = jax.jit(lambda: forward(model, parameters, inputs))()
    gone_through = np.moveaxis(np.asarray(learned.routers.routes[:, 0]), 0, 1)
    assert gone_through.shape[1] == 2  # layers with experts
    np.testing.assert_array_equal(routes, gone_through[:-1])
    expected = np.asarray(jax.nn.log_softmax(learned.logits[0]))
    places = list(log_probs)
    np.testing.assert_allclose(
        [log_probs[place] for place in places], expected[np.array(places) - 1, np.array(window)[places]], atol=1e-4
    )
