"""What a bad environment does, and the clear answer that each of it gets."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import math
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.environment import (
    ActionSpace,
    Environment,
    EnvironmentFailure,
    Function,
    Observation,
    Task,
    Transition,
)
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.sandbox.browser import PageError, SandboxFailure
from tests.waiting import PATIENCE_S

TASK = Task("t", "fake", 2, {}, 8)
SPACE = ActionSpace("tools", functions=(Function("go"),))
SEEN = Observation(text="here")
PICTURE = Observation.from_pixels(np.random.default_rng(0).integers(256, size=(16, 16, 3), dtype=np.uint8))


class Plain:
    """An environment that does what its test says; its methods are plain functions."""

    action_space: Any = SPACE
    instruction: Any = "Go."

    def __init__(self, reset: Any = SEEN, step: Any = None, close: Any = None) -> None:
        self._gives = {"reset": reset, "step": step or Transition(SEEN, 1.0), "close": close}
        self.threads: list[str] = []
        self.closed = threading.Event()

    def _do(self, what: str) -> Any:
        self.threads.append(threading.current_thread().name)
        given = self._gives[what]
        return given() if callable(given) else given

    def reset(self, task: Task) -> Any:
        return self._do("reset")

    def step(self, actions: Sequence[Any]) -> Any:
        return self._do("step")

    def close(self) -> Any:
        self.closed.set()
        self._do("close")


class Coroutines(Plain):
    """The same as coroutines."""

    async def _later(self, what: str) -> Any:
        given = self._do(what)
        return await given if isinstance(given, Awaitable) else given

    async def reset(self, task: Task) -> Any:
        return await self._later("reset")

    async def step(self, actions: Sequence[Any]) -> Any:
        return await self._later("step")

    async def close(self) -> Any:
        self.closed.set()
        await self._later("close")


KINDS = pytest.mark.parametrize("kind", [Plain, Coroutines])


def checked(make: Callable[[], Any], time_limit_s: float = 60.0) -> CheckedEnvironment:
    return CheckedEnvironment(cast(Callable[[], Environment], make), time_limit_s, "fake")


def raises(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def failure(make: Callable[[], Any], time_limit_s: float = 60.0) -> EnvironmentFailure:
    """What a reset and a step come to."""

    async def play() -> EnvironmentFailure:
        environment = checked(make, time_limit_s)
        with pytest.raises(EnvironmentFailure) as caught:
            await environment.reset(TASK)
            await environment.step([])
        assert environment.broken
        with pytest.raises(InputError, match="must follow a reset"):
            await environment.step([])
        await environment.close()
        return caught.value

    return asyncio.run(play())


def given(transition: Any) -> Transition:
    """What a step of an environment that gives `transition` comes to."""

    async def play() -> Transition:
        environment = checked(lambda: Plain(step=transition))
        await environment.reset(TASK)
        try:
            return await environment.step([])
        finally:
            await environment.close()

    return asyncio.run(play())


@KINDS
def test_a_good_environment_is_as_it_was(kind: type[Plain]) -> None:
    async def play() -> None:
        made: list[Plain] = []

        def make() -> Plain:
            made.append(kind(reset=PICTURE, step=Transition(SEEN, 0.5, terminated=True, success=True)))
            return made[-1]

        environment = checked(make)
        assert environment.action_space == SPACE
        assert await environment.reset(TASK) is PICTURE
        assert environment.instruction == "Go."
        assert await environment.step(["anything"]) == Transition(SEEN, 0.5, terminated=True, success=True)
        await environment.reset(TASK)
        await environment.close()
        await environment.close()
        assert len(made) == 1 and made[0].closed.is_set() and not environment.broken
        await environment.reset(TASK)  # after a close: a new one
        assert len(made) == 2
        await environment.close()

    asyncio.run(play())


def test_plain_methods_share_a_thread_of_their_own() -> None:
    made: list[Plain] = []

    async def play() -> None:
        environment = checked(lambda: made.append(Plain()) or made[-1])  # type: ignore[func-returns-value]
        await environment.reset(TASK)
        await environment.step([])
        await environment.close()

    asyncio.run(play())
    assert set(made[0].threads) == {"environment fake"}
    assert threading.current_thread().name not in made[0].threads


@KINDS
@pytest.mark.parametrize("what", ["reset", "step"])
@pytest.mark.parametrize(
    "error", [ZeroDivisionError("0"), StopIteration(), SystemExit(1)], ids=lambda e: type(e).__name__
)
def test_an_exception(kind: type[Plain], what: str, error: BaseException) -> None:
    failed = failure(lambda: kind(**{what: raises(error)}))
    assert failed.kind == "exception" and f"{what} of fake raised" in str(failed)


def test_an_exit_of_the_thread_says_what_it_was() -> None:
    assert "StopIteration" in str(failure(lambda: Plain(step=raises(StopIteration("over")))))


@KINDS
@pytest.mark.parametrize(
    ("error", "its_kind"),
    [
        (SandboxFailure("renderer", "x"), "renderer"),
        (PageError("x"), "page"),
        (EnvironmentFailure("disk", "full"), "disk"),
    ],
    ids=["sandbox", "page", "own"],
)
def test_the_kind_of_a_failure_is_kept(kind: type[Plain], error: Exception, its_kind: str) -> None:
    assert failure(lambda: kind(step=raises(error))).kind == its_kind


def test_an_input_error_is_the_users_from_reset_and_a_failure_from_step() -> None:
    async def play() -> None:
        environment = checked(lambda: Plain(reset=raises(InputError("level must be 1; got 2"))))
        with pytest.raises(InputError, match="level must be 1"):
            await environment.reset(TASK)
        assert not environment.broken
        with pytest.raises(InputError, match="no episode is running"):
            await environment.step([])
        await environment.close()
        with pytest.raises(InputError, match="not installed"):
            await checked(raises(InputError("not installed"))).reset(TASK)

    asyncio.run(play())
    assert failure(lambda: Plain(step=raises(InputError("no such thing")))).kind == "exception"


def test_a_make_that_raises() -> None:
    assert failure(raises(OSError("no display"))).kind == "exception"


def test_a_hang_of_a_plain_method_is_left_behind() -> None:
    """The event loop goes on meanwhile, and the next episode has an environment and a thread of its own."""
    release = threading.Event()
    made: list[Plain] = []

    def make() -> Plain:
        made.append(Plain(step=release.wait if not made else None))
        return made[-1]

    async def play() -> None:
        environment = checked(make, 0.1)
        await environment.reset(TASK)
        stepping = asyncio.ensure_future(environment.step([]))
        ticks = 0
        while not stepping.done():
            await asyncio.sleep(0.01)
            ticks += 1
        with pytest.raises(EnvironmentFailure, match="took more than 0.1 s") as caught:
            await stepping
        assert caught.value.kind == "timeout" and ticks > 2
        await environment.reset(TASK)
        assert (await environment.step([])).reward == 1.0
        await environment.close()

    asyncio.run(play())
    assert not made[0].closed.is_set()
    release.set()
    assert made[0].closed.wait(PATIENCE_S), "what hung is closed as soon as it comes back"


@pytest.mark.parametrize("way", ["method", "awaitable of a plain function"])
def test_a_coroutine_that_blocks_holds_up_nobody_else(way: str) -> None:
    """It has an event loop of its own, which is left to itself at the time limit."""
    release = threading.Event()
    made: list[Plain] = []

    async def blocks() -> None:
        release.wait()

    def make() -> Plain:
        kind = Coroutines if way == "method" else Plain
        step = blocks if made == [] else None
        made.append(kind(step=step))
        return made[-1]

    async def play() -> None:
        environment, other = checked(make, 0.3), checked(Coroutines)
        await environment.reset(TASK)
        await other.reset(TASK)
        stepping, steps = asyncio.ensure_future(environment.step([])), 0
        while not stepping.done():
            await other.step([])
            steps += 1
        with pytest.raises(EnvironmentFailure, match=r"step of fake took more than 0.3 s"):
            await stepping
        assert steps > 2
        await environment.reset(TASK)
        assert (await environment.step([])).reward == 1.0
        await environment.close()
        await other.close()

    asyncio.run(play())
    release.set()
    assert made[0].closed.wait(PATIENCE_S), "what hung is closed as soon as it comes back"


def test_tasks_that_a_coroutine_leaves_behind_go_on_between_its_calls() -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.005)

    async def begins() -> Observation:
        ticking.append(asyncio.ensure_future(tick()))
        return SEEN

    ticking: list[asyncio.Future[None]] = []

    async def play() -> None:
        environment = checked(lambda: Coroutines(reset=begins))
        await environment.reset(TASK)
        seen = len(ticks)
        while len(ticks) < seen + 3:
            await asyncio.sleep(0.005)
        await environment.close()

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))


@pytest.mark.parametrize("what", ["reset", "step"])
def test_a_hang_of_a_coroutine(what: str) -> None:
    forever = functools.partial(asyncio.sleep, 3600)
    assert failure(lambda: Coroutines(**{what: forever}), 0.1).kind == "timeout"


def test_a_coroutine_that_will_not_be_cancelled() -> None:
    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                continue

    assert failure(lambda: Coroutines(step=stubborn), 0.05).kind == "timeout"


def test_a_hang_of_make_and_of_close() -> None:
    release = threading.Event()

    async def play() -> None:
        environment = checked(lambda: Plain(close=release.wait), 0.1)
        await environment.reset(TASK)
        with pytest.raises(EnvironmentFailure, match="close of fake took more"):
            await environment.close()
        await environment.close()

    asyncio.run(play())
    assert failure(release.wait, 0.1).kind == "timeout"
    with pytest.raises(EnvironmentFailure, match="make of fake took more"):
        _ = checked(release.wait, 0.1).action_space
    release.set()


@pytest.mark.parametrize(
    ("observation", "said"),
    [
        (Observation(), "neither"),
        (None, "an Observation; got NoneType"),
        (np.zeros((4, 4, 3), np.uint8), "an Observation; got ndarray"),
        ((SEEN, {}), "an Observation; got tuple"),
        (Observation(screenshot=b"no picture"), "a screenshot as PNG"),
        (Observation(screenshot=PICTURE.screenshot[:400]), "can be read"),
        (Observation(screenshot=cast(Any, np.zeros((4, 4, 3)))), "bytes of a PNG; got ndarray"),
        (Observation(text=cast(Any, 3)), "text as a str; got int"),
        (Observation(text="\ud800"), "UTF-8"),
    ],
    ids=["neither", "none", "array", "tuple", "no PNG", "half a PNG", "pixels", "number", "surrogate"],
)
@pytest.mark.parametrize("what", ["reset", "step"])
def test_an_observation_that_is_none(observation: Any, said: str, what: str) -> None:
    gives = {"reset": observation} if what == "reset" else {"step": Transition(observation)}
    failed = failure(lambda: Plain(**gives))
    assert failed.kind == "observation" and said in str(failed) and f"{what} of fake must give" in str(failed)


@pytest.mark.parametrize(
    "reward", [math.nan, math.inf, -math.inf, np.float32("nan"), None, "1", [1.0], np.ones(2), 10**400, 1j]
)
def test_a_reward_that_is_none(reward: Any) -> None:
    for transition in (Transition(SEEN, reward), Transition(SEEN, rewards={"part": reward})):
        failed = failure(functools.partial(Plain, step=transition))
        assert failed.kind == "reward" and "must be a finite number" in str(failed)


def test_parts_of_a_reward_have_names() -> None:
    failed = failure(lambda: Plain(step=Transition(SEEN, rewards=cast(Any, [1.0]))))
    assert failed.kind == "protocol" and "must be numbers by name; got [1.0]" in str(failed)


@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.int64(1), np.array(1.0), np.bool_(True)])
def test_numbers_of_any_kind_become_floats(reward: Any) -> None:
    terminated, success = cast(Any, np.bool_(True)), cast(Any, np.bool_(False))
    transition = given(Transition(SEEN, reward, terminated, success=success, rewards={"part": reward}))
    assert transition.reward == 1.0 and type(transition.reward) is float and transition.rewards == {"part": 1.0}
    assert transition.terminated is True and transition.success is False


@pytest.mark.parametrize(
    ("transition", "said"),
    [
        ((SEEN, 1.0, False, False, {}), "must give a Transition; got tuple"),
        (SEEN, "must give a Transition; got Observation"),
        (
            Transition(SEEN, success=cast(Any, "yes")),
            "success that a step of fake gives must be True or False or None; got 'yes'",
        ),
        (Transition(SEEN, success=cast(Any, 1)), "success"),
        (
            Transition(SEEN, terminated=cast(Any, None)),
            "terminated that a step of fake gives must be True or False; got None",
        ),
        (Transition(SEEN, truncated=cast(Any, 1)), "truncated"),
        (Transition(SEEN, info={"board": np.zeros(2)}), "info that a step of fake gives must be a mapping of JSON"),
        (Transition(Observation(text="x", info={"a": object()})), "info"),
        (Transition(Observation(text="x", info=cast(Any, [1]))), "info"),
    ],
)
def test_a_transition_that_is_none(transition: Any, said: str) -> None:
    failed = failure(lambda: Plain(step=transition))
    assert failed.kind == "protocol" and said in str(failed)


@pytest.mark.parametrize(("attribute", "value"), [("action_space", ["go"]), ("instruction", None), ("step", 3)])
def test_an_environment_that_lacks_something(attribute: str, value: Any) -> None:
    failed = failure(type("Lacking", (Plain,), {attribute: value}))
    assert failed.kind == "protocol" and attribute in str(failed)


def test_a_step_before_a_reset_and_after_the_end_is_the_callers() -> None:
    @dataclasses.dataclass
    class Ends(Plain):
        truncated: bool

        def __post_init__(self) -> None:
            super().__init__(step=Transition(SEEN, terminated=not self.truncated, truncated=self.truncated))

    async def play(truncated: bool) -> None:
        environment = checked(lambda: Ends(truncated))
        with pytest.raises(InputError, match="must follow a reset"):
            await environment.step([])
        await environment.reset(TASK)
        await environment.step([])
        with pytest.raises(InputError, match="must follow a reset"):
            await environment.step([])
        assert not environment.broken
        await environment.close()

    for truncated in (False, True):
        asyncio.run(play(truncated))


@KINDS
def test_after_a_failure_the_next_reset_begins_with_another(kind: type[Plain]) -> None:
    made: list[Plain] = []

    def make() -> Plain:
        made.append(kind(step=raises(ValueError("x")) if not made else None, close=raises(OSError("gone"))))
        return made[-1]

    async def play() -> None:
        environment = checked(make)
        await environment.reset(TASK)
        with pytest.raises(EnvironmentFailure):
            await environment.step([])
        assert environment.broken
        await environment.reset(TASK)
        assert len(made) == 2 and not environment.broken
        assert (await environment.step([])).reward == 1.0
        with pytest.raises(EnvironmentFailure, match="close of fake raised OSError"):
            await environment.close()
        assert all(each.closed.is_set() for each in made), "the first in the background, its own failure unheard"

    asyncio.run(play())


def test_who_cancels_a_step_finds_the_environment_broken() -> None:
    cleaned = []

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cleaned.append(True)

    async def play() -> None:
        environment = checked(lambda: Coroutines(step=slow))
        await environment.reset(TASK)
        stepping = asyncio.ensure_future(environment.step([]))
        await asyncio.sleep(0.05)
        stepping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stepping
        assert environment.broken and cleaned
        await environment.close()

    asyncio.run(play())


def test_a_coroutine_that_cancels_itself_is_no_cancellation_of_ours() -> None:
    assert failure(lambda: Coroutines(step=raises(asyncio.CancelledError()))).kind == "exception"


@pytest.mark.parametrize("limit", [0, -1, math.nan])
def test_a_time_limit_that_is_none(limit: float) -> None:
    with pytest.raises(InputError, match="time limit of fake must be more than 0 seconds"):
        checked(Plain, limit)


def test_no_time_limit() -> None:
    async def play() -> None:
        environment = checked(Plain, math.inf)
        _ = environment.action_space
        await environment.reset(TASK)
        await environment.close()

    asyncio.run(play())


@pytest.mark.multiprocess
def test_a_hang_does_not_keep_the_process() -> None:
    program = (
        "import asyncio, threading\n"
        "from tests.envs.test_checked import Plain, TASK, checked\n"
        "async def play():\n"
        "    environment = checked(lambda: Plain(step=threading.Event().wait), 0.1)\n"
        "    await environment.reset(TASK)\n"
        "    try:\n"
        "        await environment.step([])\n"
        "    except Exception as error:\n"
        "        print(error.kind)\n"
        "asyncio.run(play())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout == "timeout\n"


def test_a_look_at_what_happens_by_itself() -> None:
    class Clock(Plain):
        async def look(self) -> Any:
            return self._do("look")

    async def look(environment: Plain) -> Any:
        guard = CheckedEnvironment(lambda: environment)
        assert await guard.look() is None  # before an episode
        await guard.reset(TASK)
        try:
            return await guard.look()
        finally:
            await guard.close()

    assert asyncio.run(look(Plain())) is None
    clock = Clock()
    clock._gives["look"] = PICTURE
    assert asyncio.run(look(clock)) == PICTURE
    clock = Clock()
    clock._gives["look"] = "no observation"
    with pytest.raises(EnvironmentFailure, match="look of environment"):
        asyncio.run(look(clock))
