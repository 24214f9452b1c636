"""Which kinds of isolation this machine has, found out by trying."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.bubblewrap import open_bubblewrap
from tars_jax.sandbox.computer.container import Isolation
from tars_jax.sandbox.computer.gvisor import open_gvisor
from tars_jax.sandbox.computer.namespaces import open_namespaces
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.unisolated import open_unisolated
from tars_jax.sandbox.failures import SandboxFailure

Opener = Callable[[Path], Awaitable[Isolation]]
KINDS: dict[str, Opener] = {
    "namespaces": open_namespaces, "bubblewrap": open_bubblewrap, "gvisor": open_gvisor, "none": open_unisolated,
}  # fmt: skip
CHOSEN = ("namespaces", "bubblewrap")  # by "auto", the first that works; gVisor is slower, so by name alone, as is none
_TRIAL_S = 60.0


async def open_isolation(folder: Path, kind: str = "auto") -> Isolation:
    """Starts a kind of isolation whose files lie in `folder`; of "auto", the first that works on this machine.

    It counts as working when a container was seen to run a program. Raises InputError that says for each kind that was
    tried why it did not.
    """
    if kind != "auto" and kind not in KINDS:
        raise InputError(f"isolation must be auto, {', '.join(KINDS)}; got {kind!r}")
    reasons = []
    for name in CHOSEN if kind == "auto" else (kind,):
        try:
            isolation = await KINDS[name](folder)
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
