"""An open episode from the loop's side: the agent loop plays it, and each answer is waited for here.

    play_episode --respond--> proposals -> gate -> a person's decision, or the policy's own -> journal -> the answer
                 --step-----> the environment -> journal -> the observation

`state` is the pure core's; every change of it wakes who waits for `changed`. What a person may do is in live.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Wait
from tars_jax.agent.loop import AgentConfig, TurnDeclined, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive import asking_gate, core
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.core import Candidate, Decision, Ending, EpisodeView
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.proposing import PolicyAway, ProposingPolicy, candidates_of, read_answer
from tars_jax.annotation.interactive.recorded import DoneStep, EpisodeSoFar, sampled_of
from tars_jax.annotation.interactive.replaying import NotTheSame, replayed
from tars_jax.annotation.interactive.secrets import Secrets
from tars_jax.annotation.interactive.undo_points import UndoPoints
from tars_jax.environment import EnvironmentFailure, Observation, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.inference.sampling import Sampled
from tars_jax.rollout.players import PrivilegedEnvironment

ASK_AGAIN_SECONDS = 2.0  # of a policy that is away
RESUMES = 2  # of one step, where its environment fails
Images = Sequence[np.ndarray]  # uint8 [height, width, 3]
log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Common settings of all episodes of a service."""

    writer: PromptWriter
    agent: AgentConfig
    policy: ProposingPolicy
    gate: AskingGate = dataclasses.field(default_factory=AskingGate)
    # The return that is expected when an answer is begun here; it blocks, and may raise InputError. None: no model.
    value: Callable[[EpisodeSoFar, Candidate], float] | None = None


