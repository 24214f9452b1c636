"""The decode engine as its sessions see it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import NotFinite, Sampled
from tars_jax.inference.session import Session
from tars_jax.inference.slots import SlotFunctions
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters, forward
from tars_jax.model.positions import rope_positions
from tars_jax.model.sharding import leaf_name
from tests.waiting import PATIENCE_S

IMAGE, STOP = 5, 3
NEVER_WRITTEN = IMAGE  # as a stop token: every answer takes its whole budget
GRID = (2, 3)
CONFIG = EngineConfig(slots=3, max_length=64, max_new_tokens=6, chunk=3, row_buckets=(1, 3), length_buckets=(12, 32))


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (16, 24, 3), np.uint8)


def prompt(*before: int) -> list[int]:
    return [*before, *[IMAGE] * 6, 2]


@pytest.fixture(scope="module")
def engine(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Iterator[Engine]:
    with Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=STOP, seed=0) as running:
        yield running


@pytest.fixture(scope="module")
def score(tiny_model: ModelConfig) -> Any:
    """Log-probabilities of all tokens of one window, from a plain forward pass."""

    def run(parameters: Parameters, inputs: Inputs) -> jax.Array:
        return jax.nn.log_softmax(forward(tiny_model, parameters, inputs).logits)

    jitted = jax.jit(run)

    def log_probs(parameters: Parameters, tokens: list[int], images: Sequence[np.ndarray]) -> np.ndarray:
        width = CONFIG.max_length
        row = np.pad(np.array(tokens, np.int32), (0, width - len(tokens)))
        is_image = row == IMAGE
        image_tokens = np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)
        pixels = np.zeros((1, 3, 16, 24, 3), np.uint8)
        for number, image in enumerate(images):
            pixels[0, number] = image
        table = jitted(
            parameters,
            Inputs(
                tokens=row[None],
                positions=rope_positions(is_image, GRID)[0][:, None],
                segments=(np.arange(width) < len(tokens)).astype(np.int32)[None],
                images=(pixels,),
                image_tokens=image_tokens[None],
            ),
        )
        return np.array([0.0, *(float(table[0, t - 1, tokens[t]]) for t in range(1, len(tokens)))])

    return log_probs


async def two_turns(session: Session, offset: int = 0) -> list[Sampled]:
    first = await session.respond(prompt(1, 7, 8), [picture(offset)], restart=True)
    second = await session.respond(prompt(9), [picture(offset + 1)], restart=False)
    return [first, second]


@pytest.mark.slow
def test_recorded_log_probs_are_those_of_a_forward_pass(
    engine: Engine, tiny_parameters: Parameters, score: Any
) -> None:
    async def play() -> list[Sampled]:
        async with engine.session(seed=4) as session:
            return await two_turns(session)

    first, second = asyncio.run(play())
    window = [*prompt(1, 7, 8), *first.tokens, *prompt(9), *second.tokens]
    expected = score(tiny_parameters, window, [picture(0), picture(1)])
    start = len(prompt(1, 7, 8))
    np.testing.assert_allclose(first.log_probs, expected[start : start + len(first.tokens)], atol=1e-5)
    np.testing.assert_allclose(second.log_probs, expected[-len(second.tokens) :], atol=1e-5)
    for answer in (first, second):
        assert len(answer.tokens) == len(answer.log_probs) == len(answer.versions) <= CONFIG.max_new_tokens
        assert STOP not in answer.tokens[:-1]
        assert answer.tokens[-1] == STOP or len(answer.tokens) == CONFIG.max_new_tokens


def test_an_episode_is_the_same_whatever_else_is_in_the_batch(engine: Engine) -> None:
    async def alone() -> list[Sampled]:
        async with engine.session(seed=21) as session:
            return await two_turns(session)

    async def crowded() -> list[Sampled]:
        async def other(seed: int) -> None:
            async with engine.session(seed=seed) as session:
                for _ in range(3):
                    await two_turns(session, offset=seed)

        async with engine.session(seed=21) as session:
            others = asyncio.gather(other(5), other(6))
            mine = await two_turns(session)
            await others
        return mine

    first, second, third = asyncio.run(alone()), asyncio.run(crowded()), asyncio.run(alone())
    assert [answer.tokens for answer in first] == [answer.tokens for answer in second]
    assert first == third
    np.testing.assert_allclose(first[1].log_probs, second[1].log_probs, atol=1e-5)


@pytest.mark.slow
def test_new_weights_take_over_between_chunks(
    tiny_model: ModelConfig, tiny_parameters: Parameters, replace_functions: Callable[[Any], None]
) -> None:
    config = dataclasses.replace(CONFIG, max_new_tokens=9)
    uniform = jax.tree.map(jnp.copy, tiny_parameters)
    uniform["vocabulary_head"]["kernel"] *= 0

    engines: list[Engine] = []

    def handing_over(functions: SlotFunctions) -> SlotFunctions:
        def decode(*arguments: Any) -> Any:
            engines[0].set_weights(uniform, engines[0].version + 1)
            return functions.decode(*arguments)

        return dataclasses.replace(functions, decode=decode)

    replace_functions(handing_over)
    with Engine(tiny_model, tiny_parameters, config, image=IMAGE, stop=NEVER_WRITTEN, seed=0) as engine:
        engines.append(engine)

        async def play() -> list[Sampled]:
            async with engine.session(seed=1) as session:
                return [await session.respond([1, 2], [], restart=True), await session.respond([2], [], restart=False)]

        first, second = asyncio.run(play())
    # One token from the extension, then chunks of three; what is under way keeps the weights that it began with.
    assert first.versions == (0, 0, 0, 0, 1, 1, 1, 2, 2)
    assert second.versions == (3, 3, 3, 3, 4, 4, 4, 5, 5)
    even = np.isclose([*first.log_probs, *second.log_probs], -np.log(tiny_model.vocabulary - 1), atol=1e-6)
    assert even.tolist() == [version > 0 for version in [*first.versions, *second.versions]]


def test_the_engine_keeps_weights_that_the_learner_donates(
    tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    mine = jax.tree.map(jnp.copy, tiny_parameters)
    with Engine(tiny_model, mine, CONFIG, image=IMAGE, stop=STOP, seed=0) as engine:
        for leaf in jax.tree.leaves(mine):
            leaf.delete()

        async def play() -> Sampled:
            async with engine.session(seed=1) as session:
                return await session.respond([1, 2], [], restart=True)

        assert asyncio.run(play()).tokens


def test_errors_of_the_thread_reach_every_caller(
    tiny_model: ModelConfig, tiny_parameters: Parameters, replace_functions: Callable[[Any], None]
) -> None:
    def broken(*_: object) -> Any:
        raise MemoryError("no room on the device")

    replace_functions(lambda functions: dataclasses.replace(functions, prefill=broken))
    with Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=STOP, seed=0) as engine:

        async def play() -> list[Any]:
            async with engine.session(1) as first, engine.session(2) as second:
                results = await asyncio.gather(
                    first.respond([1], [], restart=True),
                    second.respond([1], [], restart=True),
                    return_exceptions=True,
                )
                with pytest.raises(RuntimeError, match="stopped") as stopped:
                    await first.respond([1], [], restart=True)
                return [*results, stopped.value.__cause__]

        for error in asyncio.run(asyncio.wait_for(play(), PATIENCE_S)):
            cause = error if isinstance(error, MemoryError) else error.__cause__
            assert isinstance(cause, MemoryError)


def test_a_closed_engine_leaves_nobody_waiting(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    engine = Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=STOP, seed=0)

    async def play() -> None:
        async with engine.session(1) as session:
            waiting = asyncio.create_task(session.respond([1], [], restart=True))
            await asyncio.sleep(0)
            engine._closing = True
            with engine:
                pass
            with pytest.raises(RuntimeError, match="closed"):
                await waiting
            with pytest.raises(RuntimeError, match="stopped"):
                await session.respond([1], [], restart=True)

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))


@pytest.mark.parametrize(
    ("tokens", "images", "message"),
    [
        ([1] * 59, [], "at most .* tokens \\(engine.max_length\\); got 59"),
        ([1] * 33, [], "engine.length_buckets; got 33"),
        ([1, IMAGE, 2], [picture(0)], "must have 6 image tokens each; got 1 for 1 images"),
        (prompt(1), [], "got 6 for 0 images"),
        (prompt(1), [picture(0)[:15]], "multiples of .* got 15x24"),
        (prompt(1), [picture(0) / 255], "an image must be uint8 .*; got float64"),
        (prompt(*prompt()), [picture(0), picture(0)[:8]], "must have 3, 6 image tokens each; got 12 for 2 images"),
        ([], [], "tokens must be one or more; got none"),
        ([1, 32], [], "tokens must be whole numbers from 0 to 31; got 1 to 32"),
        ([1, 2**40], [], "got 1 to 1099511627776"),
        ([1, 2.5], [], "got 1.0 to 2.5"),
    ],
)
def test_bad_requests_harm_nobody(engine: Engine, tokens: list[int], images: list[np.ndarray], message: str) -> None:
    async def play() -> None:
        async with engine.session(1) as session:
            before = await session.respond([1, 2], [], restart=True)
            with pytest.raises(InputError, match=message):
                await session.respond(tokens, images, restart=True)
            async with engine.session(1) as other:
                assert (await other.respond([1, 2], [], restart=True)) == before
            assert (await session.respond([1, 2], [], restart=True)).tokens

    asyncio.run(play())


def test_a_growing_window_is_refused_when_it_is_full(engine: Engine) -> None:
    async def play() -> int:
        async with engine.session(1) as session:
            await session.respond([1] * 20, [], restart=True)
            for turn in range(10):
                with contextlib.suppress(InputError):
                    await session.respond([1] * 15, [], restart=False)
                    continue
                await session.respond([1] * 20, [], restart=True)
                return turn
        return -1

    assert asyncio.run(play()) in (1, 2)


def test_model_and_tokenizer_agree_on_the_image_token(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    with pytest.raises(InputError, match="image_token must be 6, the tokenizer's; got 5"):
        Engine(tiny_model, tiny_parameters, CONFIG, image=6, stop=STOP, seed=0)


# Callers that give up


@pytest.mark.slow
def test_a_cancelled_answer_leaves_slot_and_engine_usable(
    tiny_model: ModelConfig, tiny_parameters: Parameters, score: Any
) -> None:
    """Slots whose old answer is still being decoded go to new sessions, again and again; nothing leaks over."""
    config = dataclasses.replace(CONFIG, max_new_tokens=24, chunk=1)
    with Engine(tiny_model, tiny_parameters, config, image=IMAGE, stop=NEVER_WRITTEN, seed=0) as engine:

        async def answer(seed: int) -> Sampled:
            async with engine.session(seed) as session:
                return await session.respond([1, 2, seed % 4], [], restart=True)

        async def play() -> list[tuple[Sampled, Sampled]]:
            pairs = []
            for seed in range(8):
                expected = await answer(seed)
                for delay in (0.0, 0.001, 0.003, 0.01):
                    quitters = [asyncio.create_task(answer(100 + seed + slot)) for slot in range(3)]
                    await asyncio.sleep(delay)
                    for task in quitters:
                        task.cancel()
                    await asyncio.gather(*quitters, return_exceptions=True)
                    pairs.append((expected, await answer(seed)))
            return pairs

        for expected, again in asyncio.run(asyncio.wait_for(play(), 240)):
            assert expected.tokens == again.tokens
            np.testing.assert_allclose(expected.log_probs, again.log_probs, atol=1e-5)


def test_a_session_starts_again_after_a_cancelled_answer(
    tiny_model: ModelConfig, tiny_parameters: Parameters, score: Any
) -> None:
    config = dataclasses.replace(CONFIG, max_new_tokens=24, chunk=1)
    with Engine(tiny_model, tiny_parameters, config, image=IMAGE, stop=NEVER_WRITTEN, seed=0) as engine:

        async def play() -> list[tuple[list[int], Sampled]]:
            windows = []
            async with engine.session(3) as session:
                await session.respond([1], [], restart=True)
                for turn in range(10):
                    given_up = asyncio.create_task(session.respond([1, 10 + turn], [], restart=True))
                    await asyncio.sleep(0.0005 * turn)
                    given_up.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await given_up
                        continue
                    with pytest.raises(InputError, match="restart must be True"):
                        await session.respond([1], [], restart=False)
                    first = await session.respond([1, 2, 10 + turn], [], restart=True)
                    second = await session.respond([4], [], restart=False)
                    windows.append(([1, 2, 10 + turn, *first.tokens, 4], second))
            return windows

        windows = asyncio.run(asyncio.wait_for(play(), 240))
    assert windows
    for read, second in windows:
        expected = score(tiny_parameters, [*read, *second.tokens], [])
        np.testing.assert_allclose(second.log_probs, expected[len(read) :], atol=1e-5)


@pytest.mark.slow
def test_nothing_that_overflowed_is_left_for_whoever_comes_after(engine: Engine, tiny_parameters: Parameters) -> None:
    """In every slot, and far behind the end of what is asked again: what is not seen has weight 0, and 0 NaN is NaN."""

    async def ask(length: int) -> list[Sampled]:
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(engine.session(seed)) for seed in range(CONFIG.slots)]
            asks = [session.respond([1, *[7] * length, 2], [], restart=True) for session in sessions]
            return await asyncio.gather(*asks)

    def huge(path: Any, leaf: jax.Array) -> jax.Array:
        layers = "decoder/layers" in leaf_name(path)
        return leaf * 1e38 if layers and "norm" in leaf_name(path) else leaf * 1e4 if layers else leaf

    before = asyncio.run(ask(3))
    try:
        engine.set_weights(jax.tree_util.tree_map_with_path(huge, tiny_parameters), 1)
        with pytest.raises(NotFinite, match="weights of version 1 overflow here"):
            asyncio.run(ask(28))
        with pytest.raises(
            InputError, match=r"infinity: decoder/layers/attention/key/kernel has 256 of 256; .* and \d+ more"
        ):
            engine.set_weights(jax.tree.map(lambda leaf: leaf * jnp.nan, tiny_parameters), 2)
        assert engine.version == 1
    finally:
        engine.set_weights(tiny_parameters, 0)
    for again, first in zip(asyncio.run(ask(3)), before, strict=True):  # perhaps in other slots and batches
        assert again.tokens == first.tokens
        np.testing.assert_allclose(again.log_probs, first.log_probs, atol=1e-4)
