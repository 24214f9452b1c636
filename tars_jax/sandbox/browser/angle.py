"""Rendering of WebGL in a browser: by software, which gives the same pixels on every machine, or by a GPU through one
of ANGLE's backends (Chromium's `--use-angle`)."""

from __future__ import annotations

from playwright.async_api import Browser

from tars_jax import InputError

SOFTWARE = "swiftshader"
ANGLE = (SOFTWARE, "gl", "gl-egl", "vulkan")
_RENDERER = """() => {
    const gl = document.createElement('canvas').getContext('webgl');
    const asked = gl && gl.getExtension('WEBGL_debug_renderer_info');
    return gl ? String(asked ? gl.getParameter(asked.UNMASKED_RENDERER_WEBGL) : gl.getParameter(gl.RENDERER)) : '';
}"""


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
