"""One interface, three targets: the engine itself, our server, any OpenAI-compatible endpoint."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.loop import PolicySession
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.sampling import Sampled, Sampling

PICTURE = np.random.default_rng(1).integers(0, 256, (16, 24, 3), np.uint8)
SIX = [4, 5, 5, 5, 5, 5, 5, 6]
OtherServer = Callable[..., contextlib.AbstractContextManager[str]]


async def two_turns(session: PolicySession) -> list[Sampled]:
    """As an agent loop plays, which knows nothing of where the policy runs."""
    first = await session.respond([1, 9, *SIX, 2], [PICTURE], restart=True)
    second = await session.respond([1, *SIX, 2], [PICTURE[::-1]], restart=False)
    return [first, second]  # type: ignore[list-item]


@pytest.mark.slow
def test_server_and_engine_give_the_same(
    server: str, engine: Engine, turns: TurnFormat, idle: Callable[[], None]
) -> None:
    async def play(target: str) -> tuple[list[Sampled], str]:
        async with open_client(target, engine=engine, turns=turns) as client:
            assert client.exact
            async with client.session(12) as session:
                sampled = await two_turns(session)
            sampling = Sampling(temperature=0.7, seed=4, max_new_tokens=9, logit_bias=((9, 2.5), (3, -100.0)))
            reply = await client.chat([Message("user", ("what is ", PICTURE))], sampling)
            return sampled, reply.text

    (local, said), (remote, said_there) = asyncio.run(play("local")), asyncio.run(play(server))
    assert said == said_there and len(said) >= 9
    for here, there in zip(local, remote, strict=True):
        assert (here.tokens, here.versions, here.finish) == (there.tokens, there.versions, there.finish)
        np.testing.assert_allclose(here.log_probs, there.log_probs, atol=1e-5)


def test_how_it_is_sampled_is_said_whatever_the_engine_s_own_temperature_is(
    engine: Engine, other_server: OtherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "config", dataclasses.replace(engine.config, temperature=0.0))

    async def play(target: str) -> list[tuple[int, ...]]:
        async with open_client(target, engine=engine) as client, client.session(1) as session:
            hot = Sampling(temperature=1.0, seed=3, max_new_tokens=9)
            return [
                (await session.respond([1, 9, 2], [], restart=True, sampling=sampling)).tokens
                for sampling in (hot, Sampling(temperature=0.0, max_new_tokens=9))
            ]

    here = asyncio.run(play("local"))
    with other_server() as address:
        there = asyncio.run(play(address))
    assert here == there and here[0] != here[1]


def test_a_cancelled_answer_frees_its_slot_and_the_session_goes_on(
    server: str, engine: Engine, idle: Callable[[], None]
) -> None:
    async def play() -> Sampled:
        async with open_client(server) as client, client.session(1) as session:
            before = engine.statistics().tokens_sampled
            waiting = asyncio.create_task(
                session.respond([1, 2], [], restart=True, sampling=Sampling(max_new_tokens=4000))
            )
            while engine.statistics().active == 0:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            while engine.statistics().active:
                await asyncio.sleep(0.01)
            assert engine.statistics().tokens_sampled - before < 4000
            with pytest.raises(InputError, match="restart must be True"):
                await session.respond([1], [], restart=False)
            return await session.respond([1, 2], [], restart=True)

    assert len(asyncio.run(asyncio.wait_for(play(), 600)).tokens) == 8


@pytest.mark.parametrize("where", ["local", "server"])
def test_a_session_may_go_on_the_moment_its_answer_was_cancelled(
    where: str, server: str, engine: Engine, idle: Callable[[], None]
) -> None:
    """With a second connection that is free: a server hears of the next request before it hears of the cancellation."""

    async def play() -> None:
        async with (
            open_client(server if where == "server" else "local", engine=engine) as client,
            client.session(1) as session,
            client.session(2) as other,
        ):
            for _ in range(10):
                waiting = asyncio.create_task(
                    session.respond([1, 2], [], restart=True, sampling=Sampling(max_new_tokens=3000))
                )
                await other.respond([1, 2], [], restart=True, sampling=Sampling(max_new_tokens=1))
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await waiting
                answer = await session.respond([1, 2], [], restart=True, sampling=Sampling(max_new_tokens=1))
                assert len(answer.tokens) == 1

    asyncio.run(asyncio.wait_for(play(), 300))


@pytest.mark.slow
def test_a_busy_server_is_asked_again(other_server: OtherServer, idle: Callable[[], None]) -> None:
    async def play(address: str) -> None:
        async with open_client(address) as client, contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(client.session(seed)) for seed in range(4)]
            answers = await asyncio.gather(*map(two_turns, sessions))
            assert len(answers) == 4

    with other_server(max_requests=1) as address:
        asyncio.run(asyncio.wait_for(play(address), 600))


def test_refusals_and_failures_are_told_apart(other_server: OtherServer, server: str, idle: Callable[[], None]) -> None:
    async def play() -> None:
        async with open_client(server) as client, client.session(1) as session:
            with pytest.raises(InputError, match="got 0 for 1 images"):
                await session.respond([1, 2], [PICTURE], restart=True)
            with pytest.raises(InputError, match="until must be None"):
                await session.respond([1], [], restart=True, sampling=Sampling(until=lambda tokens: None))
            with pytest.raises(InputError, match="top_logprobs must be 0 for a server"):
                await session.respond([1], [], restart=True, sampling=Sampling(top_logprobs=2))
        with other_server(lease_seconds=0.2) as address:
            async with open_client(address) as client, client.session(1) as session:
                await asyncio.sleep(1)
                with pytest.raises(PolicyUnavailable, match="its lease ran out"):
                    await session.respond([1], [], restart=True)
        with pytest.raises(PolicyUnavailable, match="does not answer"):
            async with open_client(address):
                pass
        with other_server(api_key="key") as address:
            with pytest.raises(InputError, match="api_key"):
                async with open_client(address):
                    pass
            async with open_client(address, api_key="key") as client:
                assert client.exact
        for target, message in (
            ("", 'client.target must be "local" or an address'),
            ("local", "client.engine must be given"),
        ):
            with pytest.raises(InputError, match=message):
                async with open_client(target):
                    pass

    asyncio.run(play())