class PlayedEpisode:
    """The loop over one live environment."""

    def __init__(
        self,
        setting: Setting,
        make: Callable[[], CheckedEnvironment],
        record: EpisodeSoFar,
        environment: CheckedEnvironment,
        keep: EpisodeWriter,
        annotator: str,
        minutes_left: Callable[[], float | None],
    ) -> None:
        self.setting, self.annotator, self.minutes_left = setting, annotator, minutes_left
        self.record = record  # with the steps that are done
        self.state = EpisodeView(budget=record.task.max_steps)
        self.window: tuple[int, ...] = ()  # tokens of the prompt that is answered
        self.version = self.screen_version = 0
        self.glimpse: tuple[int, bytes] | None = None  # (screen_version, PNG) that a look at the session has shown
        self.keep = keep
        self._make, self._environment = make, environment
        self._moments = UndoPoints(environment)
        self._not_the_same: tuple[int, str] | None = None  # how many steps were played again, and what came of it
        self._privileged = PrivilegedEnvironment(environment, record.first, record.space)
        self._proposer = setting.policy.proposer(self._privileged, record.task)
        self._images: list[np.ndarray] = []
        self._secrets = Secrets()
        self._given: Decision | None = None  # that the loop has not taken yet
        self._stirred = asyncio.Event()  # the loop is to look where the episode stands
        self._comes_back = True  # a policy that is away
        self._proposed: dict[int, tuple[tuple[Candidate, ...], str | None]] = {}  # by step: an undone one comes again
        self._decided_on: tuple[tuple[Candidate, ...], str | None] = ((), None)  # of the step under way
        self._stood: tuple[Candidate, ...] = ()  # on the screen when a person took over, until they act
        self._acting = asyncio.Lock()  # what a person does on the session comes one after the other
        self._secret_over = asyncio.Event()
        self._led_to: Transition | None = None  # what was done in secret
        self._changed = asyncio.Event()  # a new one after each change
        self._playing: asyncio.Task[None] | None = None
        self._since = time.monotonic()

    @property
    def observation(self) -> Observation:
        """Observation that the next answer is to."""
        return self.record.observation(len(self.record.steps))

    @property
    def screenshot(self) -> bytes:
        """The PNG that is shown: of the observation, or of what has happened by itself since."""
        seen = self.glimpse
        return seen[1] if seen is not None and seen[0] == self.screen_version else self.observation.screenshot

    @property
    def is_open(self) -> bool:
        return self.state.phase in core.OPEN

    async def changed(self, seen: int, seconds: float) -> int:
        """Waits until `version` is another than `seen`, so many seconds at most; returns it."""
        if self.version == seen:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.version

    def tell(self) -> None:
        """Wakes all that wait for a change."""
        self.version += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def read(self, text: str) -> tuple[str, str, str, tuple[core.Mark, ...]]:
        """Like `read_answer`, for this episode's next step."""
        return read_answer(text, self.setting.agent.grammar, self.record.space, self.pixel_size())

    # ---- the loop

    def play(self) -> None:
        """Goes on after the steps that are done."""
        self._given, self._stirred = None, asyncio.Event()
        self._playing = asyncio.create_task(self._played())

    async def stop(self) -> None:
        playing, self._playing = self._playing, None
        if playing is not None and playing is not asyncio.current_task():
            playing.cancel()
            await asyncio.wait({playing})

    async def _played(self) -> None:
        loop, record = _Loop(self), self.record
        agent = dataclasses.replace(self.setting.agent, max_prompt=None)  # a person goes on where no policy could
        try:
            played = await play_episode(
                loop, record.first, loop, self.setting.writer, agent, id=record.id, task=record.task,
                instruction=record.instruction, space=record.space,
            )  # fmt: skip
            self.note_refused()
            self.finish(Ending(played.success, float(played.reward), played.outcome.value))
        except TurnDeclined:
            return
        except (EnvironmentFailure, NotTheSame, InputError) as error:
            self.lose(f"the session ended under the hand: {error}")
        except OSError as error:
            self.lose(f"nothing more can be kept: {error.strerror or error}")
        except Exception as error:
            log.exception("annotation: episode %s", record.id)
            self.lose(f"the session met an error of ours: {error!r:.200}")

    def lose(self, why: str) -> None:
        """Loses the episode; the steps that are done are kept."""
        self.put(core.lost(self._without_undone(), why))
        with contextlib.suppress(OSError):
            self.keep.lost(why)

    def finish(self, ending: Ending) -> None:
        after = core.finished(self._without_undone(), ending)
        self.keep.ended(ending, after)
        self.put(after)

    def _without_undone(self) -> EpisodeView:
        """A step that was decided and not done is none."""
        kept = tuple(done.decision for done in self.record.steps)
        under_way = self.state.phase == "acting" or self.state.secret
        return dataclasses.replace(
            self.state, decisions=kept, secret=False, phase="proposing" if under_way else self.state.phase
        )

    async def decision(self) -> Decision:
        """The answer to the window that stands, by whoever is asked."""
        while True:
            if self.state.phase == "proposing":
                await self._propose()
                self._since = time.monotonic()
                if self.state.phase == "deciding" and not self.state.asked:
                    self.decided(own_answer(self.state.candidates[0]))
            decision = await self._wait_beside_policy() if self.state.away and self._comes_back else await self._wait()
            if decision is not None:
                return decision

    def decided(self, decision: Decision) -> None:
        """Keeps a decision and hands it to the loop. Raises Conflict where none is waited for."""
        after = core.decided(self.state, decision)
        self.keep.decided(len(self.record.steps), decision, self.state.reason)
        if decision.live:
            self._decided_on = () if decision.context else self._stood, None
            self._stood = ()
        else:
            self._decided_on = self.state.candidates, self.state.reason
        self.put(after)
        self.answer(decision)

    def seconds_of(self, said: float) -> float:
        """A person's seconds at the step that stands: what the page says, at most what was seen here; and what was seen
        here where it says less than anybody takes."""
        seen = min(time.monotonic() - self._since, core.MOST_SECONDS)
        return seen if said < core.LEAST_SECONDS else min(said, seen)

    def answer(self, decision: Decision) -> None:
        self._given = decision
        self._stirred.set()

    def wake(self) -> None:
        """The loop looks again where the episode stands."""
        self._stirred.set()

    async def _wait(self) -> Decision | None:
        """A decision; None: the state is another one."""
        await self._stirred.wait()
        self._stirred.clear()
        given, self._given = self._given, None
        return given

    async def _wait_beside_policy(self) -> Decision | None:
        """The same while a policy that was away is asked again now and then."""
        asking = asyncio.create_task(self._ask_again(self.state.step))
        try:
            return await self._wait()
        finally:
            asking.cancel()
            await asyncio.wait({asking})

    async def _ask_again(self, step: int) -> None:
        while self.state.phase == "deciding" and self.state.step == step:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            candidates, away = await self._answers()
            if away is None and self.state.phase == "deciding":
                after = core.recovered(self.state, step, candidates)
                self.keep.proposed(step, candidates, None, self.setting.policy.version)
                self._proposed[step] = candidates, None
                self.put(after)
                return

    async def _propose(self) -> None:
        step = self.state.step
        candidates, away = self._proposed[step] if step in self._proposed else await self._asked_policy()
        value = await self._value(candidates)
        if self.state.phase != "proposing" or self.state.step != step:
            return  # somebody has taken over
        self._proposed = {at: its for at, its in self._proposed.items() if at < step} | {step: (candidates, away)}
        asking = asking_gate.asking(
            self.setting.gate, candidates, was_asked=self.state.asked, calm=self.state.calm, value=value,
            minutes_left=self.minutes_left(),
        )  # fmt: skip
        after = core.proposed(self.state, candidates, asking, away)
        self.keep.proposed(step, candidates, away, self.setting.policy.version)
        self.put(after)

    async def _value(self, candidates: Sequence[Candidate]) -> float | None:
        """None where nobody can say."""
        if self.setting.value is None or self.setting.gate.value is None or not candidates:
            return None
        try:
            return await asyncio.to_thread(self.setting.value, self.record, candidates[0])
        except InputError as error:
            log.warning("annotation: no value for step %d of %s: %s", self.state.step, self.record.id, error)
            return None

    async def _asked_policy(self) -> tuple[tuple[Candidate, ...], str | None]:
        """The policy's proposals, and the reason why it is away; neither where somebody takes over before it
        answers."""
        asking, woken = asyncio.create_task(self._answers()), asyncio.create_task(self._stirred.wait())
        try:
            await asyncio.wait({asking, woken}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else ((), None)
        finally:
            for task in (asking, woken):
                task.cancel()
            await asyncio.wait({asking, woken})

    async def _answers(self) -> tuple[tuple[Candidate, ...], str | None]:
        try:
            answers = await self._proposer.propose(self.window, self._images)
        except PolicyAway as error:
            self._comes_back = error.comes_back
            return (), str(error)
        grammar, space = self.setting.agent.grammar, self.record.space
        return candidates_of(answers, self.setting.writer, grammar, space, self.pixel_size()), None

    def pixel_size(self) -> tuple[int, int] | None:
        """(width, height) of the image in whose pixels the next answer points; None: on the grid of 0..1000."""
        return self.setting.agent.pixel_size(self.setting.agent.seen(self.observation))

    # ---- what answers lead to

    def note_refused(self) -> None:
        """The policy's own answer could not be read: the step is done, and led to nothing."""
        if self.state.phase == "acting":
            self.note(None)

    def note(self, transition: Transition | None) -> None:
        """The step under way is done."""
        candidates, reason = self._decided_on
        done = DoneStep(self.state.decisions[-1], candidates, transition, reason)
        self.keep.acted(len(self.record.steps), transition)
        self.record = dataclasses.replace(self.record, steps=(*self.record.steps, done))
        self._decided_on = (), None
        self._since = time.monotonic()
        self.screen_version += 1
        self._privileged.observation = self.observation
        self.put(core.acted(self.state))

    async def carry_out(self, actions: Sequence[Any]) -> Transition:
        """The step under way, in the environment; one that failed is opened anew where the steps so far allow it."""
        if self.state.decisions[-1].hidden:
            transition = await self._after_secret()
        else:
            transition = await self._stepped(actions)
        transition = self._secrets.out_of(transition)
        self.note(transition)
        return transition

    async def _stepped(self, actions: Sequence[Any]) -> Transition:
        for _ in range(RESUMES):
            try:
                if self.state.keeps_no_secret:
                    await self._moments.keep(len(self.record.steps))
                return await self._environment.step(actions)
            except EnvironmentFailure:
                with contextlib.suppress(EnvironmentFailure):
                    await self._environment.close()
                environment = await replayed(self.record, self.record.steps, self._make, self.setting.agent)
                self.stands_in(environment)
        return await self._environment.step(actions)

    def stands_in(self, environment: CheckedEnvironment) -> None:
        """Moves the episode to this environment."""
        self._environment, self._moments = environment, UndoPoints(environment)
        self._privileged.environment = environment

    async def _after_secret(self) -> Transition:
        """A fresh observation, once the secret is over."""
        await self._secret_over.wait()
        led_to, self._led_to = self._led_to, None
        if led_to is not None and (led_to.terminated or led_to.truncated):
            # Nobody has turned the secret off, so what it led to may show it.
            return dataclasses.replace(led_to, observation=self.observation, info={})
        if self.looks_anew:
            fresh = await self._environment.step((Wait(1.0),))
            return dataclasses.replace(fresh, reward=fresh.reward + (led_to.reward if led_to else 0.0))
        return Transition(self.observation) if led_to is None else led_to

    @property
    def looks_anew(self) -> bool:
        """Whether the screen changes while nobody acts, so that it is looked at again: not that of a game."""
        return self.record.space.platform != "game" and "wait" in self.record.space.actions

    def read_prompt(self, tokens: Sequence[int], images: Images, *, restart: bool) -> None:
        self._images = [*([] if restart else self._images), *images]
        self.window = (*(() if restart else self.window), *tokens)

    def answered(self, decision: Decision) -> Sampled:
        self.window = (*self.window, *decision.tokens)
        return sampled_of(decision)

    def put(self, state: EpisodeView) -> None:
        self.state = state
        self.tell()


def own_answer(candidate: Candidate) -> Decision:
    """The policy acts by itself."""
    columns = candidate.tokens, candidate.log_probs, candidate.versions
    return Decision(candidate.text, candidate.thought, candidate.action, *columns, "policy", candidate=0)


class _Loop:
    """Environment and policy of the agent loop: the steps that are done once more, then the live ones."""

    def __init__(self, episode: PlayedEpisode) -> None:
        self._episode, self._done = episode, len(episode.record.steps)
        self._asked, self._acted = 0, 0
        self._transitions = [each.transition for each in episode.record.steps if each.transition is not None]

    async def respond(self, tokens: Sequence[int], images: Images, *, restart: bool) -> Sampled:
        self._episode.read_prompt(tokens, images, restart=restart)
        index, self._asked = self._asked, self._asked + 1
        if index < self._done:
            return self._episode.answered(self._episode.record.steps[index].decision)
        self._episode.note_refused()
        return self._episode.answered(await self._episode.decision())

    async def step(self, actions: Sequence[Any]) -> Transition:
        index, self._acted = self._acted, self._acted + 1
        if index < len(self._transitions):
            return self._transitions[index]
        return await self._episode.carry_out(actions)
