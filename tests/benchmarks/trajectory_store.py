"""A store of many trajectories: taking in, the index made anew, counting and sampling.

    PYTHONPATH=. python tests/benchmarks/trajectory_store.py [--episodes 100000] [--folder DIR]

Prints a JSON object: seconds on the wall, and of the processor. Episodes have two steps and two screenshots, of which
2,000 differ. One in ten, at most 2,000, is written as files, which takes what the disk takes; the rest are lines of the
journal alone: the index sees no more of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from tars_jax.data.store import Origin, Store
from tars_jax.data.store.records import digest, record_of, row_of
from tars_jax.data.store.routing import route
from tars_jax.data.store.verdicts import own_verdict
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory

PICTURES = 2000
AT_A_TIME = 1000
MOST_WRITTEN = 2000


def picture(number: int) -> bytes:
    """PNG of 96x96."""
    pixels = np.zeros((96, 96, 3), np.uint8)
    pixels[number % 96, :, 0], pixels[:, number // 96 % 96, 1] = 255, 255
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def episode(number: int, pictures: list[bytes]) -> Trajectory:
    shown = [pictures[(number + step) % len(pictures)] for step in range(2)]
    steps = tuple(Step(png, "Action: wait()", "", "wait()", None, 0.0, 0, True, {}) for png in shown)
    sampled = np.arange(40) % 20 > 10
    window = ContextWindow(
        np.arange(40, dtype=np.int32),
        sampled,
        np.where(sampled, -0.5, 0).astype(np.float32),
        np.where(sampled, 0, -1).astype(np.int32),
        np.arange(40, dtype=np.int32) // 20,
        (0, 1),
    )
    task = {"id": f"task-{number // 4}", "environment": "maze_path_of_light", "seed": number // 4, "options": {}}
    return Trajectory(
        f"episode {number}", {**task, "max_steps": 6}, (window,), steps, Outcome.FINISHED, 1.0, success=number % 3 > 0
    )


def measure(episodes: int, folder: Path) -> dict[str, float]:
    pictures = [picture(number) for number in range(PICTURES)]
    found: dict[str, float] = {"episodes": episodes}
    with Store(folder / "store", create=True) as store:
        written = min(episodes // 10, MOST_WRITTEN)
        start = time.perf_counter()
        for first in range(0, written, AT_A_TIME):
            store.add((episode(n, pictures) for n in range(first, min(written, first + AT_A_TIME))), Origin(cycle=1))
        found["added_per_s"] = written / (time.perf_counter() - start)
        with store.journal.locked():
            store.journal.append(list(_lines(written, episodes, pictures)))
        store.index.clear()
        for name, work in {
            "index_s": store.count,  # which finds it empty
            "count_s": lambda: store.count("cycle>=2 and verdict=1 and environment=maze*"),
            "sample_s": lambda: store.sample("verdict=1", 1000, seed=0),
            "sample_and_rows_s": lambda: [store.rows(f"id={id}") for id in store.sample("cycle=2", 1000, seed=1)],
            "route_s": lambda: route(store, 2),
            "members_s": lambda: store.members("sft"),
            "load_s": lambda: list(store.load_all(store.sample("cycle=1", 100, seed=2))),
        }.items():
            start, used = time.perf_counter(), time.process_time()
            work()
            found[name] = time.perf_counter() - start
            found[name.removesuffix("_s") + "_cpu_s"] = time.process_time() - used
        assert store.count() == episodes
    start = time.perf_counter()
    Store(folder / "store").close()
    found["open_s"] = time.perf_counter() - start
    found["journal_mb"] = (folder / "store" / "journal.jsonl").stat().st_size / 1e6
    found["index_mb"] = (folder / "store" / "index.sqlite").stat().st_size / 1e6
    return {name: round(value, 4) for name, value in found.items()}


def _lines(start: int, stop: int, pictures: list[bytes]) -> Iterator[dict[str, object]]:
    """As `Store.add` would write them; a record's checksum is that of its number."""
    trajectory = episode(0, pictures)
    template = record_of(trajectory, Origin(cycle=2))
    for number in range(start, stop):
        task = {**trajectory.task, "id": f"task-{number // 4}", "seed": number // 4}
        own = dataclasses.replace(template.trajectory, task=task, success=number % 3 > 0)
        record = dataclasses.replace(template, id=digest(str(number).encode()), trajectory=own)
        yield {"add": row_of(record, Origin(cycle=2), [verdict.to_json() for verdict in own_verdict(own)])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        print(json.dumps(measure(arguments.episodes, folder)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
