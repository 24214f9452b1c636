"""Spec of a run before anything is opened: the model, its prompts, its rows, its constrained answers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
from flax.core import FrozenDict

from tars_jax import InputError
from tars_jax.agent.grammar_plain import PLAIN, require_text_call
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference.constraint import Constraints
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.probing import TaskShape, callable_in
from tars_jax.pipelines.sections import (
    chat_format,
    compiled,
    configured,
    image_tokens,
    rewards_of,
)
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.pipelines.windows import fill_window_sizes, shapes_of
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.state import fresh_parameters


class RunSpec:
    """Spec of a run: its model, prompts and rows; nothing stays open.

    `shapes`: of its tasks, where that is known already; looking for them may open a browser.
    """

    def __init__(self, config: Any, shapes: Sequence[TaskShape] | None = None) -> None:
        model, tokenizer, self.parent = starting_point(config.model.preset)
        self.model, self.tokenizer = configured(model, config.model), tokenizer
        self.mesh = make_mesh(config.mesh.to_dict())
        tokens_of = functools.partial(image_tokens, self.model.vision)
        text = config.agent.max_observation_tokens
        self.writer = PromptWriter(tokenizer, tokens_of, config.agent.show_budget, chat_format(tokenizer), text)
        self.shapes = shapes_of(config, self.writer) if shapes is None else shapes
        if config.agent.constrained and (programs := [shape.name for shape in self.shapes if shape.asked]):
            raise InputError(
                f"agent.constrained must be False with {programs[0]}, whose program says what an answer is; got True"
            )
        if config.agent.grammar == PLAIN:
            for shape in self.shapes:
                require_text_call(shape.space)
        self.config = config = fill_window_sizes(config, self.writer, self.shapes)
        self.packer = Packer(self.model, PackingConfig(**config.packing.to_dict()), image=tokenizer.image)
        self.rewards = rewards_of(config.reward, config.engine.max_new_tokens)

    @functools.cached_property
    def constraints(self) -> Constraints | None:
        """Constraints under which answers are sampled; None where any may be. Where kinds of tasks differ in what can
        be called, any of it may be: which of it there is, prompts say.

        Raises InputError where no answer is as short as it has to be.
        """
        agent, longest = self.config.agent, self.config.engine.max_new_tokens
        if not agent.constrained:
            return None
        found = compiled({agent.grammar: self.answer_pattern}, self.tokenizer, self.model.vocabulary)
        if (shortest := found.shortest(agent.grammar)) > longest:
            raise InputError(
                f"engine.max_new_tokens must be at least {shortest}, which the shortest answer takes that can be read "
                f"(agent.constrained); got {longest}"
            )
        return found

    @functools.cached_property
    def answer_pattern(self) -> str:
        """The pattern of `constraints`; "" without."""
        agent = self.config.agent
        if not agent.constrained:
            return ""
        thought, most = agent.get("thought", "optional"), agent.get("most_calls", 1)
        return response_pattern(agent.grammar, space=callable_in(self.shapes), thought=thought, most_calls=most)

    @property
    def answer_constraint(self) -> AnswerConstraint | None:
        """The constraint of answers as the learner has it."""
        if (found := self.constraints) is None:
            return None
        config, automaton = self.config, dataclasses.replace(found, start=FrozenDict())
        return AnswerConstraint(automaton, found.start[config.agent.grammar], config.engine.max_new_tokens)

    @functools.cached_property
    def parameters(self) -> Parameters:
        """Weights of the right shapes and shardings: what is loaded from files is laid out like them."""
        return fresh_parameters(self.model, jax.random.key(self.config.seed), self.mesh)
