"""Tasks that were made before, made anew: recorded solutions are done again, and checks written from what they do.

No exploration is needed. What the solution acts on is read from the page as it is done, so that the inputs are known
again, and the names that the instruction uses are those that the page shows now.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence

from tars_jax.agent.actions import Action, Click, Finished, Navigate, Type
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.agent.response import Response
from tars_jax.data.website_synthesis.admission import NOT_UNDONE, UNNAMED, AdmittedTask, Grounds, admit, admit_answer
from tars_jax.data.website_synthesis.driver import PageDriver, open_driver
from tars_jax.data.website_synthesis.effects import NoCheck
from tars_jax.data.website_synthesis.execution import PlanExecution, now, replay, state_after
from tars_jax.data.website_synthesis.journal import CandidateOutcome, OutcomeJournal, candidate_key
from tars_jax.data.website_synthesis.moves import HOME, PageMove, move_to
from tars_jax.data.website_synthesis.synthesis import Say, SiteReport
from tars_jax.data.website_synthesis.task import SynthesizedTask, task_id
from tars_jax.data.website_synthesis.view import Control, View
from tars_jax.data.website_synthesis.wording import QUOTED, replaces
from tars_jax.environment import ActionSpace
from tars_jax.sandbox.browser import PageError, SandboxFailure
from tars_jax.tasks.splits import TRAIN
from tars_jax.tasks.websites.effect import Effect
from tars_jax.tasks.websites.tables import steady_tables
from tars_jax.tasks.websites.task import WebsiteTask

SPACE = ActionSpace("browser", PLATFORM_ACTIONS["browser"])
BEFORE_VALUES = re.compile(r' (with|so that) |, by "|: ')  # where a name fits into an instruction
NEAR = 3.0  # pixels between a recorded click and the control that it was meant for
CHANGED_PAGE = "its solution does not find what it acted on"


@dataclasses.dataclass(frozen=True)
class WatchedReplay:
    """A solution that was done once more, and what it acted on."""

    execution: PlanExecution
    plan: tuple[PageMove, ...]
    views: tuple[View, ...]
    replaced: tuple[PageMove, ...]  # texts that took the place of another one in an editor or a text area

    @property
    def inputs(self) -> tuple[PageMove, ...]:
        return tuple(move for move in self.plan if move.kind in ("fill", "choose", "toggle", "mark"))


async def readmit(grounds: Grounds, task: WebsiteTask) -> CandidateOutcome:
    """The task with a check of its whole effect, or why it is none."""
    actions = actions_of(task)
    try:
        watched = await watch(grounds, [each for each in actions if not isinstance(each, Finished)])
        instruction = reworded(task.instruction, watched)
        if task.answer is not None:
            return await _question(grounds, task, instruction, watched)
        offered = [each.value for each in watched.views[-1].controls if not each.is_pressed]
        try:
            found = await admit(grounds, watched.execution, actions, watched.inputs, instruction, offered)
        except NoCheck as error:
            if not (named := naming(instruction, error, watched)):
                raise
            instruction = named
            found = await admit(grounds, watched.execution, actions, watched.inputs, instruction, offered)
        for move in found.unshown:
            if not await _matters(grounds, actions, watched, move, found):
                return CandidateOutcome("what was asked for is not in the state")
    except NoCheck as error:
        return CandidateOutcome(str(error), where=error.where)
    except (PageError, SandboxFailure) as error:
        return CandidateOutcome("a page failed", where=str(error)[:200])
    return CandidateOutcome("", _remade(task, instruction, watched, found.effect, found.mutants, found.ways))


async def readmit_all(
    grounds: Grounds, name: str, tasks: Sequence[WebsiteTask], journal: OutcomeJournal, say: Say
) -> SiteReport:
    """The tasks of one site. `journal` has what an earlier run that was killed found out."""
    kept: list[SynthesizedTask] = []
    rejected: Counter[str] = Counter()
    seen: set[str] = set()
    for number, task in enumerate(tasks, 1):
        key = candidate_key(task.instruction, task.about.get("solution", ()))
        outcome = journal.known(key)
        if outcome is None:
            outcome = await readmit(grounds, task)
            journal.note(key, outcome)
        if outcome.task is not None and outcome.task.id in seen:
            outcome = CandidateOutcome("a duplicate")
        why = ": ".join(filter(None, (outcome.reason, outcome.where)))
        say(number, f"{f'({why}) ' if why else ''}{task.instruction}")
        if outcome.task is None:
            rejected[outcome.reason] += 1
        else:
            seen.add(outcome.task.id)
            kept.append(outcome.task)
    return SiteReport(name, 0, 0, {}, {}, len(tasks), dict(rejected), tuple(kept))


async def watch(grounds: Grounds, actions: Sequence[Action]) -> WatchedReplay:
    """Does recorded actions, and reads the page before each click. Raises NoCheck, and as `replay`."""
    await grounds.site.reset()
    before, begun = await steady_tables(grounds.site), now()
    plan: list[PageMove] = []
    views: list[View] = []
    replaced: list[PageMove] = []
    async with open_driver(grounds.manager, grounds.site) as driver:
        for number, action in enumerate(actions):
            following = actions[number + 1 :]
            if isinstance(action, Click):
                views.append(view := await driver.view())
                control = _clicked(driver, view, action)
                typed = next((each.content for each in following[:2] if isinstance(each, Type)), "")
                move = _move(view, control, typed)
                plan.append(move)
                if control.kind in ("textarea", "editor") and control.value.strip():
                    replaced.append(move)
            elif isinstance(action, Navigate):
                plan.append(HOME)
            await driver.replay_one(action, following[0] if following else None)
        views.append(await driver.view())
        after = await state_after(grounds.site, before, driver)
        done = PlanExecution(before, after, tuple(driver.episode), views[-1], begun, now())
    return WatchedReplay(done, tuple(plan), tuple(views), tuple(replaced))


def actions_of(task: WebsiteTask) -> list[Action]:
    """Actions of the task's recorded solution."""
    found: list[Action] = []
    for call in task.about.get("solution", ()):
        said = parse_response(f"Action: {call}", space=SPACE)
        if isinstance(said, Response):
            found += said.actions
    return found


