"""The dialer: a keypad, a call that goes on until it is ended, and the log of calls. Nobody ever answers."""

from __future__ import annotations

import random

from tars_jax.sandbox.phone.stand_in.apps.app import Row
from tars_jax.sandbox.phone.stand_in.apps.contacts import CallsNumbers
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import Box

KEYS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#")
GREEN, RED = "#2d8a5b", "#c0392b"
LENGTH = 24


class Dialer(CallsNumbers):
    package = "com.android.dialer"
    activity = ".DialtactsActivity"
    name = "Phone"
    sign, color = "☎", GREEN
    tables = ("call_log/calls",)

    def fill(self, random: random.Random) -> None:
        self._number = ""
        self._calls: list[tuple[str, int]] = []

    def build(self, layout: Layout) -> None:
        if self.page == "call":
            layout.header("Calling")
            layout.label("called", f"   {self._calls[-1][0]}", 60)
            layout.fixed("button", "end_call", self._lower(layout, 70),
                         text="End call", color=RED, tap=self.back)  # fmt: skip
            return
        if self.page == "log":
            layout.header("Calls", self.back)
            for index, (number, _) in reversed(list(enumerate(self._calls))):
                layout.row(f"call_{index + 1}", number, "outgoing")
            return
        layout.header("Phone", None, ("log", "Calls", lambda: self.open_page("log")))
        layout.fixed("label", "number", Box(18, 48, layout.width - 80, 98), text=self._number)
        layout.fixed("button", "delete", Box(layout.width - 70, 54, layout.width - 10, 92), text="⌫", tap=self._delete,
                     hold=self._erase)  # fmt: skip
        high = (layout.height - 100 - 60) / 4
        wide = (layout.width - 20) / 3
        for index, key in enumerate(KEYS):
            line, column = divmod(index, 3)
            box = Box(
                10 + column * wide + 4, 100 + line * high + 3, 10 + (column + 1) * wide - 4, 100 + (line + 1) * high - 3
            )
            layout.fixed("button", f"key_{key}", box, text=key, tap=lambda key=key: self._type(key),
                         hold=(lambda: self._type("+")) if key == "0" else None)  # fmt: skip
        layout.fixed("button", "call", self._lower(layout, 54),
                     text="Call", color=GREEN, tap=self._dial)  # fmt: skip

    @staticmethod
    def _lower(layout: Layout, above: float) -> Box:
        """Box of the one button at the lower end."""
        top = layout.height - above
        return Box(layout.width / 2 - 60, top, layout.width / 2 + 60, top + 46)

    def rows(self, table: str) -> list[Row]:
        return [
            {"_id": index + 1, "number": number, "type": 2, "date": at}
            for index, (number, at) in enumerate(self._calls)
        ]

    def call(self, number: str) -> None:
        self.first_page()
        self._calls.append((number, self.system.now()))
        self.open_page("call")

    def dial(self, number: str) -> None:
        """Shows a number on the keypad; nobody is called."""
        self.first_page()
        self._number = number[:LENGTH]

    def _type(self, key: str) -> None:
        self._number = (self._number + key)[:LENGTH]

    def _delete(self) -> None:
        self._number = self._number[:-1]

    def _erase(self) -> None:
        self._number = ""

    def _dial(self) -> None:
        if self._number:
            self.call(self._number)
            self._number = ""
