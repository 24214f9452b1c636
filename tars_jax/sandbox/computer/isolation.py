"""Kinds of isolation of this machine, found out by trying; and the isolation that an earlier owner has left."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.bubblewrap import BubblewrapIsolation, bubblewrap_program, open_bubblewrap
from tars_jax.sandbox.computer.container import Isolation
from tars_jax.sandbox.computer.gvisor import open_gvisor
from tars_jax.sandbox.computer.launching import LauncherProcess
from tars_jax.sandbox.computer.namespaces import NamespaceIsolation, open_namespaces
from tars_jax.sandbox.computer.reattachment import KeptIsolation
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.spec import ISOLATIONS, ContainerSpec
from tars_jax.sandbox.computer.unisolated import open_unisolated
from tars_jax.sandbox.failures import SandboxFailure

log = logging.getLogger(__name__)
Opener = Callable[[Path], Awaitable[Isolation]]
OPENERS: dict[str, Opener] = dict(
    zip(ISOLATIONS, (open_namespaces, open_bubblewrap, open_gvisor, open_unisolated), strict=True)
)
CHOSEN = ("namespaces", "bubblewrap")  # by "auto", the first that works; gVisor is slower, so by name alone, as is none
_TRIAL_S = 60.0


async def open_isolation(folder: Path, kind: str = "auto") -> Isolation:
    """Starts a kind of isolation whose files lie in `folder`; of "auto", the first that works on this machine.

    It counts as working when a container was seen to run a program. Raises InputError that says for each kind that was
    tried why it did not.
    """
    if kind != "auto" and kind not in OPENERS:
        raise InputError(f"isolation must be auto, {', '.join(ISOLATIONS)}; got {kind!r}")
    reasons = []
    for name in CHOSEN if kind == "auto" else (kind,):
        try:
            isolation = await OPENERS[name](folder)
        except (InputError, SandboxFailure, OSError) as error:
            reasons.append(f"{name}: {error}")
            continue
        try:
            container = await isolation.launch(ContainerSpec(disk_mib=16), ["/bin/sh", "-c", "exit 7"])
            status = await container.wait(_TRIAL_S)
            await container.close()
            if status == 7:
                return isolation
            reasons.append(f"{name}: a program ended with {status}")
        except (InputError, SandboxFailure) as error:
            reasons.append(f"{name}: {error}")
        except BaseException:
            await isolation.close()
            raise
        await isolation.close()
    raise InputError(f"isolation must be one that works on this machine; got {kind!r} ({'; '.join(reasons)})")


async def take_over_left(file: Path) -> Isolation | None:
    """The isolation that the owner before has left; None where there is nothing of it."""
    try:
        value = json.loads(file.read_bytes())
        kept = KeptIsolation(str(value["isolation"]), str(value["run"]), str(value["secret"]))
        return await take_over(kept)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        log.warning("the computers of the process before cannot be adopted: %s", error)
        return None


async def take_over(kept: KeptIsolation) -> Isolation:
    """The isolation whose owner has gone, with its containers. Raises OSError where nothing of it is left."""
    launcher = LauncherProcess()
    adopted, lock = await launcher.adopt(Path(kept.run), kept.secret)
    run = RunFolder.adopted(Path(kept.run), lock)
    isolation: NamespaceIsolation | BubblewrapIsolation
    if kept.isolation == "namespaces":
        isolation = NamespaceIsolation(run, launcher)
    else:
        isolation = BubblewrapIsolation(run, bubblewrap_program(), launcher)
    isolation.reattachment.hold(adopted)
    return isolation
