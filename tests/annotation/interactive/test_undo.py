"""A step is undone from a moment that was kept before it; a real shell is as it was, whatever its outputs."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import itertools
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.functions import Function
from tars_jax.annotation.interactive.core import Conflict
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.undo_points import UndoPoints
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.sandbox.computer.checkpoints import criu_command
from tests.annotation.interactive.corridors import Said, setting

ADD = "Action: add()"
SPACE = ActionSpace("tools", (Finished.name,), (Function("add", "Adds.", {"type": "object", "properties": {}}),))


@dataclasses.dataclass(eq=False)
class Kept:
    count: int
    bytes: int = 10


class Counter:
    """Says what it has counted and a number that never comes again, as `date` does; it keeps its moments."""

    instruction = "Count."
    action_space = SPACE
    _said = itertools.count()

    def __init__(self, size: int = 10) -> None:
        self.count, self.size = 0, size
        self.kept: list[Kept] = []
        self.opened: Kept | None = None
        self.fails = ""

    async def reset(self, task: Task) -> Observation:
        return Observation(b"", "begun")

    async def step(self, actions: Sequence[Any]) -> Transition:
        self.count += 1
        return Transition(Observation(b"", f"{self.count} at {next(self._said)}"))

    async def close(self) -> None:
        self.kept.clear()

    async def save_moment(self) -> Kept:
        if self.fails == "save":
            raise InputError("this moment cannot be kept: a stream is open")
        self.kept.append(Kept(self.count, self.size))
        return self.kept[-1]

    async def open_moment(self, moment: Kept) -> None:
        if self.fails == "open":
            raise InputError("it is gone")
        if self.fails == "break":
            raise EnvironmentFailure("container", "all of it is gone")
        self.opened = moment

    async def take_moment(self) -> None:
        assert self.opened is not None
        self.count, self.opened = self.opened.count, None

    async def drop_moment(self, moment: Kept) -> None:
        self.kept.remove(moment)


async def _begun(make: Callable[[], CheckedEnvironment], task: Task) -> LiveEpisode:
    live = await LiveEpisode.begin(setting(Said((ADD,))), make, task, EpisodeWriter("one"), "ada")
    await live.settled(60)
    return live


async def _counting(counter: Counter) -> LiveEpisode:
    """In this one; steps that are played again are in others."""
    counters = itertools.chain([counter], iter(Counter, None))
    return await _begun(lambda: CheckedEnvironment(lambda: next(counters)), Task("count", "counter", 0, {}, 16))


async def _do(live: LiveEpisode, text: str = ADD) -> str:
    live.decide(live.state.step, None, text)
    await live.settled(60)
    return live.observation.text


async def _undo(live: LiveEpisode) -> str:
    await live.undo(live.state.step)
    await live.settled(60)
    return live.observation.text


def test_what_never_comes_again_is_undone_from_moments_and_the_last_few_are_kept() -> None:
    async def play() -> None:
        counter = Counter()
        live = await _counting(counter)
        seen = ["begun"] + [await _do(live) for _ in range(5)]
        assert [kept.count for kept in counter.kept] == [2, 3, 4]  # before the last three steps
        for back in (4, 3, 2):
            assert await _undo(live) == seen[back] and counter.count == back
        # Before that none is kept; what is played again is another observation, and all stays.
        with pytest.raises(Conflict, match="played again, step 1 led to another observation"):
            await live.undo(2)
        assert live.state.step == 2 and counter.count == 2
        assert live.why_not_undo is not None and "another observation" in live.why_not_undo
        assert (await _do(live)).startswith("3 at ") and live.why_not_undo is None
        assert [kept.count for kept in counter.kept] == [2]  # that of undone steps are gone
        await live.close()
        assert not counter.kept

    asyncio.run(play())


def test_a_moment_that_is_not_to_be_had_leaves_undo_to_the_replay_and_says_why() -> None:
    async def play() -> None:
        counter = Counter()
        live = await _counting(counter)
        counter.fails = "save"
        await _do(live), await _do(live)
        with pytest.raises(Conflict, match="another observation; no moment before the step is kept .*a stream is open"):
            await live.undo(2)
        assert live.state.step == 2 and live.state.phase == "deciding"
        counter.fails = ""
        await _do(live)
        counter.fails = "open"
        with pytest.raises(Conflict, match="another observation"):
            await live.undo(3)
        counter.fails = "break"
        with pytest.raises(Conflict, match="all of it is gone"):
            await live.undo(3)
        assert live.state.phase == "lost" and len(live.record.steps) == 3
        await live.close()

    asyncio.run(play())


def test_moments_take_so_much_of_the_disk_and_no_more() -> None:
    async def play() -> None:
        counter = Counter()
        guarded = CheckedEnvironment(lambda: counter)
        await guarded.reset(Task("count", "counter", 0, {}, 16))
        moments = UndoPoints(guarded, most=3, most_bytes=25)
        for step in range(4):
            await moments.keep(step)
        assert moments.bytes == 20 and 3 in moments and 2 in moments and 1 not in moments
        counter.size = 30
        await moments.keep(4)
        assert not counter.kept and not moments.bytes and "at most" in moments.why_not
        await moments.keep(5)
        assert not counter.kept  # and is not tried again
        await guarded.close()

    asyncio.run(play())


def test_a_full_disk_refuses_an_undo_and_all_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        counter = Counter()
        live = await _counting(counter)
        said = [await _do(live) for _ in range(2)]

        def full(step: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(live.keep, "undone", full)
            with pytest.raises(OSError, match="No space"):
                await live.undo(2)
        assert live.observation.text == said[1] and counter.count == 2 and live.state.step == 2
        assert await _undo(live) == said[0] and counter.count == 1
        await live.close()

    asyncio.run(play())


def test_a_decision_that_comes_while_it_is_undone_counts() -> None:
    async def play() -> None:
        counter = Counter()
        live = await _counting(counter)
        await _do(live)
        opened = asyncio.Event()
        live._moments._environment.go_back = _late(live._moments._environment.go_back, opened)  # type: ignore[method-assign]
        undoing = asyncio.create_task(live.undo(1))
        await asyncio.sleep(0)
        live.decide(1, None, ADD)
        opened.set()
        with pytest.raises(Conflict):
            await undoing
        await live.settled(30)
        assert live.state.step == counter.count == 2
        await live.close()

    asyncio.run(play())


def _late(go_back: Callable[..., Any], opened: asyncio.Event) -> Callable[..., Any]:
    async def late(*given: Any) -> None:
        await opened.wait()
        await go_back(*given)

    return late


def bash(command: str) -> str:
    return f"Action: execute_bash(command='{command}')"


@pytest.mark.multiprocess
@pytest.mark.skipif(os.geteuid() != 0 or criu_command() is None, reason="needs root and CRIU (sudo ./launch/criu.sh)")
def test_a_shell_is_as_it_was_with_its_files_and_its_programs() -> None:
    async def play() -> None:
        live = await _shell()
        first = await _do(live, bash("X=7; cd /tmp; date +%N > stamp; cat stamp; sleep 1000 & echo $! > pid"))
        stamp = first.split()[0]
        await _do(live, bash("rm stamp pid; kill %1; X=8; cd /; date +%N"))
        assert "[8]" in await _do(live, bash("echo [$X]; ls /tmp; date +%N"))
        await _undo(live)
        assert await _undo(live) == first and live.state.step == 1
        as_it_was = await _do(live, bash("echo $X; pwd; cat stamp; kill -0 $(cat pid) && echo runs; jobs"))
        assert as_it_was.split("\n")[:4] == ["7", "/tmp", stamp, "runs"] and "sleep 1000" in as_it_was
        for _ in range(2):  # again and again, each from what was opened before
            await _undo(live)
            assert (await _do(live, bash("cat stamp; echo more >> stamp"))).split() == [stamp]
        await live.close()

    asyncio.run(play())


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.skipif(os.geteuid() != 0 or criu_command() is None, reason="needs root and CRIU (sudo ./launch/criu.sh)")
@pytest.mark.skipif(
    shutil.which("Xvfb") is None or shutil.which("mousepad") is None, reason="needs a desktop's programs"
)
def test_a_desktop_shows_the_windows_that_it_showed() -> None:
    def windows(live: LiveEpisode) -> str:
        return str(live.observation.info["state"]["windows"])

    async def play() -> None:
        live = await _shell(task="move_in_files", interface="both", size=[320, 240])
        await _do(live, bash("date +%N > stamp; mousepad stamp & sleep 2"))
        assert "stamp" in windows(live)
        await _do(live, "Action: type(content='plum')")
        assert "*" in windows(live)  # as mousepad marks what is not saved
        await _do(live, bash("kill %1; sleep 1"))
        assert "stamp" not in windows(live)
        await _undo(live)
        await _do(live, "Action: wait(time='1')")
        assert "stamp" in windows(live) and "*" in windows(live)
        await _undo(live), await _undo(live)
        await _do(live, "Action: wait(time='1')")
        assert "stamp" in windows(live) and "*" not in windows(live)
        await live.close()

    asyncio.run(play())


@pytest.mark.multiprocess
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as other tests of whole computers")
def test_where_programs_cannot_be_copied_the_replay_says_what_was_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_CRIU", "/bin/false")

    async def play() -> None:
        live = await _shell()
        await _do(live, bash("cd /tmp; echo one > two"))
        await _do(live, bash("rm two; ls"))
        await _undo(live)
        assert await _do(live, bash("cat two")) == "one"
        await _do(live, bash("date +%N"))
        await _do(live, bash("true"))
        with pytest.raises(Conflict, match="step 3 led to another observation; no moment .*CRIU does not work here"):
            await live.undo(4)
        assert live.state.step == 4 and "another observation" in str(live.why_not_undo)
        await live.close()

    asyncio.run(play())


async def _shell(task: str = "find_word", **options: Any) -> LiveEpisode:
    of = Task("shell", "computer", 3, {"task": task, **options}, 16)
    return await _begun(lambda: load_environment(of.environment, of.options).checked(EnvironmentResources()), of)
