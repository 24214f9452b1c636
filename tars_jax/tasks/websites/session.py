"""A running site: one computer with the application, its state, and who reads that.

async with Websites() as websites:
    session = await websites.open(load_website("fossil"), seed=3)
    rows = await session.read("tickets")
    await session.reset()
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.equipped.page import ComputerPage
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.keeper import KeeperClient, state_folder
from tars_jax.tasks.websites.site import PROGRAMS, ROOT, Content, Row, Website

_PREPARE_S = 300.0
_ANSWER_S = 20.0  # for one request of ours to a site that is up
_LONGEST_LOG = 1500


@dataclasses.dataclass(eq=False)
class WebsiteSession:
    """Made by `Websites.open`. Calls raise SandboxFailure where the site or its computer failed: it is then over."""

    site: Website
    seed: int
    computer: Computer
    keeper: KeeperClient
    cookies: tuple[Mapping[str, str], ...] = ()
    origin: str = "new"  # or live: it goes on from a copy of a running one
    _process: int = 0

    @property
    def url(self) -> str:
        return self.site.url

    @property
    def content(self) -> Content:
        """Content that the state began with."""
        return self.site.content_for(self.seed)

    async def prepare(self) -> None:
        """Fills the state's folder; done once, before `start`."""
        machine, state = self.computer.machine, state_folder(self.computer.machine)
        await self.computer.put({}, ("site",))
        done = await machine.run(
            self._argv(self.site.prepare), json.dumps(self.content).encode(), env=self._variables(), cwd=state,
            timeout_s=_PREPARE_S,
        )  # fmt: skip
        if done.status != 0:
            said = (done.stderr or done.stdout)[-_LONGEST_LOG:].decode(errors="replace").strip()
            raise SandboxFailure("website", f"{self.site.name} could not be prepared (status {done.status}): {said}")

    async def start(self) -> None:
        """Serves the site, logs in, and keeps the state that `reset` comes back to."""
        await self.keeper.start()
        await self._serve()
        await self._log_in()
        await self.keeper.http("GET", self.site.first_page, timeout_s=_ANSWER_S)  # some write when they first answer
        await self.keeper.call("save")

    async def reset(self) -> float:
        """Puts the state back as it was, checked to be complete; how long that took in milliseconds.

        A site that keeps state in memory is told to read it again, or started anew. Whoever is logged in still is.
        """
        begun = time.perf_counter()
        if self.site.restarts:
            await self._end()
        await self.keeper.call("reset")
        if self.site.restarts:
            await self._serve()
        for method, path, body in self.site.reload:
            status, _ = await self.keeper.http(method, path, body, timeout_s=_ANSWER_S)
            if status >= 400:
                raise SandboxFailure("website", f"{self.site.name}: {method} {path} was answered with {status}")
        return 1000 * (time.perf_counter() - begun)

    async def changed(self) -> list[str]:
        """The files of the state that are not as they were at the beginning."""
        return await self.keeper.call("differs")

    async def healthy(self) -> bool:
        """Whether the site answers."""
        try:
            return (await self.keeper.http("GET", self.site.health, timeout_s=_ANSWER_S))[0] < 400
        except SandboxFailure:
            return False

    async def read(self, reader: str) -> Sequence[Row]:
        """The rows of one of the site's readers. Raises InputError where it has none of that name.

        What a reader cannot make sense of is a failure of the site, never a verdict.
        """
        if reader not in self.site.readers:
            known = ", ".join(self.site.readers)
            raise InputError(f"a reader of {self.site.name} must be one of {known}; got {reader!r}")
        try:
            return await self.site.readers[reader].rows(self)
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise SandboxFailure("website", f"{self.site.name}: {reader} could not be read: {error!r}") from error

    async def snapshot(self) -> dict[str, Sequence[Row]]:
        """Rows of all readers."""
        return {name: await self.read(name) for name in self.site.readers}

    async def open_page(self, browsers: BrowserManager, size: tuple[int, int] = (1280, 720)) -> ComputerPage:
        """An empty page of `size` pixels, logged in, with nothing of earlier ones: `navigate(session.url)` is next.

        Its dialogs, which no screenshot shows, are accepted: what a reset puts back may be deleted.
        """
        page = await ComputerPage.open(browsers, self.computer.machine, size, accepts_dialogs=True)
        if self.cookies:
            at = self.site.origin
            try:
                await page.page.context.add_cookies(
                    [{"name": each["name"], "value": each["value"], "url": at + each["path"]} for each in self.cookies]
                )
            except BaseException as error:
                await page.close()
                raise SandboxFailure("browser", f"cookies were not taken: {error}") from error
        return page

    async def close(self) -> None:
        """Closes the session; a second call does nothing."""
        await self.keeper.close()
        await self.computer.close()

    # ---- what readers ask (site.SiteQueries)

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        return await self.keeper.sql(file, statement, parameters)

    async def files(self, pattern: str) -> dict[str, str]:
        return await self.keeper.files(pattern)

    async def tables(self, file: str, told: Sequence[str], passed: Sequence[str]) -> list[dict[str, str]]:
        return await self.keeper.call("tables", file=file, told=list(told), passed=list(passed))

    async def others(self, told: Sequence[str]) -> list[dict[str, str]]:
        return await self.keeper.call("others", told=list(told))

    async def http(self, method: str, path: str, body: str = "", kind: str = "") -> tuple[int, str]:
        return await self.keeper.http(method, path, body, kind, _ANSWER_S)

    async def request(self, method: str, path: str, body: str = "", kind: str = "") -> tuple[int, str, str]:
        """Status, text and where a redirect leads, which is not followed: what an agent asks of the site itself.

        It is logged in as the user, with cookies of its own until `reset`. Status 0: there was no answer, and why.
        """
        headers = {**self.site.api_headers, "Content-Type": kind}
        asked = {"method": method, "path": path, "body": body, "headers": headers, "answer_s": _ANSWER_S}
        status, text, location = await self.keeper.call("request", timeout_s=4 * _ANSWER_S, **asked)
        return status, text, location

    async def submit(self, path: str, fields: Mapping[str, str], action: str = "") -> tuple[int, str]:
        """Sends the form of the page at a path that has these fields, with what else it holds; status and text.

        What a user would do in the browser, for solutions of tasks without one. A name that ends with ! need not be in
        the form, such as that of a button. `action`: where it is sent; empty: where the form says.
        """
        asked = {"path": path, "fields": dict(fields), "action": action, "anew": False}
        answer = await self.keeper.call("submit", timeout_s=4 * _ANSWER_S, **asked)
        return answer["status"], answer["text"]

    async def run(self, argv: Sequence[str], stdin: str = "") -> str:
        done = await self.computer.machine.run(
            self._argv(argv), stdin.encode(), env=self._variables(), cwd=state_folder(self.computer.machine),
            limit=2 << 20, timeout_s=60,
        )  # fmt: skip
        if done.status != 0:
            raise SandboxFailure("website", f"{argv[0]} ended with {done.status}: {done.stderr[-500:]!r}")
        return done.stdout.decode(errors="replace")

    # ---- the site's program

    def _argv(self, argv: Sequence[str]) -> list[str]:
        machine = self.computer.machine
        places = {
            "{python}": machine.python, "{root}": ROOT, "{state}": state_folder(machine), "{programs}": PROGRAMS,
            "{port}": str(self.site.port),
        }  # fmt: skip
        return [_filled(each, places) for each in argv]

    def _variables(self) -> dict[str, str]:
        machine = self.computer.machine
        places = {"{root}": ROOT, "{state}": state_folder(machine), "{programs}": PROGRAMS}
        python = {"PYTHONPATH": ROOT} if self.site.package.startswith("pypi:") else {}
        own = {name: _filled(value, places) for name, value in self.site.environment.items()}
        return {"PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC", **python, **own}  # a task may ask for the day of its clock

    async def _serve(self) -> None:
        machine, site = self.computer.machine, self.site
        log = f"{machine.home}/.site.log"
        self._process = await machine.start(
            self._argv(site.serve), env=self._variables(), cwd=state_folder(machine), output=log
        )
        clock = asyncio.get_running_loop().time
        last, why = clock() + site.start_s, "nothing listens"
        while clock() < last:
            if (status := await machine.wait(self._process, 0.02)) is not None:
                raise SandboxFailure("website", f"{site.name} ended with {status} as it started: {self._log(log)}")
            try:
                answer, _ = await self.keeper.http("GET", site.health, timeout_s=_ANSWER_S)
            except SandboxFailure as failure:
                why = str(failure)
                continue
            if answer < 400:
                return
            why = f"{site.health} was answered with {answer}"
        await self._end()
        raise SandboxFailure("website", f"{site.name} did not start in {site.start_s:g} s: {why}; {self._log(log)}")

    def _log(self, path: str) -> str:
        try:
            return self.computer.container.read(path).decode(errors="replace").strip()[-_LONGEST_LOG:] or "no words"
        except OSError:
            return "no words"

    async def _end(self) -> None:
        if self._process:
            await self.computer.machine.kill(self._process)
            await self.computer.machine.wait(self._process, 10)

    async def _log_in(self) -> None:
        if (login := self.site.login) is not None:
            asked = {"path": login.path, "fields": dict(login.fields), "action": login.action, "anew": True}
            answer = await self.keeper.call("submit", timeout_s=4 * _ANSWER_S, **asked)
            if answer["status"] >= 400 or not answer["cookies"]:
                raise SandboxFailure(
                    "website", f"{self.site.name} took no log-in: status {answer['status']}, {answer['text'][:200]!r}"
                )
            self.cookies = tuple(answer["cookies"])


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(name, value)
    return text
