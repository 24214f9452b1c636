"""A flywheel in a process of its own, where nothing is learned, that ends as kill -9 would end it.

    python flywheel_run.py RUN WEIGHTS KILL_AT [FLAG ...]

It ends before the file operation number KILL_AT that it makes below RUN; 0: not at all, and prints how many it made.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax.agent.prompts import PromptWriter
from tars_jax.pipelines import run_context
from tars_jax.rollout import players
from tests.experiments.test_stages import TOKENIZER, stop_learning

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def count_changes(run: str, kill_at: int) -> list[int]:
    """Its only entry is how many were made so far."""
    made, lock = [0], threading.Lock()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (opens or event in CHANGES) and str(arguments[0]).startswith(run):
            with lock:
                made[0] += 1
                if made[0] == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return made


if __name__ == "__main__":
    run, weights, kill_at, *flags = sys.argv[1:]
    stop_learning(patch := pytest.MonkeyPatch())
    erring = players.reference_player(PromptWriter(TOKENIZER, 1), "text", 0.5)
    patch.setattr(run_context.RunContext, "policy_player", lambda _: erring)
    made = count_changes(run, int(kill_at))
    code = main(["flywheel", f"--config.run={run}", f"--config.model.preset={weights}", *flags])
    print(f"changes: {made[0]}")
    sys.exit(code)
