"""Sessions, requests and pictures on a running engine: more sessions than slots, forks, ends of all kinds."""

import asyncio
import contextlib
import dataclasses
import io
import itertools
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Busy, Sampled, Sampling, Token
from tars_jax.inference.session import Session
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.ppo import make_score_fn
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory

IMAGE = 5
NEVER_WRITTEN = IMAGE  # as a stop token: every answer takes its whole budget
CONFIG = EngineConfig(
    slots=3,
    max_length=64,
    max_new_tokens=6,
    chunk=3,
    row_buckets=(1, 3),
    length_buckets=(12, 32),
    image_buckets=(1,),
    image_cache_tokens=64,  # ten pictures of 6
    max_sessions=8,
    max_queue=8,
)
HEIGHT, WIDTH = 16, 24

T = TypeVar("T")


# Three tokens below 4, then 4, where the answer ends without a stop token: here that is the image token, never drawn.
DIGITS = Constraints(
    token_class=np.array([0] * 4 + [1] + [2] * 27, np.int32),
    next_state=np.array([[0, 0, 0], [2, -1, -1], [3, -1, -1], [4, -1, -1], [-1, 5, -1], [-1, -1, -1]], np.int32),
    distance=np.array([0, 4, 3, 2, 1, 0], np.int32),
    start={"digits": 1},
)


def picture(seed: int, size: tuple[int, int] = (HEIGHT, WIDTH)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)


def prompt(*before: int) -> list[int]:
    return [*before, *[IMAGE] * 6, 2]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 240))


@contextlib.contextmanager
def constrained(model: ModelConfig, parameters: Parameters) -> Iterator[Engine]:
    config = dataclasses.replace(CONFIG, chunk=2, row_buckets=(2, 3), decode_buckets=(1,), image_buckets=(1, 2))
    with Engine(model, parameters, config, image=IMAGE, stop=NEVER_WRITTEN, seed=0, constraints=DIGITS) as engine:
        yield engine


@pytest.fixture(scope="module")
def engine(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Iterator[Engine]:
    with Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=NEVER_WRITTEN, seed=0) as engine:
        yield engine
        assert engine.statistics().sessions == engine.statistics().active == engine.statistics().idle == 0


async def respond(session: Session, *tokens: int, restart: bool = False, **sampling: Any) -> Sampled:
    return await session.respond(tokens, [], restart=restart, sampling=Sampling(**sampling) if sampling else None)


def compilations() -> Callable[[], int]:
    """Counts what is compiled from now on."""
    seen: list[str] = []

    def listen(event: str, duration_secs: float, **_: object) -> None:
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return lambda: len(seen)


# More sessions than slots


@pytest.mark.slow
def test_more_sessions_than_slots_and_none_can_tell(engine: Engine) -> None:
    """What is read and written is equal to the last bit, off-loaded or not: shapes are the same, one at a time."""

    async def alone(seed: int) -> list[Sampled]:
        async with engine.session(seed) as session:
            first = await session.respond(prompt(1, seed), [picture(seed)], restart=True)
            return [first, *[await respond(session, 7, turn) for turn in range(3)]]

    async def in_turns() -> list[list[Sampled]]:
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(engine.session(seed)) for seed in range(5)]
            turns = [
                [
                    await each.respond(prompt(1, seed), [picture(seed)], restart=True)
                    for seed, each in enumerate(sessions)
                ]
            ]
            for turn in range(3):
                assert engine.statistics().offloaded == 2
                turns.append([await respond(session, 7, turn) for session in sessions])
            return [list(answers) for answers in zip(*turns, strict=True)]

    async def play() -> None:
        expected = [await alone(seed) for seed in range(5)]
        assert await in_turns() == expected

    run(play())


def test_a_crowd_is_served_by_few_slots(engine: Engine) -> None:
    async def play() -> None:
        async def episode(seed: int) -> list[tuple[int, ...]]:
            async with engine.session(seed) as session:
                answers = [await respond(session, 1, 20 + seed, restart=True)]
                answers += [await respond(session, 7, turn) for turn in range(2)]
                return [answer.tokens for answer in answers]

        alone = [await episode(seed) for seed in range(8)]
        assert await asyncio.gather(*(episode(seed) for seed in range(8))) == alone

    run(play())


