"""Keys that the person presses anywhere to tell the recorder something; no application hears of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from Xlib import XK, X, error

from tars_jax import InputError

MODIFIERS = {"control": X.ControlMask, "shift": X.ShiftMask, "alt": X.Mod1Mask, "super": X.Mod4Mask}
LOCKS = (0, X.LockMask, X.Mod2Mask, X.LockMask | X.Mod2Mask)  # capitals and numbers do not matter


class Hotkeys:
    """Grabs keys of a display for as long as its connection lives."""

    def __init__(self, shown: Any, keys: Mapping[str, str]) -> None:
        """`keys`: what is wanted -> a combination such as Control+Alt+Shift+p; "" for none.

        Raises InputError for one that is no combination or that another program has.
        """
        self._wishes: dict[tuple[int, int], str] = {}
        root = shown.screen().root
        for wish, combination in keys.items():
            if not combination:
                continue
            *held, name = combination.split("+")
            mask = 0
            for each in held:
                mask |= MODIFIERS.get(each.lower(), 0)
            code = shown.keysym_to_keycode(XK.string_to_keysym(name))
            if not code or not held or any(each.lower() not in MODIFIERS for each in held):
                raise InputError(
                    f"config.hotkeys.{wish} must be one or more of {'+, '.join(MODIFIERS)}+ and a key of this "
                    f"keyboard, such as Control+Alt+Shift+p; got {combination!r}"
                )
            for locks in LOCKS:
                refused = error.CatchError(error.BadAccess)
                root.grab_key(code, mask | locks, False, X.GrabModeAsync, X.GrabModeAsync, onerror=refused)
                shown.sync()
                if refused.get_error():
                    raise InputError(
                        f"config.hotkeys.{wish} must be a combination that no other program has, no other recorder; "
                        f"got {combination!r}"
                    )
            self._wishes[code, mask] = wish

    def wish(self, event: Any) -> str:
        """Command of the hotkey that a KeyPress is of; "" for none."""
        held = event.state & sum(MODIFIERS.values())
        return self._wishes.get((event.detail, held), "")
