"""Starts the guest from its folder, without the package around it:

    python3 -I -S FOLDER SOCKET [user=UID:GID] [home=PATH] [subreaper=1] [owner=PID]

SOCKET is the path of a unix socket to be made, which only the guest's own user can reach; or fd:N, a listening one
that was inherited, which has no path inside; or dial:PATH, where the host listens (dialing.py). Where programs inside
run as the guest's user and SOCKET is a path, the variable TARS_GUEST_TOKEN holds what a connection must say first; no
program inherits it.

  user       whom programs and file calls run as; without it, the guest's own user
  home       the folder that programs start in; without it, HOME
  owner      the process that started the guest, which ends with it
  subreaper  1: adopt orphans without being the first process of a container
"""

import os
import sys
import types

PACKAGE = "tars_jax.sandbox.computer.guest"


def adopt(folder: str) -> None:
    """Makes the modules of the folder importable by their whole names. The packages above are empty."""
    parts = PACKAGE.split(".")
    for count in range(1, len(parts) + 1):
        package = types.ModuleType(".".join(parts[:count]))
        package.__path__ = [folder] if count == len(parts) else []
        sys.modules[package.__name__] = package


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if os.path.abspath(path) != here]
    adopt(here)
    from tars_jax.sandbox.computer.guest.server import main

    sys.exit(main(sys.argv[1:]))
