"""All stages on one site: explore, extract functions, compose, read again, try out, keep what passes every filter."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tars_jax.agent.grammar_text import format_call
from tars_jax.data.config import WebsiteSynthesisConfig
from tars_jax.data.website_synthesis.admission import AdmittedTask, Grounds, admit, admit_answer
from tars_jax.data.website_synthesis.composition import TaskCandidate, candidates, rows, with_full_names
from tars_jax.data.website_synthesis.driver import MoveFailed
from tars_jax.data.website_synthesis.effects import NOTHING, NoCheck, matches_category
from tars_jax.data.website_synthesis.execution import PlanExecution, execute, play_at_random, replay
from tars_jax.data.website_synthesis.exploration import Explored, explore, kind_of
from tars_jax.data.website_synthesis.filters import ambiguous, is_unclear, leaks, normalized, shape, too_long
from tars_jax.data.website_synthesis.function_order import order_by_promise
from tars_jax.data.website_synthesis.functions import SiteFunction, functions_of
from tars_jax.data.website_synthesis.journal import CandidateOutcome, OutcomeJournal, candidate_key
from tars_jax.data.website_synthesis.models import Extractor
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.prerequisites import dependent
from tars_jax.data.website_synthesis.questions import SiteQuestion, questions
from tars_jax.data.website_synthesis.refusals import Refusal, left_empty, refusals, with_required_fields
from tars_jax.data.website_synthesis.reused_page import ReusedPage
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.task import SynthesizedTask, split_of, task_id
from tars_jax.data.website_synthesis.view import View
from tars_jax.data.website_synthesis.wording import Rewriter, refine
from tars_jax.sandbox.browser import BrowserManager, PageError, SandboxFailure
from tars_jax.tasks.websites.effect import Effect
from tars_jax.tasks.websites.tables import differences, fingerprint
from tars_jax.training.progress import working

REFUSED = "its form refuses what was put in"
HOPELESS = 2  # failures in a row after which a function is tried no more
MOST_UNFINISHED = 3  # forms of a site that only lead to another form, which is then filled in, too


Say = Callable[[int, str], None]  # how many tasks are done, and what was tried last


@dataclasses.dataclass(frozen=True)
class SiteReport:
    """Report on a site: its tasks, and why other candidates did not become tasks."""

    site: str
    pages: int
    dead: int
    functions: Mapping[str, int]  # by category
    dropped: Mapping[str, int]  # forms and buttons by reason
    tried: int
    rejected: Mapping[str, int]  # candidates by reason
    tasks: tuple[SynthesizedTask, ...]

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "tasks": [task.to_json() for task in self.tasks]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SiteReport:
        return cls(**{**record, "tasks": tuple(map(SynthesizedTask.from_json, record["tasks"]))})


async def synthesize(
    manager: BrowserManager, site: LiveSite, name: str, config: WebsiteSynthesisConfig, *,
    rewriter: Rewriter | None = None, extractor: Extractor | None = None, journal: OutcomeJournal | None = None,
    say: Say = lambda done, words: None,
) -> SiteReport:  # fmt: skip
    """The tasks of one site, the same for the same seed and site.

    `journal` has what an earlier run that was killed found out; `say` hears how many tasks there are, and what was
    tried last.
    """
    seed = f"{config.seed}:{name}"
    with working(f"{name}: explored"):
        explored = await explore(manager, site, config.exploration)
    functions, dropped = functions_of(explored.pages)
    if extractor is not None:
        functions, left_out = await asyncio.to_thread(_selected, extractor, explored.pages, functions)
        dropped.update(left_out)
    say(0, f"{len(explored.pages)} pages, {len(functions)} functions")
    with working(f"{name}: played at random"):
        chance = await play_at_random(manager, site, config.random_episodes, config.random_actions, seed)
    functions = order_by_promise(functions, chance[0])
    grounds = Grounds(manager, site, explored.noise, chance)
    made = _Maker(grounds, name, config, functions, rewriter, journal or OutcomeJournal(), say)
    try:
        unfit = await _all_kinds(made, explored.pages, seed)
    finally:
        await made.close()
    made.take_in_the_rest()
    await site.reset()
    made.rejected.update({f"question: {reason}": count for reason, count in unfit.items()})
    return SiteReport(
        name, len(explored.pages), len(explored.dead), dict(Counter(each.category for each in functions)),
        dict(dropped), made.tried, dict(made.rejected), tuple(made.tasks),
    )  # fmt: skip


async def _all_kinds(made: _Maker, pages: Sequence[Explored], seed: str) -> Counter[str]:
    """Tasks of one function, of two that need each other, of two in a row, and questions; why cells make none."""
    config = made.config
    alone = config.tasks - config.merged - config.rows - config.questions
    await made.take(candidates(made.functions, seed, config.each, made.hidden), alone)
    for first in (*made.unfinished(), *made.creators()):
        if len(made.tasks) >= alone + config.merged or made.is_over:
            break
        await made.take(await made.after(first, seed), alone + config.merged)
    await made.take(rows(made.proved(), seed, 3 * config.rows, hidden=made.hidden), config.tasks - config.questions)
    asked, unfit = questions(pages, seed, config.questions)
    for question in asked:
        await made.ask(question)
    return unfit


def _selected(
    extractor: Extractor, pages: Sequence[Explored], functions: Sequence[SiteFunction]
) -> tuple[list[SiteFunction], Counter[str]]:
    """Functions that a model, which sees each page, finds worth a task."""
    kept = []
    for page in pages:
        of_page = [each for each in functions if each.trail == page.trail]
        kept += [of_page[index] for index in extractor.select(page.screenshot, of_page)] if of_page else []
    left_out = len(functions) - len(kept)
    return kept, Counter({"a model finds it trivial": left_out} if left_out else {})


class _Maker:
    """Tries candidates out and counts."""

    def __init__(
        self, grounds: Grounds, name: str, config: WebsiteSynthesisConfig, functions: list[SiteFunction],
        rewriter: Rewriter | None, journal: OutcomeJournal, say: Say,
    ) -> None:  # fmt: skip
        self._grounds, self._manager, self._site = grounds, grounds.manager, grounds.site
        self._name, self.config = name, config
        self.functions = functions
        self._page = ReusedPage(self._manager, self._site)
        self._until = time.monotonic() + config.most_s
        self._rewriter, self._journal, self._say = rewriter, journal, say
        self.tasks: list[SynthesizedTask] = []
        self.rejected: Counter[str] = Counter()
        self.tried = 0
        self.hidden: set[tuple[str, str]] = set()  # what CandidateOutcome.unshown has told so far
        self._wanted: set[Refusal] = set()  # what CandidateOutcome.refused has told so far
        self._marked: set[tuple[str, str]] = set()  # fields that the state shows in other words
        self._accepted: list[TaskCandidate] = []
        self._unfinished: dict[tuple[str, str], TaskCandidate] = {}
        self._failures: Counter[tuple[str, ...]] = Counter()
        self._seen: set[object] = set()

    @property
    def is_over(self) -> bool:
        """Whether the time for this site is."""
        return time.monotonic() > self._until

    async def take(self, offered: Iterable[TaskCandidate], most: int) -> None:
        """Tries candidates until there are `most` tasks in all."""
        for candidate in offered:
            if len(self.tasks) >= most or self.is_over:
                return
            families = [part.function.family for part in candidate.parts]
            if any(self._failures[each] >= HOPELESS for each in families):
                continue
            self.tried += 1
            reason = self._turned_down(candidate)
            if is_unclear(reason):
                candidate = with_full_names(candidate)
                reason = self._turned_down(candidate)
            outcome = CandidateOutcome(reason) if reason else await self._tried_out(candidate)
            self._take_in(candidate, outcome)
            why = ": ".join(filter(None, (outcome.reason, outcome.where)))
            said = f"({why}) {candidate.instruction}" if why else candidate.instruction
            self._say(len(self.tasks), f"{self.tried}: {said}")

    async def after(self, first: TaskCandidate, seed: str) -> list[TaskCandidate]:
        """Candidates of what can be done once `first` is."""
        try:
            return await dependent(self._manager, self._site, first, self.functions, seed, self.hidden)
        except (MoveFailed, PageError, SandboxFailure):
            return []

    async def close(self) -> None:
        await self._page.close()

    def unfinished(self) -> list[TaskCandidate]:
        """Forms that change nothing by themselves and may lead to another form."""
        return list(self._unfinished.values())[:MOST_UNFINISHED]

    def creators(self) -> list[TaskCandidate]:
        """Accepted tasks that make an object, one of each function."""
        found: dict[tuple[str, ...], TaskCandidate] = {}
        for candidate in self._accepted:
            if len(candidate.parts) == 1 and candidate.parts[0].function.category == "create":
                found.setdefault(candidate.parts[0].function.shape, candidate)
        return list(found.values())

    def proved(self) -> list[SiteFunction]:
        """Functions that tasks were made of."""
        found = {part.function.key: part.function for candidate in self._accepted for part in candidate.parts[:1]}
        return list(found.values())

    def take_in_the_rest(self) -> None:
        """Tasks of an earlier run that this one has not come upon."""
        for task in self._journal.left():
            if self._is_new(normalized(task.instruction)):
                self.tried += 1
                self.tasks.append(task)

    def _turned_down(self, candidate: TaskCandidate) -> str:
        reason = too_long(candidate) or ambiguous(candidate, self.functions)
        names = [move.name for move in candidate.plan] + list(self._grounds.chance[0])
        reason = reason or leaks(candidate.instruction, [name for name in names if name])
        if not reason and not self._is_new(shape(candidate)):
            return "a duplicate"
        return reason

    def _take_in(self, candidate: TaskCandidate, outcome: CandidateOutcome) -> None:
        """Counts what became of a candidate, and learns from it what need not be tried again."""
        last = candidate.parts[-1].function
        if outcome.complaint:
            self.rejected[f"a rewriter's wording: {outcome.complaint}"] += 1
        if outcome.task is not None:
            self.tasks.append(outcome.task)
            self._failures[last.family] = -len(self.functions)  # one success: it works
            self._accepted.append(candidate)
            return
        self.rejected[outcome.reason] += 1
        learned = bool(set(outcome.unshown) - self.hidden or set(outcome.refused) - self._wanted)
        self.hidden |= set(outcome.unshown)
        self._wanted |= set(outcome.refused)
        self.functions[:] = with_required_fields(self.functions, outcome.refused)
        is_hopeless = outcome.reason == NOTHING and not learned
        self._failures[last.family] += HOPELESS if is_hopeless else not learned
        if is_hopeless and len(candidate.parts) == 1 and last.category == "create":
            self._unfinished.setdefault(last.family, candidate)

    async def _tried_out(self, candidate: TaskCandidate) -> CandidateOutcome:
        """Outcome of a candidate, or what an earlier run has written down."""
        key = candidate_key(candidate.instruction, candidate.plan)
        outcome = self._journal.known(key)
        if outcome is None:
            outcome = await self._found_out(candidate)
            if outcome.task is not None and normalized(outcome.task.instruction) in self._seen:
                outcome = CandidateOutcome("a duplicate")
            self._journal.note(key, outcome)
        if outcome.task is not None:
            self._seen.add(normalized(outcome.task.instruction))
        return outcome

    async def _found_out(self, candidate: TaskCandidate) -> CandidateOutcome:
        try:
            first = await execute(self._page, candidate.plan)
            if fingerprint(first.before) == fingerprint(first.after):
                return await self._judged(candidate, first)
            category = candidate.parts[-1].function.category
            if not matches_category(category, differences(first.before, first.after)):
                return CandidateOutcome("it does something else than its words say")
            actions = [each.action for each in first.episode]
            offered = [each.value for part in candidate.parts for each in part.function.fields]
            found = await admit(self._grounds, first, actions, candidate.inputs, candidate.instruction, offered)
            for move in found.unshown:
                if not await self._matters(candidate, move, found.effect):
                    return CandidateOutcome(
                        "what was asked for is not in the state", unshown=fields_of(candidate, [move])
                    )
        except MoveFailed as error:
            over = fields_of(candidate, covering(candidate, error.covered))
            return CandidateOutcome("its solution cannot be carried out", unshown=over, where=str(error))
        except NoCheck as error:
            return CandidateOutcome(str(error), unshown=fields_of(candidate, error.unshown), where=error.where)
        except (PageError, SandboxFailure):
            return CandidateOutcome("a page failed")
        return await self._task(candidate, found, tuple(map(format_call, actions)))

    async def _matters(self, candidate: TaskCandidate, move: PageMove, effect: Effect) -> bool:
        """Whether the end is another one without an option or a tick that no value of the state says."""
        fields = fields_of(candidate, [move])
        if not self._marked.issuperset(fields):
            less = [each for each in candidate.plan if each != move]
            done = await execute(self._page, less)
            if not effect.wrong(done.before, done.after, done.done.days):
                return False
            self._marked.update(fields)
        return True

    async def _judged(self, candidate: TaskCandidate, first: PlanExecution) -> CandidateOutcome:
        """Outcome of a task that the state cannot tell: a rubric, where the page shows at the end what was put in."""
        if leads_to_next_form(first.view, candidate.parts[-1].function):
            return CandidateOutcome(NOTHING)
        texts = [move.value for move in candidate.inputs if move.kind == "fill" and len(move.value) > 2]
        shown = " ".join(first.view.text.split())
        last, filled = candidate.parts[-1].function, {move.label for move in candidate.parts[-1].inputs}
        if refused := refusals(first.view, last, filled):
            return CandidateOutcome(REFUSED, refused=refused)
        if not (self.config.rubrics and texts and all(text in shown for text in texts)):
            return CandidateOutcome(NOTHING, refused=left_empty(first.view, last, filled))
        actions = [each.action for each in first.episode]
        second = await replay(self._manager, self._site, actions, reopens=True)
        if not all(text in " ".join(second.view.text.split()) for text in texts):
            return CandidateOutcome("what it puts in is not shown again")
        facts = tuple(f"The page shows {move.label} {move.value!r} as stored." for move in candidate.inputs)
        return await self._task(candidate, AdmittedTask(Effect(), (), 0, 1), tuple(map(format_call, actions)), facts)

    async def _task(
        self, candidate: TaskCandidate, found: AdmittedTask, solution: tuple[str, ...], rubric: tuple[str, ...] = ()
    ) -> CandidateOutcome:
        instruction, complaint = await asyncio.to_thread(refine, candidate.instruction, self._rewriter)
        site, last = self._name, candidate.parts[-1].function
        task = SynthesizedTask(
            task_id(site, instruction), site, last.category, instruction, candidate.steps, max(6, 2 * len(solution)),
            found.effect, rubric, plan=candidate.plan, solution=solution,
            functions=tuple(part.function.button for part in candidate.parts),
            split=split_of(site, self.config.held_out), mutants=found.mutants, ways=found.ways,
        )  # fmt: skip
        return CandidateOutcome("", task, complaint=complaint)

    async def ask(self, question: SiteQuestion) -> None:
        """A question, if it can be verified."""
        self.tried += 1
        key = candidate_key(question.instruction, question.plan)
        outcome = self._journal.known(key)
        if outcome is None:
            outcome = await self._answered(question)
            self._journal.note(key, outcome)
        if outcome.task is None:
            self.rejected[outcome.reason] += 1
        elif self._is_new(normalized(outcome.task.instruction)):
            self.tasks.append(outcome.task)

    async def _answered(self, question: SiteQuestion) -> CandidateOutcome:
        try:
            seen = await execute(self._page, question.plan, changes=False)
            found = admit_answer(self._grounds, seen, question.answer)
        except NoCheck as error:
            return CandidateOutcome(str(error))
        except (MoveFailed, PageError, SandboxFailure):
            return CandidateOutcome("question: its solution cannot be carried out")
        site, steps = self._name, len(question.plan) + 1
        solution = [*(format_call(each.action) for each in seen.episode), f"finished(content={question.answer!r})"]
        task = SynthesizedTask(
            task_id(site, question.instruction), site, "information", question.instruction, steps,
            max(6, 2 * len(solution)), found.effect, question.rubric, question.answer, question.plan, tuple(solution),
            split=split_of(site, self.config.held_out), mutants=found.mutants, ways=found.ways,
        )  # fmt: skip
        return CandidateOutcome("", task)

    def _is_new(self, key: object) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def leads_to_next_form(view: View, function: SiteFunction) -> bool:
    """Whether a form has only led to another one, which is still to be filled in."""
    return kind_of(view.url) != function.page and any(each.kind in ("textarea", "editor") for each in view.controls)


def covering(candidate: TaskCandidate, covered: PageMove | None) -> tuple[PageMove, ...]:
    """The input that was put in before a move that something then lay over, such as the suggestions for its text."""
    before = list(candidate.plan[: candidate.plan.index(covered)]) if covered in candidate.plan else []
    return tuple(move for move in before[-1:] if move in candidate.inputs)


def fields_of(candidate: TaskCandidate, moves: Iterable[PageMove]) -> tuple[tuple[str, str], ...]:
    """(program, label) of the fields that some inputs of a candidate were put into."""
    wanted = list(moves)
    return tuple(
        (part.function.program, move.label) for part in candidate.parts for move in part.inputs if move in wanted
    )


def shuffled(tasks: Iterable[SynthesizedTask], seed: int) -> list[SynthesizedTask]:
    """Tasks in an order that mixes sites and difficulties."""
    found = sorted(tasks, key=lambda task: task.id)
    random.Random(seed).shuffle(found)
    return found
