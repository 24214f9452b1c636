"""All stages on one site: explore, extract functions, compose, read again, try out, keep what passes every filter."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tars_jax.agent.grammar_text import format_call
from tars_jax.data.website_synthesis.composition import Candidate, candidates, rows
from tars_jax.data.website_synthesis.driver import MoveFailed
from tars_jax.data.website_synthesis.effects import NoCheck, agrees, write_check
from tars_jax.data.website_synthesis.execution import Execution, execute, play_at_random, replay
from tars_jax.data.website_synthesis.exploration import ExplorationConfig, Explored, explore
from tars_jax.data.website_synthesis.filters import ambiguous, leaks, normalized, shape, too_long, unproved
from tars_jax.data.website_synthesis.functions import SiteFunction, functions_of
from tars_jax.data.website_synthesis.models import Extractor
from tars_jax.data.website_synthesis.prerequisites import dependent
from tars_jax.data.website_synthesis.questions import Question, questions
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.state import Check, Tables, differences, fingerprint
from tars_jax.data.website_synthesis.task import SynthesizedTask, split_of, task_id
from tars_jax.data.website_synthesis.wording import Rewriter, refine
from tars_jax.sandbox.browser import BrowserManager, PageError, SandboxFailure

NO_CHANGE = "it changes nothing in the state"
HOPELESS = 2  # failures in a row after which a function is tried no more


@dataclasses.dataclass(frozen=True)
class SynthesisConfig:
    tasks: int = 40  # of a site, at most, questions included
    each: int = 6  # candidates of a function
    merged: int = 10  # tasks with a prerequisite, at most
    rows: int = 10  # tasks that are two in a row, at most
    questions: int = 6
    random_episodes: int = 3
    random_actions: int = 20
    rubrics: bool = True  # where a state cannot tell, a judge may
    seed: int = 0
    held_out: tuple[str, ...] = ()  # sites
    exploration: ExplorationConfig = dataclasses.field(default_factory=ExplorationConfig)


@dataclasses.dataclass(frozen=True)
class SiteReport:
    """What became of a site, and why the rest did not become tasks."""

    site: str
    pages: int
    dead: int
    functions: Mapping[str, int]  # by category
    dropped: Mapping[str, int]  # forms and buttons by reason
    tried: int
    rejected: Mapping[str, int]  # candidates by reason
    tasks: tuple[SynthesizedTask, ...]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SiteReport:
        return cls(**{**record, "tasks": tuple(map(SynthesizedTask.from_json, record["tasks"]))})


async def synthesize(
    manager: BrowserManager, site: LiveSite, name: str, config: SynthesisConfig, *,
    rewriter: Rewriter | None = None, extractor: Extractor | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> SiteReport:  # fmt: skip
    """The tasks of one site, the same for the same seed and site; `say` hears of progress."""
    seed = f"{config.seed}:{name}"
    explored = await explore(manager, site, config.exploration)
    functions, dropped = functions_of(explored.pages)
    if extractor is not None:
        functions, left_out = await asyncio.to_thread(_selected, extractor, explored.pages, functions)
        dropped.update(left_out)
    say(f"{name}: {len(explored.pages)} pages, {len(functions)} functions")
    chance = await play_at_random(manager, site, config.random_episodes, config.random_actions, seed)
    made = _Maker(manager, site, name, config, functions, explored.noise, chance, rewriter, say)
    alone = config.tasks - config.merged - config.rows - config.questions
    await made.take(candidates(functions, seed, config.each), alone)
    for first in made.creators():
        if len(made.tasks) >= alone + config.merged:
            break
        try:
            found = await dependent(manager, site, first, functions, seed)
        except (MoveFailed, PageError, SandboxFailure):
            continue
        await made.take(found, alone + config.merged)
    await made.take(rows(made.proved(), seed, 3 * config.rows), config.tasks - config.questions)
    asked, unfit = questions(explored.pages, seed, config.questions)
    for question in asked:
        await made.ask(question)
    await site.reset()
    made.rejected.update({f"question: {reason}": count for reason, count in unfit.items()})
    return SiteReport(
        name, len(explored.pages), len(explored.dead), dict(Counter(each.category for each in functions)),
        dict(dropped), made.tried, dict(made.rejected), tuple(made.tasks),
    )  # fmt: skip


def _selected(
    extractor: Extractor, pages: Sequence[Explored], functions: Sequence[SiteFunction]
) -> tuple[list[SiteFunction], Counter[str]]:
    """Those that a model, which sees each page, finds worth a task."""
    kept = []
    for page in pages:
        of_page = [each for each in functions if each.trail == page.trail]
        kept += [of_page[index] for index in extractor.select(page.screenshot, of_page)] if of_page else []
    left_out = len(functions) - len(kept)
    return kept, Counter({"a model finds it trivial": left_out} if left_out else {})


class _Maker:
    """Tries candidates out and counts."""

    def __init__(
        self, manager: BrowserManager, site: LiveSite, name: str, config: SynthesisConfig,
        functions: list[SiteFunction], noise: frozenset[str], chance: list[Tables], rewriter: Rewriter | None,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._manager, self._site, self._name, self._config = manager, site, name, config
        self._functions = functions
        self._noise, self._chance, self._rewriter, self._say = noise, chance, rewriter, say
        self.tasks: list[SynthesizedTask] = []
        self.rejected: Counter[str] = Counter()
        self.tried = 0
        self._accepted: list[Candidate] = []
        self._failures: Counter[tuple[str, ...]] = Counter()
        self._seen: set[object] = set()

    async def take(self, offered: Iterable[Candidate], most: int) -> None:
        """Tries candidates until there are `most` tasks in all."""
        for candidate in offered:
            if len(self.tasks) >= most:
                return
            families = [part.function.family for part in candidate.parts]
            if any(self._failures[each] >= HOPELESS for each in families):
                continue
            self.tried += 1
            reason = self._turned_down(candidate) or await self._tried_out(candidate)
            if reason:
                self.rejected[reason] += 1
                self._failures[families[-1]] += HOPELESS if reason == NO_CHANGE else 1
            else:
                self._failures[families[-1]] = -len(self._functions)  # one success: it works
                self._accepted.append(candidate)
            said = f"({reason}) {candidate.instruction}" if reason else candidate.instruction
            self._say(f"{self._name}: {len(self.tasks)} tasks of {self.tried}; {said}")

    def creators(self) -> list[Candidate]:
        """Accepted tasks that make an object, one of each function."""
        found: dict[tuple[str, ...], Candidate] = {}
        for candidate in self._accepted:
            if len(candidate.parts) == 1 and candidate.parts[0].function.category == "create":
                found.setdefault(candidate.parts[0].function.shape, candidate)
        return list(found.values())

    def proved(self) -> list[SiteFunction]:
        """Functions that tasks were made of."""
        found = {part.function.key: part.function for candidate in self._accepted for part in candidate.parts[:1]}
        return list(found.values())

    def _turned_down(self, candidate: Candidate) -> str:
        reason = too_long(candidate) or ambiguous(candidate, self._functions)
        names = [move.name for move in candidate.plan] + list(self._chance[0])
        reason = reason or leaks(candidate.instruction, [name for name in names if name])
        if not reason and not self._is_new(shape(candidate)):
            return "a duplicate"
        return reason

    async def _tried_out(self, candidate: Candidate) -> str:
        """Why it is none; empty: it was added to the tasks."""
        try:
            first = await execute(self._manager, self._site, candidate.plan)
            if fingerprint(first.before) == fingerprint(first.after):
                return await self._judged(candidate, first)
            actions = [each.action for each in first.episode]
            second = await replay(self._manager, self._site, actions)
            if self._without_noise(first.before) != self._without_noise(second.before):
                return "a reset does not undo it"
            category = candidate.parts[-1].function.category
            check, unshown = write_check(
                first.before, first.after, second.after, candidate.inputs, self._noise, category
            )
            if not agrees(category, differences(first.before, first.after)):
                return "it does something else than its words say"
            for move in unshown:
                less = [each for each in candidate.plan if each != move]
                if not unproved(check, {}, [(await execute(self._manager, self._site, less)).after]):
                    continue
                return "what was asked for is not in the state"
        except MoveFailed:
            return "its solution cannot be carried out"
        except NoCheck as error:
            return str(error)
        except (PageError, SandboxFailure):
            return "a page failed"
        reason = unproved(check, first.before, self._chance)
        return reason or await self._add(candidate, check, tuple(map(format_call, actions)))

    async def _judged(self, candidate: Candidate, first: Execution) -> str:
        """Of a task that the state cannot tell: a rubric, where the page shows at the end what was put in."""
        texts = [move.value for move in candidate.inputs if move.kind == "fill" and len(move.value) > 2]
        shown = " ".join(first.view.text.split())
        if not (self._config.rubrics and texts and all(text in shown for text in texts)):
            return NO_CHANGE
        actions = [each.action for each in first.episode]
        second = await replay(self._manager, self._site, actions)
        if not all(text in " ".join(second.view.text.split()) for text in texts):
            return "its recorded episode does not repeat"
        facts = tuple(f"The page shows {move.label} {move.value!r} as stored." for move in candidate.inputs)
        return await self._add(candidate, (), tuple(map(format_call, actions)), facts)

    def _without_noise(self, tables: Tables) -> str:
        return fingerprint({name: found for name, found in tables.items() if name not in self._noise})

    async def _add(
        self, candidate: Candidate, check: Check, solution: tuple[str, ...], rubric: tuple[str, ...] = ()
    ) -> str:
        instruction, complaint = await asyncio.to_thread(refine, candidate.instruction, self._rewriter)
        if complaint:
            self.rejected[f"a rewriter's wording: {complaint}"] += 1
        if not self._is_new(normalized(instruction)):
            return "a duplicate"
        site, last = self._name, candidate.parts[-1].function
        self.tasks.append(
            SynthesizedTask(
                task_id(site, instruction), site, last.category, instruction, candidate.steps,
                max(6, 2 * len(solution)), check, rubric, plan=candidate.plan, solution=solution,
                functions=tuple(part.function.button for part in candidate.parts),
                split=split_of(site, self._config.held_out),
            )
        )  # fmt: skip
        return ""

    async def ask(self, question: Question) -> None:
        """A question, if its answer is where its solution ends, and nothing is changed on the way."""
        self.tried += 1
        try:
            seen = await execute(self._manager, self._site, question.plan)
        except (MoveFailed, PageError, SandboxFailure):
            self.rejected["question: its solution cannot be carried out"] += 1
            return
        cells = {cell for table in seen.view.tables for row in table.rows for cell in row}
        if question.answer not in cells:
            self.rejected["question: its answer is not where it was"] += 1
        elif self._is_new(normalized(question.instruction)):
            site, steps = self._name, len(question.plan) + 1
            solution = [*(format_call(each.action) for each in seen.episode), f"finished(content={question.answer!r})"]
            self.tasks.append(
                SynthesizedTask(
                    task_id(site, question.instruction), site, "information", question.instruction, steps,
                    max(6, 2 * len(solution)), (), question.rubric, question.answer, question.plan, tuple(solution),
                    split=split_of(site, self._config.held_out),
                )
            )  # fmt: skip

    def _is_new(self, key: object) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def shuffled(tasks: Iterable[SynthesizedTask], seed: int) -> list[SynthesizedTask]:
    """In an order that mixes sites and difficulties."""
    found = sorted(tasks, key=lambda task: task.id)
    random.Random(seed).shuffle(found)
    return found
