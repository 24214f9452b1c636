"""Says whether the Python that runs it serves: prints its path, or with exit code 1 what it is instead.

Python 3.6 and later can read this file.
"""

import os
import platform
import struct
import sys
import sysconfig

OLDEST, NEWEST = (3, 11), (3, 14)  # requirements.lock was resolved and its wheels were tried from here to there
GLIBC = {"x86_64": (2, 31), "aarch64": (2, 28)}  # what its wheels ask for, the TPU compiler's the most


def glibc():
    """The version of the C library, (0, 0) where it is another one."""
    try:
        return tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2])
    except (AttributeError, IndexError, ValueError):
        return 0, 0


def instead():
    """What this Python is, where it does not serve; else nothing."""
    version = ".".join(map(str, sys.version_info[:3]))
    if platform.python_implementation() != "CPython":
        return f"{platform.python_implementation()} {version}"
    if sys.version_info[:2] > NEWEST:
        return f"{version}, newer than any that was tried"
    if sys.version_info[:2] < OLDEST:
        return version
    if struct.calcsize("P") != 8:
        return f"{version} of 32 bits"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return f"{version} without its global lock, for which packages are missing"
    needed = GLIBC.get(platform.machine(), (2, 28))
    if glibc() < needed:
        return f"{version} on a C library other than glibc {needed[0]}.{needed[1]} or later"
    return ""


if __name__ == "__main__":
    found = instead()
    print(found or sys.executable)
    sys.exit(bool(found))
