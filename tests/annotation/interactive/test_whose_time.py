"""Whose session, whose time, whose verdict: after a crash, after an undo, at a take-over, in reviews."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tars_jax.agent.actions import Click, Point, Type
from tars_jax.annotation.interactive.core import Conflict
from tars_jax.annotation.interactive.journal import EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter, read_episode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.people import Person
from tars_jax.annotation.interactive.reviews import disagreements
from tars_jax.annotation.interactive.service import AnnotationService
from tars_jax.annotation.interactive.tasks import TaskBoard
from tars_jax.annotation.interactive.view import episode_view, state_of
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment
from tests.annotation.interactive.corridors import UP, Said, begin, make, setting, task, turn
from tests.annotation.interactive.test_service import service

CLICK = "Action: click(point='<point>500 500</point>')"
LOGIN = Task("login", "tests.annotation.interactive.login:Login", 0, {}, 12)
TASKS = [task(seed) for seed in range(3)]
ADA, EVE, BOB = Person("ada", "annotator"), Person("eve", "annotator"), Person("bob", "reviewer")


def _service(folder: Path, now: list[float], minutes: float = 0.0) -> AnnotationService:
    def checked(of: Task) -> CheckedEnvironment:
        return make(of)()

    board = TaskBoard(TASKS, {}, 100.0)
    return AnnotationService(
        folder, setting(Said((UP, turn("left")))), checked, board, minutes=minutes, clock=lambda: now[0]
    )


def test_after_a_crash_everybody_gets_their_own_session_first(tmp_path: Path) -> None:
    async def play() -> None:
        now = [0.0]
        first = _service(tmp_path, now)
        await first.start()
        opened = {person.name: (await first.open(person, None))[0] for person in (ADA, EVE)}
        for id in opened.values():
            live = first.live[id]
            await live.settled(30)
            live.decide(0, 0, None, annotator=live.annotator)
            await live.settled(30)
        await first.close()
        second = _service(tmp_path, now)
        await second.start()
        assert (await second.open(EVE, None))[0] == opened["eve"]
        with pytest.raises(Conflict, match="being annotated by ada"):
            await second.open(BOB, "corridor-0")
        assert (await second.open(BOB, None))[1].record.task.id == "corridor-2"  # neither's
        now[0] = 1000.0  # and all leases have run out
        id, live = await second.open(BOB, "corridor-0")
        assert id == opened["ada"] and len(live.record.steps) == 1
        await live.settled(30)
        live.decide(1, 1, None, annotator="bob")
        await live.settled(30)
        await live.end(None)
        await second.close()
        kept = second.storage.episode(id)
        assert kept.annotators == ("ada", "bob") and kept.spent.keys() == {"ada", "bob"}
        assert episode_view(id, kept)["annotators"] == ["ada", "bob"]
        third = _service(tmp_path, now)
        await third.start()
        found = await third.open(ADA, None)
        assert found[1].record.task.id != "corridor-1"
        await third.close()

    asyncio.run(play())


def test_seconds_of_undone_steps_stay_counted(tmp_path: Path) -> None:
    async def play() -> None:
        now = [0.0]
        running = _service(tmp_path, now, minutes=10.0)
        await running.start()
        id, live = await running.open(ADA, "corridor-0")
        await live.settled(30)
        live._since -= 30
        live.decide(0, 0, None, 12.0)
        await live.settled(30)
        await live.undo(1)
        await live.settled(30)
        assert live.state.seconds == live.state.seconds_undone == 12.0
        live._since -= 30
        live.decide(0, 0, None, 6.0)
        await live.settled(30)
        assert live.minutes_left() == pytest.approx(9.7)
        await running.release(id, ADA)
        assert running.minutes_left("ada") == pytest.approx(9.7)  # also while it is put aside
        _, live = await running.open(ADA, None)
        await live.settled(30)
        assert live.state.seconds == 18.0 and live.minutes_left() == pytest.approx(9.7)
        await live.end(False)
        trajectory = await live.trajectory()
        assert trajectory is not None and trajectory.metadata["annotation"]["seconds_undone"] == 12.0
        await running.close()
        assert running.minutes_left("ada") == pytest.approx(9.7)
        again = _service(tmp_path, now, minutes=0.2)
        await again.start()
        assert again.minutes_left("ada") == 0.0
        await again.close()

    asyncio.run(play())


def test_who_says_less_than_anybody_takes_is_counted_by_the_clock() -> None:
    async def play() -> None:
        live = await begin(Said((UP,)))
        live._since -= 40
        assert live.seconds_of(0.0) == pytest.approx(40, abs=5) and live.seconds_of(0.2) > 30
        assert live.seconds_of(7.0) == 7.0 and live.seconds_of(1e6) < 50
        await live.close()

    asyncio.run(play())


def test_the_first_step_of_a_person_keeps_what_stood_on_the_screen(tmp_path: Path) -> None:
    async def play() -> None:
        live = await LiveEpisode.begin(
            setting(Said((CLICK,))), make(LOGIN), LOGIN, EpisodeWriter("one", EpisodeJournal(tmp_path)), "ada"
        )
        await live.settled(30)
        await live.take_over()
        await live.act(Click(Point(10, 10)))
        await live.act(Click(Point(20, 20)))
        await live.give_back()
        await live.settled(30)
        await live.take_over()
        await live.give_back()
        await live.settled(30)
        kept = read_episode(tmp_path)
        shown = [[each.text for each in done.candidates] for done in live.record.steps]
        assert shown == [[CLICK], [], [], []]
        assert shown == [[each.text for each in done.candidates] for done in kept.record.steps]
        [row] = disagreements({"one": kept})["steps"]
        assert row["step"] == 0 and row["annotator"] == "ada"
        await live.close()

    asyncio.run(play())


def test_a_note_that_repeats_the_secret_is_cleaned(tmp_path: Path) -> None:
    async def play() -> None:
        live = await LiveEpisode.begin(
            setting(Said((CLICK,))), make(LOGIN), LOGIN, EpisodeWriter("one", EpisodeJournal(tmp_path)), "ada"
        )
        await live.settled(30)
        await live.take_over()
        live.set_secret(True)
        await live.act(Type("hunter22"))
        live.set_secret(False)
        await live.settled(30)
        await live.end(None, "my password is hunter22")
        assert live.state.ended is not None and live.state.ended.reason == "my password is •••"
        assert "hunter22" not in str(state_of("one", live))
        await live.close()

    asyncio.run(play())
    assert not any(b"hunter22" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_reviews_are_others_and_the_last_one_counts(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        bob, ada, owner = clients["bob"], clients["ada"], clients["owner"]
        id = bob.post("sessions", task="corridor-0")[1]["session"]
        bob.solve(id)
        status, error = bob.post(f"episodes/{id}/review", agree=True)
        assert status == 409 and "somebody who did not decide in it; bob did" in error["error"]
        assert owner.post(f"episodes/{id}/review", agree=True, note="good")[0] == 200
        assert owner.get("disagreements")[1]["reviews"] == []
        again = owner.post(f"episodes/{id}/review", agree=False, note="on a second look")[1]
        assert again["reviews"] == [{"name": "owner", "agree": False, "note": "on a second look"}]
        [row] = owner.get("disagreements")[1]["reviews"]
        assert row["episode"] == id and row["reviewer"] == "owner" and row["annotators"] == ["bob"]
        bodies: list[dict[str, object]] = [{"key": 5}, {}, {"key": None}, {"key": []}, {"key": "\ud800"}]
        for body in bodies:
            status, error = ada.call("POST", "/api/login", body)
            assert status == 400 and error["error"].startswith("key must be text"), body


def test_a_claim_does_not_overrule_who_verifies(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        ada = clients["ada"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        ada.settled(id)
        ada.post(f"sessions/{id}/decide", step=0, candidate=0)
        ada.settled(id)
        status, state = ada.post(f"sessions/{id}/end", success=True, note="done")
        assert status == 200 and state["ended"]["success"] is False and state["ended"]["claimed_success"] is True
        assert "the environment verifies that it is not solved" in state["message"]
        [listed] = ada.get("episodes")[1]["episodes"]
        assert listed["verdict"] == "not solved" and listed["claimed_success"] is True
