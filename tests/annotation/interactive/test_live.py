"""One episode under annotation, driven as the service and simulated annotators drive it."""

from __future__ import annotations

import asyncio
import errno
import json
from pathlib import Path

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.actions import ToolCall
from tars_jax.annotation.interactive import journal, playing
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.core import Conflict, Ending
from tars_jax.annotation.interactive.journal import FILE, EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter, read_episode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.data.datasets import read_dataset
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_answers, check_trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS
from tars_jax.trajectory.files import save_trajectory
from tests.annotation.interactive.corridors import UP, WRITER, Said, begin, make, right_way, setting, task, turn

BAD = "I have no idea"


async def _to_the_end(live: LiveEpisode) -> Trajectory:
    """Goes on by hand; accepts where the policy is right."""
    while (await live.settled(30)).phase == "deciding":
        text = turn(right_way(live)) if live.observation.text == "end" else UP
        alike = [index for index, each in enumerate(live.state.candidates) if each.text == text]
        live.decide(live.state.step, alike[0] if alike else None, None if alike else text, 0.01, 7)
    await live.settled(30)
    trajectory = await live.trajectory()
    assert trajectory is not None
    await live.close()
    return trajectory


def test_accepted_edited_and_written_steps_become_a_trajectory_that_others_read(tmp_path: Path) -> None:
    async def play() -> Trajectory:
        live = await begin(Said((UP, turn("down"), UP), (-1.0, -2.0, -1.0)))
        assert [each.text for each in live.state.candidates] == [UP, turn("down")]  # alike ones stand once
        assert live.state.candidates[0].probability == pytest.approx(1 / (1 + np.exp(-1)))
        live.decide(0, 0, None, 0.01, 1)
        await live.settled(30)
        live.decide(1, 1, UP, 0.01, 12)
        return await _to_the_end(live)

    trajectory = asyncio.run(play())
    said = trajectory.metadata["annotation"]["steps"]
    assert [step["decided_by"] for step in said] == ["policy", "edited", "annotator"]
    assert [step["accepted"] for step in said] == [True, False, False]
    assert said[1]["candidates"][1]["action"] == "go(way='down')" and said[1]["candidates"][1]["version"] == 3
    assert trajectory.success and trajectory.metadata[CONTEXT_STEPS] == []
    [window] = trajectory.windows
    own = window.action_mask & (window.steps == 0)
    assert set(window.versions[own]) == {3} and window.log_probs[own].sum() == pytest.approx(-1.0, abs=1e-4)
    assert set(window.versions[window.action_mask & (window.steps > 0)]) == {-1}
    check_trajectory(trajectory, "this one")
    check_answers(trajectory, "this one")
    save_trajectory(tmp_path / "one.trajectory", trajectory)
    [read] = read_dataset(str(tmp_path))
    assert read.metadata["annotation"]["steps"][1]["keystrokes"] == 12


def test_what_the_policy_did_alone_is_context() -> None:
    """A confident policy goes on by itself to the end of the corridor, where it turns the wrong way."""

    async def play() -> Trajectory:
        live = await begin(Said((UP, UP, UP)), AskingGate("gated"), of=task(seed=1))
        assert live.state.phase == "ended" and live.state.switches == 0
        trajectory = await live.trajectory()
        await live.close()
        assert trajectory is not None
        return trajectory

    trajectory = asyncio.run(play())
    steps = len(trajectory.steps)
    assert trajectory.metadata[CONTEXT_STEPS] == list(range(steps))
    learned = [int(window.action_mask.sum()) for window in trajectory.windows]
    assert sum(learned) == 0
    check_answers(trajectory, "this one")


