"""Flags of a Chromium: its own sandbox, which keeps what a page runs away from the machine, and what draws WebGL.

Chromium makes its sandbox with user namespaces, and where a user may have none with a helper that is setuid root. Root
needs neither and gets no sandbox: a Chromium refuses to make one for root. WebGL is drawn by software, which gives the
same pixels on every machine, or by a GPU through one of ANGLE's backends (`--use-angle`).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from playwright.async_api import Browser

from tars_jax import InputError

SWITCH = "TARS_JAX_CHROMIUM_SANDBOX"
HELPER = Path("/usr/lib/chromium/chrome-sandbox")  # of Debian's package chromium-sandbox
HELPER_VARIABLE = "CHROME_DEVEL_SANDBOX"  # where a Chromium that has no helper beside it looks for one
SOFTWARE = "swiftshader"
ANGLE = (SOFTWARE, "gl", "gl-egl", "vulkan")
_RENDERER = """() => {
    const gl = document.createElement('canvas').getContext('webgl');
    const asked = gl && gl.getExtension('WEBGL_debug_renderer_info');
    return gl ? String(asked ? gl.getParameter(asked.UNMASKED_RENDERER_WEBGL) : gl.getParameter(gl.RENDERER)) : '';
}"""


def is_sandboxed() -> bool:
    """Whether browsers are to start with it: as the switch says, else for everybody but root.

    Raises InputError for a switch that is neither 0 nor 1.
    """
    value = os.environ.get(SWITCH) or ("0" if os.geteuid() == 0 else "1")
    if value not in ("0", "1"):
        raise InputError(f"{SWITCH} must be 0 or 1; got {value!r}")
    return value == "1"


def sandbox_flags() -> list[str]:
    return [] if is_sandboxed() else ["--no-sandbox"]


def sandbox_environment() -> dict[str, str]:
    """Environment variables by which a Chromium from elsewhere finds Debian's helper. It asks for it only without
    namespaces."""
    if HELPER_VARIABLE in os.environ or not _is_setuid_root(HELPER):
        return {}
    return {HELPER_VARIABLE: str(HELPER)}


def _is_setuid_root(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == 0 and bool(status.st_mode & stat.S_ISUID) and os.access(path, os.X_OK)


def angle_flags(use_angle: str) -> list[str]:
    """Chromium's flags: without a GPU all is drawn by software, pages too; with one WebGL and pages are drawn there."""
    if use_angle == SOFTWARE:
        return ["--disable-gpu", "--enable-unsafe-swiftshader"]
    return [f"--use-angle={use_angle}", "--use-gl=angle", "--ignore-gpu-blocklist", "--enable-gpu-rasterization"]


async def check_renderer(browser: Browser, use_angle: str) -> None:
    """Raises InputError where a GPU was asked for and WebGL is drawn by software, or by nobody."""
    if use_angle == SOFTWARE:
        return
    page = await browser.new_page()
    try:
        renderer = await page.evaluate(_RENDERER)
    finally:
        await page.close()
    if not renderer or "SwiftShader" in renderer or "llvmpipe" in renderer:
        drawn = f"WebGL is drawn by {renderer}" if renderer else "there is no WebGL"
        raise InputError(
            f"browser.use_angle must be {SOFTWARE}, as with {use_angle} {drawn}: this machine gives the browser no GPU"
        )
