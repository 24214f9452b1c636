"""The phone behind the stand-in: its apps, its settings, its clock, and what a finger or a key does.

Everything is a function of the seed and of what was done to it: no clock of the machine and no chance enter. Its own
clock stands still between inputs, and each input takes `INPUT_MS` (or as long as a finger stays down).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PIL import Image

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.apps import APPS, App, Home
from tars_jax.sandbox.phone.stand_in.device import tables
from tars_jax.sandbox.phone.stand_in.device.screen_image import NAVIGATION, STATUS, draw_screen, recent_cards
from tars_jax.sandbox.phone.stand_in.device.storage import Storage
from tars_jax.sandbox.phone.stand_in.screen import keyboard
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import Box, TextField, Touch, Widget

START = datetime.datetime(2025, 10, 15, 15, 34, tzinfo=datetime.UTC)  # AndroidWorld's day
INPUT_MS = 250
HOLD_MS = 400  # a finger that stays down so long holds
SLOP = 8.0  # dp; a finger that moves less does not drag
TEXT_LIMIT = 20_000  # characters in a field
SMALLEST, LARGEST = 160, 4096  # pixels of a side


class StandInDevice:
    """A simulated phone of `width` x `height` pixels, `density` of them to an inch. Raises InputError."""

    def __init__(self, width: int = 360, height: int = 640, density: int = 160, *, seed: int = 0) -> None:
        self.seed = seed
        self.natural_size, self.density = (width, height), density
        self.check_size(width, height, density)
        self.override: tuple[int, int] | None = None  # another size than the natural one
        self.natural_density = density
        self.down: tuple[float, float, int] | None = None  # a finger that is down: its place, and since when
        self._now = int(START.timestamp() * 1000)
        self.tables = tables.Tables()
        self.properties = tables.properties(seed)
        self.storage = Storage(self._now // 1000)
        self.clipboard = ""
        self.keyboards = tables.KEYBOARDS  # input methods that are installed
        self._apps: list[App] = []
        self._apps.extend(kind(self, seed) for kind in APPS)
        self.home = Home(self, seed)
        self._apps.append(self.home)
        self._tasks: list[App] = [self.home]  # the last one is in front
        self._recents = False
        self.locked = False  # a secure lock of the screen, as `dumpsys window` tells
        self.awake = True  # the screen is on; while it is off, keys and fingers do nothing but wake it
        self._keyboard = keyboard.OnScreenKeyboard(self.write, self._press_named)

    @staticmethod
    def check_size(width: int, height: int, density: int) -> None:
        if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
            raise InputError(f"width and height must be {SMALLEST} to {LARGEST} pixels; got {width}x{height}")
        if not 72 <= density <= 640:
            raise InputError(f"density must be 72 to 640; got {density}")

    # What apps and commands use.

    def setting(self, table: str, name: str) -> str:
        return self.tables.get(table, name)

    def put_setting(self, table: str, name: str, value: str) -> None:
        self.tables.put(table, name, value)

    def system_property(self, name: str) -> str:
        return self.properties.get(name, "")

    def now(self) -> int:
        """Milliseconds since 1970, by the device's clock."""
        return self._now

    def pass_time(self, milliseconds: int) -> None:
        self._now += max(0, milliseconds)

    def apps(self) -> Sequence[App]:
        return self._apps

    def find(self, package: str) -> App | None:
        return next((app for app in self._apps if app.package == package), None)

    @property
    def front(self) -> App:
        return self._tasks[-1]

    @property
    def shows_home(self) -> bool:
        return self.front is self.home and not self._recents

    def open(self, package: str, *, fresh: bool = False) -> None:
        """Brings an app to the front, on the page it had; on its first page when `fresh`."""
        app = self.find(package)
        if app is None:
            raise InputError(f"package must be one that is installed; got {package!r}")
        if fresh or app not in self._tasks:
            app.first_page()
        self._tasks = [task for task in self._tasks if task is not app] + [app]
        self._recents = False
        self._keyboard.hide()

    def stop(self, package: str) -> None:
        """Ends an app, as `am force-stop` does; what it has stored stays."""
        app = self.find(package)
        if app is not None and app is not self.home:
            app.first_page()
            self._tasks = [task for task in self._tasks if task is not app]

    # The screen.

    def resize(self, size: tuple[int, int] | None = None, density: int | None = None) -> None:
        """Resizes the screen to another size and density than the natural ones; None: the natural one."""
        density = density or self.natural_density
        self.check_size(*(size or self.natural_size), density)
        self.override, self.density = size, density

    @property
    def rotation(self) -> int:
        """Rotation in quarter turns, 0..3."""
        value = self.setting("system", "user_rotation")
        return int(value) % 4 if value.isdigit() and self.setting("system", "accelerometer_rotation") != "1" else 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of what is shown, pixels."""
        width, height = self.override or self.natural_size
        return (height, width) if self.rotation % 2 else (width, height)

    @property
    def scale(self) -> float:
        """Pixels to a dp; fewer where the screen is too small for an app."""
        return min(self.density / 160, min(self.size) / 300)

    def widgets(self) -> list[Widget]:
        """Widgets on the screen, those behind first. Lengths in dp."""
        width, height = (side / self.scale for side in self.size)
        bottom = height - NAVIGATION
        app = self.front
        # The ADB keyboard, where it is in use, shows no keys.
        own = self.setting("secure", "default_input_method") != tables.ADB_KEYBOARD
        typing = app.focus is not None and not self._recents and own
        keys = min(keyboard.HEIGHT, (bottom - STATUS) * 0.6) if typing else 0.0
        layout = Layout(width, bottom - keys - STATUS, app.scroll)
        if self._recents:
            recent_cards(
                layout, [task for task in reversed(self._tasks) if task is not self.home], self.open, self.stop
            )
        else:
            app.build(layout)
        app.scroll = min(app.scroll, layout.most_scroll)
        self._most_scroll = layout.most_scroll
        found = [widget.moved(0, STATUS) for widget in layout.widgets()]
        if typing:
            found += self._keyboard.widgets(Box(0, bottom - keys, width, bottom))
        third = width / 3
        for index, (name, key) in enumerate((("back", "BACK"), ("home", "HOME"), ("recents", "APP_SWITCH"))):
            box = Box(index * third, bottom, (index + 1) * third, height)
            found.append(Widget("label", name, box, box, tap=self._presses(key)))
        return found

    def _press_named(self, name: str) -> None:
        """A key of the on-screen keyboard."""
        self.press("DEL" if name == "delete" else "ENTER")

    def _presses(self, key: str) -> Touch:
        return lambda: self.press(key)

    def screenshot(self) -> Image.Image:
        """RGB, of `size`; black while the screen is off."""
        return draw_screen(self) if self.awake else Image.new("RGB", self.size)

    def date(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._now / 1000, datetime.UTC)

    # What a finger does. Lengths in pixels.

    def touch(
        self, start: tuple[float, float], end: tuple[float, float], milliseconds: int, *, drag: bool = False
    ) -> None:
        """A finger goes down at `start`, stays `milliseconds`, and goes up at `end`.

        A short one on one spot taps, a long one holds; one that moves scrolls what lies below it, or moves a slider;
        with `drag` it takes along the widget that it held.
        """
        self.pass_time(max(INPUT_MS, milliseconds))
        scale = self.scale
        (x, y), (to_x, to_y) = ((a / scale, b / scale) for a, b in (start, end))
        width, height = (side / scale for side in self.size)
        if not self.awake or not (0 <= x < width and 0 <= y < height):
            return
        widget = self._at(x, y)
        if abs(to_x - x) < SLOP and abs(to_y - y) < SLOP:
            if widget is None:
                return
            if milliseconds >= HOLD_MS and widget.hold is not None:
                widget.hold()
            elif widget.slide is not None:
                widget.slide(self._part(widget, to_x))
            elif widget.tap is not None:
                widget.tap()
        elif widget is not None and widget.slide is not None and abs(to_x - x) > abs(to_y - y):
            widget.slide(self._part(widget, to_x))
        elif drag:
            target = self._at(to_x, to_y)
            if widget is not None and widget.dropped is not None and target is not None and target.id != widget.id:
                widget.dropped(target.id)
        elif not self._recents:
            self.front.scroll = max(0.0, min(self._most_scroll, self.front.scroll + y - to_y))

    def _at(self, x: float, y: float) -> Widget | None:
        hit = [widget for widget in self.widgets() if widget.visible.contains(x, y)]
        return hit[-1] if hit else None

    @staticmethod
    def _part(widget: Widget, x: float) -> float:
        return max(0.0, min(1.0, (x - widget.box.left) / (widget.box.right - widget.box.left)))

    # What keys do.

    @property
    def focus(self) -> TextField | None:
        return None if self._recents else self.front.focus

    def write(self, text: str) -> bool:
        """Puts text into the field that has the focus; False if none has."""
        if self.focus is None or not text or not self.awake:
            return False
        if len(self.focus.text) + len(text) <= TEXT_LIMIT:
            self.focus.insert(text if self.focus.lines else text.replace("\n", " "))
        return True

    def press(self, key: str) -> None:
        """A key by its Android name without KEYCODE_; one that does nothing here does nothing."""
        if key in ("POWER", "SLEEP", "WAKEUP"):
            self.awake = key == "WAKEUP" or (key == "POWER" and not self.awake)
        elif self.awake:
            self._pressed(key)

    def _pressed(self, key: str) -> None:
        field = self.focus
        if key == "HOME":
            self._recents, self.home.scroll = False, 0.0
            self._tasks = [task for task in self._tasks if task is not self.home] + [self.home]
        elif key == "APP_SWITCH":
            self._recents = not self._recents
        elif key in ("BACK", "ESCAPE"):
            self._back()
        elif key in ("ENTER", "NUMPAD_ENTER"):
            if field is not None and field.lines:
                self.write("\n")
            elif field is not None:
                self.front.enter()
        elif key == "DEL" and field is not None:
            field.delete()
        elif key == "PASTE":
            self.write(self.clipboard)
        elif key in ("COPY", "CUT") and field is not None and field.selected:
            self.clipboard = field.text
            if key == "CUT":
                field.delete()
        elif key == "SELECT_ALL" and field is not None:
            field.selected = bool(field.text)
        elif key in ("PAGE_DOWN", "PAGE_UP"):
            step = min(self.size) / self.scale * (1 if key == "PAGE_DOWN" else -1)
            self.widgets()
            self.front.scroll = max(0.0, min(self._most_scroll, self.front.scroll + step))
        elif key in ("VOLUME_UP", "VOLUME_DOWN"):
            volume = _number(self.setting("system", "volume_music")) + (1 if key == "VOLUME_UP" else -1)
            self.put_setting("system", "volume_music", str(max(0, min(15, volume))))

    def _back(self) -> None:
        if self._recents:
            self._recents = False
        elif self.front.focus is not None:
            self.front.focus = None
            self._keyboard.hide()
        elif not self.front.back() and self.front is not self.home:
            self._tasks.remove(self.front)
            if self.front is not self.home:  # Back out of an app leads home, not to the app before it
                self.press("HOME")


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() else 0
