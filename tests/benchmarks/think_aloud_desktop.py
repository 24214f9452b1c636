"""Think-aloud at a real desktop and browser, with the real recorder: how much comes out as it was done and said.

    PYTHONPATH=. python tests/benchmarks/think_aloud_desktop.py [--rows quiet noise] [--stories letter shop] [--seed 1]

Xvfb, openbox, the programs that launch/desktop.sh --browser installs, and `record` as a process of its own. Hands play
by XTEST, espeak-ng speaks into a program that the recorder takes for pw-record, `read_words` reads what was recorded.
Each row is a way to speak; stories "developed with" were looked at while the rules of alignment were mended, those that
are held out were only measured. A story takes a minute and a half, and half of that to listen to.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tars_jax.annotation.in_situ.draft_annotation import read_words
from tars_jax.annotation.in_situ.recording import read_recording
from tars_jax.annotation.in_situ.speech import Embedded
from tests.annotation.in_situ.conftest import Stage
from tests.annotation.in_situ.measuring import Counts, action_f1, calls, matched, thoughts, word_errors
from tests.annotation.in_situ.scripted import Session
from tests.benchmarks.at_work import pages, stories_browser, stories_desktop
from tests.benchmarks.at_work.hands import Place
from tests.benchmarks.at_work.person import Person, Truth, Way

ROOT = Path(__file__).parents[2]
NOISE = 0.004  # of 1, against a voice of about .8 at its loudest
ROWS: dict[str, tuple[Way, float]] = {
    "quiet": (Way(), NOISE),
    "noise": (Way(), 0.02),
    "much noise": (Way(), 0.05),
    "slow": (Way(speeds=(95, 115)), NOISE),
    "fast": (Way(speeds=(185, 205)), NOISE),
    "a woman's voice": (Way(voices=("en-us+f3",)), NOISE),
    "another man's voice": (Way(voices=("en-gb+m3",)), NOISE),
    "over the hands": (Way(over=1.0), NOISE),
}
DESKTOP = {"letter": (stories_desktop.letter, True), "trip": (stories_desktop.trip, True),
           "minutes": (stories_desktop.minutes, False), "tidying": (stories_desktop.tidying, False)}  # fmt: skip
BROWSER = {"shop": (stories_browser.shop, pages.SHOP, True), "article": (stories_browser.article, pages.ARTICLE, True),
           "timetable": (stories_browser.timetable, pages.TIMETABLE, False),
           "mail": (stories_browser.mail, pages.MAIL, False)}  # fmt: skip
STORIES = [*DESKTOP, *BROWSER]
CORNER = "[window.screenX + (outerWidth - innerWidth) / 2, window.screenY + outerHeight - innerHeight]"  # of a page
ALLOWED = "mousepad,galculator,pcmanfm,shell,chromium"


def is_developed(story: str) -> bool:
    return DESKTOP[story][1] if story in DESKTOP else BROWSER[story][2]


# ---- the room


@dataclasses.dataclass
class Room:
    """A desktop with what a story needs on it."""

    stage: Stage
    home: Path
    started: list[subprocess.Popen[Any]] = dataclasses.field(default_factory=list)

    def start(self, *argv: str) -> None:
        env = {**self.stage.env, "HOME": str(self.home)}
        quiet = subprocess.DEVNULL
        self.started.append(subprocess.Popen(argv, env=env, cwd=self.home, stdin=quiet, stdout=quiet, stderr=quiet))

    def at(self, title: str, x: int, y: int) -> Place:
        """On the screen, from the corner of the last window with a title like this, once it is there."""
        end = time.monotonic() + 30
        while True:
            found = [each for each in self.stage.run(self.stage.desktop.windows()) if title in each.title]
            if found:
                window = found[-1]
                return window.x + x + (window.width if x < 0 else 0), window.y + y + (window.height if y < 0 else 0)
            assert time.monotonic() < end, f"no window has come whose title is like {title!r}"
            time.sleep(0.05)

    def close(self) -> None:
        for each in self.started:
            each.terminate()
        for each in self.started:
            each.wait(30)
        self.started.clear()


@contextlib.contextmanager
def desk() -> Iterator[Room]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "machine").mkdir()
        stage = Stage(Path(folder) / "machine")
        os.environ.update({name: stage.desktop.env[name] for name in ("DISPLAY", "XAUTHORITY")})
        room = Room(stage, Path(folder) / "home")
        try:
            yield room
        finally:
            room.close()
            stage.close()


@contextlib.contextmanager
def furnished(room: Room, story: str) -> Iterator[Callable[[Person], None]]:
    """The windows of a story; what plays it."""
    shutil.rmtree(room.home, ignore_errors=True)
    room.home.mkdir(parents=True)
    (room.home / "Trips").mkdir()
    (room.home / "map.txt").write_text("a map\n")
    (room.home / "notes.txt").write_text("heating\nprinter on the second floor\n19 chairs\n23 tables\n")
    with contextlib.ExitStack() as ends:
        ends.callback(room.close)
        if story in DESKTOP:
            play = DESKTOP[story][0]
            if story in ("letter", "minutes"):
                room.start("mousepad", *(["notes.txt"] if story == "minutes" else []))
                room.at("Mousepad", 0, 0)
            if story in ("trip", "tidying"):
                room.start("galculator")
                room.at("galculator", 0, 0)
                room.start("pcmanfm", str(room.home))
                room.at("home", 0, 0)
            if story in ("minutes", "tidying"):
                room.start("xterm", "-class", "Shell", "-title", "shell", "-geometry", "70x12+0+0", "-e", "sh")
                room.at("shell", 0, 0)
            time.sleep(2.0)
            yield lambda one: play(one, room.at)
        else:
            story_of, page, _ = BROWSER[story]
            on = ends.enter_context(browsing(room, page))
            yield lambda one: story_of(one, on)


@contextlib.contextmanager
def browsing(room: Room, page: str) -> Iterator[Callable[..., Place]]:
    """Chromium with the page; where its elements are on the screen."""
    from playwright.sync_api import sync_playwright

    profile = room.home / "profile"
    room.start(
        *room.stage.desktop.applications["browser"], f"--user-data-dir={profile}", "--remote-debugging-port=0", page
    )
    port = profile / "DevToolsActivePort"
    room.at("Chromium", 0, 0)
    time.sleep(3.0)
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port.read_text().split()[0]}")
        shown = browser.contexts[0].pages[0]

        def on(selector: str, x: float = 0.5, y: float = 0.5) -> Place:
            found = shown.locator(selector)
            found.wait_for(state="visible")
            left, top = shown.evaluate(CORNER)
            box = found.bounding_box()
            assert box is not None
            bottom = min(box["y"] + box["height"], shown.evaluate("innerHeight"))
            top_of = max(box["y"], 0)
            return round(left + box["x"] + box["width"] * x), round(top + top_of + (bottom - top_of) * y)

        yield on
        browser.close()


# ---- the recorder


@contextlib.contextmanager
def recorded(room: Room, below: Path, spoken_to: Path, noise: float, seed: int) -> Iterator[None]:
    programs = below / "programs"
    programs.mkdir()
    program = Path(__file__).with_name("at_work") / "microphone_program.py"
    (programs / "pw-record").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}"\n')
    (programs / "pw-record").chmod(0o755)
    env = {**room.stage.env, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "SPOKEN": str(spoken_to),
           "NOISE": str(noise), "SEED": str(seed)}  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", "record", f"--config.allow={ALLOWED}",
         f"--config.folder={below}/recordings", "--config.task=Get the work of the day done"],
        cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("yes\n")
    process.stdin.flush()
    while not process.stdout.readline().startswith("pause, resume"):
        assert process.poll() is None, "the recorder has ended"
    time.sleep(1.5)
    try:
        yield
    finally:
        said, _ = process.communicate("stop\n", timeout=60)
        assert process.returncode == 0, said


def play(room: Room, story: str, way: Way, noise: float, seed: int, keep: Path | None) -> tuple[Path, Truth]:
    """A story is played and recorded: its recording, and the truth by the recording's clock."""
    below = Path(tempfile.mkdtemp(dir=keep))
    spoken_to = below / "spoken"
    spoken_to.mkdir()
    with furnished(room, story) as acts, recorded(room, below, spoken_to, noise, seed):
        one = Person(room.stage.env, room.stage.desktop.size, spoken_to, random.Random(f"{story} {seed}"), way)
        acts(one)
        one.ends()
    (path,) = (below / "recordings").iterdir()
    began = read_recording(path).head.began - (time.time() - time.monotonic())  # of the recording's clock
    return path, one.truth.at(began)


