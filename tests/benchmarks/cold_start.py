"""How long a user waits for the first PPO update at nano: seconds from the start of the process.

    PYTHONPATH=. python tests/benchmarks/cold_start.py [--run=RUN] [--turns=3]

- warm: `replay` of one recorded update, every program in the compile cache; no browser, no engine.
- cold: the same with an empty compile cache; once.
- browser: a run whose PPO stage is to begin, with the cache warm: Chromium starts, an update's episodes are played, and
  the update is made; until its checkpoint stands.
- imports: of what `replay` imports alone.

Without --run, the first call makes a small run (a minute or two) below .cache/: nano and the quickstart's shapes, an
update of 16 episodes. Warm and browser take turns; the first of each fills the cache and does not count. Processor time
is that of the process and its children, which a busy machine changes less than the wall's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "cold_start"
SMALL = (
    "--config.demonstrations.episodes=48",
    "--config.supervised.updates=40",
    "--config.supervised.save_every=40",
    "--config.value.episodes=24",
    "--config.value.max_updates=10",
    "--config.ppo.updates=1",
    "--config.ppo.min_batch=16",
    "--config.task.evaluation_episodes=4",
)
Seconds = tuple[float, float]  # on the wall, of the processor


def environment(cache: Path) -> Mapping[str, str]:
    """As launch/local.sh sets it."""
    return {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def timed(command: list[str], cache: Path, done: Callable[[], bool]) -> Seconds:
    """From the start of a process until `done`; the process is then interrupted. Raises RuntimeError if it fails."""
    before, began = os.times(), time.perf_counter()
    with (CACHE / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(cache), stdout=log, stderr=log)
        while not done() and process.poll() is None:
            time.sleep(0.02)
        wall = time.perf_counter() - began
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait()
    if not done():
        raise RuntimeError(f"{CACHE / 'log'}:\n{(CACHE / 'log').read_text()[-3000:]}")
    after = os.times()
    children = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return wall, children


def replay(run: Path, cache: Path) -> Seconds:
    """One update from recorded trajectories."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["replay", str(run), "--config.updates=1", f"--config.run={folder}/run"]
        result = Path(folder, "run", "result.json")
        return timed([sys.executable, "-m", "experiments", *arguments], cache, result.exists)


def resume(run: Path, cache: Path) -> Seconds:
    """A copy of the run, taken back to the beginning of its PPO stage, until the first update's checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(run, copy)
        for name in ("checkpoints/ppo", "trajectories/ppo", "trajectories/after", "policy"):
            shutil.rmtree(copy / name)
        stages = json.loads((copy / "stages.json").read_text())
        left = {name: result for name, result in stages.items() if name not in ("ppo", "after")}
        (copy / "stages.json").write_text(json.dumps(left))
        arguments = ["quickstart", f"--config={copy}/config.json", f"--config.run={copy}"]
        checkpoint = copy / "checkpoints" / "ppo" / "00000001"
        return timed([sys.executable, "-m", "experiments", *arguments], cache, checkpoint.exists)


def imports(cache: Path) -> Seconds:
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done"
        program = f"import experiments.replay, pathlib; pathlib.Path({str(done)!r}).touch()"
        return timed([sys.executable, "-c", program], cache, done.exists)


def recorded(given: Path | None) -> Path:
    run = given or CACHE / "run"
    if given is None and not (run / "result.json").exists():
        shutil.rmtree(run, ignore_errors=True)
        print(f"making {run}", flush=True)
        arguments = ["quickstart", *SMALL, f"--config.run={run}"]
        timed([sys.executable, "-m", "experiments", *arguments], CACHE / "programs", (run / "result.json").exists)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a finished run of the quickstart; else one is made")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    run, cache = recorded(arguments.run), CACHE / "programs"
    sides: dict[str, Callable[[], Seconds]] = {
        "imports": lambda: imports(cache),
        "warm": lambda: replay(run, cache),
        "browser": lambda: resume(run, cache),
    }
    found: dict[str, list[Seconds]] = {name: [] for name in sides}
    for turn in range(1 + arguments.turns):
        for name, side in sides.items():
            seconds = side()
            found[name] += [seconds] if turn else []
        print(f"cold_start: turn {turn} of {arguments.turns}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as empty:
        found["cold"] = [replay(run, Path(empty))]
    medians = {name: np.median(np.array(seconds), axis=0) for name, seconds in found.items()}
    for name, (wall, processor) in medians.items():
        ratio, processor_ratio = np.array([wall, processor]) / medians["warm"]
        print(
            f"{name}: {wall:.1f} s, {processor:.1f} s of the processor; "
            f"{ratio:.2f} and {processor_ratio:.2f} times the warm start's"
        )


if __name__ == "__main__":
    main()
