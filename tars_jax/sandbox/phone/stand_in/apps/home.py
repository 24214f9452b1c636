"""The home screen: an icon for each app; an icon dragged onto another changes places with it."""

from __future__ import annotations

import random

from tars_jax.sandbox.phone.stand_in.apps.app import App, Row
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout

CELL = 92.0  # dp


class Home(App):
    package = "com.tarsjax.launcher"
    activity = ".Home"
    name = "Home"
    sign, color = "H", "#555555"
    tables = ("home/icons",)

    def fill(self, random: random.Random) -> None:
        self._order = [app.package for app in self.system.apps() if app is not self]
        random.shuffle(self._order)

    def build(self, layout: Layout) -> None:
        apps = {app.package: app for app in self.system.apps()}
        layout.space(20)
        columns = max(3, int(layout.width // 88))
        cells = [
            {"id": f"icon_{app.name.lower()}", "text": app.name, "detail": app.sign, "color": app.color,
             "tap": lambda package=app.package: self.system.open(package),
             "dropped": lambda target, package=app.package: self._swap(package, target)}
            for app in (apps[package] for package in self._order)
        ]  # fmt: skip
        layout.grid(cells, columns, CELL, "icon")

    def _swap(self, package: str, target: str) -> None:
        for other in self.system.apps():
            if f"icon_{other.name.lower()}" == target and other.package in self._order:
                one, two = self._order.index(package), self._order.index(other.package)
                self._order[one], self._order[two] = other.package, package

    def rows(self, table: str) -> list[Row]:
        return [{"_id": index, "package": package} for index, package in enumerate(self._order)]
