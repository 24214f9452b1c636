"""What the sections of a config ask for, as the packages take it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.prompts import QWEN_CHAT, ChatFormat
from tars_jax.inference import EngineConfig
from tars_jax.inference.constraint import Constraints, compile_constraints
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.training.optimisers import OptimiserConfig
from tars_jax.training.rewards import RewardConfig


def configured(model: ModelConfig, section: Any) -> ModelConfig:
    """A preset's model as a config's section `model` has it: how it runs, in which precision, with values or without.

    Raises InputError for a precision or a way to run that there is not.
    """
    return dataclasses.replace(run_as(model, section), scalar_head=section.shared_value)


def run_as(model: ModelConfig, section: Any) -> ModelConfig:
    """The model as a section says that it runs: its `dtype` and its `execution`."""
    execution = section.execution.to_dict()
    execution["capacity"] = execution["capacity"] or None
    return dataclasses.replace(model, dtype=section.dtype or model.dtype, execution=Execution(**execution))


def well_formed(grammars: Iterable[str], tokenizer: Tokenizer, vocabulary: int) -> Constraints | None:
    """For each grammar a constraint of its name, under which only responses that can be read are sampled.

    `vocabulary` is the model's, which may be larger than the tokenizer's: open models are padded.
    """
    patterns = {grammar: response_pattern(grammar) for grammar in grammars}
    if not patterns:
        return None
    return compile_constraints(patterns, tokenizer.token_bytes(), stop=tokenizer.end, vocabulary=vocabulary)


def chat_format(tokenizer: Tokenizer) -> ChatFormat:
    """The special tokens around turns, by what the tokenizer has."""
    return QWEN_CHAT if tokenizer.knows(QWEN_CHAT.end) else ChatFormat()


def decaying(config: Any, updates: int) -> OptimiserConfig:
    """The optimiser of a stage that ends after so many updates; a short one warms up in half of them at most."""
    return OptimiserConfig(
        config.learning_rate,
        algorithm=config.optimiser,
        warmup=min(OptimiserConfig.warmup, updates // 2),
        decay=updates,
        weight_decay=config.weight_decay,
    )


def agent_config(
    agent: Mapping[str, Any],
    engine: EngineConfig | None,
    image_size: Callable[[int, int], tuple[int, int]] | None = None,
) -> AgentConfig:
    """The loop that a config's section `agent` describes; `engine` bounds its prompts. `image_size`: of the image that
    a model sees, which may point in its pixels; others point on the grid of 0 to 1000."""
    memory = MemoryConfig(agent["min_steps"], agent["max_steps"], agent["max_summaries"])
    longest = None if engine is None else engine.max_length - engine.max_new_tokens
    in_pixels = agent.get("coordinates") == "pixels"
    return AgentConfig(agent["grammar"], memory, max_prompt=longest, image_size=image_size if in_pixels else None)


def rewards_of(config: Any, longest: int) -> RewardConfig:
    """Shaping as a section `reward` has it; responses longer than three quarters of `longest` tokens are overlong."""
    return RewardConfig(max_length=longest, length_cache=max(1, longest // 4), **config.to_dict())


def engine_config(config: Any, constraint: str | None = None) -> EngineConfig:
    """A slot for each page of the browsers, on whatever machine."""
    pages = num_pages(config)
    return EngineConfig(slots=pages, row_buckets=(2, max(2, pages)), constraint=constraint, **config.engine.to_dict())


def num_hosts(config: Any) -> int:
    """Hosts of a Ray cluster that play; 0, also without a section `fleet`: this machine does."""
    return int(config.fleet.hosts) if "fleet" in config else 0


def num_pages(config: Any) -> int:
    """Pages that play at the same time, of this machine or of all hosts."""
    return int(config.browser.pages) * max(1, num_hosts(config))
