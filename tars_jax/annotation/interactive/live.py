"""One episode that is open: the agent loop plays it, and each answer is decided here, by a person or the policy.

    play_episode --respond--> proposals -> gate -> decide() by whoever is asked -> journal -> the answer
                 --step-----> the environment -> journal -> the observation

`state` is the pure core's; every change of it wakes who waits for `changed`. Nothing here knows HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action, Type, Wait
from tars_jax.agent.grammar import format_response
from tars_jax.agent.loop import AgentConfig, TurnDeclined, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.annotation.interactive import core, gate
from tars_jax.annotation.interactive.core import Candidate, Conflict, Decision, Ending, Episode
from tars_jax.annotation.interactive.gate import Gate
from tars_jax.annotation.interactive.proposing import Policy, PolicyAway, candidates_of, read_answer
from tars_jax.annotation.interactive.recorded import Done, Record, sampled_of, trajectory_of, written
from tars_jax.annotation.interactive.replaying import NotTheSame, replayed
from tars_jax.annotation.interactive.secrets import Secrets
from tars_jax.annotation.interactive.writing import EpisodeWriter
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.inference import Sampled
from tars_jax.rollout.players import PrivilegedEnvironment
from tars_jax.trajectory import Trajectory

RESUMES = 2  # of one step, where its environment fails


def no_budget() -> float | None:
    """A person's minutes are not counted."""
    return None


@dataclasses.dataclass(frozen=True)
class Setting:
    """What all episodes of a service have in common."""

    writer: PromptWriter
    agent: AgentConfig
    policy: Policy
    gate: Gate = dataclasses.field(default_factory=Gate)
    value: Callable[[Sequence[int], Sequence[np.ndarray]], float | None] | None = None  # of a window; None: no model


