"""Whether a browser does its work: what of it hangs may be a helper process, while the browser itself answers."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from tars_jax import InputError
from tars_jax.sandbox.browser.connection import ProtocolError
from tars_jax.sandbox.browser.isolation import new_context, new_tab, show
from tars_jax.sandbox.browser.launch import Launched
from tars_jax.sandbox.browser.screenshots import retry_until_shown
from tars_jax.sandbox.browser.site import PageSpec, Site
from tars_jax.web.network import Hosts

PROBE = PageSpec(Site(Path(__file__).parent, index="probe.html"), width=16, height=16)


async def answers(launched: Launched, timeout_s: float) -> bool:
    """Whether the main process of a browser gives a sign of life."""
    try:
        await asyncio.wait_for(launched.connection.send("Browser.getVersion"), timeout_s)
    except (ConnectionError, ProtocolError, TimeoutError):
        return False
    return True


async def why_no_page(launched: Launched, timeout_s: float) -> str | None:
    """None if a browser loads a small page of ours and gives its screenshot: then it is another page that does not.

    Processes for the network, for screenshots and for the start of renderers take part in that; 0.1 s at rest. A page
    that hung is left open: its browser will be ended.
    """
    try:
        async with asyncio.timeout(timeout_s):
            context = await new_context(launched, PROBE, Hosts(()))
            tab = await new_tab(launched, context)
            await show(tab, PROBE, timeout_s)
            await retry_until_shown(
                tab.frames.screenshot if tab.frames else partial(tab.session.send, "Page.captureScreenshot")
            )
            await context.close()
    except TimeoutError:
        return f"it showed no page within {timeout_s:g} s"
    except (PlaywrightError, ConnectionError, ProtocolError, InputError) as error:
        return f"it showed no page: {error}"
    return None
