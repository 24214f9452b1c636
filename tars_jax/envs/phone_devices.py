"""Real phones and emulators for this machine's environments: each one episode's at a time, set back before it."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import TextIO

from tars_jax import InputError
from tars_jax.sandbox.phone import Phone, PhoneConfig
from tars_jax.sandbox.phone.failures import ADB_SERVER, NO_DEVICE, UNAUTHORIZED, SandboxFailure
from tars_jax.sandbox.phone.phone_lock import lock_phone

PATIENCE_S = 40.0  # for a phone that is free and well, within the time of a reset
LOOK_S = 0.5
LOCKED = re.compile(r"(mDreamingLockscreen|mShowingLockscreen|isKeyguardShowing|mIsShowing)=true")
LANGUAGE = "en"  # of the tasks' words
# Those whose data is cleared where the phone has them: an episode begins without contacts, calls and what was typed
# (the stand-in's begin again with those that it had at first).
PACKAGES = (
    "com.android.contacts", "com.google.android.contacts", "com.android.providers.contacts", "com.android.dialer",
    "com.google.android.dialer",
)  # fmt: skip
SETTINGS = "com.android.settings"
NOT_THERE = (ADB_SERVER, NO_DEVICE, UNAUTHORIZED)
_had: set[str] = set()  # serials of phones that this process has played on: one of these comes back


@dataclasses.dataclass(eq=False)
class LeasedPhone:
    """A leased phone: until `close`, no other environment of this machine has it."""

    phone: Phone
    _lock: TextIO

    def close(self) -> None:
        """Gives the phone back; a second call does nothing."""
        self._lock.close()


async def lease(serials: Sequence[str], packages: Sequence[str]) -> LeasedPhone:
    """The first that nobody has and that can be set back.

    Raises SandboxFailure: "held" where others have all of them, "locked", and why a phone does not answer; InputError
    for a phone with another language, and where adb knows none of them and never did.
    """
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        failures: list[SandboxFailure] = []
        for serial in serials:
            if (lock := lock_phone(serial)) is None:
                continue
            try:
                phone = await Phone(PhoneConfig(serial=serial)).start()
                _had.add(serial)
                await set_back(phone, packages)
                return LeasedPhone(phone, lock)
            except SandboxFailure as failure:
                lock.close()
                failures.append(failure)
            except BaseException:
                lock.close()
                raise
        named = ", ".join(serials)
        not_there = [failure for failure in failures if failure.kind in NOT_THERE]
        if len(not_there) == len(serials) and _had.isdisjoint(serials):
            raise InputError(f"sandbox.phones must be devices that adb knows; got {named}: {not_there[-1]}")
        if asyncio.get_running_loop().time() > end:
            raise (
                failures[-1]
                if failures
                else SandboxFailure("held", f"no phone was free for {PATIENCE_S:g} s of {named}")
            )
        await asyncio.sleep(LOOK_S)


async def set_back(phone: Phone, packages: Sequence[str]) -> None:
    """Awake, at home, its apps on their first pages, and those of `packages` without data. Raises as `lease`."""
    locale = ""
    for name in ("persist.sys.locale", "ro.product.locale"):
        locale = locale or (await phone.shell("getprop", name)).text.strip()
    if locale and not locale.startswith(LANGUAGE):
        raise InputError(f"sandbox.phones must be in English, as tasks are; {phone.serial} is in {locale}")
    await phone.key("WAKEUP")
    await phone.shell("wm", "dismiss-keyguard")  # which a secure lock does not hear
    if LOCKED.search((await phone.shell("dumpsys", "window")).text):
        raise SandboxFailure("locked", f"{phone.serial} must be unlocked, with no lock of its screen")
    listed = (await phone.shell("pm", "list", "packages")).text.split()
    for package in {*packages, *PACKAGES, SETTINGS}:
        if f"package:{package}" not in listed:
            continue
        await phone.close_app(package)  # which begins with its first page then
        if package in packages and "Success" not in (await phone.shell("pm", "clear", package)).text:
            raise SandboxFailure("storage", f"{phone.serial} did not clear {package}")
    await phone.press_home()
    await phone.settle()
