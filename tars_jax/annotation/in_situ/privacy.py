"""Privacy of a recording: only windows of allowed applications are in it, and secret ones never are.

The windows of a screen, whose each is and what it hides of those below; the rest of each picture is black. Whether a
password is being typed: secret_input.py. What is taken out before a recording is exported: export_redaction.py.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

import numpy as np

Box = tuple[int, int, int, int]  # x, y, width, height

# Programs that ask for secrets, and titles under which others do; a person adds their own.
SECRET_APPLICATIONS = (
    "keepass", "1password", "bitwarden", "enpass", "seahorse", "kwallet", "gcr-prompter", "pinentry", "ssh-askpass",
    "polkit", "lxqt-sudo", "kdesu", "gksu", "i3lock", "xsecurelock", "xscreensaver", "gnome-screensaver", "slock",
)  # fmt: skip
SECRET_TITLES = (
    r"pass(word|phrase|code)", r"\b(sign|log)[ -]?(in|on)\b", r"\blogin\b", r"authenticat", r"verification code",
    r"two[- ]factor", r"\b2fa\b", r"unlock", r"private brows", r"incognito", r"checkout", r"payment", r"\bbank",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class VisibleWindow:
    """A top-level window that is on the screen, its frame included."""

    id: int
    application: str  # the class that its program gives it; "" for none
    instance: str = ""
    title: str = ""
    box: Box = (0, 0, 0, 0)
    solid: tuple[Box, ...] | None = None  # the parts through which nothing below is seen; None: all of it
    process: int = 0  # 0: unknown
    own: bool = False  # it is the recorder's

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (self.application, self.instance) if name)


@dataclasses.dataclass(frozen=True)
class ScreenWindows:
    """All that are on a screen of `size` (width, height), those below before those above."""

    size: tuple[int, int]
    shown: tuple[VisibleWindow, ...] = ()
    focused: VisibleWindow | None = None


class AllowedWindows:
    """Windows that may be recorded: those of the applications that the person named, but for secret ones."""

    def __init__(
        self, applications: Iterable[str], secret_titles: Sequence[str] = (), secret_applications: Sequence[str] = ()
    ) -> None:
        """Patterns are added to those above; they are searched for, in any case of letters. Raises re.error."""
        self.applications = frozenset(name.lower() for name in applications)
        self._titles = [re.compile(each, re.IGNORECASE) for each in (*SECRET_TITLES, *secret_titles)]
        names = (*map(re.escape, SECRET_APPLICATIONS), *secret_applications)
        self._names = [re.compile(each, re.IGNORECASE) for each in names]

    def allows(self, window: VisibleWindow | None) -> bool:
        return window is not None and not window.own and not window.names.isdisjoint(self.applications)

    def is_secret(self, window: VisibleWindow | None) -> bool:
        if window is None:
            return False
        return any(pattern.search(name) for pattern in self._names for name in window.names) or any(
            pattern.search(window.title) for pattern in self._titles
        )

    def records(self, window: VisibleWindow | None) -> bool:
        return self.allows(window) and not self.is_secret(window)

    def with_(self, application: str) -> AllowedWindows:
        """The person allows one more."""
        other = object.__new__(AllowedWindows)
        other.applications = self.applications | {application.lower()}
        other._titles, other._names = self._titles, self._names
        return other

    def visible(self, windows: ScreenWindows) -> np.ndarray:
        """np.bool_ [height, width]: the pixels that show a window which may be recorded and nothing else.

        Where a window is not solid, what lies below has to be allowed, too.
        """
        width, height = windows.size
        seen = np.zeros((height, width), np.bool_)
        for window in windows.shown:
            if not self.records(window):
                _part(seen, window.box)[:] = False
            else:
                for box in (window.box,) if window.solid is None else window.solid:
                    _part(seen, box)[:] = True
        return seen


class Blackout:
    """Blacks out pictures but for what is visible of allowed windows now and was so for `settle` seconds.

    A window that has gone leaves its pixels behind until the one below it has drawn itself anew, and a compositor
    fades it out.
    """

    def __init__(self, settle: float) -> None:
        self._settle = settle
        self._seen: np.ndarray | None = None
        self.is_dark = True  # nothing may be shown
        self._dark_until = np.zeros((0, 0))
        self._clear = np.zeros((0, 0), np.uint32)  # 1 for pixels that may be kept
        self._settles_at, self._is_settled = 0.0, False  # from when on that stays so, and whether it is said already

    def update(self, seen: np.ndarray, now: float) -> None:
        """`seen`: of `AllowedWindows.visible`, from `now` on."""
        before, self._seen, self.is_dark = self._seen, seen, not seen.any()
        if before is None or before.shape != seen.shape:
            self._dark_until = np.full(seen.shape, now + self._settle)
        else:
            self._dark_until[~before] = now + self._settle
        self._settles_at, self._is_settled = now + self._settle, False

    def shows(self, x: int, y: int) -> bool:
        """Whether an allowed window is at this place now."""
        seen = self._seen
        return seen is not None and 0 <= y < seen.shape[0] and 0 <= x < seen.shape[1] and bool(seen[y, x])

    def fits(self, pixels: np.ndarray) -> bool:
        """Whether a picture has the size of `seen`."""
        return self._seen is not None and pixels.shape[:2] == self._seen.shape

    def cover(self, pixels: np.ndarray, now: float) -> None:
        """Blackens in place, np.uint8 [height, width, 4]. Takes pictures of the size of `seen` alone."""
        assert self._seen is not None
        if not self._is_settled:
            self._clear = (self._seen & (self._dark_until <= now)).astype(np.uint32)
            self._is_settled = now > self._settles_at
        words = pixels.view(np.uint32)[..., 0]
        np.multiply(words, self._clear, out=words)


def _part(picture: np.ndarray, box: Box) -> np.ndarray:
    x, y, width, height = box
    return picture[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)]
