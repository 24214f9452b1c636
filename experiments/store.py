"""A store of trajectories is asked, filled, exported, judged, checked and mended."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tars_jax.data.datasets import read_dataset
from tars_jax.data.exporters import write_jsonl, write_parquet
from tars_jax.data.held_out import is_held_out, purpose_of
from tars_jax.data.store import Origin, Store, Verdict
from tars_jax.data.store.feed import write_array_record
from tars_jax.data.store.integrity import DAMAGED, check, repair, summary
from tars_jax.data.store.query import for_training, parse
from tars_jax.data.store.records import PURPOSES
from tars_jax.pipelines.config import naming
from tars_jax.training.progress import QUIET, Progress, counting, working
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import save_trajectory
from tars_jax.trajectory.folders import mark_evaluation

POSITIONAL = ("store",)
AT_A_TIME = 64  # episodes of an import that are in memory together


def run(config: Any, run_directory: RunDirectory) -> int:
    path = Path(config.store)
    if config.action in ("check", "repair"):
        return _check(path, config.action)
    # What is listed goes to stdout alone; the rest of what may take a while says itself how far it is.
    asking = contextlib.nullcontext() if config.action in ("export", "import") else working("store", stream=sys.stderr)
    with asking, _opened(path, config) as store:
        if config.action == "summary":
            print(summary(store))
        elif config.action == "count":
            print(store.count(config.where))
        elif config.action == "list":
            _print(store.rows(config.where, config.limit))
        elif config.action == "sample":
            chosen = store.sample(config.where, config.limit, config.seed)
            rows = {row["id"]: row for row in store.rows(config.where)}
            _print([rows[id] for id in chosen])
        elif config.action == "export":
            _export(store, config, Path(config.output) if config.output else run_directory.path)
        elif config.action == "import":
            _import(store, config)
        else:
            _judge(store, config)
    return 0


def _opened(path: Path, config: Any) -> Store:
    """Raises InputError for what the fields say before there is a store, or where it cannot be opened."""
    importing = config.action == "import"
    parse(config.where)
    for name in config.datasets if importing else ():
        next(read_dataset(name, "config.datasets"), None)
    with naming("config.store", "store"):
        return Store(path, create=importing)


def _check(path: Path, action: str) -> int:
    """1 where something was found that is not mended."""
    with naming("config.store", "store"):
        found = repair(path, _shown("check")) if action == "repair" else check(path, _shown("check"))
    for problem in found:
        print(problem)
    lost = f"{len({problem.episode for problem in found if problem.episode})} episodes are lost"
    if more := sum(len(problem.lost) for problem in found):
        lost += f", and {more} other things, as named above"
    if not found:
        print(f"{path}: whole")
    elif action == "repair":
        print(f"{path}: {len(found)} mended; {lost}; what is left of them lies in {path / DAMAGED}")
    else:
        print(f"{path}: {len(found)} found; {lost}; --config.action=repair mends it")
    return int(bool(found) and action == "check")


def _shown(stage: str) -> Callable[[int, int], None]:
    return counting(stage, "episodes", quiet=QUIET)


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(json.dumps({name: value for name, value in row.items() if name not in ("images", "start")}))


def _export(store: Store, config: Any, folder: Path) -> None:
    where = for_training(config.where)
    ids = store.ids(where)
    found = Progress("export", len(ids), "episodes", quiet=QUIET).each(store.load_judged(where))
    if config.format == "parquet":
        written, count = folder / "trajectories.parquet", write_parquet(folder / "trajectories.parquet", found)
    elif config.format == "array_record":
        written = folder / "trajectories.array_record"
        count = write_array_record(written, found)
    elif config.format == "trajectories":
        written = folder / "trajectories"
        written.mkdir(parents=True, exist_ok=True)
        if any(row["purpose"] != "training" for row in store.rows(where)):
            mark_evaluation(written)
        count = 0
        for count, (id, trajectory) in enumerate(zip(ids, found, strict=True), 1):  # noqa: B007 - the last one counts
            save_trajectory(written / f"{id[:32]}.trajectory", trajectory)
    else:
        written, count = folder / "messages.jsonl", write_jsonl(folder, found, config.style)
    print(f"{written}: {count} of {store.count()} episodes")
    if left_out := store.count(config.where) - len(ids):
        print(f"{left_out} of evaluations or held-out tasks are left out: config.where may ask for purpose or held_out")


def _import(store: Store, config: Any) -> None:
    for name in config.datasets:
        before, count = store.count(), 0
        progress = Progress("import", None, "episodes", quiet=QUIET)
        for batch in _batches(progress.each(read_dataset(name, "config.datasets"))):
            store.hold_out([each for each in batch if is_held_out(each)])
            for purpose in PURPOSES:  # an evaluation stays one
                own = [each for each in batch if purpose_of(each) == purpose]
                count += len(store.add(own, Origin("imported", run=name, purpose=purpose)))
        print(f"{name}: {count} episodes, {store.count() - before} of them new")


def _batches(trajectories: Iterator[Trajectory]) -> Iterator[list[Trajectory]]:
    batch: list[Trajectory] = []
    for trajectory in trajectories:
        batch.append(trajectory)
        if len(batch) == AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch


def _judge(store: Store, config: Any) -> None:
    ids = store.ids(config.where)
    said = Verdict(bool(config.verdict), "annotator", config.annotator, note=config.note)
    store.judge(dict.fromkeys(ids, said))
    print(f"{len(ids)} episodes judged by {config.annotator}; {store.count('contradictory=1')} are contradictory")