# ---- the measure


NOTHING = Counts(0, 0)


@dataclasses.dataclass
class Found:
    stories: int = 0
    actions: Counts = NOTHING
    words: Counts = NOTHING
    off: list[float] = dataclasses.field(default_factory=list)
    placed: list[tuple[bool, str]] = dataclasses.field(default_factory=list)

    def add(self, path: Path, truth: Truth, by: Embedded) -> list[str]:
        """Also what went wrong, a line each."""
        session = Session(steps=truth.steps, thoughts=truth.thoughts)
        steps, heard, sentences = read_words(read_recording(path), by)
        found = matched(steps, session)
        wrong = [
            f"  not found at {time:.2f}: {action!r}"
            for number, (time, action) in enumerate(truth.steps)
            if number not in found
        ]
        wrong += [
            f"  found beside at {step.time:.2f}: {calls(step)!r}"
            for number, step in enumerate(steps)
            if number not in found.values()
        ]
        errors, off = word_errors(heard, session)
        placed = thoughts(sentences, steps, session)
        self.stories += 1
        self.actions += action_f1(steps, session)
        self.words += errors
        self.off += off
        self.placed += placed
        return [*wrong, *(f"  {words}" for right, words in placed if not right)]

    def line(self, *names: str) -> str:
        right = sum(each for each, _ in self.placed)
        share = f"{right}/{len(self.placed)} = {right / len(self.placed):.3f}"
        fields = (*names, self.stories, f"{self.actions.share:.3f}", share, f"{self.words.share:.3f}",
                  f"{statistics.median(self.off):.2f}")  # fmt: skip
        return f"| {' | '.join(map(str, fields))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--stories", nargs="*", default=STORIES, choices=STORIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder in which recordings and their truth stay")
    asked = parser.parse_args()
    by = Embedded()
    head = "| way | stories | number | action F1 | thoughts placed | word error | median s off |"
    lines = [head, "|---" * 7 + "|"]
    with desk() as room:
        for row in asked.rows:
            way, noise = ROWS[row]
            found = {True: Found(), False: Found()}
            for story in asked.stories:
                path, truth = play(room, story, way, noise, asked.seed, asked.keep)
                print(f"{row}, {story}: {path}", flush=True)
                for each in found[is_developed(story)].add(path, truth, by):
                    print(each, flush=True)
                if asked.keep:
                    keep_truth(path, truth)
            lines += [
                each.line(row, "developed with" if developed else "held out")
                for developed, each in found.items()
                if each.stories
            ]
            print(lines[-1], flush=True)
    print("\n".join(lines))


def keep_truth(path: Path, truth: Truth) -> None:
    import msgspec

    (path.parents[1] / "truth.json").write_bytes(msgspec.json.encode(dataclasses.asdict(truth)))


if __name__ == "__main__":
    main()
