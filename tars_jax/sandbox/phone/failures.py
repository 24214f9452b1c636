"""Failures between here and a phone, as kinds of `SandboxFailure`."""

from __future__ import annotations

from tars_jax.sandbox.failures import SandboxFailure

ADB_SERVER = "adb_server"  # nothing answers at the ADB server's address, or it ended during a call
NO_DEVICE = "no_device"  # the server knows no device of this name, or none at all
SEVERAL_DEVICES = "several_devices"  # no serial was given, and there is more than one
OFFLINE = "offline"  # the device is known and does not answer, or left during a call
UNAUTHORIZED = "unauthorized"  # its owner has not allowed this computer
TIMEOUT = "timeout"
SCREEN = "screen"  # no whole screenshot came in all tries
PHONE_FAILURES = (ADB_SERVER, NO_DEVICE, SEVERAL_DEVICES, OFFLINE, UNAUTHORIZED, TIMEOUT, SCREEN)

__all__ = ["PHONE_FAILURES", "SandboxFailure", "kind_of_state"]


def kind_of_state(state: str) -> str:
    """The failure of a device in a state of `adb devices` that is not "device"."""
    return UNAUTHORIZED if state in ("unauthorized", "authorizing") else OFFLINE
