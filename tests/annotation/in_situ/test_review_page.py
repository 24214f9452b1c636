"""The page on which a recording is looked over, in a real Chromium, by keyboard and by mouse."""

from __future__ import annotations

import dataclasses
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

import tars_jax.evaluation
from tars_jax.agent.actions import Click, Drag, LeftDouble
from tars_jax.annotation.in_situ.annotated import RecordingAnnotation, load_annotation, read_actions
from tars_jax.annotation.in_situ.recording import read_recording
from tars_jax.annotation.in_situ.review.app import ReviewedRecording
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.annotation.in_situ.scripted import session, write
from tests.annotation.in_situ.test_annotated import heard
from tests.sandbox.service.chromium import on_a_page
from tests.waiting import until

pytest.importorskip("faster_whisper")
pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
KEY = "a-key-of-the-test"
SEED = 8


@dataclasses.dataclass
class Shown:
    address: str
    file: Path
    written: list[RecordingAnnotation]
    first: RecordingAnnotation

    def kept(self) -> RecordingAnnotation:
        return load_annotation(self.file)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RecordingAnnotation]:
    played = session(SEED, steps=5)
    folder = write(played, tmp_path_factory.mktemp("recording"), SEED)
    return folder, heard(folder, played)


@pytest.fixture
def shown(recorded: tuple[Path, RecordingAnnotation], tmp_path: Path) -> Iterator[Shown]:
    folder, annotation = recorded
    file, written = tmp_path / "annotation.json", list[RecordingAnnotation]()

    def finish(reviewed: RecordingAnnotation) -> str:
        written.append(reviewed)
        return "written: dataset"

    style = (Path(tars_jax.evaluation.__file__).parent / "report.css").read_text()
    review = ReviewedRecording(annotation, read_recording(folder), file, finish, style)
    with serving(review.app(KEY), ListenAddress(stop_seconds=1)) as address:
        yield Shown(f"{address}/{KEY}/", file, written, annotation)


def test_each_step_is_looked_at_and_accepted_by_keyboard(
    shown: Shown, recorded: tuple[Path, RecordingAnnotation]
) -> None:
    count = len(recorded[1].steps)

    async def use(page: Page) -> None:
        await page.goto(shown.address)
        await expect(page.locator("#count")).to_have_text(f"0 of {count} accepted")
        assert await page.locator("#finish").is_disabled()
        for number in range(1, count + 1):
            await page.keyboard.press("Enter")
            await expect(page.locator("#count")).to_have_text(f"{number} of {count} accepted")
            assert len([step for step in shown.kept().steps if step.accepted]) == number
        await page.locator("#finish").click()
        await expect(page.locator("#said")).to_have_text("written: dataset")

    on_a_page(use)
    assert shown.written[0].is_reviewed


def test_a_step_is_mended_by_mouse_and_the_change_taken_back(
    shown: Shown, recorded: tuple[Path, RecordingAnnotation]
) -> None:
    first = recorded[1].steps[0]

    async def use(page: Page) -> None:
        await page.goto(shown.address)
        await page.locator("#actions").fill("click(point='<point>250 400</point>')")
        await page.locator("#thought").fill("The button is on the left.")
        await page.locator("#title").click()
        await until(lambda: shown.file.exists() and shown.kept().steps[0].thought == "The button is on the left.")
        assert shown.kept().steps[0].actions == "click(point='<point>250 400</point>')"
        ring = page.locator("#mark .ring")
        assert float(await ring.get_attribute("cx") or 0) == 0.25 * 1280
        assert float(await ring.get_attribute("cy") or 0) == 0.4 * 720
        await page.locator("#actions").fill("clock(point='<point>250 400</point>')")
        await page.locator("#title").click()
        await expect(page.locator("#wrong")).to_contain_text("actions must be calls such as")
        assert shown.kept().steps[0].actions == "click(point='<point>250 400</point>')"
        await page.locator("#actions").fill("click(point='<point>250 400</point>')")
        before = len(recorded[1].steps)
        await page.locator("#delete").click()
        await until(lambda: shown.kept().steps[0].deleted)
        await page.locator("#undo").click()
        await until(lambda: not shown.kept().steps[0].deleted)
        await page.locator("#merge").click()
        await until(lambda: len(shown.kept().kept) == before - 1)
        merged = shown.kept().steps[0]
        assert merged.actions.endswith(recorded[1].steps[1].actions) and merged.frame == first.frame

    on_a_page(use)


