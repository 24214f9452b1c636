"""Storage of annotated episodes: journals, trajectories that others train on, preference pairs, reviews."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.interactive.core import Ending
from tars_jax.annotation.interactive.journal import FILE, SCREENS, EpisodeJournal, screen_name
from tars_jax.annotation.interactive.journal_entries import JournaledEpisode, read_episode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.recorded import DoneStep, EpisodeSoFar, trajectory_of
from tars_jax.files import write_atomic
from tars_jax.trajectory.files import save_trajectory

EPISODES, TRAJECTORIES, PREFERENCES = "episodes", "trajectories", "preferences.jsonl"
log = logging.getLogger(__name__)


class AnnotationStorage:
    """The folder of a run's annotation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: dict[str, str] = {}  # episodes whose journal cannot be read: why not. Their files stay
        (folder / EPISODES).mkdir(parents=True, exist_ok=True)
        (folder / TRAJECTORIES).mkdir(exist_ok=True)

    def journal(self, id: str) -> EpisodeJournal:
        return EpisodeJournal(self.folder / EPISODES / id)

    def forget(self, id: str) -> None:
        """Deletes an episode that never began."""
        shutil.rmtree(self.folder / EPISODES / id, ignore_errors=True)

    def episode(self, id: str) -> JournaledEpisode:
        """Raises InputError where there is none."""
        if "/" in id or id.startswith(".") or not (self.folder / EPISODES / id / FILE).is_file():
            raise InputError(f"episode must be one that is kept; got {id[:80]!r}")
        return read_episode(self.folder / EPISODES / id)

    def episodes(self) -> dict[str, JournaledEpisode]:
        """All that can be read, without their screens; what cannot is in `damaged`, and said in the log once."""
        found: dict[str, JournaledEpisode] = {}
        damaged: dict[str, str] = {}
        for folder in sorted((self.folder / EPISODES).iterdir()):
            try:
                if any(file.is_file() and file.stat().st_size for file in folder.rglob("*")):  # else it never began
                    found[folder.name] = read_episode(folder, screens=False)
            except Exception as error:  # whatever a disk or a hand has made of it: the others go on
                damaged[folder.name] = _sentence(error)
                if folder.name not in self.damaged:
                    log.error("annotation: episode %s is lost, its files stay: %s", folder.name, error)
        self.damaged = damaged
        return found

    def screen(self, id: str, name: str) -> Path:
        """Raises InputError for a name that is none."""
        file = self.folder / EPISODES / id / SCREENS / name
        if "/" in id + name or ".." in id + name or not file.is_file():
            raise InputError(f"screen must be one of an episode; got {name[:80]!r}")
        return file

    def screen_of(self, kept: JournaledEpisode, step: int) -> str:
        """The name of what is shown at a step; "" for none."""
        return screen_name(kept.record.observation(step).screenshot)

    async def store(self, id: str, live: LiveEpisode) -> None:
        """The trajectory of an episode that is over, and its preference pairs. Raises OSError."""
        trajectory = await live.trajectory()
        if trajectory is not None:
            self._prefer(id, live.record)
            save_trajectory(self._trajectory(id), trajectory)  # the last of all: with it nothing is left to be done

    async def make_whole(self, id: str, kept: JournaledEpisode, setting: Setting) -> None:
        """Stores an episode whose service was killed before, or that is lost, from its journal.

        One that no trajectory can be made of is marked as lost, with the reason; it keeps nothing else from going on.
        """
        if self._trajectory(id).exists() or not kept.record.steps:
            return
        try:
            await self._made_whole(id, setting)
        except Exception as error:
            why = f"no trajectory can be made of it: {_sentence(error)}"
            log.error("annotation: episode %s: %s; its files stay", id, why)
            if kept.lost is None:
                self.lose(id, why)

    def lose(self, id: str, why: str) -> None:
        """Marks an episode as lost, as far as the disk allows."""
        with contextlib.suppress(OSError):
            journal = self.journal(id)
            try:
                journal.append("lost", time=round(time.time(), 3), why=why)
            finally:
                journal.close()

    async def _made_whole(self, id: str, setting: Setting) -> None:
        kept = self.episode(id)  # with its screens
        ending = kept.ended or Ending(None, 0.0, kept.lost or "")
        about = {
            "annotator": kept.holder, "policy": kept.policy, "switches": kept.switches, "note": ending.reason,
            "seconds": sum(kept.spent.values()), "seconds_undone": sum(seconds for _, seconds in kept.taken_back),
        }  # fmt: skip
        trajectory = await trajectory_of(kept.record, setting.writer, setting.agent, kept.ended, about)
        self._prefer(id, kept.record)
        save_trajectory(self._trajectory(id), trajectory)

    @property
    def trajectories(self) -> Path:
        return self.folder / TRAJECTORIES

    def _trajectory(self, id: str) -> Path:
        return self.folder / TRAJECTORIES / f"{id}.trajectory"

    def _prefer(self, id: str, record: EpisodeSoFar) -> None:
        """Adds an episode's pairs; those that it has there already are replaced."""
        file = self.folder / PREFERENCES
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        others = [line for line in lines if _episode_of(line) != id]
        pairs = [json.dumps(pair, ensure_ascii=False) for pair in preference_pairs(record)]
        write_atomic(file, "".join(f"{line}\n" for line in (*others, *pairs)).encode())


def _episode_of(pair: str) -> str | None:
    """None for a line that a hand has damaged: it stays as it is."""
    try:
        return str(json.loads(pair)["episode"])
    except (ValueError, TypeError, KeyError):
        return None


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"[:300]


def preference_pairs(record: EpisodeSoFar) -> Iterator[Mapping[str, Any]]:
    """Preference pairs of a person's choice against each candidate that does something else: prompt, chosen,
    rejected."""
    for number, done in enumerate(record.steps):
        decision = done.decision
        if not decision.learned or decision.live:
            continue
        for rejected in done.candidates:
            if rejected.text == decision.text or (rejected.valid and rejected.action == decision.action):
                continue
            yield {
                "prompt": prompt_of(record, number),
                "chosen": decision.text,
                "rejected": rejected.text,
                "episode": record.id,
                "step": number,
                "images": _image(record, number),
                "log_probability": rejected.log_probability,
                "decided_by": decision.decided_by,
            }


def prompt_of(record: EpisodeSoFar, step: int) -> str:
    """The instruction, the answers so far, and what is shown: as a person would read it."""
    earlier = [_told(number, done) for number, done in enumerate(record.steps[:step])]
    shown = record.observation(step).text
    return "\n".join([record.instruction, *earlier, *([shown] if shown else [])])


def _told(number: int, done: DoneStep) -> str:
    return f"{number + 1}. {'(typed in secret)' if done.decision.hidden else done.decision.text}"


def _image(record: EpisodeSoFar, step: int) -> list[str]:
    name = screen_name(record.observation(step).screenshot)
    return [f"{EPISODES}/{record.id}/{SCREENS}/{name}"] if name else []
