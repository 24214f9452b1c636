"""Questions over an encyclopedia in the browser: a policy sees screenshots alone, and answers with `finished`.

    train --config.environment=browsing --config.environment_options='{"questions": "RUN/questions.jsonl"}'

With `tools` it may also call Search and LinkReader, which read the same encyclopedia as text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Navigate, NavigateBack, ToolCall
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition, Verification
from tars_jax.envs.browsing_players import reference_move
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.envs.website import Website
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.browsing.catalog import load_encyclopedia
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia, body_of
from tars_jax.tasks.browsing.pages import RESULTS, article_url
from tars_jax.tasks.browsing.question import Question, read_questions
from tars_jax.tasks.browsing.site import EncyclopediaSite

SIZE = (640, 480)
TOOLS: tuple[Function, ...] = (FUNCTIONS["Search"], FUNCTIONS["LinkReader"])
_LONGEST = 8000  # characters of an answer of LinkReader
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


class BrowsingEnvironment(Website):
    """An answer is compared with the question's reference by the task's judge; the environment itself says nothing.

    Args:
      questions: a file of questions (`tars_jax.tasks.browsing.question`), or the questions themselves as JSON objects;
        it has to be given.
      question: the id of one of them; empty: the seed draws one.
      tools: whether Search and LinkReader may be called beside the browser.
      size: (width, height) of the page in pixels.

    Raises InputError for options that it cannot have, and for an encyclopedia that is not installed.
    """

    max_steps = 40

    def __init__(
        self, resources: EnvironmentResources, questions: str | Sequence[Mapping[str, Any]] = "", question: str = "",
        tools: bool = False, size: Sequence[int] = SIZE,
    ) -> None:  # fmt: skip
        self._questions = chosen(questions, question)
        self._encyclopedia: Encyclopedia | None = None
        self._question: Question | None = None
        self._visited: set[str] = set()
        self._size = (int(size[0]), int(size[1]))
        self._opens = resources.pages("browsing")
        self._read = _READ
        self._episode = None
        functions = TOOLS if tools else ()
        self.action_space = ActionSpace(
            "browser", (*PAGE_ACTIONS.actions, Navigate.name, NavigateBack.name), functions
        )  # fmt: skip

    @staticmethod
    def verification(task: Task) -> Verification:
        asked = drawn(chosen(task.options.get("questions", ""), task.options.get("question", "")), task)
        return Verification("judge", asked.reference)

    @property
    def instruction(self) -> str:  # type: ignore[override]
        return self._question.text if self._question else ""

    async def reset(self, task: Task) -> Observation:
        self._question = asked = drawn(self._questions, task)
        self._encyclopedia = encyclopedia = load_encyclopedia(asked.source, asked.names_seed)
        self._site = EncyclopediaSite.of(encyclopedia, f"{asked.source} {asked.names_seed}")
        self._visited = set()
        return self._with_plan(await super().reset(task))

    async def step(self, actions: Sequence[Action]) -> Transition:
        episode = self._episode
        assert episode is not None  # the guard resets before it steps
        said, ended = [], False
        for action in actions:
            if ended := isinstance(action, Finished | CallUser):
                break
            said.append(self._called(action) if isinstance(action, ToolCall) else await self._do(episode, action))
        shown = episode.shown
        text = "\n".join(filter(None, said))
        observed = Observation.decoded(shown.png, shown.pixels, text, {"state": dict(shown.data)})
        return Transition(self._with_plan(observed), 0.0, ended)

    def _called(self, call: ToolCall) -> str:
        encyclopedia = self._encyclopedia
        assert encyclopedia is not None
        if call.name == "Search":
            found, count = encyclopedia.search(str(call.parameters.get("query", "")), 0, RESULTS)
            lines = [f"{article_url(each.title)} {each.title}: {each.snippet}" for each in found]
            return "\n".join((f"{count} results", *lines))
        address = str(call.parameters.get("url", ""))
        article = encyclopedia.find(unquote(urlsplit(address).path.rpartition("/wiki/")[2]) or address)
        if article is None:
            return f"LinkReader: there is no page {address[:200]!r}"
        return f"{article.title}\n{body_of(article)}"[:_LONGEST]

    def _with_plan(self, observed: Observation) -> Observation:
        """Adds what the reference player goes by."""
        assert self._question is not None
        state = observed.info["state"]
        page = unquote(urlsplit(state["url"]).path.removeprefix("/wiki/"))
        self._visited.add(page)
        left = [title for title in self._question.plan if title not in self._visited]
        state |= {"target": left[0] if left else "", "answer": self._question.answers[0]}
        return observed

    reference_player = staticmethod(reference_move)


def chosen(questions: str | Sequence[Mapping[str, Any]], question: str) -> tuple[Question, ...]:
    """Those that may come. Raises InputError where there are none, and for an id that there is not."""
    if not questions:
        raise InputError(
            "browsing: option questions must be a file of questions, such as RUN/questions.jsonl of "
            f"synthesize_questions, or the questions themselves; got {questions!r}"
        )
    known = read_questions(questions) if isinstance(questions, str) else tuple(map(Question.from_json, questions))
    found = tuple(each for each in known if question in ("", each.id))
    if not found:
        raise InputError(f"question must be the id of one of {len(known)} questions; got {question!r}")
    return found


def drawn(questions: Sequence[Question], task: Task) -> Question:
    return random.Random(f"browsing {task.seed}").choice(questions)
