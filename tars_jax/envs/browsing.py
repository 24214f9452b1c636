"""Questions over an encyclopedia: by screenshots of its pages, by calls that read them, or both; `finished` answers.

    train --config.environment=browsing --config.environment_options='{"questions": "RUN/questions.jsonl"}'
    train --config.environment=browsing \\
        --config.environment_options='{"questions": "RUN/questions.jsonl", "interface": "sdk"}'

Questions, judge and budget of steps are the same for every interface.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Navigate, NavigateBack, ToolCall
from tars_jax.environment import BOTH, GUI, SDK, ActionSpace, Function, Observation, Task, Transition, Verification
from tars_jax.envs.browsing_players import reference_move
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.envs.interfaces import check_interface, space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.envs.website import WebsiteEnvironment
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.browsing import calls
from tars_jax.tasks.browsing.catalog import load_encyclopedia
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import article_url
from tars_jax.tasks.browsing.question import BrowsingQuestion, read_questions
from tars_jax.tasks.browsing.site import EncyclopediaSite

SIZE = (640, 480)
ACTIONS = (*PAGE_ACTIONS.actions, Navigate.name, NavigateBack.name)
CALLS: tuple[Function, ...] = (FUNCTIONS["Search"], FUNCTIONS["LinkReader"])
# For reference and random players: where links are, and what could be an answer. No policy sees it.
_READ = """(() => {
  const at = (e) => { const r = e.getClientRects()[0]; return r ? [r.x + r.width / 2, r.y + r.height / 2] : null; };
  const links = [...document.querySelectorAll('main a')].map((a) => [new URL(a.href).pathname, at(a)])
    .filter((l) => l[1]);
  const box = document.querySelector('input[name=q]');
  const said = [...document.querySelectorAll('main h1, main a, main td')].map((e) => e.innerText).filter(Boolean);
  return { url: location.href, said, at: navigation.currentEntry.index, success: false, links, box: box && at(box),
    typed: box && document.activeElement === box ? box.value : null, view: [innerWidth, innerHeight], top: scrollY };
})()"""


class BrowsingEnvironment(WebsiteEnvironment):
    """An answer is compared with the question's reference by the task's judge; the environment itself says nothing.

    Args:
      questions: a file of questions (`tars_jax.tasks.browsing.question`), or the questions themselves as JSON objects;
        it has to be given.
      question: the id of one of them; empty: the seed draws one.
      interface: gui: the pages in a browser, by screenshots alone; sdk: Search and LinkReader, which say what stands on
        them, without a browser; both: the policy chooses at each step.
      size: (width, height) of the page in pixels.

    Raises InputError for options that it cannot have, and for an encyclopedia that is not installed.
    """

    max_steps = 40

    def __init__(
        self, resources: EnvironmentResources, questions: str | Sequence[Mapping[str, Any]] = "", question: str = "",
        interface: str = GUI, size: Sequence[int] = SIZE,
    ) -> None:  # fmt: skip
        self._questions = select_questions(questions, question)
        self._interface = check_interface(interface)
        self._encyclopedia: Encyclopedia | None = None
        self._question: BrowsingQuestion | None = None
        self._visited: set[str] = set()
        self._said = calls.CallResult("")  # by the last call
        self._seed = 0
        self._size = (int(size[0]), int(size[1]))
        if interface != SDK:
            self._opens = resources.pages("browsing")
        self._read = _READ
        self._episode = None
        self.action_space = self.space(interface)

    @staticmethod
    def space(interface: str) -> ActionSpace:
        return space_of(interface, "browser", ACTIONS, CALLS)

    @staticmethod
    def needs_browser(options: Mapping[str, Any]) -> bool:  # type: ignore[override]
        return check_interface(options.get("interface", GUI)) != SDK

    @staticmethod
    def verification(task: Task) -> Verification:
        asked = draw_question(
            select_questions(task.options.get("questions", ""), task.options.get("question", "")), task
        )
        return Verification("judge", asked.reference)

    @property
    def instruction(self) -> str:  # type: ignore[override]
        return self._question.text if self._question else ""

    async def reset(self, task: Task) -> Observation:
        asked = draw_question(self._questions, task)
        encyclopedia = load_encyclopedia(asked.source, asked.names_seed)
        return await self.begin(task, asked, encyclopedia, f"{asked.source} {asked.names_seed}")

    async def begin(self, task: Task, asked: BrowsingQuestion, encyclopedia: Encyclopedia, name: str) -> Observation:
        """The first observation of an episode that asks this over an encyclopedia of that name."""
        self._question, self._encyclopedia, self._seed = asked, encyclopedia, task.seed
        self._site = EncyclopediaSite.of(encyclopedia, name)
        self._visited, self._said = set(), calls.home(encyclopedia)
        return self._with_plan(self._said_alone() if self._interface == SDK else await super().reset(task))

    async def step(self, actions: Sequence[Action]) -> Transition:
        said, ended = [], False
        for action in actions:
            if ended := isinstance(action, Finished | CallUser):
                break
            said.append(await self._done(action))
        text = "\n".join(filter(None, said))
        if self._episode is None:
            return Transition(self._with_plan(self._said_alone(text or "finished")), 0.0, ended)
        shown = self._episode.shown
        observed = Observation.decoded(shown.png, shown.pixels, text, {"state": dict(shown.data)})
        return Transition(self._with_plan(observed), 0.0, ended)

    async def _done(self, action: Action) -> str:
        """Carries out one action; what is to be said of it."""
        if isinstance(action, ToolCall):
            return self._called(action)
        if self._episode is None:
            return f"{action.name}: there is no screen"
        return await self._do(self._episode, action)

    def _called(self, call: ToolCall) -> str:
        given, encyclopedia = call.parameters, self._encyclopedia
        assert encyclopedia is not None  # the guard resets before it steps
        if call.name == "Search":
            self._said = calls.search(encyclopedia, str(given.get("query", "")))
        else:
            self._said = calls.read(encyclopedia, str(given.get("url", "")), str(given.get("description", "")))
        self._visited.add(self._said.page)
        return self._said.text

    def _said_alone(self, text: str = "") -> Observation:
        return Observation(text=text or self._said.text, info={"state": {}})

    def _with_plan(self, observed: Observation) -> Observation:
        """Adds what scripted players go by."""
        question = self._question
        assert question is not None
        state = observed.info["state"]
        if "url" in state:
            self._visited.add(unquote(urlsplit(state["url"]).path.removeprefix("/wiki/")))
        left = [title for title in question.plan if title not in self._visited]
        fact = str(question.proof.get("asked", {}).get("name", ""))  # of the last page
        by = random.Random(f"interface {self._seed} {len(left)}").choice((GUI, SDK))
        state |= {
            "target": left[0] if left else "", "answer": question.answers[0], "asked": question.text,
            "wanted": "" if left != [*question.plan[-1:]] or fact == "name" else fact,
            "named": list(map(article_url, self._said.titles)), "heard": [*self._said.titles, *self._said.values],
            "by": by if self._interface == BOTH else self._interface,
        }  # fmt: skip
        return observed

    reference_player = staticmethod(reference_move)


def select_questions(questions: str | Sequence[Mapping[str, Any]], question: str) -> tuple[BrowsingQuestion, ...]:
    """Questions that episodes may have. Raises InputError where there are none, and for an id that there is not."""
    if not questions:
        raise InputError(
            "browsing: option questions must be a file of questions, such as RUN/questions.jsonl of "
            f"synthesize_questions, or the questions themselves; got {questions!r}"
        )
    known = (
        read_questions(questions) if isinstance(questions, str) else tuple(map(BrowsingQuestion.from_json, questions))
    )
    found = tuple(each for each in known if question in ("", each.id))
    if not found:
        raise InputError(f"question must be the id of one of {len(known)} questions; got {question!r}")
    return found


def draw_question(questions: Sequence[BrowsingQuestion], task: Task) -> BrowsingQuestion:
    return random.Random(f"browsing {task.seed}").choice(questions)