def test_bounds(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    engine = Engine(tiny_model, tiny_parameters, CONFIG, image=IMAGE, stop=NEVER_WRITTEN, seed=0)  # nobody answers

    async def play() -> None:
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(engine.session(seed)) for seed in range(8)]
            with pytest.raises(Busy, match="engine.max_sessions: all 8 sessions are open"):
                await stack.enter_async_context(engine.session(9))
            with pytest.raises(Busy, match="engine.max_sessions"):
                sessions[0].fork(1)
            closed = sessions.pop()
            closed.close()
            with pytest.raises(InputError, match="the session is not open"):
                await respond(closed, 1, restart=True)
            sessions.append(await stack.enter_async_context(engine.session(9)))
            waiting = [asyncio.create_task(respond(session, 1, restart=True)) for session in sessions]
            await asyncio.sleep(0)
            with pytest.raises(Busy, match="engine.max_queue: 8 requests wait already"):
                await respond(sessions[0], 1, restart=True)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        assert engine.statistics().sessions == 0

    run(play())


# Forks


def test_a_fork_goes_on_as_a_session_of_its_own(engine: Engine) -> None:
    async def from_the_start(seed: int) -> list[Sampled]:
        async with engine.session(seed) as session:
            await session.respond(prompt(1, 7), [picture(1)], restart=True, sampling=Sampling(max_new_tokens=0))
            return [await respond(session, 9), await respond(session, 4)]

    async def forked() -> list[list[Sampled]]:
        async with engine.session(0) as parent:
            read = await parent.respond(prompt(1, 7), [picture(1)], restart=True, sampling=Sampling(max_new_tokens=0))
            assert read.tokens == () and parent.length == len(prompt(1, 7))
            one, two = parent.fork(11), parent.fork(12)
            mine = [await respond(parent, 9), await respond(parent, 4)]
        async with one, two:
            found = [mine, *[[await respond(child, 9)] for child in (one, two)]]
            for answers, child in zip(found[1:], (one, two), strict=True):
                answers.append(await respond(child, 4))
        return found

    async def play() -> None:
        assert await forked() == [await from_the_start(seed) for seed in (0, 11, 12)]

    run(play())


def test_a_prompt_that_was_read_is_answered_later(engine: Engine) -> None:
    async def play() -> None:
        async with engine.session(3) as session:
            await respond(session, 1, 2, 8, restart=True, max_new_tokens=0)
            later = await respond(session)
            at_once = await respond(session, 1, 2, 8, restart=True, seed=3)
            assert later.tokens == at_once.tokens
            np.testing.assert_allclose(later.log_probs, at_once.log_probs, atol=1e-5)
            await respond(session, 9, restart=True, max_new_tokens=0)  # one token: nothing to compute
            with pytest.raises(InputError, match="the last token must be one of text"):
                await session.respond(prompt()[:-1], [picture(0)], restart=True, sampling=Sampling(max_new_tokens=0))
            assert len((await respond(session)).tokens) == 6

    run(play())


def test_no_fork_of_what_is_under_way(engine: Engine) -> None:
    async def play() -> None:
        async with engine.session(3) as session:
            answer = asyncio.create_task(respond(session, 1, restart=True, max_new_tokens=50))
            await asyncio.sleep(0)
            with pytest.raises(InputError, match="not awaited to its end"):
                session.fork(1)
            await answer

    run(play())


# How answers are sampled and how they end


def test_requests_say_how_they_are_sampled(engine: Engine) -> None:
    async def play() -> None:
        async def ask(own: int, **sampling: Any) -> Sampled:
            async with engine.session(own) as session:
                await respond(session, 4, restart=True)
                return await respond(session, 1, 2, 8, restart=True, **sampling)

        crowd = [
            ask(1, temperature=0),
            ask(2, temperature=0),
            ask(1, seed=7),
            ask(2, seed=7, top_k=0),
            ask(3, top_k=1),
            ask(4, max_new_tokens=2),
            ask(5, max_new_tokens=11, top_p=0.3, temperature=3.0),
        ]
        greedy, also_greedy, seeded, also_seeded, likeliest, short, long = await asyncio.gather(*crowd)
        assert greedy.tokens == also_greedy.tokens == likeliest.tokens != seeded.tokens
        np.testing.assert_allclose(greedy.log_probs, also_greedy.log_probs, atol=1e-5)
        assert max(greedy.log_probs) < -1e-3  # at temperature 1
        np.testing.assert_allclose(likeliest.log_probs, 0, atol=1e-6)  # of the only one that is left
        assert seeded.tokens == also_seeded.tokens == (await ask(6, seed=7)).tokens
        assert (len(short.tokens), len(long.tokens), short.finish) == (2, 11, "length")

    run(play())


def test_a_request_with_a_seed_leaves_the_sessions_stream_alone(engine: Engine) -> None:
    async def play() -> None:
        async def last(between: bool) -> Sampled:
            async with engine.session(4) as session:
                await respond(session, 1, restart=True)
                if between:
                    await respond(session, 1, restart=True, seed=99)
                return await respond(session, 2, restart=True)

        assert await last(True) == await last(False)

    run(play())


