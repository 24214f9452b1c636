"""Recorded data by name, as trajectories to imitate.

    RUN/trajectories/ppo        a folder of our trajectories; of an evaluation only with ?purpose=evaluation behind it,
                                and so of all others below: what an export marks as held out, only with ?held_out=1
    RUN/store?verdict=1         a store of trajectories; after the question mark, which ones (store/query.py): those of
                                evaluations and of held-out tasks only where `purpose` or `held_out` asks for them
    mine.array_record           the same as one file, which `store` exports (the extra grain)
    mine/messages.jsonl         a chat with images a line (chat_messages.py), or a task of AgentNet (agentnet.py);
                                the folder of an export of either, too
    mine/, mine.json            documents of ATIF: of an export, or as Harbor's agents leave them (atif.py)
    mine.parquet, mine/         the same as Parquet, and as Hugging Face's datasets saves it to disk
    package.module:attribute    a function that gives trajectories, as does an entry point of `tars_jax.datasets`

Episodes of others hold no tokens: `retokenized.py` writes them for the policy that learns.
"""

from __future__ import annotations

import collections
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.agentnet import is_agentnet, trajectory_of_agentnet
from tars_jax.data.atif import atif_files, is_atif, trajectories_of_atif
from tars_jax.data.chat_messages import trajectory_of_messages
from tars_jax.data.held_out import exclude_held_out, path_and_conditions
from tars_jax.data.images import read_image
from tars_jax.data.pyautogui_calls import NoSuchAction
from tars_jax.data.recorded import recorded_trajectories
from tars_jax.data.store import Store, is_store
from tars_jax.data.store.feed import ArrayRecordEpisodes
from tars_jax.data.store.query import for_training
from tars_jax.plugins import Plugins
from tars_jax.tasks.prompts.record_files import RECORD_FILES, records_of, table_files
from tars_jax.trajectory import Trajectory

_PLUGINS = Plugins("dataset", "tars_jax.datasets")
_EXPORTS = ("messages.jsonl", "agentnet.jsonl")
log = logging.getLogger(__name__)


def read_dataset(name: str, field: str = "dataset") -> Iterator[Trajectory]:
    """The episodes of that name that carry a reward, one at a time. `field`: where somebody has written it.

    Recorded steps that do what none of our actions can say are left out, and counted in the log, as are records of
    which no step is left. Raises InputError where there is no such dataset, and for a malformed record, by file, line
    (or row) and field.
    """
    if stored := _store_of(name):
        yield from _stored(*stored)
        return
    path, where = path_and_conditions(name)
    if path.is_dir() and next(path.glob("*.trajectory"), None) is not None:
        yield from exclude_held_out(recorded_trajectories([str(path)]), where, path)
    elif path.is_dir() and (files := table_files(path)):
        yield from exclude_held_out(_trajectories(files), where, path)
    elif path.is_dir() and (exports := _exports_in(path)):
        yield from exclude_held_out(_trajectories(exports), where, path)
    elif path.is_dir() and (documents := atif_files(path)):
        yield from exclude_held_out(_of_documents(documents), where, path)
    elif path.is_file() and is_atif(path):
        yield from exclude_held_out(_of_documents([path]), where, path)
    elif path.is_file() and path.suffix in RECORD_FILES:
        yield from exclude_held_out(_trajectories([path]), where, path)
    elif path.is_file() and path.suffix == ".array_record":
        found = (each for each in ArrayRecordEpisodes(path) if each.outcome.carries_reward)
        yield from exclude_held_out(found, where, path)
    elif not path.exists() and (":" in name or name in _PLUGINS.entry_points()):
        yield from _brought(name)
    else:
        raise InputError(
            f"{field} must be a folder of trajectories such as RUN/trajectories/ppo, a store, a .jsonl file of "
            "messages or of AgentNet, documents of ATIF, .parquet, .array_record, a folder that datasets saved, "
            "package.module:attribute, or an "
            f"entry point of {_PLUGINS.group}; got {name!r}"
        )


def _exports_in(folder: Path) -> list[Path]:
    """One of ours, or the files of AgentNet as they are published (agentnet_ubuntu_5k.jsonl, ...)."""
    own = [folder / name for name in _EXPORTS if (folder / name).is_file()]
    return own[:1] or sorted(folder.glob("agentnet*.jsonl"))


def _store_of(name: str) -> tuple[Path, str] | None:
    """A store, and what is asked of it: a folder's name may have question marks, too."""
    for end in (*(place for place, letter in enumerate(name) if letter == "?"), len(name)):
        if is_store(folder := Path(name[:end])):
            return folder, name[end + 1 :]
    return None


def _stored(folder: Path, where: str) -> Iterator[Trajectory]:
    with Store(folder) as store:
        yield from (each for each in store.load_judged(for_training(where)) if each.outcome.carries_reward)


def _trajectories(files: Iterable[Path]) -> Iterator[Trajectory]:
    left_out, steps_left_out = collections.Counter[str](), collections.Counter[str]()
    kept = 0
    for file in files:
        find = _image_finder(file.parent)
        for where, record in records_of(file):
            id = f"{file.stem}-{where.rpartition(':')[2]}"
            try:
                if is_agentnet(record):
                    yield trajectory_of_agentnet(record, where, id, find, steps_left_out)
                else:
                    yield trajectory_of_messages(record, where, id, find)
                kept += 1
            except NoSuchAction as action:
                left_out[str(action)] += 1
    for what, counts in ((f"of {kept + left_out.total()} records", left_out), ("steps", steps_left_out)):
        if counts:
            reasons = ", ".join(f"{action} ({count})" for action, count in counts.most_common())
            log.warning("%d %s are left out, as no action of ours says: %s", counts.total(), what, reasons)


def _of_documents(files: Iterable[Path]) -> Iterator[Trajectory]:
    for file in files:
        find = _image_finder(file.parent)
        yield from (each for each in trajectories_of_atif(file, find) if each.outcome.carries_reward)


def _image_finder(folder: Path) -> Callable[[Any, str], bytes]:
    """Images lie beside a file, or in a folder beside it, wherever an archive of them was unpacked."""
    places = [folder, folder / "images", *sorted(each for each in folder.iterdir() if each.is_dir())]

    def find(given: Any, where: str) -> bytes:
        place = folder
        if isinstance(given, str) and not given.startswith(("data:", "/")):
            place = next((each for each in places if (each / given).is_file()), folder)
        return read_image(given, place, where)

    return find


def _brought(name: str) -> Iterator[Trajectory]:
    made_by = _PLUGINS.load(name)
    if not callable(made_by):
        raise InputError(f"dataset {name!r} must be a function; got an object of type {type(made_by).__name__}")
    found = made_by()
    if not isinstance(found, Iterable):
        raise InputError(f"dataset {name!r} must give trajectories one after the other; got {type(found).__name__}")
    for trajectory in found:
        if not isinstance(trajectory, Trajectory):
            raise InputError(f"dataset {name!r} must give trajectories; got {type(trajectory).__name__}")
        if trajectory.outcome.carries_reward:
            yield trajectory
