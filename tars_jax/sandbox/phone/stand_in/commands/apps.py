"""`am`, `pm`, `monkey`, `ime` and `cmd`: apps are started, ended and listed, and broadcasts reach the keyboard."""

from __future__ import annotations

import base64

from tars_jax.sandbox.phone.stand_in.apps import CallsNumbers
from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, failed, option, said
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.device.tables import ADB_KEYBOARD

ACTIONS = {
    "android.settings.SETTINGS": "com.android.settings",
    "android.intent.action.DIAL": "com.android.dialer",
    "android.intent.action.CALL_BUTTON": "com.android.dialer",
}


def am(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    name, *rest = args or [""]
    if name in ("start", "start-activity"):
        return _start(device, rest)
    if name == "force-stop" and rest:
        device.stop(rest[-1])
        return CommandOutput()
    if name == "broadcast":
        return _broadcast(device, rest)
    if name == "get-current-user":
        return said("0")
    return failed(f"Error: unknown command '{name}'", 255)


def _start(device: StandInDevice, args: list[str]) -> CommandOutput:
    component, action, data = option(args, "-n"), option(args, "-a"), option(args, "-d") or ""
    if (
        component is None
        and action == "android.intent.action.MAIN"
        and option(args, "-c") == "android.intent.category.HOME"
    ):
        component = f"{device.home.package}/"
    if component is None and action in ACTIONS:
        component = f"{ACTIONS[action]}/"
    if component is None and args and "/" in args[-1] and not args[-1].startswith("-") and "://" not in args[-1]:
        component = args[-1]
    if component is None:
        return failed(f"Error: Activity not started, unable to resolve Intent {{ act={action} dat={data} }}")
    package, _, activity = component.partition("/")
    app = device.find(package)
    if app is None or activity not in ("", app.activity, package + app.activity):
        return failed(f"Error type 3\nError: Activity class {{{component}}} does not exist.")
    if "-S" in args:
        device.stop(package)
    device.open(package)
    if isinstance(app, CallsNumbers) and data.startswith("tel:"):
        app.dial(data[4:])
    return said(
        f"Starting: Intent {{ cmp={package}/{app.activity} }}" + ("\nStatus: ok\nComplete" if "-W" in args else "")
    )


def _broadcast(device: StandInDevice, args: list[str]) -> CommandOutput:
    """A broadcast to the ADB keyboard or Clipper, which people install to type any text by ADB, and its answer."""
    action = option(args, "-a") or ""
    extras = {args[at + 1]: args[at + 2] for at, arg in enumerate(args[:-2]) if arg in ("--es", "-e")}
    result = "result=0"
    if action.startswith("ADB_") and device.setting("secure", "default_input_method") == ADB_KEYBOARD:
        text = extras.get("msg", "")
        if action == "ADB_INPUT_B64":
            try:
                text = base64.b64decode(text).decode()
            except ValueError:
                text = ""
        if action in ("ADB_INPUT_TEXT", "ADB_INPUT_B64"):
            device.write(text)
        elif action == "ADB_CLEAR_TEXT" and device.focus is not None:
            device.focus.text, device.focus.selected = "", False
        device.pass_time(250)
    return said(f"Broadcasting: Intent {{ act={action} flg=0x400000 (has extras) }}\nBroadcast completed: {result}")


def pm(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    match args:
        case ["list", "packages", *rest]:
            wanted = [word for word in rest if not word.startswith("-")]
            own = "-3" in rest
            names = sorted(
                app.package for app in device.apps() if not own or not app.package.startswith("com.android.")
            )
            return CommandOutput(
                "".join(f"package:{name}\n" for name in names if all(word in name for word in wanted)).encode()
            )
        case ["path", name]:
            return said(f"package:/data/app/{name}/base.apk") if device.find(name) else CommandOutput(status=1)
        case ["clear", *_, name]:
            app = device.find(name)
            if app is None:
                return failed("Failed")
            app.clear()
            device.stop(name)
            return said("Success")
        case ["resolve-activity" | "query-activities", *rest]:
            found = [app for app in device.apps() if app.package in rest] or (
                [app for app in device.apps() if app is not device.home] if args[0] == "query-activities" else []
            )
            if not found:
                return said("No activity found")
            lines = [f"{app.package}/{app.activity}" for app in found]
            return said(
                f"{len(lines)} activities found:\n" + "\n".join(lines)
                if args[0] == "query-activities"
                else f"priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true\n{lines[0]}"
            )
    return failed(f"pm: the stand-in does not know {' '.join(args)[:80]!r}", 255)


def monkey(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    """The program `monkey`, in its use as "start this app" alone."""
    package = option(args, "-p")
    if package is None or device.find(package) is None:
        return CommandOutput(b"** No activities found to run, monkey aborted.\n", b"", 252)
    device.open(package)
    return said("Events injected: 1")


def ime(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    match args:
        case ["list", *flags]:
            return (
                said("\n".join(device.keyboards))
                if "-s" in flags
                else said("\n".join(f"{name}:" for name in device.keyboards))
            )
        case ["enable" | "disable", name] if name in device.keyboards:
            enabled = [one for one in device.setting("secure", "enabled_input_methods").split(":") if one != name]
            enabled += [name] if args[0] == "enable" else []
            device.put_setting("secure", "enabled_input_methods", ":".join(enabled))
            return said(f"Input method {name}: now {args[0]}d for user #0")
        case ["set", name] if name in device.setting("secure", "enabled_input_methods").split(":"):
            device.put_setting("secure", "default_input_method", name)
            return said(f"Input method {name} selected for user #0")
        case ["reset"]:
            device.put_setting("secure", "default_input_method", device.keyboards[0])
            return CommandOutput()
    return failed(f"Unknown id: {' '.join(args)[:80]}", 255)


def cmd(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    match args:
        case ["package", *rest]:
            return pm(device, rest, given)
        case ["activity", *rest]:
            return am(device, rest, given)
        case ["uimode", "night", mode] if mode in ("yes", "no"):
            device.put_setting("secure", "ui_night_mode", "2" if mode == "yes" else "1")
            return said(f"Night mode: {mode}")
    return failed(f"cmd: Can't find service: {' '.join(args[:1])[:80]}", 20)


COMMANDS: dict[str, Command] = {"am": am, "pm": pm, "monkey": monkey, "ime": ime, "cmd": cmd}
