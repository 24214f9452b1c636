"""Sessions of an annotator who does not exist: scripted play and speech, with the truth of both."""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image, ImageDraw

from tars_jax.agent.actions import Action, Click, Drag, Hotkey, LeftDouble, Point, RightSingle, Scroll, Type
from tars_jax.agent.grammar_text import format_call
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    RecordedEvent,
    ScreenFrame,
    Scrolled,
    Voice,
)
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, VERSION, Head
from tests.annotation.in_situ import phrases
from tests.annotation.in_situ.espeak import RATE, Said, say

SCREEN = (1280, 720)
PIECE_S = 20.0  # of voice, a file each
VOICES, OTHER_VOICES = ("en-us", "en-gb"), ("en-us+f3", "en-us+m3", "en-gb+f2")
SPEEDS, FAST = (120, 160), (185, 205)  # words in a minute
_NAMES = {" ": "space", "\n": "Return"}


@dataclasses.dataclass(frozen=True)
class Thought:
    """What was said, and the step that it belongs to; None: to none, as it is talk of other things or taken back."""

    kind: str  # announce, comment, correction, slip, corrected, apart
    text: str
    begins: float
    ends: float
    words: tuple[tuple[str, float], ...]
    step: int | None


@dataclasses.dataclass
class Session:
    events: list[RecordedEvent] = dataclasses.field(default_factory=list)
    steps: list[tuple[float, str]] = dataclasses.field(default_factory=list)  # time of the press, calls
    thoughts: list[Thought] = dataclasses.field(default_factory=list)
    sounds: list[tuple[float, np.ndarray]] = dataclasses.field(default_factory=list)
    pictures: dict[str, bytes] = dataclasses.field(default_factory=dict)
    tree: dict[str, Any] = dataclasses.field(default_factory=dict)  # of accessibility
    ends: float = 0.0