class LiveEpisode:
    """Use `begin`, and `close` when it is over or put aside."""

    def __init__(
        self,
        setting: Setting,
        make: Callable[[], CheckedEnvironment],
        record: Record,
        environment: CheckedEnvironment,
        keep: EpisodeWriter,
        annotator: str,
        minutes_left: Callable[[], float | None] = no_budget,
    ) -> None:
        self.setting, self.annotator, self._make, self._keep = setting, annotator, make, keep
        self.record = record  # with the steps that are done
        self.state = Episode(budget=record.task.max_steps)
        self.window: tuple[int, ...] = ()  # tokens of the prompt that is answered
        self.screen_version = 0
        self._environment, self._minutes_left = environment, minutes_left
        self._privileged = PrivilegedEnvironment(environment, record.first, record.space)
        self._proposer = setting.policy.proposer(self._privileged, record.task)
        self._images: list[np.ndarray] = []
        self._secrets = Secrets()
        self._answer: asyncio.Future[Decision] | None = None
        self._ending: Ending | None = None  # as a person said
        self._proposed: dict[int, tuple[tuple[Candidate, ...], str | None]] = {}  # by step, of those that may come again
        self._hidden = asyncio.Event()  # the secret is over
        self._hidden_led_to: Transition | None = None
        self._changed = asyncio.Event()  # a new one after each change
        self.version = 0
        self._playing: asyncio.Task[Any] | None = None
        self._since = time.monotonic()
        self._acting = asyncio.Lock()

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
        """Opens the task's environment and begins. Raises InputError for a task that it refuses, EnvironmentFailure."""
        environment = make()
        try:
            first = await environment.reset(task)
        except BaseException:
            with contextlib.suppress(Exception):
                await environment.close()
            raise
        record = Record(
            keep.id, task, environment.instruction or task.instruction, environment.action_space, first, ()
        )
        keep.begun(record, annotator, setting.policy.name)
        live = cls(setting, make, record, environment, keep, annotator, minutes_left)
        live._play()
        return live

    @classmethod
    async def resume(
        cls,
        setting: Setting,
        make: Callable[[], CheckedEnvironment],
        record: Record,
        keep: EpisodeWriter,
        annotator: str,
        minutes_left: Callable[[], float | None] = no_budget,
    ) -> LiveEpisode:
        """Goes on after the record's steps, in a new environment. Raises NotTheSame where that cannot be."""
        environment = await replayed(record, record.steps, make, setting.agent)
        live = cls(setting, make, record, environment, keep, annotator, minutes_left)
        live._privileged.observation = record.observation(len(record.steps))
        live.state = dataclasses.replace(live.state, decisions=tuple(done.decision for done in record.steps))
        keep.resumed(annotator, len(record.steps))
        live._play()
        return live

    # ---- what others see

    @property
    def observation(self) -> Observation:
        return self.record.observation(len(self.record.steps))

    @property
    def is_open(self) -> bool:
        return self.state.phase in core.OPEN

    @property
    def why_not_undo(self) -> str | None:
        if not self.record.steps or self.state.phase not in ("deciding", "person"):
            return "there is no step to take back" if not self.record.steps else "a step is under way"
        if self.state.secret or not self.state.keeps_no_secret:
            return "what was typed in secret is not kept, so the steps cannot be played again"
        return None

    async def changed(self, seen: int, seconds: float) -> int:
        """Waits until `version` is another than `seen`, so many seconds at most; returns it."""
        if self.version == seen:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.version

    async def settled(self, seconds: float = 60.0) -> Episode:
        """Waits until somebody is to decide, a person has the session, or it is over."""
        async with asyncio.timeout(seconds):
            while self.state.phase in ("proposing", "acting"):
                await self.changed(self.version, seconds)
        return self.state

    def read(self, text: str) -> tuple[str, str, str, tuple[core.Mark, ...]]:
        """As `read_answer`, for this episode's next step."""
        size = self.setting.agent.pixel_size(self.setting.agent.seen(self.observation))
        return read_answer(text, self.setting.agent.grammar, self.record.space, size)

    # ---- what a person does

    def decide(
        self, step: int, candidate: int | None, text: str | None, seconds: float = 0.0, keystrokes: int = 0,
        annotator: str = "",
    ) -> None:  # fmt: skip
        """Accepts a candidate, edits one, or writes another answer; `text` is the whole of it.

        Raises Conflict where the step is another, InputError for what cannot be read.
        """
        core.require_step(self.state, step)
        if self.state.phase != "deciding":
            raise Conflict(f"a decision must come while somebody is to decide; the episode is {self.state.phase}")
        candidates = self.state.candidates
        if candidate is not None and not 0 <= candidate < len(candidates):
            raise InputError(f"candidate must be 0 to {len(candidates) - 1}; got {candidate}")
        if candidate is None and not (text or "").strip():
            raise InputError("a decision must have a candidate or a text; got neither")
        chosen = None if candidate is None else candidates[candidate]
        accepted = chosen is not None and (text is None or text == chosen.text)
        if text is None:
            assert chosen is not None
            text = chosen.text
        thought, action, error, _ = self.read(text)
        if error:
            raise InputError(error)
        if accepted and chosen is not None:
            columns: dict[str, Any] = {name: getattr(chosen, name) for name in ("tokens", "log_probs", "versions")}
        else:
            columns = written(self.setting.writer, text)
        passed = time.monotonic() - self._since
        decision = Decision(
            text, thought, action, **columns,
            decided_by="policy" if accepted else "annotator" if chosen is None else "edited",
            accepted=accepted, candidate=candidate, annotator=annotator or self.annotator,
            seconds=min(max(0.0, seconds), passed, core.MOST_SECONDS) if seconds else 0.0, keystrokes=keystrokes,
        )  # fmt: skip
        self._decided(decision)

    def propose_again(self, step: int) -> None:
        self._set(core.proposing(self.state, step))
        self._proposed.pop(step, None)
        self._wake()

    def take_over(self, annotator: str = "") -> None:
        self._set(core.taken_over(self.state))
        self._keep.handed("taken_over", self.state, annotator or self.annotator)
        self._wake()

    async def act(self, action: Action, seconds: float = 0.0, keystrokes: int = 0, annotator: str = "") -> None:
        """Acts while a person has the session; returns when it is done."""
        async with self._acting:
            if self.state.secret:
                await self._act_in_secret(action)
                return
            await self._act_live(action, seconds, keystrokes, annotator)

    async def _act_live(
        self, action: Action, seconds: float = 0.0, keystrokes: int = 0, annotator: str = "", *, context: bool = False
    ) -> None:
        grammar, space = self.setting.agent.grammar, self.record.space
        text = format_response(Response("", (action,)), grammar, space=space)
        _, call, error, _ = self.read(text)
        if error:
            raise InputError(error)
        decision = Decision(
            text, "", call, **written(self.setting.writer, text), decided_by="annotator", live=True, context=context,
            annotator=annotator or self.annotator, seconds=min(max(0.0, seconds), core.MOST_SECONDS),
            keystrokes=keystrokes,
        )  # fmt: skip
        self._decided(decision)
        await self.settled()

    def set_secret(self, on: bool) -> None:
        """While it is on nothing is shown and nothing kept; one step, `call_user()`, stands for all that was done."""
        if not on:
            self._set(core.secret_over(self.state))
            self._secrets.over()
            self._keep.handed("secret_over", self.state, self.annotator)
            self._hidden.set()
            return
        text = "Action: call_user()"
        if "call_user" not in self.record.space.actions:
            raise Conflict("secret must be of an environment whose agent can call the user; this one has no call_user")
        stands_for = Decision(
            text, "", "call_user()", **written(self.setting.writer, text), decided_by="annotator", live=True,
            hidden=True, annotator=self.annotator,
        )  # fmt: skip
        self._set(core.secret_begun(self.state, stands_for))
        self._keep.handed("secret", self.state, self.annotator)
        self._hidden.clear()
        self._resolve(stands_for)

    async def give_back(self) -> None:
        """The agent goes on, from a fresh observation."""
        if self.state.phase == "person" and not self.state.secret:
            space = self.record.space
            if space.platform != "game" and "wait" in space.actions:  # a game's time stands still while nobody acts
                async with self._acting:
                    await self._act_live(Wait(1.0), context=True)
        if not self.is_open:
            return
        self._set(core.given_back(self.state))
        self._keep.handed("given_back", self.state, self.annotator)
        self._wake()

    async def undo(self, step: int) -> None:
        """Back to before the last step. Raises Conflict with why not; then all is as it was."""
        after = core.undone(self.state, step)
        if why := self.why_not_undo:
            raise Conflict(f"undo is not to be had: {why}")
        async with self._acting:
            try:
                environment = await replayed(self.record, self.record.steps[:-1], self._make, self.setting.agent)
            except NotTheSame as error:
                raise Conflict(f"undo is not to be had: {error}") from error
            if self.state.step != step or self.state.phase not in ("deciding", "person"):
                await environment.close()
                raise Conflict("undo must be of the last step; the session went on")
            await self._stop()
            before, self._environment = self._environment, environment
            self.record = dataclasses.replace(self.record, steps=self.record.steps[:-1])
            self._privileged.environment, self._privileged.observation = environment, self.observation
            self._keep.undone(step - 1)
            self.screen_version += 1
            self._set(after)
            self._play()
            with contextlib.suppress(Exception):
                await before.close()

    async def end(self, success: bool | None, note: str = "") -> None:
        """A person ends the episode."""
        if not self.is_open:
            raise Conflict(f"the episode must be open to be ended; it is {self.state.phase}")
        reward = sum(done.transition.reward for done in self.record.steps if done.transition is not None)
        self._ending = Ending(success, float(reward), note or f"ended by {self.annotator}")
        await self._stop()
        self._finish(self._ending)

    async def close(self) -> None:
        """Puts it aside: what is done is on the disk."""
        await self._stop()
        await self._proposer.close()
        with contextlib.suppress(Exception):
            await self._environment.close()

    async def trajectory(self) -> Trajectory | None:
        """What is done so far; None before the first step."""
        if not self.record.steps:
            return None
        about = {
            "annotator": self.annotator, "policy": self.setting.policy.name, "switches": self.state.switches,
            "gate": self.setting.gate.mode, "seconds": self.state.seconds,
            "note": self.state.ended.reason if self.state.ended else "",
        }  # fmt: skip
        return await trajectory_of(self.record, self.setting.writer, self.setting.agent, self.state.ended, about)

    # ---- the loop

    def _play(self) -> None:
        self._playing = asyncio.create_task(self._played())

    async def _played(self) -> None:
        loop = _Loop(self, len(self.record.steps))
        agent = dataclasses.replace(self.setting.agent, max_prompt=None)
        record = self.record
        try:
            played = await play_episode(
                loop, record.first, loop, self.setting.writer, agent, id=record.id, task=record.task,
                instruction=record.instruction, space=record.space,
            )  # fmt: skip
        except TurnDeclined:
            return
        except (EnvironmentFailure, NotTheSame) as error:
            self._lose(f"the session ended under the hand: {error}")
            return
        except OSError as error:
            self._lose(f"nothing more can be kept: {error.strerror or error}")
            return
        self._note_refused()
        self._finish(Ending(played.success, float(played.reward), played.outcome.value))

    def _lose(self, why: str) -> None:
        self._set(core.lost(self.state, why))
        with contextlib.suppress(OSError):
            self._keep.lost(why)

    def _finish(self, ending: Ending) -> None:
        if self.state.phase == "acting" or self.state.secret:  # a step that was not done is none
            kept = tuple(done.decision for done in self.record.steps)
            self.state = dataclasses.replace(self.state, phase="proposing", decisions=kept, secret=False)
        self._set(core.finished(self.state, ending))
        self._keep.ended(ending, self.state)

    async def decision(self) -> Decision:
        """The answer to the window that stands, by whoever is asked."""
        while True:
            if self.state.phase == "proposing":
                await self._propose()
                if self.state.phase == "deciding" and not self.state.asked:
                    self._decided(self._own(self.state.candidates[0]), wake=False)
                    return self.state.decisions[-1]
            self._since = time.monotonic()
            if self.state.phase in ("deciding", "person"):
                decision = await self._wait()
                if decision is not None:
                    return decision

    async def _wait(self) -> Decision | None:
        """A decision; None: the state is another one."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        except _Woken:
            return None
        finally:
            self._answer = None

    async def _propose(self) -> None:
        step = self.state.step
        if step in self._proposed:
            candidates, away = self._proposed[step]
        else:
            candidates, away = await self._asked_policy()
        if self.state.phase != "proposing" or self.state.step != step:
            return  # somebody has taken over
        self._proposed = {step: (candidates, away), **{at: its for at, its in self._proposed.items() if at < step}}
        value = self.setting.value(self.window, self._images) if self.setting.value else None
        asking = gate.asking(
            self.setting.gate, candidates, was_asked=self.state.asked, calm=self.state.calm, value=value,
            minutes_left=self._minutes_left(),
        )  # fmt: skip
        self._keep.proposed(step, candidates, away, self.setting.policy.version)
        self._set(core.proposed(self.state, candidates, asking, away))

    async def _asked_policy(self) -> tuple[tuple[Candidate, ...], str | None]:
        asking = asyncio.create_task(self._answers())
        woken = asyncio.create_task(self._wait())
        await asyncio.wait({asking, woken}, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        await asyncio.wait({woken})
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking})
            return (), None
        return asking.result()

    async def _answers(self) -> tuple[tuple[Candidate, ...], str | None]:
        size = self.setting.agent.pixel_size(self.setting.agent.seen(self.observation))
        try:
            answers = await self._proposer.propose(self.window, self._images)
        except PolicyAway as error:
            return (), str(error)
        grammar, space = self.setting.agent.grammar, self.record.space
        return candidates_of(answers, self.setting.writer, grammar, space, size), None

    def _own(self, candidate: Candidate) -> Decision:
        return Decision(
            candidate.text, candidate.thought, candidate.action, candidate.tokens, candidate.log_probs,
            candidate.versions, "policy", candidate=0,
        )  # fmt: skip

    def _decided(self, decision: Decision, *, wake: bool = True) -> None:
        after = core.decided(self.state, decision)
        self._keep.decided(after.step, decision, self.state.reason)
        self._reason, self._shown = self.state.reason, self.state.candidates
        self._set(after)
        if wake:
            self._resolve(decision)

    def _resolve(self, decision: Decision) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(decision)

    _reason: str | None = None
    _shown: tuple[Candidate, ...] = ()

    def _note_refused(self) -> None:
        """The policy's own answer could not be read: a step without a transition."""
        if self.state.phase == "acting":
            self.note(None)

    def note(self, transition: Transition | None) -> None:
        """The step under way is done."""
        decision = self.state.decisions[-1]
        done = Done(decision, self._shown, transition, self._reason)
        self._keep.acted(len(self.record.steps), transition)
        self.record = dataclasses.replace(self.record, steps=(*self.record.steps, done))
        self._reason, self._shown = None, ()
        self.screen_version += 1
        self._privileged.observation = self.observation
        self._set(core.acted(self.state))

    async def carry_out(self, actions: Sequence[Any]) -> Transition:
        """The step under way, in the environment; one that failed is opened anew where the steps so far allow it."""
        if self.state.decisions[-1].hidden:
            await self._hidden.wait()
            led_to, self._hidden_led_to = self._hidden_led_to, None
            fresh = Transition(self.observation) if led_to is None else self._secrets.out_of(led_to)
            self.note(fresh)
            return fresh
        for attempt in range(RESUMES):
            try:
                transition = self._secrets.out_of(await self._environment.step(actions))
                break
            except EnvironmentFailure:
                if attempt + 1 == RESUMES:
                    raise
                with contextlib.suppress(Exception):
                    await self._environment.close()
                self._environment = await replayed(self.record, self.record.steps, self._make, self.setting.agent)
                self._privileged.environment = self._environment
        self.note(transition)
        return transition

    async def _act_in_secret(self, action: Action) -> None:
        if isinstance(action, Type):
            self._secrets.typed(action.content)
        led_to, before = await self._environment.step((action,)), self._hidden_led_to
        earned = before.reward if before else 0.0
        self._hidden_led_to = dataclasses.replace(led_to, reward=led_to.reward + earned)
        if led_to.terminated or led_to.truncated:
            self.set_secret(False)

    def prompt(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> None:
        """What the loop reads."""
        self._images = [*([] if restart else self._images), *images]
        self.window = (*(() if restart else self.window), *tokens)

    def answered(self, decision: Decision) -> Sampled:
        self.window = (*self.window, *decision.tokens)
        return sampled_of(decision)

    # ---- changes

    def _set(self, state: Episode) -> None:
        self.state = state
        self.version += 1
        self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def minutes_left(self) -> float | None:
        return self._minutes_left()

    def wake_all(self) -> None:
        """Who watches looks again."""
        self.version += 1
        self._notify()

    def _wake(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(_Woken())

    async def _stop(self) -> None:
        playing, self._playing = self._playing, None
        if playing is not None and playing is not asyncio.current_task():
            playing.cancel()
            await asyncio.wait({playing})


class _Woken(Exception):
    """Who waits looks again where the episode stands."""


class _Loop:
    """Environment and policy of the agent loop: the steps that are done once more, then the live ones."""

    def __init__(self, episode: LiveEpisode, done: int) -> None:
        self._episode, self._done = episode, done
        self._asked, self._acted = 0, 0
        self._transitions = [each.transition for each in episode.record.steps if each.transition is not None]

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        self._episode.prompt(tokens, images, restart=restart)
        index, self._asked = self._asked, self._asked + 1
        if index < self._done:
            return self._episode.answered(self._episode.record.steps[index].decision)
        self._episode._note_refused()
        return self._episode.answered(await self._episode.decision())

    async def step(self, actions: Sequence[Any]) -> Transition:
        index, self._acted = self._acted, self._acted + 1
        if index < len(self._transitions):
            return self._transitions[index]
        return await self._episode.carry_out(actions)
