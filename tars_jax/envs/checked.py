"""A guard around any environment: what the agent loop drives.

Whatever an environment does wrong is an `EnvironmentFailure` of a kind, which is retried and never a reward. What
comes out of the guard can be trusted: observations can be read and written down, rewards are finite floats.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from tars_jax import InputError
from tars_jax.agent.functions import check_space
from tars_jax.environment import ActionSpace, Environment, EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs import checks
from tars_jax.envs.own_thread import Outcome, OwnLoop, OwnThread, awaited
from tars_jax.plugins import describe_error
from tars_jax.sandbox.browser import PageError, SandboxFailure

DEFAULT_TIME_LIMIT_S = 60.0
_CLEAN_UP_S = 10.0  # at most, for an environment that failed to end what it does
_LONGEST_MESSAGE = 500


class EpisodeMoment(Protocol):
    """An episode at one time, from which it can go on again. Only its environment knows more of it."""

    @property
    def bytes(self) -> int:
        """Bytes that it takes on this machine's disk."""
        ...


@dataclasses.dataclass(frozen=True)
class _Begun:
    """A call that goes on."""

    outcome: asyncio.Future[Outcome]
    cancel: Callable[[], Any]  # asks it to end


class CheckedEnvironment:
    """Makes an environment when it is first needed, and makes it again after a failure.

    Coroutine methods run on an event loop in a thread that belongs to the environment, plain methods and `make` in
    another; one that does not come back at the time limit is left to itself with its thread.

    Args:
      make: gives a new environment; it may raise InputError.
      time_limit_s: seconds for one `reset`, `step` or `close`, and for `make`; infinity: none.
      name: of the environment, for messages.
      on_callers_loop: coroutine methods run on the caller's event loop, which they must never block.
      may_be_empty: an observation may say nothing, as the instruction says it all.

    The kinds of its failures: "exception", "timeout", "observation", "reward", "protocol" (something else that the
    contract of environments forbids), and those of `SandboxFailure`, `PageError` and the environment's own
    `EnvironmentFailure`, which are kept. After a failure the environment is `broken`: the next `reset` begins with
    another, and the failed one is closed in the background.
    """

    def __init__(
        self,
        make: Callable[[], Environment],
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
        name: str = "environment",
        *,
        on_callers_loop: bool = False,
        may_be_empty: bool = False,
    ) -> None:
        if not time_limit_s > 0:
            raise InputError(f"time limit of {name} must be more than 0 seconds; got {time_limit_s!r}")
        self._make, self._limit, self._name = make, time_limit_s, name
        self._clean_up = min(time_limit_s, _CLEAN_UP_S)
        self._environment: Environment | None = None
        self._on_callers_loop, self._may_be_empty = on_callers_loop, may_be_empty
        self._thread: OwnThread | None = None
        self._loop: OwnLoop | None = None
        self._described: tuple[ActionSpace, str] | None = None
        self._sound: ActionSpace | None = None  # the last one that was checked
        self._playing = False
        self._failure: EnvironmentFailure | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def broken(self) -> bool:
        """Whether the last call failed, so that only `reset` and `close` are left."""
        return self._failure is not None

    @property
    def action_space(self) -> ActionSpace:
        return self._description()[0]

    @property
    def instruction(self) -> str:
        return self._description()[1]

    async def reset(self, task: Task, group: int = 1) -> Observation:
        """`group`: how many episodes of the task begin alike, which an environment that has `reset_in_group` may use.

        Raises InputError for a task that the environment refuses, EnvironmentFailure where it failed.
        """
        self._failure, self._playing = None, False
        with self._broken_on_failure():
            if self._environment is None:
                self._environment = self._whole(await self._call("make", self._make, may_refuse=True))
            reset = functools.partial(self._environment.reset, task)
            if group > 1 and (together := getattr(self._environment, "reset_in_group", None)):
                reset = functools.partial(together, task, group)
            given = await self._call("reset", reset, may_refuse=True)
            self._described = await self._call("reset", functools.partial(_describe, self._environment))
            self._check_description()
            observation = checks.check_observation(f"reset of {self._name}", given, may_be_empty=self._may_be_empty)
        self._playing = True
        return observation

    async def step(self, actions: Sequence[Any]) -> Transition:
        """Raises InputError before a reset and after the end of an episode, EnvironmentFailure where it failed."""
        if self._environment is None or not self._playing:
            why = f"the environment failed ({self._failure.kind})" if self._failure else "no episode is running"
            raise InputError(f"step of {self._name} must follow a reset; got a step while {why}")
        with self._broken_on_failure():
            step = functools.partial(self._environment.step, actions)
            given = await self._call("step", step)
            transition = checks.check_transition(f"step of {self._name}", given, may_be_empty=self._may_be_empty)
        self._playing = not (transition.terminated or transition.truncated)
        return transition

    async def conclude(self) -> Transition | None:
        """The verdict of an episode that somebody else ends; None where it is over, or steps have said all: no
        `conclude` of the environment's own. Raises EnvironmentFailure where it failed."""
        conclude = getattr(self._environment, "conclude", None)
        if not self._playing or not callable(conclude):
            return None
        with self._broken_on_failure():
            given = await self._call("conclude", conclude)
            transition = checks.check_transition(f"conclude of {self._name}", given, may_be_empty=True)
        self._playing = False
        return transition

    async def look(self) -> Observation | None:
        """Current observation, without acting; None for environments without a `look` of their own, where nothing
        happens by itself.

        Raises EnvironmentFailure where it failed.
        """
        look = getattr(self._environment, "look", None)
        if not self._playing or not callable(look):
            return None
        with self._broken_on_failure():
            given = await self._call("look", look)
            if given is None:
                return None
            return checks.check_observation(f"look of {self._name}", given, may_be_empty=True)

    # ---- moments, of an environment that has `save_moment`, `open_moment`, `take_moment` and `drop_moment`

    async def save_moment(self) -> EpisodeMoment | None:
        """The episode as it is; None where the environment keeps none. It ends with the episode at the latest.

        Raises InputError where this one cannot be kept, and the episode goes on; EnvironmentFailure where it failed.
        """
        save = getattr(self._environment, "save_moment", None)
        if not self._playing or not callable(save):
            return None
        with self._broken_on_failure():
            return cast(EpisodeMoment, await self._call("save_moment", save, may_refuse=True))

    async def go_back(self, moment: EpisodeMoment, sure: Callable[[], None] = lambda: None) -> None:
        """The episode goes on from a moment of its own.

        `sure` is called when the moment is there and before it is taken; what it raises leaves all as it is. Raises
        InputError where the moment is not to be had, and all is as it is; EnvironmentFailure where it failed.
        """
        environment: Any = self._environment
        if environment is None:
            raise InputError(f"{self._name} must be open to go back to a moment; it is not")
        with self._broken_on_failure():
            await self._call("open_moment", functools.partial(environment.open_moment, moment), may_refuse=True)
            sure()
            await self._call("take_moment", environment.take_moment)
        self._playing = True

    async def drop_moment(self, moment: EpisodeMoment) -> None:
        """Removes a saved moment; one that cannot be removed now is removed with the episode."""
        environment: Any = self._environment
        if environment is not None:
            with self._broken_on_failure():
                await self._call("drop_moment", functools.partial(environment.drop_moment, moment))

    async def close(self) -> None:
        """Closes the environment, and waits, within bounds, for those that failed. May be called again.

        Raises EnvironmentFailure where closing failed; the environment is given up all the same.
        """
        environment, self._environment, self._playing = self._environment, None, False
        try:
            if environment is not None:
                await self._call("close", environment.close)
        finally:
            self._end_threads()
            if self._closing:
                await asyncio.wait(self._closing, timeout=self._clean_up)

    # ---- calls

    async def _call(self, what: str, function: Callable[[], Any], *, may_refuse: bool = False) -> Any:
        """Calls `function`, and awaits its result where it is awaitable, within the time limit."""
        begun = self._begin(function)
        try:
            await asyncio.wait({begun.outcome}, timeout=None if math.isinf(self._limit) else self._limit)
        except asyncio.CancelledError:
            begun.cancel()
            await asyncio.wait({begun.outcome}, timeout=self._clean_up)  # what it cleans up when it is cancelled
            raise
        if not begun.outcome.done():
            begun.cancel()  # and is not waited for: it may ignore it
            raise EnvironmentFailure("timeout", f"{what} of {self._name} took more than {self._limit:g} s")
        outcome = (None, asyncio.CancelledError()) if begun.outcome.cancelled() else begun.outcome.result()
        value = self._result(what, outcome, may_refuse)
        if inspect.isawaitable(value):
            return await self._call(what, functools.partial(_given, value), may_refuse=may_refuse)
        return value

    def _begin(self, function: Callable[[], Any]) -> _Begun:
        """A plain function in the thread for these, a coroutine on the loop for those."""
        if not _is_coroutine(function):
            self._thread = self._thread or OwnThread(f"environment {self._name}")
            outcome = asyncio.wrap_future(self._thread.submit(function))
            return _Begun(outcome, outcome.cancel)
        if self._on_callers_loop:
            task = asyncio.ensure_future(awaited(function))
            return _Begun(task, task.cancel)
        self._loop = self._loop or OwnLoop(f"environment {self._name}")
        future = self._loop.submit(function)
        return _Begun(asyncio.wrap_future(future), functools.partial(self._loop.cancel, future))

    def _result(self, what: str, outcome: Outcome, may_refuse: bool) -> Any:
        value, error = outcome
        if error is None:
            return value
        if isinstance(error, EnvironmentFailure) or (may_refuse and isinstance(error, InputError)):
            raise error
        kind = error.kind if isinstance(error, SandboxFailure | PageError) else "exception"
        said = describe_error(error) if kind == "exception" else str(error)
        raise EnvironmentFailure(kind, f"{what} of {self._name} raised {said}"[:_LONGEST_MESSAGE]) from error

    @contextlib.contextmanager
    def _broken_on_failure(self) -> Iterator[None]:
        try:
            yield
        except EnvironmentFailure as failure:
            self._give_up(failure)
            raise
        except asyncio.CancelledError:
            self._give_up(EnvironmentFailure("cancelled", f"a call of {self._name} was cancelled"))
            raise

    def _give_up(self, failure: EnvironmentFailure) -> None:
        environment, self._environment = self._environment, None
        self._failure, self._playing, self._described = failure, False, None
        if environment is not None and callable(close := getattr(environment, "close", None)):
            # Begun at once, as the threads are ended next: behind what hangs, it is done when that comes back.
            closing = asyncio.ensure_future(_done_within(self._clean_up, self._begin(close).outcome))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._end_threads()

    def _end_threads(self) -> None:
        for thread in (self._thread, self._loop):
            if thread is not None:
                thread.end()
        self._thread = self._loop = None

    # ---- checks

    def _whole(self, environment: Any) -> Environment:
        missing = [name for name in ("reset", "step", "close") if not callable(getattr(environment, name, None))]
        if missing:
            about = f"{self._name} must have the methods reset, step and close"
            raise EnvironmentFailure("protocol", f"{about}; got {type(environment).__name__} without {missing[0]}")
        return cast(Environment, environment)

    def _description(self) -> tuple[ActionSpace, str]:
        """Action space and instruction of the running episode; before the first, of an environment that is made for
        it."""
        if self._described is None:
            self._thread = self._thread or OwnThread(f"environment {self._name}")
            try:
                if self._environment is None:
                    self._environment = self._whole(self._wait("make", self._make))
                self._described = self._wait("action_space", functools.partial(_describe, self._environment))
                self._check_description()
            except EnvironmentFailure as failure:
                self._environment, self._failure, self._described = None, failure, None
                self._end_threads()
                raise
        return self._described

    def _wait(self, what: str, function: Callable[[], Any]) -> Any:
        assert self._thread is not None
        try:
            outcome = self._thread.submit(function).result(None if math.isinf(self._limit) else self._limit)
        except TimeoutError:
            message = f"{what} of {self._name} took more than {self._limit:g} s"
            raise EnvironmentFailure("timeout", message) from None
        return self._result(what, outcome, may_refuse=True)

    def _check_description(self) -> None:
        assert self._described is not None
        for name, value, kind in zip(("action_space", "instruction"), self._described, (ActionSpace, str), strict=True):
            if not isinstance(value, kind):
                message = f"{name} of {self._name} must be of type {kind.__name__}; got {type(value).__name__}"
                raise EnvironmentFailure("protocol", message)
        if (space := self._described[0]) != self._sound:
            try:
                check_space(space)
            except InputError as error:
                self._described = None
                raise InputError(f"action_space of {self._name}: {error}") from error
            self._sound = space


def _describe(environment: Environment) -> tuple[ActionSpace, str]:
    return environment.action_space, environment.instruction


def _is_coroutine(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function)


async def _given(value: Awaitable[Any]) -> Any:
    return await value


async def _done_within(seconds: float, work: asyncio.Future[Outcome]) -> None:
    await asyncio.wait({work}, timeout=seconds)