def test_an_uncertain_policy_asks_and_a_calm_one_goes_on_again() -> None:
    async def play() -> None:
        said = Said((UP, turn("left"), turn("down")))
        live = await begin(said, AskingGate("gated", uncertainty=0.5, calm_steps=2), of=task(length=6))
        assert live.state.phase == "deciding" and "uncertain" in str(live.state.reason)
        said.texts = (UP, UP, UP)
        live.decide(0, None, UP)
        await live.settled(30)
        assert live.state.reason == "the policy is not calm yet"  # hysteresis: one calm step is not enough
        live.decide(1, None, UP)
        assert (await live.settled(30)).phase == "ended" and live.state.switches == 1
        assert [done.decision.by_person for done in live.record.steps[:3]] == [True, True, False]
        await live.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("candidate", "text", "words"),
    [
        (None, None, "candidate or a text"),
        (None, "Action: fly()", "must be one of go"),
        (None, "Action: go(way='north')", "way must be"),
        (None, "", "empty|no action|nothing"),
        (7, None, "one of the 1 that there are"),
        (0, None, "."),  # what the policy proposes cannot be read either
    ],
)
def test_what_cannot_be_read_is_refused_and_changes_nothing(
    candidate: int | None, text: str | None, words: str
) -> None:
    async def play() -> None:
        live = await begin(Said((BAD, BAD)))
        assert live.state.reason == "the policy proposes nothing that can be read"
        with pytest.raises(InputError, match=f"(?i){words}"):
            live.decide(0, candidate, text)
        assert live.state.phase == "deciding" and not live.record.steps
        await live.close()

    asyncio.run(play())


def test_a_policy_that_is_away_leaves_the_answers_to_the_person_and_may_come_back() -> None:
    async def play() -> None:
        said = Said((UP,), away="no route to host")
        live = await begin(said, AskingGate("on_call"))
        assert live.state.phase == "deciding" and live.state.away == "no route to host"
        live.decide(0, None, UP)
        await live.settled(30)
        said.away = ""
        live.propose_again(1)
        assert (await live.settled(30)).phase == "ended"  # nobody is called: the policy goes on
        await live.close()

    asyncio.run(play())


def test_a_policy_that_comes_back_shows_what_it_would_do_while_somebody_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "ASK_AGAIN_SECONDS", 0.01)

    async def play() -> None:
        said = Said((UP,), away="it is being compiled")
        live = await begin(said)
        assert live.state.away and not live.state.candidates
        said.away = ""
        while not live.state.candidates:
            await live.changed(live.version, 30)
        assert live.state.phase == "deciding" and live.state.away is None
        live.decide(0, 0, None)
        await live.settled(30)
        assert live.record.steps[0].decision.accepted
        await live.close()

    asyncio.run(play())


def test_a_step_is_undone_by_playing_the_others_again(tmp_path: Path) -> None:
    async def play() -> None:
        said = Said((UP, turn("left")))
        live = await begin(said, folder=tmp_path)
        with pytest.raises(Conflict, match="no step to take back|a step to take back"):
            await live.undo(0)
        shown = live.observation.text
        live.decide(0, 0, None)
        await live.settled(30)
        asked = said.asked
        await live.undo(1)
        await live.settled(30)
        assert live.state.step == 0 and live.observation.text == shown
        assert said.asked == asked  # what was proposed there is shown again
        trajectory = await _to_the_end(live)
        assert trajectory.success and len(trajectory.steps) == 3

    asyncio.run(play())
    kept = read_episode(tmp_path)
    assert len(kept.record.steps) == 3 and kept.ended is not None and kept.ended.success


def test_another_world_is_not_gone_back_to() -> None:
    async def play() -> None:
        of = task()
        live = await begin(Said((UP,)), of=of)
        live.decide(0, 0, None)
        await live.settled(30)
        live._make = make(task(seed=5, length=4))  # the same task would now begin otherwise
        live.record = type(live.record)(**{**vars(live.record), "task": task(seed=5, length=4)})
        with pytest.raises(Conflict, match="first observation is another one"):
            await live.undo(1)
        assert live.state.phase == "deciding" and live.state.step == 1
        await live.close()

    asyncio.run(play())


