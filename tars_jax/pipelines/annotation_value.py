"""Returns that a run's value model expects of an episode under annotation, for a gate that asks where they are low."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.core import Candidate, Decision
from tars_jax.annotation.interactive.recorded import DoneStep, EpisodeSoFar, trajectory_of
from tars_jax.environment import Transition
from tars_jax.training.checkpoint import load_parameters, recorded_model
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.state import abstract_parameters
from tars_jax.training.value import gather_actions, make_value_fn, value_model

MOST_IMAGES = 8  # of a window


class ExpectedReturn:
    """V before the first token of an answer, as PPO's value model reads it: after the prompt."""

    def __init__(
        self, folder: Path, writer: PromptWriter, agent: AgentConfig, *, screen: int, longest: int, image: int,
        mesh: Mesh,
    ) -> None:  # fmt: skip
        """`folder`: weights such as RUN/value; `screen`: pixels on a side of what its policy sees; `longest`: tokens of
        a window; `image`: the token. Raises InputError for a folder without such weights."""
        model = value_model(recorded_model(folder))
        self._mesh = mesh
        with jax.set_mesh(mesh):
            self._parameters = load_parameters(folder, abstract_parameters(model, mesh))
        self._packer = Packer(model, PackingConfig(longest, MOST_IMAGES), image=image)
        self._value_fn = make_value_fn(model)
        self._writer = writer
        self._agent = dataclasses.replace(agent, screenshot_size=lambda height, width: (screen, screen))

    def __call__(self, record: EpisodeSoFar, candidate: Candidate) -> float:
        """Blocks while it computes. Raises InputError for a window that is longer than any of the policy's."""
        columns = candidate.tokens, candidate.log_probs, candidate.versions
        # As if it were taken: of context nothing but the last token would have a value.
        decision = Decision(candidate.text, candidate.thought, candidate.action, *columns, "policy", accepted=True)
        here = Transition(record.observation(len(record.steps)))
        asked = dataclasses.replace(record, steps=(*record.steps, DoneStep(decision, (), here)))
        trajectory = asyncio.run(trajectory_of(asked, self._writer, self._agent, None, {}))
        last = dataclasses.replace(trajectory, windows=trajectory.windows[-1:])
        batch = self._packer.pack([last], 1)
        with jax.set_mesh(self._mesh):
            values = gather_actions(batch, np.asarray(self._value_fn(self._parameters, batch.rows)))
        own = batch.action_valid & (batch.action_step == len(record.steps))
        return float(values[own][0])
