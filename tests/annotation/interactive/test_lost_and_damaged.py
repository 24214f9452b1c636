"""Episodes with a secret that are left or killed, and folders that a hand has damaged: none keeps the others."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from tars_jax.agent.actions import Type
from tars_jax.annotation.interactive.journal import EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter, read_episode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.people import Person
from tars_jax.annotation.interactive.recorded import trajectory_of
from tars_jax.annotation.interactive.service import AnnotationService
from tars_jax.annotation.interactive.tasks import TaskBoard
from tars_jax.data.datasets import read_dataset
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.trajectory.checks import check_answers, check_trajectory
from tests.annotation.interactive.corridors import Said, make, setting

CLICK = "Action: click(point='<point>500 500</point>')"
TASKS = [Task(f"login-{n}", "tests.annotation.interactive.login:Login", n, {}, 12) for n in range(3)]
ADA = Person("ada", "annotator")


ONCE = Task("once", "tests.annotation.interactive.login:Once", 0, {}, 12)


def _service(folder: Path) -> AnnotationService:
    def checked(of: Task) -> CheckedEnvironment:
        return make(of)()

    return AnnotationService(folder, setting(Said((CLICK,))), checked, TaskBoard([*TASKS, ONCE], {}, 600.0))


async def _secret_after(service: AnnotationService, before: int, after: int = 0) -> tuple[str, LiveEpisode]:
    """An open session with so many steps before a secret and after it."""
    id, live = await service.open(ADA, "login-0")
    for number in range(before):
        await live.settled(30)
        live.decide(number, 0, None)
    await live.settled(30)
    await live.take_over()
    live.set_secret(True)
    await live.act(Type("hunter22"))
    live.set_secret(False)
    await live.settled(30)
    for _ in range(after):
        await live.act(Type("x"))
    return id, live


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 1)])
def test_killed_after_a_secret(tmp_path: Path, before: int, after: int) -> None:
    async def play() -> None:
        first = _service(tmp_path / "first")
        id, _ = await _secret_after(first, before, after)
        shutil.copytree(tmp_path / "first", tmp_path / "second")  # what a kill leaves: the files as they are
        await first.close()
        second = _service(tmp_path / "second")
        await second.start()
        other, live = await second.open(ADA, "login-0")
        assert other != id and "could not be resumed" in second.notes[other]
        assert f"its {before + 1 + after} steps are kept" in second.notes[other]
        await live.settled(30)
        await second.close()
        third = _service(tmp_path / "second")
        await third.start()
        await third.close()

    asyncio.run(play())
    [trajectory] = [each for each in read_dataset(str(tmp_path / "second" / "trajectories")) if each.steps]
    check_trajectory(trajectory, "this one")
    check_answers(trajectory, "this one")
    said = trajectory.metadata["annotation"]["steps"]
    assert [each["hidden"] for each in said] == [False] * before + [True] + [False] * after
    assert not said[before]["learned"]


def test_left_after_a_secret_the_queue_goes_on(tmp_path: Path) -> None:
    async def play() -> None:
        service = _service(tmp_path)
        await service.start()
        id, _ = await _secret_after(service, 1)
        await service.release(id, ADA)
        again, live = await service.open(ADA, None)
        assert again != id and (await live.settled(30)).step == 0
        assert service.storage.episode(id).lost is not None
        assert (service.storage.trajectories / f"{id}.trajectory").exists()
        await service.close()

    asyncio.run(play())


def test_the_screen_after_a_secret_that_ended_the_episode_is_nowhere(tmp_path: Path) -> None:
    async def play() -> None:
        service = _service(tmp_path)
        await service.start()
        id, live = await service.open(ADA, "once")
        await live.settled(30)
        before = live.observation
        await live.take_over()
        live.set_secret(True)
        await live.act(Type("hunter22Xyzzy9"))
        while live.is_open:
            assert await live.changed(seen := live.version, 30) != seen
        assert live.state.ended is not None and live.state.ended.success
        assert live.observation.screenshot == before.screenshot and live.observation.text == before.text
        await service.close()
        [trajectory] = read_dataset(str(service.storage.trajectories))
        assert trajectory.final_screenshot == before.screenshot and trajectory.final_text == before.text
        assert trajectory.success and trajectory.reward == 1.0
        assert len(list((tmp_path / "episodes" / id / "screens").iterdir())) == 1

    asyncio.run(play())
    assert not any(b"hunter22" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_secret_in_the_other_grammar(tmp_path: Path) -> None:
    async def play() -> None:
        told = setting(Said(("<seed:tool_call><function=wait></function></seed:tool_call>",)))
        told = dataclasses.replace(told, agent=dataclasses.replace(told.agent, grammar="tool"))
        keep = EpisodeWriter("one", EpisodeJournal(tmp_path))
        live = await LiveEpisode.begin(told, make(TASKS[0]), TASKS[0], keep, "ada")
        await live.settled(30)
        await live.take_over()
        live.set_secret(True)
        await live.act(Type("hunter22"))
        assert live.state.secret  # it waits for the person
        live.set_secret(False)
        await live.settled(30)
        await live.close()
        kept = read_episode(tmp_path)
        [done] = kept.record.steps
        assert done.decision.hidden and done.transition is not None
        trajectory = await trajectory_of(kept.record, told.writer, told.agent, None, {})
        check_trajectory(trajectory, "this one")
        assert trajectory.steps[0].valid and trajectory.steps[0].action == "call_user()"

    asyncio.run(play())


@pytest.mark.parametrize("how", ["line", "begun", "screen", "binary", "gone", "types", "seconds"])
def test_damaged_episodes_among_good_ones(tmp_path: Path, how: str) -> None:
    async def play() -> None:
        service = _service(tmp_path)
        await service.start()
        ids = []
        for task in TASKS[:2]:
            id, live = await service.open(ADA, task.id)
            await live.settled(30)
            live.decide(0, 0, None)
            await live.settled(30)
            if task is TASKS[0]:
                await live.end(False)
            ids.append(id)
        await service.close()
        for file in service.storage.trajectories.iterdir():
            file.unlink()
        with open(tmp_path / "preferences.jsonl", "a", encoding="utf-8") as pairs:
            pairs.write("half a li\n")
        for id in ids:
            _damage(tmp_path / "episodes" / id, how)
        good = await _one_more(tmp_path)
        again = _service(tmp_path)
        await again.start()
        _, live = await again.open(ADA, "login-1")
        assert (await live.settled(30)).phase == "deciding"
        await again.close()
        found = again.storage.episodes()
        lost = {id for id in ids if id in again.storage.damaged or found[id].lost is not None}
        assert lost == set(ids) and found[good].lost is None
        assert all((tmp_path / "episodes" / id).is_dir() for id in ids)

    asyncio.run(play())


async def _one_more(folder: Path) -> str:
    service = _service(folder)
    await service.start()
    id, live = await service.open(ADA, "login-2")
    await live.settled(30)
    live.decide(0, 0, None)
    await live.settled(30)
    await live.end(False)
    await service.close()
    assert (service.storage.trajectories / f"{id}.trajectory").exists()
    return id


def _damage(folder: Path, how: str) -> None:
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    match how:
        case "line":
            journal.write_bytes(b"".join([lines[0], b"{nonsense\n", *lines[1:]]))
        case "begun":
            journal.write_bytes(b"".join(lines[1:]))
        case "screen":
            shutil.rmtree(folder / "screens")
        case "binary":
            journal.write_bytes(b"\xff\x00\n" * 10)
        case "gone":
            journal.unlink()
        case "seconds":
            text = journal.read_text(encoding="utf-8")
            journal.write_text(re.sub(r'"seconds":[\d.]+', '"seconds":"long"', text), encoding="utf-8")
        case "types":
            events = [json.loads(line) for line in lines]
            events = [event | {"decision": [1]} if "decision" in event else event for event in events]
            journal.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