class Player:
    """Hands, mouth and screen of one session; `now` is where its script stands."""

    def __init__(
        self, seed: int, chosen: phrases.Phrases, names: Sequence[str], texts: Sequence[str],
        speeds: tuple[int, int], voices: Sequence[str],
    ) -> None:  # fmt: skip
        self._draw = random.Random(seed)
        self._phrases, self._texts = chosen, texts
        self._places = {
            name: (140 + 260 * (number % 4), 120 + 150 * (number // 4)) for number, name in enumerate(names)
        }
        self._voice = self._draw.choice(voices)
        self._speed = self._draw.randint(*speeds)
        self.session = Session()
        self.now = 1.0
        self._mouse = (640, 700)
        self._mouth_free = 0.0
        self._shown, self._before = "", ""
        self.session.tree = {
            "role": "frame",
            "name": "Office",
            "children": [{"role": "button", "name": name} for name in names],
        }
        self._add(FocusedWindow(time=0.0, application="office", allowed=True, title="Office", box=(0, 0, *SCREEN)))
        self._add(Accessibility(time=0.0, file="0.json"))
        self._show(0.0)

    # ---- the script

    def play(self, steps: int) -> Session:
        for _ in range(steps):
            self._one_thing()
        self.now = max(self.now, self._mouth_free) + 1.0
        self._show(self.now - 0.5)
        self._add(Ended(time=self.now))
        self.session.ends = self.now
        self.session.events.sort(key=lambda event: event.time)
        return self.session

    def _one_thing(self) -> None:
        draw = self._draw
        kinds = ["click"] * 4 + ["type"] * 3 + ["double", "right", "save", "copy", "scroll", "drag"]
        kind = draw.choice([each for each in kinds if (each, self._before) != ("type", "type")])
        self._before = kind
        name, other = draw.sample(sorted(self._places), 2)
        text = draw.choice(self._texts)
        how = draw.choices(
            ("announce", "overlap", "corrected", "comment", "both", "silence", "apart", "slip"),
            (5, 4, 2, 2, 2, 2, 2, 1),
        )[0]
        if how in ("corrected", "slip") and kind not in ("click", "double", "right"):
            how = "announce"
        self.now += draw.uniform(0.6, 2.5)
        words = {"name": name, "other": other, "text": text}
        if how == "apart":
            self._say("apart", self._phrases.apart, words, None, wait=True)
            self.now += draw.uniform(0.5, 2.0)
        if how == "slip":
            self._do("click", other, name, text)
            self.now += draw.uniform(0.5, 1.0)
            self._say("slip", self._phrases.slip, words, self._next, wait=True)
        if how == "corrected":
            before = self._phrases.announce[kind]
            self._say("corrected", before, {**words, "name": other}, None, wait=True)
            self.now += draw.uniform(0.1, 0.8)
            self._say("correction", self._phrases.correction, words, self._next, wait=True)
            self.now += draw.uniform(0.2, 1.2)
        if how in ("announce", "both"):
            self._say("announce", self._phrases.announce[kind], words, self._next, wait=True)
            self.now += draw.uniform(0.1, 2.0)
        if how == "overlap":
            begins = self.now
            self._say("announce", self._phrases.announce[kind], words, self._next, wait=True)
            self.now -= draw.uniform(0.2, 0.6) * (self.now - begins)
        self._do(kind, name, other, text)
        if how in ("comment", "both"):
            self.now = max(self.now, self._mouth_free) + draw.uniform(0.3, 1.2)
            self._say("comment", self._phrases.comment, words, self._next - 1, wait=True)
            self.now += draw.uniform(0.4, 1.2)

    @property
    def _next(self) -> int:
        return len(self.session.steps)

    def _say(self, kind: str, choices: Sequence[str], words: dict[str, str], step: int | None, *, wait: bool) -> None:
        text = self._draw.choice(choices).format(**words)
        said = spoken(text, self._voice, self._speed + self._draw.randint(-12, 12))
        begins = max(self.now, self._mouth_free + 0.15)
        self.session.sounds.append((begins, said.samples))
        times = tuple((word, begins + time) for word, time in said.words)
        self.session.thoughts.append(Thought(kind, text, begins, begins + said.seconds, times, step))
        self._mouth_free = begins + said.seconds
        if wait:
            self.now = self._mouth_free

    # ---- hands

    def _do(self, kind: str, name: str, other: str, text: str) -> None:
        place = self._places[name]
        if kind == "type":
            self._type(text)
        elif kind in ("save", "copy"):
            self._hotkey("s" if kind == "save" else "c")
        elif kind == "scroll":
            self._move((620, 400))
            self._did(Scroll(_point(self._mouse), "down"), *[Scroll(_point(self._mouse), "down")])
            for _ in range(6):
                self._add(Scrolled(time=self.now, x=self._mouse[0], y=self._mouse[1], dy=1))
                self.now += self._draw.uniform(0.05, 0.25)
        else:
            self._move(place)
            at = _point(self._mouse)
            if kind == "drag":
                self._press("left", True)
                start, began = at, self.now
                self.now += 0.1
                self._move(self._places[other])
                self._press("left", False)
                self.session.steps.append((began, format_call(Drag(start, _point(self._mouse)))))
            else:
                clicked: dict[str, Action] = {"click": Click(at), "double": LeftDouble(at), "right": RightSingle(at)}
                self._did(clicked[kind])
                for number in range(2 if kind == "double" else 1):
                    self.now += self._draw.uniform(0.05, 0.2) if number else 0.0
                    self._press("right" if kind == "right" else "left", True)
                    self.now += self._draw.uniform(0.04, 0.12)
                    self._press("right" if kind == "right" else "left", False)
        self._shown = f"{kind} {name}"
        self.now += 0.25
        self._show(self.now)

    def _move(self, place: tuple[int, int]) -> None:
        self._show(self.now)
        target = (place[0] + self._draw.randint(-20, 20), place[1] + self._draw.randint(-8, 8))
        count = self._draw.randint(6, 20)
        start = self._mouse
        for number in range(1, count + 1):
            self.now += self._draw.uniform(0.015, 0.04)
            x, y = (round(a + (b - a) * number / count) for a, b in zip(start, target, strict=True))
            self._add(Moved(time=self.now, x=x, y=y))
        self._mouse = target
        self.now += self._draw.uniform(0.03, 0.2)

    def _press(self, button: str, down: bool) -> None:
        self._add(Button(time=self.now, x=self._mouse[0], y=self._mouse[1], button=button, down=down))  # type: ignore[arg-type]

    def _type(self, text: str) -> None:
        self._show(self.now)
        ended = self._draw.choice(("\n", ""))
        self._did(Type(text + ended))
        keys: list[str] = []
        for letter in text:
            if self._draw.random() < 0.06:
                keys += ["q", "BackSpace"]
            keys.append(letter)
        if self._draw.random() < 0.2:  # one letter was forgotten, and put in later
            place = self._draw.randrange(1, len(text) - 1)
            back = len(text) - place - 1
            keys = [*text[:place], *text[place + 1 :], *["Left"] * back, text[place], "End"]
        for key in [*keys, *ended]:
            self._key(key)
            self.now += self._draw.uniform(0.06, 0.22)

    def _key(self, key: str, *, types: bool = True) -> None:
        text = key if len(key) == 1 and key != "\n" and types else ""
        name = _NAMES.get(key, key)
        self._add(KeyStroke(time=self.now, key=name, down=True, text=text))
        self._add(KeyStroke(time=self.now + 0.04, key=name, down=False))

    def _hotkey(self, letter: str) -> None:
        self._show(self.now)
        self._add(KeyStroke(time=self.now, key="Control_L", down=True))
        self.now += 0.08
        self._did(Hotkey(("ctrl", letter)))
        self._key(letter, types=False)
        self.now += 0.1
        self._add(KeyStroke(time=self.now, key="Control_L", down=False))

    def _did(self, *actions: Action) -> None:
        self.session.steps.append((self.now, "\n\n".join(map(format_call, actions))))

    # ---- the screen

    def _show(self, time: float) -> None:
        name = f"{time:09.3f}.png"
        self.session.pictures[name] = picture(tuple(sorted(self._places.items())), self._shown)
        self._add(ScreenFrame(time=time, file=name))

    def _add(self, event: RecordedEvent) -> None:
        self.session.events.append(event)


@functools.lru_cache(maxsize=256)
def spoken(text: str, voice: str, speed: int) -> Said:
    return say(text, voice=voice, words_per_minute=speed)


@functools.lru_cache(maxsize=64)
def picture(places: tuple[tuple[str, tuple[int, int]], ...], shown: str) -> bytes:
    image = Image.new("RGB", SCREEN, "#f4f5f7")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SCREEN[0], 44), fill="#33415c")
    draw.text((20, 12), "Office", fill="white", font_size=18)
    for name, (x, y) in places:
        draw.rounded_rectangle((x - 90, y - 24, x + 90, y + 24), 8, fill="white", outline="#9aa5b8")
        draw.text((x, y), name, fill="#22252b", anchor="mm", font_size=18)
    draw.text((640, 640), shown, fill="#22252b", anchor="mm", font_size=20)
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def session(
    seed: int,
    *,
    held_out: bool = False,
    steps: int = 12,
    speeds: tuple[int, int] = SPEEDS,
    voices: Sequence[str] = VOICES,
) -> Session:
    """`speeds`: words in a minute, from and to."""
    script = (
        (phrases.HELD_OUT, phrases.HELD_OUT_NAMES, phrases.HELD_OUT_TEXTS) if held_out
        else (phrases.DEVELOPED, phrases.DEVELOPED_NAMES, phrases.DEVELOPED_TEXTS)
    )  # fmt: skip
    return Player(seed, *script, speeds, voices).play(steps)


