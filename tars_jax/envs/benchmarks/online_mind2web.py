"""Online-Mind2Web's tasks, each on its own website, by screenshots of a page over hosts that the user allows.

evaluate --config.suite=online_mind2web --config.tasks=Online_Mind2Web.json --config.checkpoint=RUN
    --config.environment_options='{"hosts": ["*"]}'
"""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished
from tars_jax.environment import GUI, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkVerdict
from tars_jax.envs.benchmarks.live_page import LivePage, address_of, check_hosts
from tars_jax.envs.browsing import ACTIONS
from tars_jax.envs.interfaces import space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.web.network import Hosts

SIZE = (1280, 720)


class OnlineMind2WebEnvironment(BenchmarkEnvironment):
    """An episode begins on the task's website; a judge tells from actions and screenshots whether it was done.

    Args:
      hosts: those that pages may reach (`web/network.py`), every task's website among them. Real sites take
        scripts and pictures from others, too: ["*"] is all of the public network.
      interface: gui, as the benchmark has it.
      size: (width, height) of the page in pixels.

    Raises InputError for options that it cannot have, and for a website that is none of the hosts.
    """

    needs_browser = True
    action_space = space_of(GUI, "browser", ACTIONS, ())

    def __init__(
        self, tasks: BenchmarkTasks, *, hosts: Sequence[str] = (), interface: str = GUI, size: Sequence[int] = SIZE,
        time_limit: float = 0.0, resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        self._hosts, self._size = check_hosts(hosts), (int(size[0]), int(size[1]))
        if interface != GUI:
            raise InputError(f"option interface of online_mind2web must be gui; got {interface!r}")
        allowed = Hosts(self._hosts)
        if closed := [task for task in tasks.tasks if not allowed.allows_url(website_of(task))]:
            raise InputError(
                f"option hosts must have the website of every task; got {list(self._hosts)!r:.100} without "
                f"{website_of(closed[0])!r:.100} of {closed[0].id}, the first of {len(closed)}"
            )
        self._page: LivePage | None = None
        self._answer: str | None = None

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._answer = None
        opens = self.resources.pages("online_mind2web")
        self._page = page = await LivePage.open(opens, self._hosts, website_of(entry), self._size, task.seed)
        return page.observed()

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        page, said = self._page, list[str]()
        assert page is not None  # an episode begins with `begin`
        for action in actions:
            if isinstance(action, Finished | CallUser):
                self._answer = getattr(action, "content", "")
                return page.observed("\n".join(filter(None, said))), True
            said.append(await page.act(action))
        return page.observed("\n".join(filter(None, said))), False

    async def verify(self) -> BenchmarkVerdict:
        """The judge tells; here is where the episode ended."""
        shown = self._page.data if self._page is not None else {}
        return BenchmarkVerdict(
            0.0, None, {"answer": self._answer, **{name: shown.get(name, "") for name in ("url", "title")}}
        )

    async def end(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            await page.close()


def website_of(task: BenchmarkTask) -> str:
    return address_of(str(task.record["website"]).strip())