def test_a_click_on_the_picture_places_the_step_and_a_drag_makes_a_drag(shown: Shown) -> None:
    steps = shown.first.steps
    clicked = next(number for number, step in enumerate(steps) if step.actions.startswith(("click", "left_double")))
    typed = next(number for number, step in enumerate(steps) if step.actions.startswith(("type", "hotkey")))

    async def use(page: Page) -> None:
        await page.goto(shown.address)
        await page.locator("#steps li").nth(clicked).click()
        box = await page.locator("#frame").bounding_box()
        assert box is not None

        def at(x: float, y: float) -> tuple[float, float]:
            return box["x"] + x * box["width"], box["y"] + y * box["height"]

        await page.locator("#thought").fill("Over there.")  # is kept, too
        await page.mouse.click(*at(0.25, 0.5))
        await until(lambda: shown.file.exists() and "<point>250" in shown.kept().steps[clicked].actions)
        mended = shown.kept().steps[clicked]
        action = read_actions(mended.actions)[0]
        assert action.name == read_actions(steps[clicked].actions)[0].name and mended.thought == "Over there."
        assert isinstance(action, Click | LeftDouble)
        assert abs(action.point.x - 250) < 2 and abs(action.point.y - 500) < 2 and not mended.accepted
        await expect(page.locator("#actions")).to_have_value(mended.actions)

        await page.mouse.move(*at(0.1, 0.2))
        await page.mouse.down()
        await page.mouse.move(*at(0.3, 0.4))
        await page.mouse.move(*at(0.6, 0.7))
        await expect(page.locator("#mark .way")).to_have_count(1)  # seen on its way
        await page.mouse.up()
        await until(lambda: shown.kept().steps[clicked].actions.startswith("drag"))
        drag = read_actions(shown.kept().steps[clicked].actions)[0]
        assert isinstance(drag, Drag)
        assert abs(drag.start_point.x - 100) < 2 and abs(drag.end_point.y - 700) < 2

        revision = shown.kept().revision
        await page.mouse.move(*at(0.1, 0.2))
        await page.mouse.down()
        await page.mouse.move(*at(0.3, 0.4))
        await page.keyboard.press("Escape")  # thought better of it
        await page.mouse.up()
        await page.locator("#steps li").nth(typed).click()
        await page.mouse.click(*at(0.5, 0.5))
        await expect(page.locator("#wrong")).to_contain_text("a step must click, scroll or drag to have a place")
        assert shown.kept().revision == revision

    on_a_page(use)


def test_words_are_heard_and_other_things_are_named(shown: Shown, recorded: tuple[Path, RecordingAnnotation]) -> None:
    async def use(page: Page) -> None:
        await page.goto(shown.address)
        spoken = [number for number, step in enumerate(recorded[1].steps) if step.thought]
        await page.locator("#steps li").nth(spoken[0]).click()
        word = page.locator("#words .spoken span").first
        async with page.expect_response(lambda answer: "/voice?" in answer.url) as asked:
            await word.click()
        answer = await asked.value
        assert answer.status == 200 and answer.headers["content-type"] == "audio/wav"
        apart = sum(sentence.role == "apart" for sentence in recorded[1].sentences)
        await expect(page.locator("#apart_count")).to_have_text(f"Talk of other things: {apart}, never in the data")

    on_a_page(use)


def test_the_older_of_two_pages_changes_nothing(shown: Shown) -> None:
    async def use(page: Page) -> None:
        await page.goto(shown.address)
        browser = page.context.browser
        assert browser is not None
        other = await browser.new_page()
        await other.goto(shown.address)
        await page.keyboard.press("d")
        await until(lambda: shown.file.exists() and shown.kept().steps[0].deleted)
        await other.keyboard.press("m")
        await expect(other.locator("#said")).to_contain_text("older state")
        await expect(other.locator("#delete")).to_have_text("Bring back")
        assert shown.kept().revision == 1

    on_a_page(use)


def test_it_fits_on_a_screen_in_light_and_in_dark(shown: Shown, tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        for width, height in ((1280, 800), (1920, 1080)):
            for scheme in ("light", "dark"):
                await page.set_viewport_size({"width": width, "height": height})
                await page.emulate_media(color_scheme=scheme)
                await page.goto(shown.address)
                await expect(page.locator("#frame")).to_be_visible()
                assert await page.evaluate("document.documentElement.scrollWidth") == width
                paper = await page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert paper == {"light": "rgb(251, 250, 247)", "dark": "rgb(21, 23, 27)"}[scheme]  # the report's

    on_a_page(use)


def ask(address: str, body: Any = None, **headers: str) -> int:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("state", None, 200), ("frames/..%2f..%2frecording.json", None, 404), ("frames/none.png", None, 404),
        ("app.py", None, 404), ("voice?begins=0&ends=1e9", None, 400), ("voice?begins=nan&ends=1", None, 400),
        ("steps/0", {"revision": 0, "actions": "x("}, 400), ("steps/77", {"revision": 0}, 400),
        ("steps/0", {"revision": 0, "place": [1]}, 400), ("steps/0", {"revision": 0, "place": [1, 2000]}, 400),
        ("steps/0", {"revision": 0, "place": "here"}, 400), ("steps/0", {"revision": 0, "place": [True, 1]}, 400),
        ("steps/0", {"thought": "no revision"}, 409), ("about", {"revision": 0, "success": "perhaps"}, 400),
        ("undo", {"revision": 0}, 400), ("finish", {}, 400), ("steps/0", [], 400),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(shown: Shown, path: str, body: Any, status: int) -> None:
    assert ask(shown.address + path, body) == status
    assert not shown.file.exists() and not shown.written


def test_nobody_without_the_key_or_from_another_name(shown: Shown) -> None:
    assert ask(shown.address.replace(KEY, "another-key")) == 404
    assert ask(shown.address.replace(f"{KEY}/", "")) == 404
    assert ask(shown.address, Host="evil.example") == 400