@pytest.mark.parametrize("kept", [0, 1, 2, 4])
def test_an_answer_is_cut_back_and_goes_on_from_there(engine: Engine, kept: int) -> None:
    async def play() -> None:
        async with engine.session(8) as session, engine.session(8) as other:
            seen: list[Token] = []
            cut = await session.respond(
                [1, 2],
                [],
                restart=True,
                sampling=Sampling(until=lambda tokens: kept if len(tokens) == 5 else None),
                on_token=seen.append,
            )
            whole = await respond(other, 1, 2, restart=True, max_new_tokens=6)
            assert cut == Sampled(whole.tokens[:kept], whole.log_probs[:kept], whole.versions[:kept], "stop")
            assert tuple(each.token for each in seen) == whole.tokens[:5]  # also those that are taken back
            assert session.length == 2 + kept
            after = await respond(session, 9)
            await respond(other, 1, 2, restart=True, max_new_tokens=kept, seed=8)
            other.stream.drawn = 5  # what was taken back is not drawn again
            assert after == await respond(other, 9)

    run(play())


def test_what_a_callers_function_raises_is_the_callers(engine: Engine) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("mine")

    async def play() -> None:
        async with engine.session(8) as session:
            for use in ({"on_token": broken}, {"sampling": Sampling(until=broken)}):
                with pytest.raises(KeyError, match="mine"):
                    await session.respond([1], [], restart=True, **use)
                with pytest.raises(InputError, match="restart must be True"):
                    await respond(session, 1)
            assert (await respond(session, 1, restart=True)).tokens

    run(play())


