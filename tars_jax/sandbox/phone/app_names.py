"""Names of apps, and the package that each means among those of a phone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

# Names that no package carries in itself, and the packages that makers of phones ship under them.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "browser": ("com.android.chrome", "org.chromium.webview_shell", "org.mozilla.firefox"),
    "calculator": ("com.google.android.calculator", "com.android.calculator2"),
    "camera": ("com.google.android.GoogleCamera", "com.android.camera2"),
    "chrome": ("com.android.chrome",),
    "clock": ("com.google.android.deskclock", "com.android.deskclock"),
    "contacts": ("com.google.android.contacts", "com.android.contacts"),
    "files": ("com.google.android.documentsui", "com.android.documentsui", "com.google.android.apps.nbu.files"),
    "gallery": ("com.google.android.apps.photos", "com.android.gallery3d", "com.simplemobiletools.gallery.pro"),
    "gmail": ("com.google.android.gm",),
    "maps": ("com.google.android.apps.maps",),
    "messages": ("com.google.android.apps.messaging", "com.android.mms"),
    "phone": ("com.google.android.dialer", "com.android.dialer"),
    "photos": ("com.google.android.apps.photos",),
    "play store": ("com.android.vending",),
    "settings": ("com.android.settings",),
    "youtube": ("com.google.android.youtube",),
}


def find_package(name: str, installed: Collection[str], own: Mapping[str, str] | None = None) -> str | None:
    """The installed package that `name` means; None where none, or several as well.

    `name` is a package, a name of `own` or of KNOWN, or words that the package's own last parts consist of.
    """
    if name in installed:
        return name
    wanted = " ".join(name.casefold().split())
    for known, package in (own or {}).items():
        if known.casefold() == wanted and package in installed:
            return package
    for package in KNOWN.get(wanted, ()):
        if package in installed:
            return package
    squeezed = re.sub(r"[^\w]", "", wanted)
    if not squeezed:
        return None
    found = [package for package in installed if package.casefold().rpartition(".")[2] == squeezed]
    found = found or [
        package for package in installed if squeezed in package.casefold().replace(".", "").replace("_", "")
    ]
    return found[0] if len(found) == 1 else None
