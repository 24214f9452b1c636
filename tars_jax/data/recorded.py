"""Trajectories that earlier runs have recorded, to be learnt from again: the flywheel's way back (UI-TARS-2, 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.trajectory import Trajectory, load_trajectory

VERDICTS = ("any", "solved", "failed")


def recorded_trajectories(folders: Sequence[str]) -> list[Trajectory]:
    """All episodes that carry a reward, folder by folder, by number.

    Raises InputError that names a folder without any, or a file that is damaged.
    """
    found: list[Trajectory] = []
    for folder in folders:
        files = sorted(Path(folder).glob("*.trajectory"))
        if not files:
            raise InputError(f"trajectories: {folder} holds none; it takes folders such as RUN/trajectories/ppo.")
        found += map(load_trajectory, files)
    return [trajectory for trajectory in found if trajectory.outcome.carries_reward]


def with_verdict(trajectories: Sequence[Trajectory], verdict: str) -> list[Trajectory]:
    """Those with V = 1 ("solved"), with V = 0 ("failed"), or all ("any")."""
    return [each for each in trajectories if verdict == "any" or each.solved == (verdict == "solved")]
