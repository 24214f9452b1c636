"""Trajectories that earlier runs have recorded, to be learned from again: the flywheel's way back (UI-TARS-2, 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.judges.labels import Labelled
from tars_jax.judges.reference import answer_of
from tars_jax.tasks.library import load_playable
from tars_jax.training.progress import QUIET, Progress
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_answers
from tars_jax.trajectory.files import load_trajectory

TRACES = "traces"  # of a run of judge_traces: one folder of episodes for each domain


def recorded_trajectories(folders: Sequence[str], vocabulary: int | None = None) -> list[Trajectory]:
    """All episodes that carry a reward, folder by folder, by number; says how far it is where that takes long.

    Raises InputError that names a folder without any, or the file and field of what is damaged, cannot be trained on
    or, for a model of so many tokens, is beyond its `vocabulary`.
    """
    found: list[Trajectory] = []
    for folder in folders:
        files = sorted(Path(folder).glob("*.trajectory"))
        if not files:
            raise InputError(
                f"trajectories must be folders such as RUN/trajectories/ppo; got {folder}, which holds none"
            )
        read = Progress(f"read {Path(folder).name}", len(files), "episodes", quiet=QUIET).each(files)
        found += (_trainable(file, vocabulary) for file in read)
    return [trajectory for trajectory in found if trajectory.outcome.carries_reward]


def _trainable(file: Path, vocabulary: int | None) -> Trajectory:
    trajectory = load_trajectory(file)
    check_answers(trajectory, str(file))
    for index, window in enumerate(trajectory.windows):
        if vocabulary is not None and window.tokens.max(initial=0) >= vocabulary:
            raise InputError(
                f"{file}: field windows[{index}].tokens must be below the vocabulary, {vocabulary}; "
                f"got {window.tokens.max()}."
            )
    return trajectory


def instruction_of(trajectory: Trajectory) -> str:
    """Instruction of an episode. Raises InputError where neither the episode nor a game of ours says it."""
    if told := trajectory.metadata.get("instruction") or trajectory.task.get("instruction"):
        return str(told)
    if "instruction" in trajectory.metadata:  # it was asked by pictures alone
        return ""
    playable = load_playable(str(trajectory.task.get("environment")))
    try:
        return playable.instruction_for(trajectory.steps[0].info)
    except (LookupError, TypeError) as error:  # of no step, or of one that lacks what the environment says
        raise InputError(f"trajectory {trajectory.id!r} must say its instruction; got none: {error!r}") from error


def labelled_episodes(folder: str) -> list[Labelled]:
    """The episodes of a folder of which their environment says whether they were solved, to measure judges by. Raises
    InputError as `recorded_trajectories` does."""
    return [
        Labelled(
            each.id,
            each.task["environment"],
            str(each.metadata.get("judge", "policy")),
            (each.verified_success,),
            each,
            Task.from_json(each.task),
        )
        for each in recorded_trajectories([folder])
        if each.verified_success is not None
    ]


def labelled_traces(folder: str) -> list[Labelled]:
    """Labelled trajectories of a run of `judge_traces`, which has a folder for each domain; the domain is the site.
    Raises InputError as `recorded_trajectories` does."""
    domains = sorted(each for each in Path(folder, TRACES).glob("*") if each.is_dir())
    if not domains:
        raise InputError(f"{folder} must be a run of judge_traces, with episodes in {TRACES}/DOMAIN; got none")
    found = []
    for domain in domains:
        for each in recorded_trajectories([str(domain)]):
            truth = hidden_truth(each)
            if truth is not None:
                task = Task.from_json(each.task)
                found.append(Labelled(f"{domain.name}/{each.id}", domain.name, "scripted", (truth,), each, task))
    return found


def hidden_truth(trajectory: Trajectory) -> bool | None:
    """Truth about an episode by its environment; where a judge is to tell it by a reference, whether the answer is the
    reference to the letter, as scripted players give it; None where nobody knows."""
    reference = Task.from_json(trajectory.task).verification.reference
    if trajectory.verified_success is None and reference:
        return answer_of(trajectory) == reference
    return trajectory.verified_success


def with_verdict(trajectories: Sequence[Trajectory], verdict: str) -> list[Trajectory]:
    """Trajectories with V = 1 ("solved"), with V = 0 ("failed"), or all ("any")."""
    return [each for each in trajectories if verdict == "any" or each.succeeded == (verdict == "solved")]
