"""Asking the engine: its errors as the wire's, its tokens as a stream of the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from tars_jax import InputError
from tars_jax.inference.sampling import Busy, InvalidRequest, NotFinite, OnToken, Sampled, Token
from tars_jax.web.protocol import RequestError, busy

T = TypeVar("T")

log = logging.getLogger(__name__)


class Ask(Protocol):
    """Samples one answer; `on_token` hears its tokens in the engine's thread."""

    def __call__(self, *, on_token: OnToken | None = None) -> Awaitable[Sampled]: ...


@contextlib.contextmanager
def engine_errors(seconds: float, param: Callable[[str], str] = str) -> Iterator[None]:
    """Turns the engine's errors into HTTP errors: refusals are the client's (400) or a matter of time (429); weights
    that overflow (500) and a stopped engine (503) are ours.

    `param` says how the request calls a field that the engine names.
    """
    try:
        yield
    except Busy as error:
        raise busy(str(error)) from error
    except InputError as error:
        field = param(error.field) if isinstance(error, InvalidRequest) else None
        raise RequestError(str(error), field, code="refused_by_engine") from error
    except TimeoutError as error:
        raise RequestError(f"no answer within {seconds:g} seconds", status=504, code="timeout") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled this request: it is its answer that was stopped.
        raise RequestError("the session was deleted while it answered", status=409, code="session_deleted") from error
    except NotFinite as error:
        raise RequestError(str(error), status=500, code="not_finite") from error
    except RuntimeError as error:
        log.exception("the engine does not answer")
        raise RequestError(f"the engine does not answer: {error}", status=503, code="engine_stopped") from error


async def answers(
    asks: Sequence[Ask],
) -> AsyncGenerator[list[tuple[int, list[Token], Sampled | None]], None]:
    """Runs all of them; yields what has come since: (which, new tokens, the whole answer once it has ended).

    The first error ends all of them, and so does closing the generator.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[int, Token | Sampled | BaseException]] = asyncio.Queue()

    async def run(index: int) -> None:
        def on_token(token: Token) -> None:  # in the engine's thread
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(events.put_nowait, (index, token))

        try:
            events.put_nowait((index, await asks[index](on_token=on_token)))
        except (Exception, asyncio.CancelledError) as error:
            events.put_nowait((index, error))

    tasks = [asyncio.create_task(run(index)) for index in range(len(asks))]
    try:
        missing = len(asks)
        while missing:
            arrived = [await events.get()]
            while not events.empty():
                arrived.append(events.get_nowait())
            news: dict[int, tuple[list[Token], Sampled | None]] = {}
            for index, event in arrived:
                tokens, ended = news.get(index, ([], None))
                if isinstance(event, BaseException):
                    raise event
                if isinstance(event, Token):
                    tokens.append(event)
                else:
                    ended = event
                    missing -= 1
                news[index] = tokens, ended
            yield [(index, *each) for index, each in news.items()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
