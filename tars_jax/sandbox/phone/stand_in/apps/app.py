"""The base of the stand-in's apps: pages with a way back, a field that has the focus, rows that verifiers read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import TextField, Touch

Row = Mapping[str, object]


class System(Protocol):
    """The phone as its apps may use it."""

    def setting(self, table: str, name: str) -> str: ...

    def put_setting(self, table: str, name: str, value: str) -> None: ...

    def open(self, package: str) -> None: ...

    def now(self) -> int:  # milliseconds since 1970, by the phone's clock
        ...

    def apps(self) -> Sequence[App]: ...

    def system_property(self, name: str) -> str: ...


class App:
    """An app starts on the page "main". `open_page` goes to another, and Back returns."""

    package: ClassVar[str]
    activity: ClassVar[str] = ".MainActivity"
    name: ClassVar[str]
    sign: ClassVar[str]  # on its icon
    color: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()  # the content URIs that `rows` answers, without content://

    def __init__(self, system: System, seed: int) -> None:
        self.system, self._seed = system, seed
        self.clear()

    def clear(self) -> None:
        """Clears the app's data as on the first start, to those of the seed."""
        self.page, self.scroll = "main", 0.0
        self.focus: TextField | None = None
        self._before: list[str] = []
        self.fill(random.Random(f"{self.package} {self._seed}"))

    def fill(self, random: random.Random) -> None:
        """Makes the app's data."""

    def build(self, layout: Layout) -> None:
        raise NotImplementedError

    def rows(self, table: str) -> list[Row]:
        """The rows of one of `tables`."""
        return []

    def drop(self, dragged: str, target: str) -> None:
        """A widget was dragged to another and let go; both by id."""

    def enter(self) -> None:
        """The keyboard's Enter in a field of one line."""
        self.focus = None

    def open_page(self, page: str) -> None:
        self._before.append(self.page)
        self.page, self.scroll, self.focus = page, 0.0, None

    def back(self) -> bool:
        """Goes one page back; False on the first."""
        if not self._before:
            return False
        self.page, self.scroll, self.focus = self._before.pop(), 0.0, None
        return True

    def first_page(self) -> None:
        """Opens the first page, as from its icon after it was ended; what it has stored stays."""
        self.page, self.scroll, self.focus = "main", 0.0, None
        self._before.clear()

    def focuses(self, field: TextField) -> Touch:
        def focus() -> None:
            self.focus = field
            field.selected = False

        return focus
