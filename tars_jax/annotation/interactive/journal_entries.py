"""Entries of an episode's journal, and an episode read back from them.

| event | what it says |
|---|---|
| `begun` | id, task, instruction, action space, the first observation, annotator, policy |
| `proposed` | step, candidates with tokens and log-probabilities, the policy's version, why it is away |
| `decided` | step, the decision, why a person was asked |
| `acted` | step, reward, verdict and the observation that it led to; nothing where the answer could not be read |
| `undone` | the step that stands again |
| `taken_over`, `given_back` | who has the session |
| `secret`, `secret_over` | that there was one, and nothing of it |
| `resumed`, `released`, `lost`, `ended`, `reviewed` | |
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.interactive.core import (
    Candidate,
    Decision,
    Ending,
    EpisodeView,
    candidate_from_json,
    candidate_to_json,
    decision_from_json,
    decision_to_json,
    seconds_by,
)
from tars_jax.annotation.interactive.journal import EpisodeJournal, digest, read_events, read_screen
from tars_jax.annotation.interactive.recorded import DoneStep, EpisodeSoFar
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition


class EpisodeWriter:
    """Writes one episode's journal; without a journal nothing is kept, as simulated annotators need it."""

    def __init__(self, id: str, journal: EpisodeJournal | None = None) -> None:
        self.id, self._journal = id, journal

    def begun(self, record: EpisodeSoFar, annotator: str, policy: str) -> None:
        self.append(
            "begun", id=self.id, task=record.task.to_json(), instruction=record.instruction,
            space=space_to_json(record.space), first=self._observation(record.first), annotator=annotator,
            policy=policy,
        )  # fmt: skip

    def proposed(self, step: int, candidates: Sequence[Candidate], away: str | None, version: int) -> None:
        told = [candidate_to_json(candidate) for candidate in candidates]
        self.append("proposed", step=step, candidates=told, away=away, version=version)

    def decided(self, step: int, decision: Decision, reason: str | None) -> None:
        self.append("decided", step=step, decision=decision_to_json(decision), reason=reason)

    def acted(self, step: int, transition: Transition | None) -> None:
        self.append("acted", step=step, transition=None if transition is None else self._transition(transition))

    def undone(self, step: int) -> None:
        self.append("undone", step=step)

    def handed(self, kind: str, state: EpisodeView, annotator: str) -> None:
        self.append(kind, step=state.step, annotator=annotator)

    def taken_over(self, state: EpisodeView, annotator: str, stood: bool) -> None:
        """`stood`: the step's proposals were on the screen."""
        self.append("taken_over", step=state.step, annotator=annotator, stood=stood)

    def secret(self, state: EpisodeView, text: str, annotator: str) -> None:
        """`text`: what stands for it, in the grammar of the episode."""
        self.append("secret", step=state.step, annotator=annotator, text=text)

    def resumed(self, annotator: str, step: int) -> None:
        self.append("resumed", annotator=annotator, step=step)

    def lost(self, why: str) -> None:
        self.append("lost", why=why)

    def ended(self, ending: Ending, state: EpisodeView) -> None:
        self.append(
            "ended", ending=dataclasses.asdict(ending), switches=state.switches, seconds=state.seconds,
            seconds_undone=state.seconds_undone,
        )  # fmt: skip

    def append(self, kind: str, **fields: Any) -> None:
        if self._journal is not None:
            self._journal.append(kind, time=round(time.time(), 3), **fields)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _observation(self, observation: Observation) -> dict[str, Any]:
        screen = "" if self._journal is None else self._journal.keep_screen(observation.screenshot)
        return {
            "screen": screen, "text": observation.text, "info": dict(observation.info),
            "digest": digest(observation.screenshot, observation.text),
        }  # fmt: skip

    def _transition(self, transition: Transition) -> dict[str, Any]:
        return {
            "observation": self._observation(transition.observation), "reward": transition.reward,
            "terminated": transition.terminated, "truncated": transition.truncated, "success": transition.success,
            "rewards": dict(transition.rewards),
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class JournaledEpisode:
    """An episode as its journal has it."""

    record: EpisodeSoFar
    annotator: str  # who opened it
    policy: str
    ended: Ending | None
    lost: str | None
    reviews: tuple[Mapping[str, Any], ...]
    unfinished: Decision | None  # decided, and not known to be done
    switches: int = 0
    began: float = 0.0  # seconds since 1970
    versions: tuple[int, ...] = ()  # of the policy, by step
    taken_back: tuple[tuple[str, float], ...] = ()  # annotator and seconds of each step that was undone
    holder: str = ""  # who had it last
    left: bool = False  # they let it go
    spent: Mapping[str, float] = dataclasses.field(default_factory=dict)  # seconds by annotator, undone steps' too

    @property
    def annotators(self) -> tuple[str, ...]:
        """People who opened the episode or decided in it."""
        deciders = [done.decision.annotator for done in self.record.steps]
        return tuple(dict.fromkeys(filter(None, (self.annotator, *deciders))))


def read_episode(folder: Path, *, screens: bool = True) -> JournaledEpisode:
    """`screens`: False leaves them on the disk, as a list of many episodes shows none. Raises InputError for what is no
    journal, by file and line."""
    events = list(read_events(folder))
    if not events or events[0]["event"] != "begun":
        raise InputError(f"{folder} must hold the journal of an episode that began; got {len(events)} events")
    try:
        return _folded(folder if screens else None, events)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{folder}: an event lacks what it must say: {error!r}") from error


def _folded(folder: Path | None, events: Sequence[Mapping[str, Any]]) -> JournaledEpisode:
    begun = events[0]
    steps: list[DoneStep] = []
    candidates: dict[int, tuple[Candidate, ...]] = {}
    versions: dict[int, int] = {}
    decided: tuple[Decision, str | None] | None = None
    ended, lost, switches = None, None, 0
    reviews: dict[str, Mapping[str, Any]] = {}  # the last one of each reviewer
    taken_back: list[tuple[str, float]] = []
    stood: tuple[Candidate, ...] = ()  # on the screen when a person took over
    holder, left = begun["annotator"], False
    for event in events[1:]:
        match event["event"]:
            case "proposed":
                candidates[event["step"]] = tuple(map(candidate_from_json, event["candidates"]))
                versions[event["step"]] = event["version"]
            case "decided":
                decided = decision_from_json(event["decision"]), event["reason"]
            case "taken_over":
                stood = candidates.get(len(steps), ()) if event.get("stood") else ()
            case "given_back":
                stood = ()
            case "secret":
                stood = ()
                text = event.get("text", "Action: call_user()")
                decided = Decision(text, "", "call_user()", (), (), (), "annotator", live=True, hidden=True), None
            case "acted":
                if decided is not None:
                    given = event["transition"]
                    transition = None if given is None else _transition(folder, given)
                    own = () if decided[0].context else stood
                    shown = own if decided[0].live else candidates.get(len(steps), ())
                    steps.append(DoneStep(decided[0], shown, transition, decided[1]))
                decided, stood = None, ()
            case "undone":
                undone = [done.decision for done in steps[event["step"] :]]
                taken_back += [(each.annotator, each.seconds) for each in undone]
                steps, decided, stood = steps[: event["step"]], None, ()
            case "ended":
                ended, switches = Ending(**event["ending"]), event["switches"]
            case "lost":
                lost = event["why"]
            case "resumed":
                lost, decided, stood = None, None, ()
                holder, left = event["annotator"], False
            case "released":
                left = event.get("by_person", False)
            case "reviewed":
                reviews[event["name"]] = {name: event[name] for name in ("name", "agree", "note")}
    record = EpisodeSoFar(
        begun["id"], Task.from_json(begun["task"]), begun["instruction"], space_from_json(begun["space"]),
        _observation(folder, begun["first"]), tuple(steps),
    )  # fmt: skip
    return JournaledEpisode(
        record, begun["annotator"], begun["policy"], ended, lost, tuple(reviews.values()),
        decided[0] if decided else None, switches, begun["time"],
        tuple(versions.get(number, -1) for number in range(len(steps))), tuple(taken_back), holder, left,
        seconds_by([done.decision for done in steps], taken_back),
    )  # fmt: skip


def space_to_json(space: ActionSpace) -> dict[str, Any]:
    return dataclasses.asdict(space)


def space_from_json(record: Mapping[str, Any]) -> ActionSpace:
    functions = tuple(Function(**function) for function in record["functions"])
    return ActionSpace(record["platform"], tuple(record["actions"]), functions)


def _observation(folder: Path | None, given: Mapping[str, Any]) -> Observation:
    screen = b"" if folder is None else read_screen(folder, given["screen"])
    return Observation(screen, given["text"], given["info"])


def _transition(folder: Path | None, given: Mapping[str, Any]) -> Transition:
    return Transition(**{**given, "observation": _observation(folder, given["observation"])})
