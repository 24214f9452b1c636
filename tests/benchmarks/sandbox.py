"""The whole table of the sandbox in one run: computers, desktops, leases, and what is left after a run with kills.

    PYTHONPATH=. python tests/benchmarks/sandbox.py [--quick]

One script after the other, each as its own says: start, forks by files and live, suspension, 64 shells, groups, 1,000
computers in a row with what is left of them (computers.py); steps a second of a desktop and 16 desktops at once
(desktop_steps.py); claims and renewals a second (node_sessions.py); nodes and the manager killed by seed under load
(test_nodes_chaos.py, which fails for a lost or doubled session, an orphan, or a failure of another kind). `--quick`
takes small sizes, to see that all of it runs. Runs as root, with what launch/criu.sh and launch/desktop.sh install.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

PARTS = (
    ("tests/benchmarks/computers.py", "", "--starts=2 --forks=1 --suspends=1 --shells=4 --group=2 --row=5"),
    ("tests/benchmarks/desktop_steps.py", "", "--steps=30 --turns=1 --desktops=2"),
    ("tests/benchmarks/node_sessions.py", "", "--seconds=1 --turns=1"),
    ("-m", "pytest -q -s tests/sandbox/service/nodes/test_nodes_chaos.py", ""),
)  # program, its arguments, and those of small sizes


def main(quick: bool) -> int:
    failed = []
    for script, arguments, sizes in PARTS:
        command = [sys.executable, script, *arguments.split(), *(sizes.split() if quick else ())]
        print(f"\n$ {' '.join(command[1:])}   (load {os.getloadavg()[0]:.1f})", flush=True)
        begin = time.monotonic()
        if status := subprocess.run(command).returncode:
            failed.append(f"{' '.join(command[1:])}: exit code {status}")
        print(f"{time.monotonic() - begin:.0f} s", flush=True)
    print("\n".join(failed) or "all parts ran")
    return bool(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    sys.exit(main(parser.parse_args().quick))
