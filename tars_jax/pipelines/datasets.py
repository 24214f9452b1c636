"""Recorded data as a run imitates it: read by name, and written for the policy that learns where others wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tars_jax import InputError
from tars_jax.data.datasets import read_dataset
from tars_jax.data.recorded import instruction_of
from tars_jax.data.retokenized import MARK, EpisodeReader, is_foreign, retokenize
from tars_jax.data.retokenized_chat import retokenize_chat
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.sections import agent_config, fitting_size
from tars_jax.pipelines.serving import template
from tars_jax.trajectory import Trajectory


def demonstrations_for(spec: RunSpec) -> list[Trajectory]:
    """The demonstrations of `demonstrations.datasets`. Raises InputError as `recorded_for`, and where these hold
    none."""
    names = spec.config.demonstrations.datasets
    found = recorded_for(spec, names, "config.demonstrations.datasets")
    if names and not found:
        raise InputError(f"config.demonstrations.datasets must hold episodes; got {', '.join(names)}, which hold none")
    return found


def recorded_for(spec: RunSpec, names: Sequence[str], field: str) -> list[Trajectory]:
    """The episodes of all datasets, in windows of the run's policy. Raises InputError as `read_dataset` does."""
    spaces = [shape.space for shape in spec.shapes] or [None]
    reader = EpisodeReader(
        spec.writer,
        agent_config(spec.config.agent, None),
        spec.tokenizer.image,
        spec.tokenizer.vocabulary,
        _seen_size(spec),
        spaces[0],
    )
    written = _written_as_asked(spec, reader) if all(shape.asked for shape in spec.shapes) else _written
    found = [written(trajectory, reader) for name in names for trajectory in read_dataset(name, field)]
    if again := sum(MARK in trajectory.metadata for trajectory in found):
        print(
            f"{', '.join(names)}: {again} of {len(found)} episodes were not written for this policy; "
            "they are tokenized again for it, and marked as such"
        )
    return found


def _written(trajectory: Trajectory, reader: EpisodeReader) -> Trajectory:
    foreign = is_foreign(trajectory, reader)
    return retokenize(trajectory, instruction_of(trajectory), reader) if foreign else trajectory


def _written_as_asked(spec: RunSpec, reader: EpisodeReader) -> Callable[[Trajectory, EpisodeReader], Trajectory]:
    """As programs ask, where these play and no agent of ours."""
    read, tokenizer = template(spec.model, spec.tokenizer), spec.tokenizer

    def write(text: str) -> list[int]:
        return [*tokenizer.encode(text), tokenizer.end]

    def written(trajectory: Trajectory, reader: EpisodeReader) -> Trajectory:
        if not is_foreign(trajectory, reader):
            return trajectory
        return retokenize_chat(trajectory, instruction_of(trajectory), read, write, reader.size)

    return written


def _seen_size(spec: RunSpec) -> Callable[[int, int], tuple[int, int]]:
    """Screenshots at a size that the run's tasks have: their own, else the largest; where these have none, at the
    nearest that the policy takes."""
    vision = spec.model.vision
    unit = vision.patch * vision.merge
    known = [fitting_size(unit, *shape.screenshot) for shape in spec.shapes if shape.screenshot is not None]
    if any(shape.asked for shape in spec.shapes) and spec.parent is None:
        known.append((spec.config.browser.size, spec.config.browser.size))  # as its server reads pictures
    largest = max(known, key=lambda size: size[0] * size[1], default=None)

    def size(height: int, width: int) -> tuple[int, int]:
        fitted = fitting_size(unit, height, width)
        return fitted if largest is None or fitted in known else largest

    return size