def reworded(instruction: str, watched: WatchedReplay) -> str:
    """The instruction with names as the page shows them, and with what a typed text takes the place of.

    Names that were once read without the spaces between their parts are those that are alike but for spaces.
    """
    shown: dict[str, str] = {}
    for view in watched.views:
        for name in (*view.headings, view.title, *(each.label for each in view.controls)):
            shown.setdefault(_joined(name), name)

    def renamed(match: re.Match[str]) -> str:
        said = match[1]
        name = shown.get(_joined(said), said)
        return f'"{name}"' if " " in name and len(name) > len(said) else match[0]

    said = QUOTED.sub(renamed, instruction)
    for move in watched.replaced:
        said = replaces(said, move)
    return said


def naming(instruction: str, error: NoCheck, watched: WatchedReplay) -> str:
    """The instruction with the name that it lacks; empty: that is not it, or nobody could read the name."""
    part = BEFORE_VALUES.search(instruction)
    is_shown = any(error.where in view.text for view in watched.views)
    if str(error) != UNNAMED or not is_shown or '"' in error.where or part is None or HOME in watched.plan:
        return ""
    return f'{instruction[: part.start()]} for "{error.where}"{instruction[part.start() :]}'


def _joined(name: str) -> str:
    return re.sub(r"\s+", "", name)


def _clicked(driver: PageDriver, view: View, click: Click) -> Control:
    x, y = click.point.pixels(*driver.size)
    near = [each for each in view.controls if abs(each.x - x) <= NEAR and abs(each.y - y) <= NEAR]
    if not near:
        raise NoCheck(CHANGED_PAGE)
    return min(near, key=lambda each: (abs(each.x - x) + abs(each.y - y), each.hit is not True))


def _move(view: View, control: Control, typed: str) -> PageMove:
    match control.kind:
        case "link" | "button":
            return move_to(view, control)
        case "checkbox":
            return move_to(view, control, "off" if control.checked else "on")
        case "radio":
            return move_to(view, control, "on")
        case _:
            return move_to(view, control, typed.removesuffix("\n"))


async def _matters(
    grounds: Grounds, actions: Sequence[Action], watched: WatchedReplay, move: PageMove, found: AdmittedTask
) -> bool:  # fmt: skip
    """Whether the end is another one without an option or a tick that no value of the state says."""
    index = watched.plan.index(move)
    clicks = [number for number, action in enumerate(actions) if isinstance(action, Click)]
    begin = clicks[index]
    end = clicks[index + 1] if index + 1 < len(clicks) else len(actions)
    typed = [number for number in range(begin, end) if isinstance(actions[number], Type)]
    less = [*actions[:begin], *actions[(typed[-1] if typed else begin) + 1 :]]
    done = await replay(grounds.manager, grounds.site, less)
    return bool(found.effect.wrong(done.before, done.after, done.done.days))


async def _question(grounds: Grounds, task: WebsiteTask, instruction: str, watched: WatchedReplay) -> CandidateOutcome:
    """A question, if it can be verified and a reset undoes what looking has changed. Raises NoCheck."""
    assert task.answer is not None
    found = admit_answer(grounds, watched.execution, task.answer)
    await grounds.site.reset()
    if grounds.without_noise(await steady_tables(grounds.site)) != grounds.without_noise(watched.execution.before):
        return CandidateOutcome(NOT_UNDONE)
    return CandidateOutcome("", _remade(task, instruction, watched, found.effect, found.mutants, found.ways))


def _remade(
    task: WebsiteTask, instruction: str, watched: WatchedReplay, effect: Effect, mutants: int, ways: int
) -> SynthesizedTask:  # fmt: skip
    about = task.about
    return SynthesizedTask(
        task_id(task.site, instruction), task.site, about["category"], instruction, about["steps"], task.max_steps,
        effect, tuple(about["rubric"]), task.answer or "", watched.plan, tuple(about["solution"]),
        tuple(about["functions"]), task.split or TRAIN, mutants, ways,
    )  # fmt: skip