def a_day(piece: Session, hours: float) -> Iterator[RecordedEvent]:
    """The same work again and again."""
    for number in itertools.count():
        for event in piece.events:
            time = event.time + number * piece.ends
            if time > 3600 * hours:
                return
            if not isinstance(event, Ended):
                yield type(event)(**{**{name: getattr(event, name) for name in event.__struct_fields__}, "time": time})


def voice_of(session: Session, seed: int, noise: float = 0.004) -> np.ndarray:
    """The microphone: what was said, the keys, a fan."""
    draw = np.random.default_rng(seed)
    heard = draw.normal(0, noise, round(session.ends * RATE)).astype(np.float32)
    for begins, samples in session.sounds:
        start = round(begins * RATE)
        part = samples[: len(heard) - start]
        heard[start : start + len(part)] += part
    for event in session.events:
        if isinstance(event, KeyStroke | Button) and event.down:
            start = round(event.time * RATE)
            click = draw.normal(0, 0.03, 160) * np.exp(-np.arange(160) / 30)
            heard[start : start + 160] += click[: max(0, len(heard) - start)].astype(np.float32)
    return np.clip(heard, -1, 1)


def write(session: Session, folder: Path, seed: int, *, noise: float = 0.004, task: str = "Put it in order") -> Path:
    """The recording on disk, as a recorder leaves it."""
    import soundfile

    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    head = Head(version=VERSION, id=f"synthetic-{seed}", began=1.7e9, screen=SCREEN, consent="It is a script.",
                allowed=("office",), source="synthetic", task=task, annotator="script", track="expert")  # fmt: skip
    (folder / HEAD).write_bytes(msgspec.json.encode(head))
    for name, content in session.pictures.items():
        (folder / "frames" / name).write_bytes(content)
    (folder / "accessibility" / "0.json").write_bytes(msgspec.json.encode(session.tree))
    heard = voice_of(session, seed, noise)
    pieces: list[RecordedEvent] = []
    for number in range(0, len(heard), round(PIECE_S * RATE)):
        part = heard[number : number + round(PIECE_S * RATE)]
        name = f"{number:09d}.flac"
        soundfile.write(folder / "voice" / name, part, RATE, format="FLAC")
        pieces.append(Voice(time=number / RATE, file=name, seconds=len(part) / RATE))
    events = sorted([*session.events, *pieces], key=lambda event: event.time)
    (folder / EVENTS).write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return folder


def _point(place: tuple[int, int]) -> Point:
    exact = Point.from_pixels(place[0] + 0.5, place[1] + 0.5, *SCREEN)
    return Point(round(exact.x, 1), round(exact.y, 1))
