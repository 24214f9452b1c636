"""`screencap`, `wm` and `uiautomator`: pictures, sizes, and what is on the screen as XML."""

from __future__ import annotations

import io
import re
import struct
from xml.sax.saxutils import quoteattr

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, failed, said
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice

CLASSES = {"label": "android.widget.TextView", "button": "android.widget.Button", "row": "android.widget.TextView",
           "switch": "android.widget.Switch", "slider": "android.widget.SeekBar", "field": "android.widget.EditText",
           "icon": "android.widget.TextView", "key": "android.widget.Button", "panel": "android.view.View"}  # fmt: skip
DUMP = "/sdcard/window_dump.xml"
RGBA, SRGB = 1, 1


def screencap(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    args = [arg for index, arg in enumerate(args) if arg != "-d" and (index == 0 or args[index - 1] != "-d")]
    target = next((arg for arg in args if not arg.startswith("-")), None)
    image = device.screenshot()
    if "-p" in args or (target or "").endswith(".png"):
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        content = buffer.getvalue()
    else:
        content = struct.pack("<4I", *image.size, RGBA, SRGB) + image.convert("RGBA").tobytes()
    if target is None:
        return CommandOutput(content)
    device.storage.write(target, content, device.now() // 1000)
    return CommandOutput()


def wm(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    natural = device.natural_size
    match args:
        case ["size"]:
            now = device.override
            return said(
                f"Physical size: {natural[0]}x{natural[1]}" + (f"\nOverride size: {now[0]}x{now[1]}" if now else "")
            )
        case ["size", "reset"]:
            device.resize(None, device.density)
        case ["size", size] if match := re.fullmatch(r"(\d{1,5})x(\d{1,5})", size):
            device.resize((int(match[1]), int(match[2])), device.density)
        case ["density"]:
            own = device.density != device.natural_density
            return said(
                f"Physical density: {device.natural_density}" + (f"\nOverride density: {device.density}" if own else "")
            )
        case ["density", "reset"]:
            device.resize(device.override)
        case ["density", density] if density.isdigit():
            device.resize(device.override, int(density))
        case ["user-rotation", "lock", rotation] if rotation in "0123":
            device.put_setting("system", "accelerometer_rotation", "0")
            device.put_setting("system", "user_rotation", rotation)
        case ["user-rotation", "free"]:
            device.put_setting("system", "accelerometer_rotation", "1")
        case _:
            raise InputError("usage: wm size|density [VALUE|reset], wm user-rotation lock N|free")
    return CommandOutput()


def uiautomator(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    if args[:1] != ["dump"]:
        return failed("usage: uiautomator dump [FILE]")
    target = next((arg for arg in args[1:] if not arg.startswith("-")), DUMP)
    xml = hierarchy(device)
    if target in ("/dev/tty", "/dev/stdout", "/proc/self/fd/1"):
        return said(f"{xml}UI hierchary dumped to: {target}")
    device.storage.write(target, xml.encode(), device.now() // 1000)
    return said(f"UI hierchary dumped to: {target}")  # spelt so on Android, and scripts look for it


def hierarchy(device: StandInDevice) -> str:
    """The screen's widgets as uiautomator's XML."""
    scale, package = device.scale, device.front.package
    nodes = []
    for index, widget in enumerate(device.widgets()):
        sides = (round(side * scale) for side in
                 (widget.visible.left, widget.visible.top, widget.visible.right, widget.visible.bottom))  # fmt: skip
        left, top, right, bottom = sides
        values = {
            "index": str(index), "text": widget.text, "resource-id": f"{package}:id/{widget.id}",
            "class": CLASSES[widget.kind], "package": package, "content-desc": widget.detail,
            "checkable": _flag(widget.kind == "switch"),
            "checked": _flag(widget.kind == "switch" and widget.checked is True),
            "clickable": _flag(widget.tap is not None or widget.slide is not None), "enabled": "true",
            "focusable": _flag(widget.kind == "field"), "focused": _flag(widget.focused), "scrollable": "false",
            "long-clickable": _flag(widget.hold is not None), "password": "false", "selected": "false",
            "bounds": f"[{left},{top}][{right},{bottom}]",
        }  # fmt: skip
        text = " ".join(f"{name}={quoteattr(_plain(value))}" for name, value in values.items())
        nodes.append(f"<node {text} />")
    return ("<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
            f'<hierarchy rotation="{device.rotation}">{"".join(nodes)}</hierarchy>')  # fmt: skip


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _plain(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(letter if letter in "\t\n" or letter >= " " else "." for letter in text)


COMMANDS: dict[str, Command] = {"screencap": screencap, "wm": wm, "uiautomator": uiautomator}