def test_a_journal_cut_off_anywhere_is_resumed_at_its_step(tmp_path: Path) -> None:
    """As after kill -9: whatever byte was the last one, every step that was answered is there."""

    async def play() -> None:
        live = await begin(Said((UP, turn("left"))), folder=tmp_path / "first")
        live.decide(0, 0, None)
        await live.settled(30)
        live.decide(1, None, UP)
        await live.settled(30)
        await live.close()

    asyncio.run(play())
    content = (tmp_path / "first" / FILE).read_bytes()
    begun = content.index(b"\n") + 1
    steps = set()
    for cut in np.linspace(begun, len(content), 24, dtype=int):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        (folder / FILE).write_bytes(content[:cut])
        done = sum(b'"event":"acted"' in line for line in content[:cut].split(b"\n")[:-1])

        async def resume(folder: Path = folder, done: int = done) -> int:
            journal = EpisodeJournal(folder)
            kept = read_episode(folder)
            assert len(kept.record.steps) == done
            writer = EpisodeWriter("one", journal)
            live = await LiveEpisode.resume(setting(Said((UP,))), make(task()), kept.record, writer, "ada")
            await live.settled(30)
            assert live.state.step == done and live.state.phase == "deciding"
            trajectory = await _to_the_end(live)
            assert trajectory.success and len(trajectory.steps) == 3
            return done

        steps.add(asyncio.run(resume()))
    assert steps == {0, 1, 2}


def test_while_a_person_has_the_session_the_agent_does_nothing() -> None:
    async def play() -> None:
        said = Said((UP,))
        live = await begin(said, of=task(length=4))
        await live.take_over("eve")
        assert live.state.phase == "person" and not live.state.candidates
        with pytest.raises(Conflict):
            live.decide(0, 0, None)  # refused, not queued
        asked = said.asked
        await live.act(ToolCall("go", {"way": "up"}), annotator="eve")
        assert live.state.phase == "person" and live.observation.text == "3 ahead" and said.asked == asked
        with pytest.raises(Conflict, match="no call_user"):
            live.set_secret(True)
        await live.give_back()
        await live.settled(30)
        assert live.state.phase == "deciding" and live.state.step == 1 and said.asked > asked
        assert live.record.steps[0].decision.annotator == "eve" and live.record.steps[0].decision.live
        with pytest.raises(Conflict):
            await live.act(ToolCall("go", {"way": "up"}))
        await live.close()

    asyncio.run(play())


def test_a_person_ends_it_and_says_whether_it_succeeded() -> None:
    async def play() -> Trajectory:
        live = await begin(Said((UP,)))
        live.decide(0, 0, None)
        await live.settled(30)
        await live.end(True, "good enough")
        assert live.state.ended == Ending(False, 0.0, "good enough", True)
        assert "verifies that it is not solved" in str(live.state.message)
        with pytest.raises(Conflict):
            await live.end(False)
        trajectory = await live.trajectory()
        assert trajectory is not None
        return trajectory

    trajectory = asyncio.run(play())
    assert trajectory.success is False and trajectory.metadata["environment_success"] is False  # it verifies
    assert trajectory.metadata["claimed_success"] is True and not trajectory.succeeded
    check_answers(trajectory, "this one")


def test_a_full_disk_refuses_the_step_and_keeps_those_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        live = await begin(Said((UP,)), folder=tmp_path)
        live.decide(0, 0, None)
        await live.settled(30)

        def full(file: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(journal.os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                live.decide(1, 0, None)
            assert live.state.phase == "deciding" and len(live.record.steps) == 1
        live.decide(1, 0, None)  # somebody has made room
        assert (await live.settled(30)).step == 2
        await live.close()

    asyncio.run(play())
    assert len(read_episode(tmp_path).record.steps) == 2


def test_nothing_of_an_untaken_answer_is_in_the_prompt() -> None:
    async def play() -> None:
        live = await begin(Said((turn("right"), turn("down"))))
        live.decide(0, None, UP)
        await live.settled(30)
        told = WRITER.codec.decode(live.window)
        assert "go(way='up')" in told and "right" not in told and "down" not in told
        await live.close()

    asyncio.run(play())


def test_the_journal_holds_what_the_policy_would_have_done(tmp_path: Path) -> None:
    async def play() -> None:
        live = await begin(Said((UP, turn("left")), (-1.0, -3.0)), folder=tmp_path)
        live.decide(0, None, turn("up"))
        await live.settled(30)
        await live.close()

    asyncio.run(play())
    events = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert [event["event"] for event in events] == ["begun", "proposed", "decided", "acted", "proposed"]
    assert [round(each["log_probability"], 3) for each in events[1]["candidates"]] == [-1.0, -3.0]
    assert events[1]["version"] == 3 and events[1]["candidates"][0]["versions"][0] == 3
