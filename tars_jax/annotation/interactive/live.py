"""A person's operations in an open episode: decide, take over and act, type a secret, give back, undo, end it.

Each raises `Conflict` where it does not fit where the episode stands, and InputError for what cannot be read; then all
is as it was. Nothing here knows HTTP: the service, simulated annotators and tests drive the same class.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Type, Wait
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import Response
from tars_jax.annotation.interactive import core
from tars_jax.annotation.interactive.core import Conflict, Decision, Ending, EpisodeView
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.playing import PlayedEpisode, Setting
from tars_jax.annotation.interactive.recorded import EpisodeSoFar, trajectory_of, unsampled_columns
from tars_jax.annotation.interactive.replaying import NotTheSame, replayed
from tars_jax.environment import EnvironmentFailure, Observation, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.trajectory import Trajectory

PATIENCE_S = 120.0  # for a step under way


def no_budget() -> float | None:
    """A person's minutes are not counted."""
    return None


class LiveEpisode(PlayedEpisode):
    """Use `begin` or `resume`, and `close` when it is over or put aside."""

    @classmethod
    async def begin(
        cls,
        setting: Setting,
        make: Callable[[], CheckedEnvironment],
        task: Task,
        keep: EpisodeWriter,
        annotator: str,
        minutes_left: Callable[[], float | None] = no_budget,
    ) -> LiveEpisode:
        """Opens the task's environment and begins. Raises InputError for a task that it refuses, EnvironmentFailure
        where it fails twice: what it runs in may have been killed, and is there again the second time."""
        try:
            environment, first = await _opened(make, task)
        except EnvironmentFailure:
            environment, first = await _opened(make, task)
        instruction = environment.instruction or task.instruction
        record = EpisodeSoFar(keep.id, task, instruction, environment.action_space, first, ())
        keep.begun(record, annotator, setting.policy.name)
        live = cls(setting, make, record, environment, keep, annotator, minutes_left)
        live.play()
        return live

    @classmethod
    async def resume(
        cls,
        setting: Setting,
        make: Callable[[], CheckedEnvironment],
        record: EpisodeSoFar,
        keep: EpisodeWriter,
        annotator: str,
        minutes_left: Callable[[], float | None] = no_budget,
        taken_back: tuple[tuple[str, float], ...] = (),
    ) -> LiveEpisode:
        """Goes on after the record's steps, in a new environment; `taken_back`: as in `EpisodeView`, of the steps
        before. Raises NotTheSame where that cannot be."""
        environment = await replayed(record, record.steps, make, setting.agent)
        live = cls(setting, make, record, environment, keep, annotator, minutes_left)
        live._privileged.observation = live.observation
        decisions = tuple(done.decision for done in record.steps)
        live.state = dataclasses.replace(live.state, decisions=decisions, taken_back=taken_back)
        keep.resumed(annotator, len(record.steps))
        live.play()
        return live

    @property
    def why_not_undo(self) -> str | None:
        if not self.record.steps:
            return "there is no step to take back"
        if self.state.phase not in ("deciding", "person"):
            return "a step is under way" if self.is_open else "the episode is over"
        if self.state.secret or not self.state.keeps_no_secret:
            return "what was typed in secret is not kept, so the steps cannot be played again"
        number = len(self.record.steps) - 1
        if number in self._moments or self.record.steps[number].transition is None:
            return None
        if self._not_the_same is not None and number >= self._not_the_same[0]:
            no_moment = f"no moment before the step is kept ({self._moments.why_not})" if self._moments.why_not else ""
            return "; ".join(filter(None, (self._not_the_same[1], no_moment)))
        return None

    async def settled(self, seconds: float = PATIENCE_S) -> EpisodeView:
        """Waits until somebody is to decide, a person has the session, or it is over. Raises Conflict after that."""
        try:
            async with asyncio.timeout(seconds):
                while self.state.phase in ("proposing", "acting"):
                    await self.changed(self.version, seconds)
        except TimeoutError as error:
            raise Conflict(f"the step under way must end within {seconds:g} seconds; it did not") from error
        return self.state

    # ---- deciding

    def decide(
        self, step: int, candidate: int | None, text: str | None, seconds: float = 0.0, keystrokes: int = 0,
        annotator: str = "",
    ) -> None:  # fmt: skip
        """Accepts a candidate, edits one, or writes another answer; `text` is the whole of it."""
        core.require_step(self.state, step)
        if self.state.phase != "deciding":
            raise Conflict(f"a decision must come while somebody is to decide; the episode is {self.state.phase}")
        candidates = self.state.candidates
        if candidate is not None and not 0 <= candidate < len(candidates):
            raise InputError(f"candidate must be one of the {len(candidates)} that there are; got {candidate}")
        chosen = None if candidate is None else candidates[candidate]
        if text is None:
            if chosen is None:
                raise InputError("a decision must have a candidate or a text; got neither")
            text = chosen.text
        thought, action, error, _ = self.read(text)
        if error:
            raise InputError(error)
        columns: dict[str, Any] = unsampled_columns(self.setting.writer, text)
        accepted = chosen is not None and text == chosen.text
        if chosen is not None and accepted:
            columns = {name: getattr(chosen, name) for name in columns}
        self.decided(
            Decision(
                text, thought, action, **columns, accepted=accepted, candidate=candidate,
                decided_by="policy" if accepted else "annotator" if chosen is None else "edited",
                seconds=min(max(0.0, seconds), time.monotonic() - self._since, core.MOST_SECONDS),
                keystrokes=keystrokes, annotator=annotator or self.annotator,
            )
        )  # fmt: skip

    def propose_again(self, step: int) -> None:
        self.put(core.proposing(self.state, step))
        self._proposed.pop(step, None)
        self.wake()

    # ---- having the session

    async def take_over(self, annotator: str = "") -> None:
        """A person takes over, at once or when the step under way is done. What the policy proposes is refused, not
        queued."""
        while self.state.phase == "acting":
            await self.changed(self.version, PATIENCE_S)
        after = core.taken_over(self.state)
        self._stood = self.state.candidates
        self.keep.taken_over(after, annotator or self.annotator, bool(self._stood))
        self.put(after)
        self.wake()

    async def act(self, action: Action, seconds: float = 0.0, keystrokes: int = 0, annotator: str = "") -> None:
        """Acts while a person has the session; returns when it is done."""
        async with self._acting:
            if self.state.secret:
                await self._act_in_secret(action)
            else:
                await self._act(action, seconds, keystrokes, annotator)

    async def look(self) -> None:
        """While a person has the session: what is on the screen by now is shown, and not recorded."""
        if not self._may_look or self._acting.locked():
            return
        async with self._acting:
            if not self._may_look:
                return
            try:
                seen = await self._environment.look()
            except EnvironmentFailure as error:
                await self.stop()
                self.lose(f"the session ended under the hand: {error}")
                return
            if seen is not None and self._may_look and seen.screenshot != self.screenshot:
                self.screen_version += 1
                self.glimpse = self.screen_version, seen.screenshot
                self.tell()

    @property
    def _may_look(self) -> bool:
        return self.state.phase == "person" and not self.state.secret

    async def _act(
        self, action: Action, seconds: float = 0.0, keystrokes: int = 0, annotator: str = "", *, context: bool = False
    ) -> None:
        grammar, space = self.setting.agent.grammar, self.record.space
        text = format_response(Response("", (action,)), grammar, space=space, pixel_size=self.pixel_size())
        _, call, error, _ = self.read(text)
        if error:
            raise InputError(error)
        self.decided(
            Decision(
                text, "", call, **unsampled_columns(self.setting.writer, text), live=True, context=context,
                decided_by="service" if context else "annotator",
                annotator="" if context else annotator or self.annotator,
                seconds=min(max(0.0, seconds), core.MOST_SECONDS), keystrokes=keystrokes,
            )
        )  # fmt: skip
        await self.settled()

    async def _act_in_secret(self, action: Action) -> None:
        if isinstance(action, Type):
            self._secrets.typed(action.content)
        before = self._led_to
        try:
            led_to = await self._environment.step((action,))
        except EnvironmentFailure as error:
            await self.stop()
            self.lose(f"the session ended under the hand: {error}")
            return
        self._led_to = dataclasses.replace(led_to, reward=led_to.reward + (before.reward if before else 0.0))
        if led_to.terminated or led_to.truncated:
            self.set_secret(False)

    def set_secret(self, on: bool) -> None:
        """While it is on nothing is shown and nothing kept; one step, `call_user()`, stands for all that was done."""
        if not on:
            after = core.secret_over(self.state)
            self._secrets.over()
            self.keep.handed("secret_over", after, self.annotator)
            self.put(after)
            self._secret_over.set()
            return
        if "call_user" not in self.record.space.actions:
            raise Conflict("a secret can be typed where the agent can call the user; here it has no call_user")
        call = Response("", (CallUser(),))
        text = format_response(call, self.setting.agent.grammar, space=self.record.space, pixel_size=self.pixel_size())
        stands_for = Decision(
            text, "", "call_user()", **unsampled_columns(self.setting.writer, text), decided_by="annotator",
            live=True, hidden=True, annotator=self.annotator,
        )  # fmt: skip
        after = core.secret_begun(self.state, stands_for)
        self._stood = ()
        self.keep.secret(after, text, self.annotator)
        self._secret_over.clear()
        self.put(after)
        self.answer(stands_for)

    async def give_back(self) -> None:
        """The agent goes on, from a fresh observation."""
        core.given_back(self.state)
        async with self._acting:
            if self.looks_anew:
                await self._act(Wait(1.0), context=True)
            if not self.is_open:
                return
            after = core.given_back(self.state)
            self._stood = ()
            self.keep.handed("given_back", after, self.annotator)
            self.put(after)
            self.wake()

    # ---- back, and out

    async def undo(self, step: int) -> None:
        """Back to before the last step: from the moment that was kept there, else by playing the others again.

        Raises Conflict where they are not the same, and all is as it was.
        """
        core.undone(self.state, step)
        if why := self.why_not_undo:
            raise Conflict(f"undo is not to be had: {why}")
        async with self._acting:
            if not await self._went_back(step):
                await self._played_again(step)
            await self.stop()
            self.tell()
            self.play()

    async def _went_back(self, step: int) -> bool:
        """Whether nothing is to be played again: what could not be read led to nothing; else by a moment."""
        number = len(self.record.steps) - 1
        if self.record.steps[number].transition is None:
            self._take_back(step)
            return True
        if number not in self._moments:
            return False
        try:
            await self._moments.go_back(number, lambda: self._take_back(step))
        except Conflict:
            raise
        except InputError:  # it is not to be had any more
            return False
        except EnvironmentFailure as error:
            await self.stop()
            self.lose(f"the session ended under the hand: {error}")
            raise Conflict(f"undo is not to be had: {error}") from error
        return True

    async def _played_again(self, step: int) -> None:
        earlier = self.record.steps[:-1]
        try:
            environment = await replayed(self.record, earlier, self._make, self.setting.agent)
        except NotTheSame as error:
            self._not_the_same = len(earlier), str(error)
            raise Conflict(f"undo is not to be had: {self.why_not_undo or error}") from error
        try:
            self._take_back(step)
        except (Conflict, OSError):
            await environment.close()
            raise
        before = self._environment
        self.stands_in(environment)
        with contextlib.suppress(EnvironmentFailure):
            await before.close()

    def _take_back(self, step: int) -> None:
        """The last step is none. Raises Conflict where the episode stands elsewhere by now, OSError."""
        after = core.undone(self.state, step)
        self._stood = ()
        self.keep.undone(step - 1)
        self.record = dataclasses.replace(self.record, steps=self.record.steps[:-1])
        self._privileged.observation = self.observation
        self.screen_version += 1
        self.state = after

    async def end(self, success: bool | None, note: str = "") -> None:
        """A person ends the episode, and may say whether it succeeded: that counts where no environment says it."""
        if not self.is_open:
            raise Conflict(f"the episode must be open to be ended; it is {self.state.phase}")
        await self.stop()
        verdict, reward = self.record.verdict
        note = self.cleaned(note) or f"ended by {self.annotator}"
        self.finish(Ending(success if verdict is None else verdict, reward, note, success))

    def cleaned(self, text: str) -> str:
        """The text without what was typed in secret."""
        return self._secrets.cleaned(text)

    async def close(self) -> None:
        """Puts it aside: what is done is on the disk."""
        await self.stop()
        await self._proposer.close()
        with contextlib.suppress(EnvironmentFailure):
            await self._environment.close()
        self.keep.close()

    async def trajectory(self) -> Trajectory | None:
        """Trajectory so far; None before the first step."""
        if not self.record.steps:
            return None
        about = {
            "annotator": self.annotator, "policy": self.setting.policy.name, "switches": self.state.switches,
            "gate": self.setting.gate.mode, "seconds": self.state.seconds,
            "seconds_undone": self.state.seconds_undone,
            "note": self.state.ended.reason if self.state.ended else "",
        }  # fmt: skip
        return await trajectory_of(self.record, self.setting.writer, self.setting.agent, self.state.ended, about)


async def _opened(make: Callable[[], CheckedEnvironment], task: Task) -> tuple[CheckedEnvironment, Observation]:
    environment = make()
    try:
        return environment, await environment.reset(task)
    except BaseException:
        with contextlib.suppress(EnvironmentFailure):
            await environment.close()
        raise
