"""Measures the PPO update, its layers and decoding on one GPU, and what the GPU can do at best, in the same run."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from experiments.gpu.entries import Entry, entries
from experiments.gpu.sizes import shapes
from experiments.gpu.table import as_markdown, derive, verdict
from tars_jax.files import write_atomic
from tars_jax.pipelines.checkout import ROOT
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json

WORKER = (sys.executable, "-P", "-m", "experiments.gpu.worker")
POLL_SECONDS = 0.2


def run(config: Any, run_directory: RunDirectory) -> None:
    """Entries that the run directory holds already are not measured again."""
    plain = config.to_dict()
    shapes(plain)
    wanted, folder = entries(plain), run_directory.path
    bench = Bench(plain, wanted, folder)
    deadline = time.monotonic() + 60 * config.minutes
    while bench.remaining() and time.monotonic() < deadline:
        bench.run_worker(deadline)
    rows = bench.rows()
    write_json(folder / "result.json", {"rows": derive(rows), "not_begun": [each.name for each in bench.remaining()]})
    page = as_markdown(rows, wanted, config.minutes)
    write_atomic(folder / "gpu_bench.md", page.encode())
    print(page)
    print(verdict({row["name"]: row for row in derive(rows)}))
    print(folder / "gpu_bench.md")


class Bench:
    """Runs workers until every entry has a row. This process leaves the device alone: the workers need its memory."""

    def __init__(self, config: dict[str, Any], wanted: Sequence[Entry], folder: pathlib.Path) -> None:
        self._config, self._wanted = config, wanted
        self._rows, self._log = folder / "rows.jsonl", folder / "worker.log"

    def rows(self) -> list[dict[str, Any]]:
        """Of the entries that are done. A line that was cut off by a crash is none."""
        lines = self._rows.read_text(encoding="utf-8").splitlines() if self._rows.exists() else []
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def remaining(self) -> list[Entry]:
        done = {row["name"] for row in self.rows()}
        return [entry for entry in self._wanted if entry.name not in done]

    def run_worker(self, deadline: float) -> None:
        """One worker on all that remains, until it ends, hangs on an entry, or the time is over."""
        begun = self.remaining()
        request = {
            "config": self._config,
            "entries": [vars(each) for each in begun],
            "rows": str(self._rows.absolute()),
        }
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        with self._log.open("a") as log:
            process = subprocess.Popen(
                WORKER, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=ROOT, text=True
            )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request))
            process.stdin.close()
            self._watch(process, begun, deadline)
        finally:
            process.kill()
            process.wait()

    def _watch(self, process: subprocess.Popen[str], begun: list[Entry], deadline: float) -> None:
        left, since, total = begun, time.monotonic(), len(self._wanted)
        progress = Progress("gpu_bench", total, "entries", done=total - len(begun), min_seconds=0, compiles=True)
        while True:
            ended = process.poll()
            now_left = self.remaining()
            for number, entry in enumerate(left[: len(left) - len(now_left)], total - len(left) + 1):
                row = next(row for row in self.rows() if row["name"] == entry.name)
                done = row.get("error") or f"{row['seconds']['median'] * 1e3:.4g} ms"
                progress.update(number, **{entry.name: done})
                since = time.monotonic()
            left = now_left
            if left:
                progress.waiting(measuring=left[0].name)
            if ended is not None:
                if left and len(left) == len(begun):
                    self._failed(left[0], f"the process ended with exit code {ended}; worker.log says more")
                elif left and ended < 0:
                    self._failed(left[0], f"the process was ended by signal {-ended}; worker.log says more")
                return
            if time.monotonic() > deadline or not left:
                return
            if time.monotonic() - since > 60 * self._config["entry_minutes"]:
                self._failed(left[0], f"took longer than {self._config['entry_minutes']:g} minutes")
                return
            time.sleep(POLL_SECONDS)

    def _failed(self, entry: Entry, error: str) -> None:
        device = next((row["device"] for row in self.rows()), {"kind": "unknown", "memory_bytes": 0, "packages": {}})
        row = {"name": entry.name, **{key: value for key, value in vars(entry).items() if value}}
        with self._rows.open("a") as file:
            file.write(json.dumps({**row, "error": error, "device": device}) + "\n")
        print(f"{entry.name}: {error}", flush=True)
