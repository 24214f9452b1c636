"""The judge of a run, by its config; among them the reward model that an earlier run has trained."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import jax
import ml_collections

from tars_jax import InputError
from tars_jax.agent.judge_prompt import ALTERNATIVES
from tars_jax.environment import Task
from tars_jax.inference.engine import Engine
from tars_jax.json_fields import read_object_text
from tars_jax.judges import Judge, Judgement, load_judge
from tars_jax.judges.calibration import read_calibration
from tars_jax.judges.reward_model import OutcomeRewardModel, ScoreReading
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.sections import engine_config
from tars_jax.pipelines.starting_weights import run_config, start_from
from tars_jax.training.checkpoint import lineage
from tars_jax.training.weight_sync import to_local_devices
from tars_jax.trajectory import Trajectory

OPENING_SECONDS = 600.0  # a model is loaded and compiled within the first episode's time
_OPENING = threading.Lock()


class CheckpointRewardModel:
    """The judge `orm`: weights that `reward_model` has trained, in an engine of this process, as that run asked them.

    The engine is opened with the first episode, so that the judge can be sent to other processes before.
    """

    time_limit = OPENING_SECONDS

    def __init__(
        self,
        checkpoint: str,
        slots: int = 0,
        reward: str = ScoreReading.reward,
        threshold: float = ScoreReading.threshold,
    ) -> None:
        """
        Args:
          checkpoint: RUN/policy of a run of `reward_model`, which has its calibration beside it.
          slots: episodes judged at once; 0: as that run did.
          reward, threshold: as `ScoreReading` has them.

        Raises InputError for a folder that is none, and for options that mean nothing.
        """
        config = run_config(Path(checkpoint)) if checkpoint else {}
        if "annotated" not in config or not (Path(checkpoint) / "checkpoint.json").is_file():
            raise InputError(f"judge option checkpoint must be RUN/policy of a reward_model run; got {checkpoint!r}")
        if not isinstance(slots, int) or slots < 0:
            raise InputError(f"judge option slots must be a whole number of 0 or more; got {slots!r}")
        self._reading = ScoreReading(read_calibration(Path(checkpoint)), reward, threshold)
        self.version = lineage(checkpoint).id[:12]  # of the weights, wherever they lie
        if self._reading != ScoreReading():
            self.version += f"-{zlib.crc32(repr(self._reading).encode()):08x}"
        self._checkpoint, self._config, self._slots = Path(checkpoint), dict(config), slots
        self._engine: Engine | None = None
        self._judge: OutcomeRewardModel | None = None

    def __call__(self, trajectory: Trajectory, task: Task) -> Awaitable[Judgement]:
        with _OPENING:
            judge = self._judge or self._open()
        return judge(trajectory, task)

    def close(self) -> None:
        """Closes the reward model's engine."""
        engine, self._engine, self._judge = self._engine, None, None
        if engine is not None:
            engine.__exit__(None, None, None)

    def _open(self) -> OutcomeRewardModel:
        config = ml_collections.ConfigDict(self._config)
        config.model.preset = str(self._checkpoint)
        with config.unlocked():
            config.engine.top_logprobs = ALTERNATIVES
        if self._slots:
            config.browser.pages = self._slots
        spec = RunSpec(config)
        with jax.set_mesh(spec.mesh):
            self._engine = engine = Engine(
                spec.model,
                to_local_devices(start_from(self._checkpoint, spec.parameters)),
                engine_config(spec.config),
                image=spec.tokenizer.image,
                stop=spec.tokenizer.end,
                seed=config.seed,
            )
        engine.__enter__()
        longest = engine.config.max_length - engine.config.max_new_tokens
        self._judge = OutcomeRewardModel(
            engine,
            spec.writer,
            longest,
            grammar=config.agent.grammar,
            screenshots=config.screenshots,
            reading=self._reading,
        )
        return self._judge


def open_judge(config: Any) -> Judge | None:
    """The judge that `config.task` names, with its options; None where it names none.

    Raises InputError for a name, or options, that no judge has.
    """
    task = config.task if "task" in config else {}
    name, options = task.get("judge", ""), task.get("judge_options", "{}")
    if not name and options != "{}":
        raise InputError(f"config.task.judge must name the judge of judge_options; got '' and {options!r:.100}")
    return named_judge(name, options, "config.task") if name else None


def named_judge(name: str, text: str, section: str) -> Judge:
    """The judge `name` with options in JSON, from `section` of a config. Raises InputError as `open_judge` does."""
    options = read_object_text(text, f"{section}.judge_options")
    with naming(f"{section}.judge_options", "judge_options", judge=f"{section}.judge"):
        return load_judge(name, options, {"orm": CheckpointRewardModel})
