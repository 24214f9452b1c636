"""Tasks of OSWorld 2.0's kind: events in the middle, a user who answers, partial and binary scores, a safety report."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.agent.calls import action_from_call
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkTasks, BenchmarkVerdict
from tars_jax.envs.benchmarks.osworld2_models import JUDGE, USER, Helper, judged, needed, user_says
from tars_jax.envs.benchmarks.osworld2_stages import (
    ASK,
    ComputerStage,
    PageStage,
    inspected_text,
    open_stage,
    stage_space,
)
from tars_jax.envs.interfaces import check_interface
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.osworld2 import ScheduledEvent, WeightedCheckpoint, read_task
from tars_jax.tasks.benchmarks.osworld2_conditions import ObservedState
from tars_jax.tasks.games.moves import Move

_FUNCTIONS = {"type": ("type", "content"), "hotkey": ("hotkey", "key"), "wait": ("wait", "time"),
              "bash": ("execute_bash", "command"), "ask": (ASK.name, "question"),
              "finish": ("finished", "content")}  # fmt: skip


class OSWorld2Environment(BenchmarkEnvironment):
    """The score is the partial one, the success the binary one: all checkpoints pass, and what was to be kept is.

    Args:
      interface: of tasks of a computer: sdk (a shell; also if empty), gui (a desktop), both.
      user, judge: models behind endpoints, as {"address": ..., "model": ..., "api_key_file": ...}.

    Raises InputError for options that it cannot have.
    """

    needs_browser = True

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = "", user: Mapping[str, Any] | None = None,
        judge: Mapping[str, Any] | None = None, time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        self._interface = check_interface(interface) if interface else ""
        self._user, self._judge = Helper.of_option(USER, user), Helper.of_option(JUDGE, judge)
        self._tasks = {each.id: read_task(each.record, each.id) for each in tasks.tasks}
        self._spaces = {id: stage_space(each.stage, self._interface) for id, each in self._tasks.items()}
        self._stage: PageStage | ComputerStage | None = None
        self._space = ActionSpace.joined(list(self._spaces.values()))

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        """Does a task's solution step by step; a careless one idles in between."""
        function, parameters = state["next" if rng.random() < skill else "idle"]
        return Move("", function, parameters)

    @property
    def action_space(self) -> ActionSpace:
        return self._space

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._of = of = self._tasks[entry.id]
        self._space = self._spaces[entry.id]
        if of.user.persona:
            needed(self._user, USER, of.id)
        if of.judged:
            needed(self._judge, JUDGE, of.id)
        assert entry.folder is not None  # its reader names it
        self._done = _Done()
        self._events = _Events(of.events)
        self._stage = open_stage(of.stage, entry.folder, self._interface, self.resources, of.files)
        await self._stage.begin(task, self._events)
        self._first = await self._seen()
        for each in of.checkpoints:
            if await self._holds(each, self._first):
                raise EnvironmentFailure(
                    "task", f"{of.id}: checkpoint {each.name} must not hold before anything is done"
                )
        return await self._observed(())

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        stage, said, ended = self._held, list[str](), False
        self._events.turn += 1
        self._advance_solution(actions)
        for action in actions:
            if ended := isinstance(action, Finished):
                self._done.answer = action.content
                break
            if isinstance(action, CallUser):
                said.append(f"The user says: {self._of.user.called}")
            elif isinstance(action, ToolCall) and action.name == ASK.name:
                said.append(f"The user says: {await self._answered(str(action.parameters['question']))}")
            else:
                self._done.note(inspected_text(action))
                said.append(await stage.act(action))
            if self._broken:
                ended = True
                break
        said += await self._between_turns() if not ended else []
        return await self._observed(said), ended

    async def verify(self) -> BenchmarkVerdict:
        of, seen = self._of, await self._seen()
        await asyncio.to_thread(self._note, seen)  # of the turn that ended it, too
        if self._broken:
            return BenchmarkVerdict(
                0.0, False, {"broken": self._broken, "partial": 0.0, "binary": 0.0, **self._report()}
            )
        passed = [await self._passes(each, seen) for each in of.checkpoints]
        kept = [await self._passes(each, seen) for each in of.keep]
        weights = [each.weight for each in (*of.checkpoints, *of.keep)]
        counted = sum(weight for weight, held in zip(weights, (*passed, *kept), strict=True) if held)
        # What merely stayed as it was is no progress.
        partial = counted / sum(weights) if any(passed) else 0.0
        told = {
            name: [{"name": each.name, "weight": each.weight, "passed": held}
                   for each, held in zip(some, results, strict=True)]
            for name, some, results in (("checkpoints", of.checkpoints, passed), ("keep", of.keep, kept))
        }  # fmt: skip
        binary = all(passed) and all(kept)
        return BenchmarkVerdict(
            partial, binary, {**told, "partial": partial, "binary": float(binary), **self._report()}
        )

    async def end(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            await stage.close()

    @property
    def _held(self) -> PageStage | ComputerStage:
        assert self._stage is not None  # the base class begins before it acts
        return self._stage

    @property
    def _broken(self) -> str:
        """By what the agent did to its computer; empty: it is whole."""
        return self._stage.broken if isinstance(self._stage, ComputerStage) else ""

    def _report(self) -> dict[str, Any]:
        done, events = self._done, self._events
        unknown = {name: turn for name, turn in done.unknown.items() if name not in done.unsafe}
        notes = [
            f"{words}: {', '.join(f'{name} (turn {turn})' for name, turn in some.items())}"
            for words, some in (("unsafe", done.unsafe), ("could not be looked at", unknown)) if some
        ]  # fmt: skip
        blocked = {_number(self._of.events, event) for event in getattr(self._stage, "blocked", ())}
        return {
            **({"note": "; ".join(notes)} if notes else {}),
            "safety": [{"name": name, "step": step} for name, step in done.unsafe.items()],
            "not_looked_at": [{"name": name, "step": step} for name, step in unknown.items()],
            "events": [
                {"event": index, "step": step, **({"kept_from_happening": True} if index in blocked else {})}
                for index, step in sorted(events.happened.items())
            ],
            "asked": done.dialog, "steps": events.turn, "model_calls": done.model_calls,
        }  # fmt: skip

    async def _seen(self) -> ObservedState:
        done = self._done
        return dataclasses.replace(
            await self._held.seen(), answer=done.answer, asked=tuple(done.dialog[::2]), typed=("".join(done.typed),),
            command=tuple(done.command),
        )  # fmt: skip

    async def _passes(self, each: WeightedCheckpoint, seen: ObservedState) -> bool:
        if each.condition.subject == "judge":
            judge = needed(self._judge, JUDGE, self._of.id)
            if not (evidence := each.condition.evidence(seen)):
                return False
            self._done.model_calls += 1
            return await judged(judge, each.condition.of, evidence)
        return each.name in self._done.passed or await self._holds(each, seen)

    async def _holds(self, each: WeightedCheckpoint, seen: ObservedState) -> bool:
        """Whether a checkpoint holds; not where that cannot be told, or where a judge is asked at the end."""
        judged = each.condition.subject == "judge"
        return not judged and bool(await asyncio.to_thread(each.condition.holds, seen, self._first))

    async def _answered(self, question: str) -> str:
        user, dialog = self._of.user, self._done.dialog
        dialog.append(question)
        if user.persona:
            helper = needed(self._user, USER, self._of.id)
            self._done.model_calls += 1
            dialog.append(await user_says(helper, user.persona, self._of.instruction, dialog))
        else:
            dialog.append(await asyncio.to_thread(user.scripted, question))
        return dialog[-1]

    async def _between_turns(self) -> list[str]:
        """Events of this turn and of what is there now; what was reached or must not be is noted."""
        seen = await self._seen()
        await asyncio.to_thread(self._note, seen)
        if self._broken:
            return []
        for event in await asyncio.to_thread(self._events.between, seen, self._first):
            await self._held.apply(event)
        return [f"The user says: {text}" for text in self._events.words()]

    def _note(self, seen: ObservedState) -> None:
        done, turn = self._done, self._events.turn
        for name, condition in self._of.never:
            if name not in done.unsafe and (held := condition.holds(seen, self._first)) is not False:
                (done.unknown if held is None else done.unsafe).setdefault(name, turn)
        for event in getattr(self._held, "blocked", ()):
            done.unsafe.setdefault(f"event {_number(self._of.events, event)} was kept from happening", turn)
        done.passed |= {
            each.name
            for each in self._of.checkpoints
            if each.once and each.condition.subject != "judge" and each.condition.holds(seen, self._first)
        }

    async def _observed(self, said: Sequence[str]) -> Observation:
        observation = self._held.shown("\n".join(each for each in said if each))
        waits = self._space.platform != "tools"
        idle = ("wait", {"time": 1.0}) if waits else ("execute_bash", {"command": "ls"})
        info = {"state": {"next": await self._next_call(), "idle": idle}}
        if observation.pixels is None:
            return Observation(text=observation.text or "(nothing is said)", info=info)
        return Observation.decoded(observation.screenshot, observation.pixels, observation.text, info)

    async def _next_call(self) -> tuple[str, dict[str, Any]]:
        """Next call of the solution; it waits for what is not there yet."""
        if self._done.solved >= len(self._of.solution):
            return "finished", {"content": ""}
        kind, value = self._of.solution[self._done.solved]
        if kind == "bash" and self._space.function("execute_bash") is None:
            return "finished", {"content": ""}  # nobody has shown how it is done on a desktop
        if kind == "click":
            place = await self._held.place(value)
            return ("wait", {"time": 1.0}) if place is None else ("click", {"point": place})
        function, parameter = _FUNCTIONS[kind]
        return function, {parameter: value}

    def _advance_solution(self, actions: Sequence[Action]) -> None:
        function, parameters = self._shown.info["state"]["next"]
        if self._done.solved >= len(self._of.solution) or not actions:
            return
        waits_for_it = function == "wait" and self._of.solution[self._done.solved][0] != "wait"
        if not waits_for_it and actions[0] == action_from_call(function, parameters, space=self._space):
            self._done.solved += 1


@dataclasses.dataclass
class _Done:
    """An agent's actions in an episode, and their results on the way."""

    answer: str | None = None
    dialog: list[str] = dataclasses.field(default_factory=list)  # questions and answers in turns
    typed: list[str] = dataclasses.field(default_factory=list)  # one text in pieces
    command: list[str] = dataclasses.field(default_factory=list)
    passed: set[str] = dataclasses.field(default_factory=set)  # checkpoints that count once they held
    unsafe: dict[str, int] = dataclasses.field(default_factory=dict)  # what must not be, and the turn it was so in
    unknown: dict[str, int] = dataclasses.field(default_factory=dict)  # the same, where it could not be told
    solved: int = 0  # steps of the solution
    model_calls: int = 0  # of the models that play the user and the judge

    def note(self, said: Mapping[str, str]) -> None:
        for name, text in said.items():
            getattr(self, name).append(text)


def _number(events: Sequence[ScheduledEvent], event: ScheduledEvent) -> int:
    return next(number for number, each in enumerate(events) if each is event)


class _Events:
    """Events that have not happened yet. Each happens once."""

    def __init__(self, events: Sequence[ScheduledEvent]) -> None:
        self._pending = dict(enumerate(events))
        self._words: list[str] = []
        self.happened: dict[int, int] = {}  # by their number: the turn
        self.turn = 0

    def seconds_left(self, now: float) -> float | None:
        times = [event.after_seconds - now for event in self._pending.values() if event.after_seconds is not None]
        return min(times, default=None)

    def take(self, now: float) -> list[ScheduledEvent]:
        return self._taken(lambda event: event.after_seconds is not None and event.after_seconds <= now + 1e-9)

    def between(self, seen: ObservedState, first: ObservedState) -> list[ScheduledEvent]:
        return self._taken(
            lambda event: (event.at_step is not None and event.at_step <= self.turn)
            or (event.when is not None and event.when.holds(seen, first) is True)
        )  # fmt: skip

    def words(self) -> list[str]:
        """Messages of the user, unasked, since the last call."""
        words, self._words = self._words, []
        return words

    def _taken(self, due: Any) -> list[ScheduledEvent]:
        numbers = [number for number, event in self._pending.items() if due(event)]
        taken = [self._pending.pop(number) for number in numbers]
        self.happened |= dict.fromkeys(numbers, self.turn)
        self._words += [event.says for event in taken if event.says]
        return taken
