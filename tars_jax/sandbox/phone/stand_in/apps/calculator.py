"""A calculator: + - × ÷ on decimal numbers, × and ÷ first."""

from __future__ import annotations

import decimal
import random
import re
from decimal import Decimal

from tars_jax.sandbox.phone.stand_in.apps.app import App, Row
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import Box

KEYS = ("C", "⌫", "%", "÷", "7", "8", "9", "×", "4", "5", "6", "-", "1", "2", "3", "+", "±", "0", ".", "=")
NAMES = {"C": "clear", "⌫": "delete", "%": "percent", "÷": "divide", "×": "multiply", "-": "minus", "+": "plus",
         "±": "sign", ".": "point", "=": "equals"}  # fmt: skip
SIGNS = "+-×÷"
LENGTH = 24
CONTEXT = decimal.Context(prec=12)


class Calculator(App):
    package = "com.tarsjax.calculator"
    name = "Calculator"
    sign, color = "±", "#2d8a5b"
    tables = ("calculator/state",)

    def fill(self, random: random.Random) -> None:
        self._shown, self._done = "0", False
        self._history: list[str] = []

    def build(self, layout: Layout) -> None:
        low = layout.height < 400
        display = 56.0 if low else 92.0
        layout.fixed("panel", "display_panel", Box(0, 0, layout.width, display))
        layout.fixed("label", "display", Box(18, 0, layout.width - 18, display), text=self._shown)
        high = (layout.height - display - 8) / 5
        wide = (layout.width - 16) / 4
        for index, key in enumerate(KEYS):
            line, column = divmod(index, 4)
            box = Box(8 + column * wide + 3, display + 4 + line * high + 3,
                      8 + (column + 1) * wide - 3, display + 4 + (line + 1) * high - 3)  # fmt: skip
            color = "#2f6fde" if key == "=" else ""
            layout.fixed(
                "button", f"key_{NAMES.get(key, key)}", box, text=key, color=color, tap=lambda key=key: self.press(key)
            )

    def rows(self, table: str) -> list[Row]:
        return [{"_id": 1, "display": self._shown, "history": "; ".join(self._history)}]

    def press(self, key: str) -> None:
        if key == "C" or self._shown == "Error":
            self._shown, self._done = "0", False
            if key in "C=⌫":
                return
        if key == "⌫":
            self._shown = self._shown[:-1] or "0"
        elif key == "=":
            result = evaluate(self._shown)
            self._history = [*self._history, f"{self._shown}={result}"][-20:]
            self._shown, self._done = result, True
        elif key == "%":
            self._number(lambda number: number / 100)
        elif key == "±":
            self._number(lambda number: -number)
        elif key in SIGNS:
            self._shown = (self._shown[:-1] if self._shown[-1] in SIGNS else self._shown) + key
            self._done = False
        elif len(self._shown) < LENGTH or self._done:
            last = re.split(rf"[{re.escape(SIGNS)}]", self._shown)[-1]
            if self._done:
                self._shown, last, self._done = "0", "0", False
            if key == "." and "." in last:
                return
            if last == "0" and key != ".":
                self._shown = self._shown[:-1]
            self._shown += "0" + key if key == "." and not last else key

    def _number(self, change: object) -> None:
        """Changes what is shown, if it is one number."""
        assert callable(change)
        value = evaluate(self._shown)
        if value != "Error":
            self._shown = plain(CONTEXT.create_decimal(change(Decimal(value))))


def evaluate(text: str) -> str:
    """The value of numbers with + - × ÷ between them, 12 digits; "Error" where there is none."""
    parts = re.findall(r"(?:(?<![\d.])-)?\d+\.?\d*(?:E[+-]?\d+)?|[+\-×÷]", text)
    if "".join(parts) != text or len(parts) % 2 == 0:
        return "Error"
    try:
        terms = [Decimal(parts[0])]
        for sign, number in zip(parts[1::2], parts[2::2], strict=True):
            value = Decimal(number)
            if sign == "×":
                terms[-1] = CONTEXT.multiply(terms[-1], value)
            elif sign == "÷":
                terms[-1] = CONTEXT.divide(terms[-1], value)
            elif sign in "+-" and sign:
                terms.append(value if sign == "+" else -value)
        total = Decimal(0)
        for term in terms:
            total = CONTEXT.add(total, term)
    except (decimal.DecimalException, ValueError):
        return "Error"
    return plain(total)


def plain(value: Decimal) -> str:
    """Without an exponent where 15 digits are enough, and without zeros at the end."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if len(text) <= 15 else f"{value.normalize(CONTEXT):.9E}"
