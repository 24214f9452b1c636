"""`dumpsys`: the lines that tools look for."""

from __future__ import annotations

from tars_jax.sandbox.phone.stand_in.commands.command import Command, CommandOutput, said
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice


def dumpsys(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
    name = args[0] if args else ""
    front = f"{device.front.package}/{device.front.activity}"
    width, height = device.size
    if name == "window":
        return said(
            f"  mCurrentFocus=Window{{1a2b3c4 u0 {front}}}\n"
            f"  mFocusedApp=ActivityRecord{{5d6e7f8 u0 {front} t1}}\n"
            f"  mDreamingLockscreen={str(device.locked).lower()}\n"
            f"  init={width}x{height} {device.density}dpi cur={width}x{height} mRotation={device.rotation}"
        )
    if name == "activity":
        return said(f"  mResumedActivity: ActivityRecord{{5d6e7f8 u0 {front} t1}}\n"
                    f"  topResumedActivity=ActivityRecord{{5d6e7f8 u0 {front} t1}}\n"
                    f"  ACTIVITY {front} 5d6e7f8 pid=1000")  # fmt: skip
    if name == "display":
        return said(f"  mDefaultViewport=DisplayViewport{{displayId=0, orientation={device.rotation}, "
                    f"deviceWidth={width}, deviceHeight={height}}}")  # fmt: skip
    if name == "input":
        return said(f"  SurfaceOrientation: {device.rotation}")
    if name == "input_method":
        return said(f"  mCurMethodId={device.setting('secure', 'default_input_method')} "
                    f"mInputShown={'true' if device.focus is not None else 'false'}")  # fmt: skip
    if name == "power":
        wakefulness = "Awake" if device.awake else "Asleep"
        return said(f"  mWakefulness={wakefulness}\n  mHoldingDisplaySuspendBlocker={str(device.awake).lower()}")
    if name == "battery":
        return said(
            "Current Battery Service state:\n  AC powered: true\n  level: 100\n  scale: 100\n  temperature: 250"
        )
    if name == "package" and len(args) > 1 and device.find(args[1]) is not None:
        return said(f"  Package [{args[1]}]\n    versionCode=1 minSdk=1\n    versionName=1.0\n    pkgFlags=[ SYSTEM ]")
    return CommandOutput(b"", f"Can't find service: {name}\n".encode(), 0)


COMMANDS: dict[str, Command] = {"dumpsys": dumpsys}
