"""A stand-in phone on a port of this machine: `python -m tars_jax.sandbox.phone.stand_in --port 6555`."""

from __future__ import annotations

import argparse
import signal
import sys

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn


def main() -> int:
    """Serves until Ctrl-C or SIGTERM; 2 for what cannot be served."""
    parser = argparse.ArgumentParser(prog="python -m tars_jax.sandbox.phone.stand_in", description=__doc__)
    parser.add_argument("--port", type=int, default=6555, help="0: any that is free")
    parser.add_argument("--seed", type=int, default=0, help="of contacts, notes and the order of the icons")
    parser.add_argument("--size", default="360x640", help="pixels, WIDTHxHEIGHT")
    parser.add_argument("--density", type=int, default=160, help="pixels to an inch")
    given = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        width, _, height = given.size.partition("x")
        if not (width.isdigit() and height.isdigit()):
            raise InputError(f"--size must be WIDTHxHEIGHT; got {given.size!r}")
        with StandIn(StandInDevice(int(width), int(height), given.density, seed=given.seed), port=given.port) as phone:
            print(f"a stand-in phone (no Android) listens: adb connect {phone.serial}", flush=True)
            signal.sigwait(signals)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
