"""A person has the session: secrets, a fresh look when it is given back, an environment that fails under the hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tars_jax.agent.actions import Click, Point, Type
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.core import Conflict
from tars_jax.annotation.interactive.journal import EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter, read_episode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.replaying import NotTheSame
from tars_jax.annotation.interactive.view import state_of
from tars_jax.environment import Observation, Task
from tars_jax.trajectory.checks import check_answers
from tars_jax.trajectory.files import encode_trajectory, save_trajectory
from tests.annotation.interactive.corridors import WRITER, Said, make, setting
from tests.annotation.interactive.login import Login

TASK = Task("login", "tests.annotation.interactive.login:Login", 0, {}, 12)
CLICK, CALL = "Action: click(point='<point>500 500</point>')", "Action: call_user()"
PARTS = ("hunter22", "Xyzzy9")


@pytest.fixture(autouse=True)
def _whole() -> Iterator[None]:
    Login.fails = []
    yield
    Login.fails = []


async def _begin(said: Said, folder: Path | None = None, gate: AskingGate | None = None) -> LiveEpisode:
    keep = EpisodeWriter("one", None if folder is None else EpisodeJournal(folder))
    live = await LiveEpisode.begin(setting(said, gate), make(TASK), TASK, keep, "ada")
    await live.settled(30)
    return live


async def _with_secret(folder: Path) -> LiveEpisode:
    live = await _begin(Said((CLICK, CALL)), folder)
    live.decide(0, 0, None)
    await live.settled(30)
    with pytest.raises(Conflict, match="taken over"):
        live.set_secret(True)
    await live.take_over()
    live.set_secret(True)
    for part in PARTS:
        await live.act(Type(part))
    return live


def test_what_is_typed_in_secret_is_nowhere(tmp_path: Path) -> None:
    async def play() -> None:
        live = await _with_secret(tmp_path / "journal")
        shown = state_of("one", live)
        assert shown["phase"] == "person" and shown["secret"]
        assert shown["observation"] == {"text": "", "screen": None}
        with pytest.raises(Conflict, match="secret"):
            await live.give_back()
        version = live.screen_version
        live.set_secret(False)
        await live.settled(30)
        assert live.screen_version > version and live.observation.text == "field: •••"
        await live.give_back()
        await live.settled(30)
        assert "•••" in WRITER.codec.decode(live.window)
        await live.end(None)
        trajectory = await live.trajectory()
        assert trajectory is not None
        check_answers(trajectory, "this one")
        save_trajectory(tmp_path / "one.trajectory", trajectory)
        said = trajectory.metadata["annotation"]["steps"]
        assert [step["hidden"] for step in said] == [False, True, False] and not said[1]["learned"]
        assert trajectory.reward == 3.0  # once it is in each step earns one, and so do two looks at the screen
        assert not any(part.encode() in encode_trajectory(trajectory) for part in PARTS)
        assert not any(
            part in WRITER.codec.decode(window.tokens.tolist()) for window in trajectory.windows for part in PARTS
        )
        await live.close()

    asyncio.run(play())
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert not any(part.encode() in file.read_bytes() for part in PARTS), file


def test_a_session_with_a_secret_is_neither_undone_nor_resumed(tmp_path: Path) -> None:
    async def play() -> None:
        live = await _with_secret(tmp_path)
        live.set_secret(False)
        await live.settled(30)
        with pytest.raises(Conflict, match="typed in secret"):
            await live.undo(live.state.step)
        await live.close()
        kept = read_episode(tmp_path)
        assert [done.decision.hidden for done in kept.record.steps] == [False, True]
        with pytest.raises(NotTheSame, match="typed in secret"):
            keep = EpisodeWriter("one", EpisodeJournal(tmp_path))
            await LiveEpisode.resume(setting(Said((CLICK,))), make(TASK), kept.record, keep, "ada")

    asyncio.run(play())


def test_killed_while_a_secret_is_typed_the_steps_before_it_are_there(tmp_path: Path) -> None:
    async def play() -> None:
        live = await _with_secret(tmp_path)
        await live.close()
        kept = read_episode(tmp_path)
        assert len(kept.record.steps) == 1
        keep = EpisodeWriter("one", EpisodeJournal(tmp_path))
        again = await LiveEpisode.resume(setting(Said((CLICK,))), make(TASK), kept.record, keep, "ada")
        assert (await again.settled(30)).phase == "deciding" and again.state.step == 1
        await again.close()

    asyncio.run(play())


def test_giving_back_looks_at_the_screen_anew() -> None:
    async def play() -> None:
        live = await _begin(Said((CLICK,)))
        await live.take_over()
        await live.act(Click(Point(10, 10)))
        before = live.observation.screenshot
        await live.give_back()
        await live.settled(30)
        assert live.observation.screenshot != before and live.state.candidates
        looked = live.record.steps[-1].decision
        assert looked.action.startswith("wait(") and not looked.learned
        assert looked.decided_by == "service" and not looked.annotator and not looked.by_person
        await live.close()

    asyncio.run(play())


def test_a_policy_that_calls_the_user_gets_one() -> None:
    async def play() -> None:
        said = Said((CLICK, CLICK))
        live = await LiveEpisode.begin(
            setting(said, AskingGate("on_call")), make(TASK), TASK, EpisodeWriter("one"), "ada"
        )
        while live.state.step < 2:
            await live.changed(live.version, 30)
        said.texts = (CALL, CLICK)
        await live.settled(30)
        while live.state.phase != "deciding":
            await live.changed(live.version, 30)
        assert live.state.reason == "the policy calls for the user" and live.state.switches == 1
        await live.take_over()
        await live.act(Click(Point(1, 1)))
        said.texts = (CLICK, CLICK)
        await live.give_back()
        while live.is_open:
            await live.changed(live.version, 30)
        people = [done.decision.by_person for done in live.record.steps]
        assert sum(people) == 1 and len(people) == TASK.max_steps and live.state.switches == 1
        await live.close()

    asyncio.run(play())


def test_an_environment_that_fails_under_the_hand_is_opened_anew_at_the_same_step() -> None:
    async def play() -> None:
        live = await _begin(Said((CLICK,)))
        live.decide(0, 0, None)
        await live.settled(30)
        Login.fails = [2]
        live.decide(1, 0, None)
        await live.settled(30)
        assert live.state.phase == "deciding" and live.state.step == 2
        await live.close()

    asyncio.run(play())


def test_one_that_cannot_be_opened_anew_ends_with_its_reason_and_its_steps() -> None:
    async def play() -> None:
        live = await _begin(Said((CLICK,)))
        live.decide(0, 0, None)
        await live.settled(30)
        Login.fails = [1, 1, 2]  # the step, and then the first one of its replay, twice
        live.decide(1, 0, None)
        await live.settled(30)
        assert live.state.phase == "lost" and "the browser is gone" in str(live.state.message)
        trajectory = await live.trajectory()
        assert trajectory is not None and len(trajectory.steps) == 1 and trajectory.success is None
        await live.close()

    asyncio.run(play())


def test_a_browser_that_dies_while_a_secret_is_typed_says_so() -> None:
    async def play() -> None:
        live = await _begin(Said((CLICK,)))
        await live.take_over()
        live.set_secret(True)
        Login.fails = [1]
        await live.act(Type("hunter22"))
        assert live.state.phase == "lost" and not live.state.secret
        assert "hunter22" not in str(live.state)
        await live.close()

    asyncio.run(play())


def test_what_changes_by_itself_is_shown_to_who_has_the_session_and_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [Observation.from_pixels(np.full((8, 8, 3), shade, np.uint8)) for shade in (10, 200)]
    shown = pictures[0]

    async def look(self: Login) -> Observation:
        return shown

    monkeypatch.setattr(Login, "look", look, raising=False)

    async def play() -> None:
        nonlocal shown
        live = await _begin(Said((CLICK, CALL)), tmp_path / "journal")
        before, own = live.screen_version, live.screenshot
        await live.look()  # the policy has the session: what it saw is what is decided on
        assert (live.screen_version, live.screenshot) == (before, own)
        await live.take_over()
        await live.look()
        assert live.screen_version == before + 1 and live.screenshot == pictures[0].screenshot
        await live.look()
        assert live.screen_version == before + 1  # nothing has changed
        live.set_secret(True)
        shown = pictures[1]
        await live.look()
        assert live.screen_version == before + 1 and state_of("one", live)["observation"]["screen"] is None
        live.set_secret(False)
        await live.settled(30)
        assert live.screenshot == live.observation.screenshot
        await live.look()
        assert live.screenshot == pictures[1].screenshot
        await live.give_back()
        await live.settled(30)
        await live.end(None, "")
        played = await live.trajectory()
        assert played is not None
        kept = encode_trajectory(played) + b"".join(
            file.read_bytes() for file in (tmp_path / "journal").rglob("*") if file.is_file()
        )
        assert not any(picture.screenshot in kept for picture in pictures)

    asyncio.run(play())
