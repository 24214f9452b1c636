"""The guest for Windows with a screen that is made up: black, white where it was pressed. What is typed is a file.

guest_with_a_screen.py GUEST --port 0 --home FOLDER --episodes
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

GUEST, *REST = sys.argv[1:]
HOME = Path(REST[REST.index("--home") + 1])
WIDTH, HEIGHT = 320, 200
spec = importlib.util.spec_from_file_location("windows_guest", GUEST)
assert spec is not None and spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class Screen:
    def __init__(self) -> None:
        self.pixels = bytearray(WIDTH * HEIGHT * 4)

    def shot(self) -> tuple[int, int, bytes]:
        return WIDTH, HEIGHT, bytes(self.pixels)

    def do(self, event: dict[str, Any]) -> None:
        if event["type"] == "down":
            at = 4 * (WIDTH * int(event["y"]) + int(event["x"]))
            self.pixels[at : at + 3] = b"\xff\xff\xff"
        elif event["type"] == "text":
            with open(HOME / "typed.txt", "a") as file:
                file.write(event["text"])


made: Any = module
make = made.Guest
made.Guest = lambda *given, **more: make(*given, screen=Screen, **more)
sys.argv = [GUEST, *REST]
made.main()