@pytest.mark.slow
@pytest.mark.full
def test_a_constraint_of_the_engine(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    async def play(engine: Engine) -> None:
        async with engine.session(8) as session:
            free = await respond(session, 1, restart=True)
            answer = await respond(session, 1, restart=True, constraint="digits", max_new_tokens=4)
            assert all(token < 4 for token in answer.tokens[:3]) and answer.tokens[3] == 4
            np.testing.assert_allclose(answer.log_probs[3], 0, atol=1e-6)
            assert max(answer.log_probs[:3]) < -1e-3
            assert set(free.tokens) - set(range(5))
            with pytest.raises(
                InputError, match="max_new_tokens must be .*, the shortest answer of constraint 'digits'; got 3"
            ):
                await respond(session, 1, restart=True, constraint="digits", max_new_tokens=3)
            with pytest.raises(InputError, match="constraint must be one of digits; got 'words'"):
                await respond(session, 1, restart=True, constraint="words")

    with constrained(tiny_model, tiny_parameters) as engine:
        run(play(engine))


def test_an_engine_without_constraints(engine: Engine) -> None:
    async def play() -> None:
        async with engine.session(8) as session:
            with pytest.raises(InputError, match="constraint must be None, .*; got 'words'"):
                await respond(session, 1, restart=True, constraint="words")

    run(play())


# Pictures


def test_pictures_are_encoded_once_for_each_weights(engine: Engine, tiny_parameters: Parameters) -> None:
    async def play() -> None:
        async with engine.session(8) as session:

            async def show(*seeds: int) -> tuple[Sampled, int, int]:
                before = engine.statistics()
                tokens = [token for _ in seeds for token in prompt()]
                answer = await session.respond(
                    tokens, [picture(seed) for seed in seeds], restart=True, sampling=Sampling(seed=1)
                )
                after = engine.statistics()
                return answer, after.image_hits - before.image_hits, after.image_misses - before.image_misses

            first, *counts = await show(100)
            assert counts == [0, 1]
            again, *counts = await show(100)
            assert counts == [1, 0] and again == first
            assert (await show(101, 100, 101))[1:] == (2, 1)
            for seed in range(102, 111):  # nine; ten have room, and 101 was shown after 100
                assert (await show(seed))[1:] == (0, 1)
            assert (await show(101))[1:] == (1, 0)
            assert (await show(100))[1:] == (0, 1)
            engine.set_weights(tiny_parameters, 0)  # the same version, and yet others for all that one knows
            anew, *counts = await show(100)
            assert counts == [0, 1] and anew == first

    run(play())


def played(order: list[tuple[int, int]], answers: list[Sampled]) -> Trajectory:
    """What `test_screenshots_of_several_sizes` asked, as a learner gets it."""
    steps, columns = [], [(1, False, 0.0, -1)]
    for number, (size, answer) in enumerate(zip(order, answers, strict=True)):
        file = io.BytesIO()
        Image.fromarray(picture(number, size)).save(file, "PNG")
        steps.append(Step(file.getvalue(), "", "", "", None, 0.0, 0, True, {}))
        columns += [(token, False, 0.0, number) for token in [IMAGE] * (size[0] * size[1] // 64) + [2]]
        columns += [(*drawn, number) for drawn in zip(answer.tokens, [True] * 6, answer.log_probs, strict=True)]
    tokens, mask, log_probs, of_step = (np.array(column) for column in zip(*columns, strict=True))
    window = ContextWindow(
        tokens.astype(np.int32), mask, log_probs.astype(np.float32), np.where(mask, 0, -1).astype(np.int32),
        of_step.astype(np.int32), tuple(range(len(steps))),
    )  # fmt: skip
    return Trajectory("played", {}, (window,), tuple(steps), Outcome.FINISHED, 1.0)


@pytest.mark.slow
def test_screenshots_of_several_sizes(engine: Engine, tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """In one session, and of two sessions at once: a learner gives every token the log-probability that it had."""
    wide, tall = (16, 24), (32, 8)
    orders = [[wide, tall], [tall, wide]]

    async def play(order: list[tuple[int, int]]) -> list[Sampled]:
        async with engine.session(0) as session:
            answers = []
            for number, (height, width) in enumerate(order):
                read = [*([] if number else [1]), *[IMAGE] * (height * width // 64), 2]
                answers.append(await session.respond(read, [picture(number, (height, width))], restart=not number))
            return answers

    async def at_once() -> list[list[Sampled]]:
        return list(await asyncio.gather(*map(play, orders)))

    trajectories = list(map(played, orders, run(at_once())))
    rows = Packer(tiny_model, PackingConfig(32, 2), image=IMAGE).pack(trajectories, 1).rows
    assert [images.shape[2:4] for images in rows.inputs.images] == [wide, tall]
    scored = np.asarray(make_score_fn(tiny_model)(tiny_parameters, rows))
    assert rows.log_probs[rows.action_mask].std() > 0.1
    np.testing.assert_allclose(scored, rows.log_probs, atol=1e-4)


# Compilation


@pytest.mark.slow
def test_warming_up_ends_no_answer(engine: Engine) -> None:
    """For screenshots of a further size, while others play."""

    async def play() -> Sampled:
        begun = threading.Event()

        def on_token(token: Token) -> None:
            begun.set()
            time.sleep(0.01)

        async with engine.session(1) as session:
            sampling = Sampling(max_new_tokens=40)
            answer = asyncio.create_task(
                session.respond([1, 2], [], restart=True, sampling=sampling, on_token=on_token)
            )
            await asyncio.to_thread(begun.wait)
            await asyncio.to_thread(engine.warm_up)
            return await answer

    assert len(run(play()).tokens) == 40


@pytest.mark.slow
def test_after_warm_up_nothing_is_compiled(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Random traffic of all kinds."""
    with constrained(tiny_model, tiny_parameters) as engine:
        heard: list[tuple[int, int]] = []
        engine.warm_up((HEIGHT, WIDTH), lambda *each: heard.append(each))
        assert heard == [(done, heard[0][1]) for done in range(heard[0][1] + 1)] and len(heard) > 1
        other = jax.tree.map(jnp.copy, tiny_parameters)
        compiled = compilations()
        sampled = itertools.cycle(
            [
                None,
                Sampling(top_k=3),
                Sampling(temperature=0),
                Sampling(constraint="digits", max_new_tokens=4),
                Sampling(top_p=0.5),
            ]
        )

        async def episode(seed: int) -> int:
            rng, answers = random.Random(seed), 0
            async with engine.session(seed) as session:
                restart = True
                for _ in range(8):
                    count = rng.randrange(3)
                    tokens = [rng.randrange(6, 32) for _ in range(rng.randint(1, 5))]
                    for _ in range(count):
                        tokens += prompt()
                    images = [picture(rng.randrange(9)) for _ in range(count)]
                    try:
                        await session.respond(tokens, images, restart=restart, sampling=next(sampled))
                    except InputError:
                        restart = True
                        continue
                    restart, answers = False, answers + 1
                    if rng.random() < 0.3:
                        async with session.fork(seed) as child:
                            await respond(child, 1, max_new_tokens=1)
                    if rng.random() < 0.1:
                        engine.set_weights(other, seed)
            return answers

        async def play() -> list[int]:
            return await asyncio.gather(*(episode(seed) for seed in range(4)))

        assert sum(run(play())) > 15
        statistics = engine.statistics()
        assert statistics.image_hits and statistics.image_misses and statistics.busy_seconds < statistics.wall_seconds
        assert compiled() == 0
        jax.jit(lambda x: x + 41)(1)
        assert compiled() == 1
