"""One owner of computers and images for all trials of a process: an image is built once, and all ends with the loop."""

from __future__ import annotations

import asyncio
import weakref

from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.images import Images
from tars_jax.web.network import Hosts

_Kind = tuple[bool, bool]  # network and near
_Owners = dict[_Kind, asyncio.Future[Images]]
_OWNERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Owners] = weakref.WeakKeyDictionary()
_KEEPERS: set[asyncio.Task[None]] = set()


async def shared_images(*, network: bool, near: bool) -> Images:
    """Images of the running loop. `network`: whether builds reach public hosts; `near`: as of `images.checked`.

    They end with the loop; after a kill of this process, the launcher ends them.

    Raises InputError where computers cannot be opened here.
    """
    owners = _OWNERS.setdefault(asyncio.get_running_loop(), {})
    kind = network, near
    if kind not in owners:
        owners[kind] = opened = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(_keep(kind, opened))
        _KEEPERS.add(keeper)
        keeper.add_done_callback(_KEEPERS.discard)
    try:
        return await asyncio.shield(owners[kind])
    except Exception:
        owners.pop(kind, None)  # the next one tries again
        raise


def leave(images: Images) -> None:
    """Leaves these images, so that later calls get others: all that these had has ended, such as with their
    launcher."""
    owners = _OWNERS[asyncio.get_running_loop()]
    for kind, opened in list(owners.items()):
        if opened.done() and not opened.exception() and opened.result() is images:
            del owners[kind]


async def _keep(kind: _Kind, opened: asyncio.Future[Images]) -> None:
    """Keeps images open until it is cancelled, as asyncio.run does to every task in the end."""
    network, near = kind
    try:
        async with Computers("namespaces", forks="files") as computers:
            images = Images(computers, Hosts(["*"]) if network else None, near)
            try:
                opened.set_result(images)
                await asyncio.get_running_loop().create_future()
            finally:
                await images.close()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)
