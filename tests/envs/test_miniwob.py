"""MiniWoB++ in a real Chromium: every task that the package ships, its rewards and its time limits in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tars_jax.tasks.miniwob.catalog as catalog
from tars_jax import InputError
from tars_jax.agent import (
    Action,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    Point,
    Response,
    Type,
    Wait,
    format_response,
)
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.envs import BrowserGame, environment_id
from tars_jax.envs.gui import to_events
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import PrivilegedEnvironment
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, KeyDown, KeyUp, MouseDown, MouseMove, MouseUp
from tars_jax.tasks.games.pictures import chromium
from tars_jax.tasks.library import load_playable, playable_names
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Outcome

pytestmark = pytest.mark.browser
T = TypeVar("T")
AREAS = {(160, 210): 130, (375, 667): 3}  # how many tasks there are of each size
PAGES = 4
PLACE = """(({selector, text}) => {
    const inner = document.querySelector('iframe').contentWindow;
    const all = [...inner.document.querySelectorAll(selector)];
    const box = all.find((one) => one.textContent.trim() === text || text === null).getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2].map((x, i) => x / [innerWidth, innerHeight][i] * 1000);
})(%s)"""

# Every call by which a task ends its episode, as its own code makes it: the reward, whether time takes from it, when.
HEAR = """(() => {
    const { core } = inner, end = core.endEpisode;
    window.heard = [];
    core.endEpisode = (reward, proportional, ...reason) => {
        if (core.EP_TIMER !== null) heard.push({ reward, proportional: Boolean(proportional), at: performance.now() });
        return end(reward, proportional, ...reason);
    };
})()"""
# Where a hand that knows nothing might click: all that stands in the task's area, in the page and in a frame of it.
PLACES = """(() => {
    const what = "button, input, textarea, select, a, li, label, td, span, svg *, canvas, img, p, [role], [class*=ui-]";
    const outer = document.querySelector("iframe").contentWindow;
    return [outer, ...Array.from(outer.frames)].flatMap((page) => {
        const frame = page === outer ? { left: 0, top: 0 } : page.frameElement.getBoundingClientRect();
        const boxes = [...page.document.body.querySelectorAll(what)].map((one) => one.getBoundingClientRect());
        return boxes.filter((box) => box.width && box.height).map((box) =>
            [frame.left + box.left + box.width / 2, frame.top + box.top + box.height / 2]);
    }).filter(([x, y]) => x > 0 && y > 50 && x < innerWidth && y < innerHeight)
        .map(([x, y]) => [Math.round(x / innerWidth * 1000), Math.round(y / innerHeight * 1000)]);
})()"""


class Player:
    """A task in a page, and what is where in it."""

    def __init__(self, manager: BrowserManager, run: Callable[[Awaitable[Any]], Any]) -> None:
        self.game, self.run = BrowserGame(manager), run

    def reset(self, name: str, index: int = 0, **options: Any) -> dict[str, Any]:
        task = sample_task(f"miniwob/{name}", "train", index, 0, options)
        state: dict[str, Any] = self.run(self.game.reset(task)).info["state"]
        return state

    def act(self, *actions: Action) -> tuple[float, bool]:
        transition = self.run(self.game.step(actions))
        return transition.reward, transition.terminated

    def evaluate(self, expression: str) -> Any:
        assert self.game.page is not None
        return self.run(self.game.page.evaluate(expression))

    def place(self, selector: str, text: str | None = None) -> Point:
        return Point(*self.coordinates(selector, text))

    def coordinates(self, selector: str, text: str | None = None) -> list[float]:
        return self.evaluate(PLACE % json.dumps({"selector": selector, "text": text}))


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with asyncio.Runner() as runner:

        async def awaited(work: Awaitable[T]) -> T:
            return await work

        def run(work: Awaitable[T]) -> T:
            return runner.run(awaited(work))

        manager = BrowserManager(BrowserConfig(browsers=1, width=160, height=210))
        run(manager.start())
        yield Player(manager, run)
        run(manager.close())


def test_the_list_is_what_the_package_ships() -> None:
    html = catalog.html_folder()
    shipped = {path.stem for path in (html / "miniwob").glob("*.html")}
    shipped |= {f"flight.{name}" for name in ("AA", "Alaska", "Alaska-auto")}  # those that its registration.py names
    assert {name.removeprefix("miniwob/") for name in playable_names("miniwob")} == shipped
    assert len(shipped) == sum(AREAS.values())


async def idle(game: BrowserGame, task: Task) -> str:
    """What is wrong with a task that nobody plays; empty where nothing is."""
    frame = await game.reset(task)
    state = frame.info["state"]
    if (
        not load_playable(task.environment).instruction_for(frame.info)
        or frame.pixels is None
        or frame.pixels.std() < 1
    ):
        return "shows nothing"
    if frame.info["verdict"] != {"score": 0, "level": 1, "lives": 1, "done": False, "success": False}:
        return f"begins as {frame.info['verdict']}"
    if state["time_ms"] != 0:
        return "does not begin at time 0"
    limit = state["limit_ms"] / 1000
    before, after = await game.step([Wait(limit - 0.5)]), await game.step([Wait(0.6)])
    if (
        task.environment == "miniwob/chase-circle"
    ):  # the one task that pays, at its end, for the time that the mouse was inside
        return "" if after.terminated and after.observation.info["verdict"]["score"] == 0.01 else "ends otherwise"
    if before.terminated or before.reward:
        return "ends before its time limit"
    if not after.terminated or after.reward != -1:
        return f"its time limit gives {after.reward}"
    return ""


async def careless(game: BrowserGame, task: Task, limit: float) -> tuple[str, list[Any]]:
    """Plays anything anywhere; what is wrong with what it earned, and all that was seen."""
    rng = random.Random(task.id)
    seen: list[Any] = [(await game.reset(task)).screenshot]
    page = game.page
    assert page is not None
    await page.evaluate(HEAR)
    earned, verdict = 0.0, {"done": False}
    for _ in range(6):
        places = await page.evaluate(PLACES)
        actions: list[Action] = [Click(Point(*rng.choice(places)))] if places else []
        actions += rng.choice(([], [Type("a")], [Wait(0.05 * limit)], [Hotkey(("enter",))]))
        after = await game.step(actions)
        earned, verdict = earned + after.reward, after.observation.info["verdict"]
        seen.append((after.observation.screenshot, after.reward))
        if after.terminated:
            break
    calls = await page.evaluate("heard")
    if verdict["done"] != bool(calls):
        return f"done is {verdict['done']} after {calls}", seen
    expected = 0.0
    for call in calls[:1]:
        left = max(0.0, 1 - int(call["at"]) / 1000 / limit) if call["proportional"] else 1.0
        expected = call["reward"] * left
    same = earned == verdict["score"] == pytest.approx(expected, abs=1e-9)
    return "" if same else f"earned {earned}, {verdict}, where {calls} are worth {expected}", seen


def wrong_in_some(step: int, own: int, check: Callable[[BrowserGame, Task], Awaitable[str]]) -> dict[str, str]:
    """What `check` says of every `step`-th task and of so many with a page of their own size."""
    wrong: dict[str, str] = {}

    async def play(manager: BrowserManager, names: list[str]) -> None:
        game = BrowserGame(manager)
        while names:
            name = names.pop()
            if problem := await check(game, sample_task(name, "eval", 0, 0, {})):
                wrong[name] = problem
        await game.close()

    async def play_all() -> None:
        for (width, height), count in AREAS.items():
            names = [name for name in playable_names("miniwob") if load_playable(name).page_size == (width, height)]
            assert len(names) == count
            names = names[::step] if count > max(own, step) else names[-own:]
            config = BrowserConfig(browsers=1, pages_per_browser=PAGES, width=width, height=height, call_timeout_s=120)
            async with BrowserManager(config) as manager:
                await asyncio.gather(*(play(manager, names) for _ in range(PAGES)))

    asyncio.run(play_all())
    return wrong


def test_tasks_load_and_idling_ends_at_its_time_limit(request: pytest.FixtureRequest) -> None:
    """Every sixteenth task; with --all every one."""
    assert wrong_in_some(1 if request.config.getoption("--all") else 16, 2, idle) == {}


def test_the_list_of_a_select_opens_over_the_button(player: Player) -> None:
    player.reset("choose-list")
    player.act(Click(player.place("select")), Wait(0.5))
    assert player.evaluate("__clock.timeline.surface.picker !== null")


async def careless_twice(game: BrowserGame, task: Task) -> str:
    limit = (await game.reset(task)).info["state"]["limit_ms"] / 1000
    first, again = [await careless(game, task, limit) for _ in range(2)]
    return first[0] or ("" if first == again else "the same moves gave something else")


@pytest.mark.timeout(1200)
def test_any_answer_earns_what_the_tasks_own_code_says(request: pytest.FixtureRequest) -> None:
    """A few tasks; with --all every one. Twice from the same seed, for the same bytes and rewards."""
    step, own = (1, 3) if request.config.getoption("--all") else (44, 1)
    assert wrong_in_some(step, own, careless_twice) == {}


def test_time_counts_as_the_package_counts_it_and_thinking_takes_none(player: Player) -> None:
    player.reset("click-test")
    time.sleep(0.3)
    assert player.act(Click(player.place("button"))) == (1.0, True)
    player.reset("click-test")
    assert player.act(Wait(2.5), Click(player.place("button"))) == (0.75, True)


def test_a_wrong_button(player: Player) -> None:
    player.reset("click-test-2")
    assert player.act(Click(player.place("button", "TWO"))) == (-1.0, True)


def test_typing(player: Player) -> None:
    words = player.reset("enter-text")["utterance"].split('"')[1]
    field, submit = player.place("input"), player.place("button")
    assert player.act(Click(field), Type("no"), Hotkey(("ctrl", "a")), Type(words), Click(submit)) == (0.96, True)


def test_checkboxes(player: Player) -> None:
    wanted = player.reset("click-checkboxes", 1)["utterance"].removeprefix("Select ").removesuffix(" and click Submit.")
    boxes = [Click(player.place("label", name)) for name in wanted.split(", ") if name != "nothing"]
    reward, done = player.act(*boxes, Click(player.place("button")))
    assert (reward, done) == (pytest.approx(1 - 0.1 * len(boxes) / 10), True)


def number_on(card: int) -> str:
    return f"Number(inner.document.querySelectorAll('.card')[{card}].textContent)"


@pytest.mark.parametrize("card", range(3))
def test_the_wrong_card_pays_something_and_is_no_success(player: Player, card: int) -> None:
    player.reset("find-greatest")
    numbers = [player.evaluate(number_on(each)) for each in range(3)]
    middle = "inner.document.querySelectorAll('.card')[%d].getBoundingClientRect()"
    box = player.evaluate(f"(({{left, top, width, height}}) => [left + width / 2, top + height / 2])({middle % card})")
    pick = Click(Point(box[0] / 160 * 1000, box[1] / 210 * 1000))
    reward, done = player.act(pick, Click(player.place("#submit")))
    assert done and reward > 0
    assert player.evaluate("verify().success") == (numbers[card] == max(numbers))


def boxes_ticked(player: Player, words: str, wrongly: bool) -> list[Action]:
    named = words.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")
    labels = player.evaluate("[...inner.document.querySelectorAll('label')].map((one) => one.textContent.trim())")
    ticked = [name for name in labels if name in named]
    return [*(Click(player.place("label", name)) for name in ticked[wrongly:]), Click(player.place("button"))]


def numbers_in_order(player: Player, words: str, wrongly: bool) -> list[Action]:
    # A click on the first makes squares of the others.
    squares = player.evaluate(
        "[...inner.document.querySelectorAll('svg text')].map((one) => one.getBoundingClientRect())"
        ".map(({left, top, width, height}) => [left + width / 2, top + height / 2])"
    )
    clicks: list[Action] = [Click(Point(x / 160 * 1000, y / 210 * 1000)) for x, y in squares]
    return [clicks[0], clicks[2]] if wrongly else clicks


def circle_centered(player: Player, words: str, wrongly: bool) -> list[Action]:
    center = player.place("svg circle")
    return [Click(Point(center.x + 200 * wrongly, center.y)), Click(player.place("#subbtn"))]


def color_typed(player: Player, words: str, wrongly: bool) -> list[Action]:
    color = player.evaluate(f"inner.ui_utils.colorNameToHex({words.split()[1]!r})")
    other = ("00" if int(color[1:3], 16) > 127 else "ff") + color[3:]
    field, text = player.place("#col"), other if wrongly else color[1:]
    return [
        Click(field),
        Hotkey(("ctrl", "a")),
        Type(text),
        Click(player.place("#query")),
        Click(player.place("#subbtn")),
    ]


@pytest.mark.parametrize("wrongly", [False, True])
@pytest.mark.parametrize(
    ("name", "play", "pays"),
    [
        ("click-checkboxes", boxes_ticked, True),
        ("ascending-numbers", numbers_in_order, True),
        ("circle-center", circle_centered, False),
        ("use-colorwheel", color_typed, True),
    ],
)
@pytest.mark.first(3)
def test_partial_credit_is_no_success(
    player: Player, name: str, play: Callable[[Player, str, bool], list[Action]], pays: bool, wrongly: bool
) -> None:
    """Where a wrong answer pays; and where it is refused, a near one is right."""
    words = player.reset(name, 1)["utterance"]
    reward, done = player.act(*play(player, words, wrongly))
    assert done and (reward > 0) == (pays or not wrongly)
    assert player.evaluate("verify().success") is not wrongly


def test_dragging(player: Player) -> None:
    direction = player.reset("drag-circle")["utterance"].split()[3]
    start = player.place("circle")
    dx, dy = {"right": (250, 0), "left": (-250, 0), "up": (0, -190), "down": (0, 190)}[direction]
    reward, done = player.act(Drag(start, Point(start.x + dx, start.y + dy)), Click(player.place("button")))
    assert (reward, done) == (pytest.approx(0.99), True)


def named_button(player: Player, words: str) -> list[Action]:
    return [Click(player.place("button", words.split('"')[1]))]


def other_button(player: Player, words: str) -> list[Action]:
    return [Click(player.place("button", "TWO"))]


def typed(player: Player, words: str) -> list[Action]:
    return [Click(player.place("input")), Type(words.split('"')[1]), Click(player.place("button"))]


def typed_wrongly(player: Player, words: str) -> list[Action]:
    return [Click(player.place("input")), Type("no\n"), Click(player.place("button"))]


def dragged(player: Player, words: str) -> list[Action]:
    start = player.place("circle")
    dx, dy = {"right": (250, 0), "left": (-250, 0), "up": (0, -190), "down": (0, 190)}[words.split()[3]]
    return [Drag(start, Point(start.x + dx, start.y + dy)), Click(player.place("button"))]


def too_late(player: Player, words: str) -> list[Action]:
    return [Wait(10.1), Click(player.place("button"))]


@pytest.mark.parametrize(
    ("name", "play"),
    [
        ("click-button", named_button),
        pytest.param("click-test-2", other_button, marks=pytest.mark.full),
        pytest.param("enter-text", typed, marks=pytest.mark.full),
        ("enter-text", typed_wrongly),
        ("drag-circle", dragged),
        ("click-test", too_late),
    ],
)
@pytest.mark.first(2)
def test_the_packages_own_page_in_real_time_pays_the_same(
    player: Player, name: str, play: Callable[[Player, str], list[Action]]
) -> None:
    """Without a frame, our clock or our browser's switches: an episode begins as miniwob's selenium_instance.py has it.

    What is late by 10 seconds on our clock is late there by a limit of none, which takes a test no time; and a click
    that comes late begins no other episode, as that module sends none after the end.
    """
    words = player.reset(name)["utterance"]
    actions = play(player, words)
    earned, done = player.act(*actions)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 500, "height": 320})
        page.goto((catalog.html_folder() / "miniwob" / f"{name}.html").as_uri())
        late = "core.EPISODE_MAX_TIME = 0;" if play is too_late else ""
        seed = sample_task(f"miniwob/{name}", "train", 0, 0, {}).seed
        page.evaluate(f"Math.seedrandom({seed}); core.setDataMode('train'); {late} core.startEpisodeReal()")
        page.evaluate("core.cover_div.onclick = null")
        assert page.evaluate("core.getUtterance()") == words
        page.wait_for_timeout(50)
        for action in actions:
            for event in to_events(action, *catalog.AREA)[0]:
                match event:
                    case MouseMove(x, y):
                        page.mouse.move(x, y)
                    case MouseDown():
                        page.mouse.down()
                    case MouseUp():
                        page.mouse.up()
                    case KeyDown(key):
                        page.keyboard.down(key)
                    case KeyUp(key):
                        page.keyboard.up(key)
        theirs = page.evaluate("[WOB_REWARD_GLOBAL, WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]")
    assert player.evaluate("game.state().raw_reward") == theirs[2]
    assert (earned, done) == (pytest.approx(theirs[0], abs=0.3), theirs[1])  # a busy machine is slow, in real time


def test_a_second_click_begins_no_other_episode(player: Player) -> None:
    player.reset("click-dialog")
    place = player.place(".ui-dialog-titlebar-close")
    assert player.act(LeftDouble(place)) == (1.0, True)
    player.reset("click-dialog")
    assert player.act(Finished()) == (0.0, True)


def test_pages_have_their_own_size_and_wrong_options_are_refused(
    player: Player, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, size in (("flight.AA", (375, 667)), ("click-test", (160, 210))):
        pixels = player.run(player.game.reset(sample_task(f"miniwob/{name}", "train", 0, 0, {}))).pixels
        assert pixels is not None and pixels.shape[1::-1] == size
    with pytest.raises(InputError, match="mode must be one of train, test, default; got 'hard'"):
        player.reset("click-test", mode="hard")
    with pytest.raises(InputError, match="an option must be .*; got level"):
        player.reset("click-test", level=2)
    with pytest.raises(InputError, match="a task of MiniWoB.* must be .*; got 'miniwob/click-tets'"):
        load_playable("miniwob/click-tets")
    with pytest.raises(InputError, match="no reference players"):
        _ = load_playable("miniwob/click-test").reference
    monkeypatch.setattr(catalog.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the extra tars_jax\[miniwob\]"):
        catalog.html_folder()


@pytest.mark.multiprocess
def test_rollout_workers_ask_with_the_utterance_and_take_its_reward(tmp_path: Path) -> None:
    writer = PromptWriter(load_tokenizer(), image_tokens=36)
    answer = tuple(writer.response(format_response(Response("later", (Wait(5),)), grammar="text")))

    class Idler:
        async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
            return Sampled(answer, (0.0,) * len(answer), (-1,) * len(answer))

    @contextlib.asynccontextmanager
    async def player(watched: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield Idler()

    task = sample_task("miniwob/click-link", "train", 0, 0, {})
    with Rollouts(BrowserConfig(browsers=1, width=160, height=210), writer, AgentConfig(), 1) as rollouts:
        (played,) = rollouts.play([task], player, tmp_path)
    assert (played.outcome, played.reward, len(played.steps)) == (Outcome.FINISHED, -1.0, 2)
    assert played.steps[0].info["state"]["utterance"] in writer.read(played.windows[0].tokens.tolist())


def passes_gymnasiums_own_checker(env: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")  # the grid is 0..1000 on purpose
        check_env(env)


@pytest.mark.full
@pytest.mark.parametrize("name", playable_names("miniwob"))
def test_every_task_is_a_gymnasium_environment(name: str) -> None:
    env = gymnasium.make(f"tars_jax.envs:{environment_id(name)}").unwrapped
    passes_gymnasiums_own_checker(env)
    env.close()
