"""`input`: fingers, keys and texts, with Android's words and its limits."""

from __future__ import annotations

from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, failed
from tars_jax.sandbox.phone.stand_in.device.device import HOLD_MS, INPUT_MS, StandInDevice
from tars_jax.sandbox.phone.stand_in.device.keycodes import CONTROL, TEXTS, key_name

SOURCES = ("touchscreen", "keyboard", "mouse", "stylus", "touchpad", "dpad", "gamepad", "trackball", "joystick")
SWIPE_MS = 300
MOST_MS = 60_000
NO_KEYS = "java.lang.NullPointerException: Attempt to get length of null array"


def input_(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    args = args[1:] if args[:1] and args[0] in SOURCES else args
    args = args[2:] if args[:1] == ["-d"] else args
    if not args:
        return failed("Error: Invalid arguments for command: input", 255)
    name, *rest = args
    try:
        done = ACTS[name](device, rest)
    except KeyError:
        return failed(f"Error: Unknown command: {name}", 255)
    except (ValueError, IndexError):
        return failed(f"Error: Invalid arguments for command: {name}", 255)
    return done or CommandOutput()


def _tap(device: StandInDevice, args: list[str]) -> None:
    x, y = map(float, args)
    device.touch((x, y), (x, y), 50)


def _swipe(device: StandInDevice, args: list[str], *, drag: bool = False) -> None:
    x, y, to_x, to_y = map(float, args[:4])
    milliseconds = int(args[4]) if len(args) > 4 else SWIPE_MS
    if not 0 <= milliseconds <= MOST_MS:
        raise ValueError(milliseconds)
    device.touch((x, y), (to_x, to_y), milliseconds, drag=drag)


def _drag(device: StandInDevice, args: list[str]) -> None:
    _swipe(device, args, drag=True)


def _motion(device: StandInDevice, args: list[str]) -> None:
    """A finger in parts: DOWN, MOVE, UP. One that stayed down before it moved takes along what it held."""
    kind, x, y = args[0].upper(), float(args[1]), float(args[2])
    if kind == "DOWN":
        device.down = (x, y, device.now())
    elif kind == "MOVE":
        device.pass_time(INPUT_MS)
    elif kind in ("UP", "CANCEL"):
        start, device.down = device.down, None
        if start is not None and kind == "UP":
            stayed = device.now() - start[2]
            device.touch(start[:2], (x, y), stayed, drag=stayed >= HOLD_MS)
    else:
        raise ValueError(kind)


def _text(device: StandInDevice, args: list[str]) -> CommandOutput | None:
    """%s is a space, and what no key of the phone's keyboard makes is refused: both as on Android."""
    text = " ".join(args)
    if not args:
        raise IndexError
    if not text.isascii():
        return failed(f"Exception occurred while executing 'text':\n{NO_KEYS}", 255)
    device.pass_time(INPUT_MS)
    device.write(text.replace("%s", " "))
    return None


def _keys(device: StandInDevice, args: list[str]) -> CommandOutput | None:
    names = [arg for arg in args if not arg.startswith("--")]
    if not names:
        raise IndexError
    for word in names:
        name = key_name(word)
        if name is None:
            return failed(f"Error: Unknown keycode: {word}", 255)
        device.pass_time(INPUT_MS)
        if name in TEXTS:
            device.write(TEXTS[name])
        else:
            device.press(name)
    return None


def _combination(device: StandInDevice, args: list[str]) -> CommandOutput | None:
    names = [key_name(arg) for arg in args if not arg.startswith("-")]
    if len(names) < 2 or None in names:
        raise ValueError(args)
    device.pass_time(INPUT_MS)
    if names[0] in ("CTRL_LEFT", "CTRL_RIGHT") and names[1] in CONTROL:
        device.press(CONTROL[names[1]])
    return None


ACTS = {"tap": _tap, "swipe": _swipe, "draganddrop": _drag, "motionevent": _motion, "text": _text, "keyevent": _keys,
        "keycombination": _combination}  # fmt: skip
COMMANDS: dict[str, Command] = {"input": input_}
