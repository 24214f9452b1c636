"""Results as WindowsAgentArena's own runner leaves them, which are OSWorld's with a trial's number in the path.

    RUN/benchmark/results/ACTION_SPACE/OBSERVATION/MODEL/TRIAL/DOMAIN/ID/result.txt, traj.jsonl, step_N.png

A lost episode has a folder without result.txt, which is neither counted nor taken for played.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.osworld import ACTION_SPACES, OBSERVATIONS, write_episode
from tars_jax.trajectory import Trajectory

SIZE = (1280, 800)  # of the screen of its machines, where no picture says it


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """A folder for each trial. Raises OSError."""
    interface = str(about.options.get("interface") or "gui")
    model = re.sub(r"[^A-Za-z0-9._-]+", "_", about.agent).strip("._") or "policy"
    top = folder / "results" / ACTION_SPACES[interface] / OBSERVATIONS[interface] / model
    for each in played:
        place = top / str(each.attempt) / each.task.group / each.task.id
        write_episode(place, each, {"size": _size(each.trajectory)})
    return [top / str(attempt) for attempt in sorted({each.attempt for each in played})]


def _size(trajectory: Trajectory) -> tuple[int, int]:
    screens = [step.screenshot for step in trajectory.steps] + [trajectory.final_screenshot]
    for screen in filter(None, screens):
        with Image.open(io.BytesIO(screen)) as image:
            return image.size
    return SIZE
