"""What a script that comes into a game's page after it has loaded can do to the verdict: nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tars_jax.tasks.games.catalog import Game, game_names, load_game
from tars_jax.tasks.games.pictures import chromium, open_game, perform

pytestmark = pytest.mark.browser

OPTIONS = {"seed": 5, "level": 2}
MOVES = 4
WON = "({score: 1e9, level: 2, lives: 1, done: true, success: true})"
ATTACKS = {
    "what the page gave away": """const spoil = (part) => Object.entries(part).forEach(([key, held]) => {
            if (held !== null && typeof held === "object") spoil(held);
            part[key] = typeof held === "number" ? 99 : typeof held === "boolean" ? true : held;
        });
        spoil(game.state()); spoil(window.verify())""",
    "the verifier": f"window.verify = () => {WON}",
    "the verifier, defined anew": f"Object.defineProperty(window, 'verify', {{ value: () => {WON} }})",
    "the verifier, removed": f"delete window.verify; window.__proto__.verify = () => {WON}",
    "the state": f"const old = game.state; game.state = () => ({{ ...old(), ...{WON} }})",
    "the game": f"window.game = {{ ...game, state: () => {WON} }}",
    "the game, by another script": f"""const script = document.createElement("script");
        script.text = "var game = {{ state: () => {WON} }}"; document.head.append(script)""",
    "an address that is a script": f"location.href = 'javascript:void(window.verify = () => {WON})'",
    "the kit": """for (const name of Object.keys(Kit)) {
        try { Kit[name] = () => ({}) } catch {}
        for (const part of Object.keys(Kit[name])) try { Kit[name][part] = [0, 0] } catch {}
    }""",
    "tables of levels": """
        for (const table of ["LEVELS", "SHAPES", "SETS", "BASES", "KINDS", "SIDES", "WAYS", "LINES"]) {
        let found; try { found = eval(table) } catch { continue }
        const fill = (part) => Object.entries(part).forEach(([key, held]) => {
            if (held !== null && typeof held === "object") fill(held);
            try { part[key] = typeof held === "number" ? 1 : part[0] } catch {}
        });
        fill(found);
    }""",
    "what arrays, maps, sets, texts, numbers and functions do": """
        for (const kind of [Array, Map, Set, String, Number, Boolean, Object, Function, Symbol]) {
            for (const owner of [kind.prototype, kind]) for (const name of Reflect.ownKeys(owner)) {
                if (["constructor", "prototype"].includes(name)) continue;
                try { owner[name] = () => true } catch {}
                try { Object.defineProperty(owner, name, { value: () => true }) } catch {}
            }
        }""",
    "iterators": """for (const made of [[].values(), new Map().values(), new Set().values(), ""[Symbol.iterator]()]) {
        Object.getPrototypeOf(made).next = () => ({ done: true });
    }""",
    "mathematics and JSON": """for (const owner of [Math, JSON, Reflect]) {
        for (const name of Reflect.ownKeys(owner)) try { owner[name] = () => 1 } catch {}
    }""",
    "constructors": """
        for (const name of ["Array", "Object", "Map", "Set", "Math", "JSON", "String", "Number", "Boolean"]) {
        try { window[name] = new Proxy(window[name], { get: () => () => true }) } catch {}
    }""",
    "copies": "window.structuredClone = (value) => (Object.values(value).forEach((one) => one.length = 0), value)",
    "what all objects have": """
        for (const name of ["success", "done", "score", "target", "kinds", "size", "0", "toJSON"]) {
        try { Object.prototype[name] = 1 } catch {}
        try { Object.defineProperty(Object.prototype, name, { get: () => 1, set: () => {} }) } catch {}
    }""",
    "events that nobody made": """
        const held = (type, x, y) => new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true });
        for (let x = 4; x < innerWidth; x += 16) for (let y = 4; y < innerHeight; y += 16) {
            for (const [to, toY] of [[x, y], [80 - x, 90 - y]]) {
                game.canvas.dispatchEvent(held("pointerdown", x, y));
                window.dispatchEvent(held("pointermove", to, toY));
                window.dispatchEvent(held("pointerup", to, toY));
            }
        }
        for (const key of ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"]) {
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }
        game.canvas.click()""",
    "words over an event": """for (const type of ["pointerdown", "pointermove", "pointerup", "keydown"]) {
        addEventListener(type, (event) => {
            for (const [name, value] of [["clientX", NaN], ["clientY", NaN], ["button", 0], ["key", "ArrowUp"]]) {
                Object.defineProperty(event, name, { value });
            }
        }, { capture: true });
    }""",
    "messages": """
        for (const data of [{ type: "win" }, "win", { verdict: { success: true } }]) postMessage(data, "*")""",
    "storage": """for (const store of [localStorage, sessionStorage]) {
        for (const name of ["level", "score", "success", "game", "state", "seed"]) store[name] = "1";
    }""",
    "addresses, names and history": """window.name = "level=1"; location.hash = "#level=9&success=1";
        history.pushState({ success: true }, "", "?seed=1&level=1"); document.title = "won";
        dispatchEvent(new PopStateEvent("popstate", { state: { success: true } }));
        dispatchEvent(new Event("load")); document.dispatchEvent(new Event("DOMContentLoaded"))""",
    "another window's tools": """const frame = document.createElement("iframe");
        document.body.append(frame);
        const other = frame.contentWindow;
        for (const name of ["Array", "Object", "JSON"]) try { window[name] = other[name] } catch {}
        try { other.Object.defineProperty(Array.prototype, "every", { value: () => true }) } catch {}
        frame.remove()""",
    "size and zoom": """document.body.style.zoom = 3; document.body.style.transform = "scale(2)";
        dispatchEvent(new Event("resize"));
        document.body.style.zoom = document.body.style.transform = "";
        dispatchEvent(new Event("resize"))""",
}
RUINS = {  # no picture is left to play on
    "a window of no width": """Object.defineProperty(window, "innerWidth", { value: NaN });
        dispatchEvent(new Event("resize"))""",
    "no canvas": "game.canvas.width = 1; game.canvas.remove()",
    "another document": "document.open(); document.write('<p>won</p>'); document.close()",
}
READ = "JSON.stringify([game.state(), window.verify()])"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def begin_and_play(page: Page, game: Game) -> list[str]:
    """All that is read while the reference player makes its first moves."""
    page.evaluate("options => game.start(options)", OPTIONS)
    rng, seen = random.Random(0), [page.evaluate(READ)]
    for _ in range(MOVES):
        state: dict[str, Any] = page.evaluate("game.state()")
        if state["done"]:
            break
        perform(page, game.reference(state, rng))
        seen.append(page.evaluate(READ))
    return seen


@pytest.mark.parametrize("name", game_names())
@pytest.mark.first(6)
def test_no_script_wins_or_scores(browser: Browser, name: str) -> None:
    """What is read after each attempt is what was read before, and the same moves then do what they did."""
    game = load_game(name)
    page = open_game(browser, game, 96, 96)
    untouched = begin_and_play(page, game)
    assert len(set(untouched)) > 1
    page.evaluate("options => game.start(options)", OPTIONS)
    for about, script in ATTACKS.items():
        page.evaluate(f"() => {{ try {{ {script} }} catch {{}} }}")
        assert page.evaluate(READ) == untouched[0], about
    before = page.evaluate("game.begun()")
    assert begin_and_play(page, game) == untouched
    assert page.evaluate("game.begun()") not in (before, None)  # who asked for an episode sees that it is another one
    verdict = page.evaluate("window.verify()")
    for about, script in RUINS.items():
        page.evaluate(f"() => {{ try {{ {script} }} catch {{}} }}")
        assert page.evaluate("window.verify()") == verdict, about
    page.close()
