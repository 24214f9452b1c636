"""One owner of computers and images for all trials of a process: an image is built once, and all ends with the loop."""

from __future__ import annotations

import asyncio
import weakref

from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.images import Images

_Owners = dict[str, asyncio.Future[Images]]
_OWNERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Owners] = weakref.WeakKeyDictionary()
_KEEPERS: set[asyncio.Task[None]] = set()


async def shared_images(isolation: str) -> Images:
    """Of the running loop. Who started it ends it by the end of the loop; after a kill, the launcher does.

    Raises InputError where that kind of isolation does not work here.
    """
    owners = _OWNERS.setdefault(asyncio.get_running_loop(), {})
    if isolation not in owners:
        owners[isolation] = opened = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(_keep(isolation, opened))
        _KEEPERS.add(keeper)
        keeper.add_done_callback(_KEEPERS.discard)
    try:
        return await asyncio.shield(owners[isolation])
    except Exception:
        owners.pop(isolation, None)  # the next one tries again
        raise


async def _keep(isolation: str, opened: asyncio.Future[Images]) -> None:
    """Until it is cancelled, as asyncio.run does to every task in the end."""
    try:
        async with Computers(isolation, forks="files") as computers:
            images = Images(computers)
            try:
                opened.set_result(images)
                await asyncio.get_running_loop().create_future()
            finally:
                await images.close()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)
