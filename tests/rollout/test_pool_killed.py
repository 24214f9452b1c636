"""A run with a real pool is killed (kill -9) at random moments; every finished trajectory is used exactly once."""

from __future__ import annotations

import json
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.pool_config import PoolConfig
from tars_jax.trajectory.files import load_trajectory

ROOT = pathlib.Path(__file__).parents[2]

RUN = """
import json, pathlib, random, sys, threading, time
import numpy as np
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.pool_config import PoolConfig
from tars_jax.files import write_atomic
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory

folder = pathlib.Path(sys.argv[1])
checkpoint = folder / "checkpoint.json"  # {"updates": [the ids that each update was made of], "ledger": ...}
state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"updates": [], "ledger": None}
pool = RolloutPool(folder / "pool", PoolConfig(3, 2), state["ledger"])
updates = state["updates"]

def work(seed):
    rng = random.Random(seed)
    while True:
        index = pool.claim(len(updates))
        if index is None:
            time.sleep(0.001)
            continue
        time.sleep(rng.expovariate(200))
        if rng.random() < 0.1:
            pool.abandon(index)
            continue
        outcome = Outcome.FAILED if rng.random() < 0.1 else Outcome.FINISHED
        n = rng.randrange(1, 2000)
        window = ContextWindow(np.arange(n, dtype=np.int32), np.arange(n) > 0, np.zeros(n, np.float32),
                               np.full(n, len(updates), np.int32), np.full(n, -1, np.int32), ())
        pool.finish(index, Trajectory(f"{index} {time.time_ns()}", {}, (window,), (), outcome, 1.0))

for seed in range(4):
    threading.Thread(target=work, args=(time.time_ns() + seed,), daemon=True).start()
print("started", flush=True)
while True:
    if pool.wait(1.0):
        updates.append([trajectory.id for trajectory in pool.take()])
        write_atomic(checkpoint, json.dumps({"updates": updates, "ledger": pool.ledger()}).encode())
"""


@pytest.mark.multiprocess
def test_killed_at_random_moments(tmp_path: pathlib.Path) -> None:
    rng = random.Random(0)
    made = 0
    for _ in range(6):
        run = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert run.stdout is not None
        assert run.stdout.readline() == b"started\n"
        time.sleep(rng.uniform(0.05, 0.5))
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        run.stdout.close()
        checkpoint = tmp_path / "checkpoint.json"
        if checkpoint.exists():
            updates = len(json.loads(checkpoint.read_text())["updates"])
            assert updates >= made  # what a checkpoint has kept stays
            made = updates
    assert made >= 6

    kept = json.loads((tmp_path / "checkpoint.json").read_text())
    pool = RolloutPool(tmp_path / "pool", PoolConfig(1, 0), kept["ledger"])
    used = [id for update in kept["updates"] for id in update]
    while batch := pool.take():
        used.append(batch[0].id)
    files = [load_trajectory(path) for path in (tmp_path / "pool").glob("*.trajectory")]
    # The ids carry the time of playing: no episode was lost, used twice, or replaced by a later one of its number.
    assert sorted(used) == sorted(trajectory.id for trajectory in files if trajectory.outcome.carries_reward)
    numbers = {int(trajectory.id.split()[0]) for trajectory in files}
    requeued = pool.counts()["requeued"]
    assert numbers <= set(range(len(numbers) + requeued))
    assert pool.counts()["failed"] == len(files) - len(used)
