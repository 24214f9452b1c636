"""A window as it is told of. Nothing here needs X."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Window:
    id: int
    title: str
    app: tuple[str, str]  # WM_CLASS: (name of the instance, name of the class)
    process: int | None  # id inside, by the X server; None: another one made it
    x: int  # of the content, in pixels of the screen
    y: int
    width: int
    height: int
    active: bool
