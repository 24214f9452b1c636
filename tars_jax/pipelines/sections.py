"""Sections of a config to the settings of the rooms below."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.pattern import response_pattern
from tars_jax.environment import ActionSpace
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints, compile_constraints
from tars_jax.model.chat_tokens import OUR_CHAT, QWEN_CHAT, ChatTokens
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.execution import Execution
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.sandbox.address import SandboxAddress, read_address
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.training.config import OptimizerConfig, RewardConfig


def configured(model: ModelConfig, section: Any) -> ModelConfig:
    """A preset's model as a config's section `model` has it: how it runs, in which precision, with values or without.

    Raises InputError for a precision or a way to run that there is not.
    """
    return dataclasses.replace(run_as(model, section), scalar_head=section.shared_value)


def run_as(model: ModelConfig, section: Any) -> ModelConfig:
    """The model as a section says that it runs: its `dtype` and its `execution`."""
    return dataclasses.replace(
        model, dtype=section.dtype or model.dtype, execution=Execution(**section.execution.to_dict())
    )


def well_formed(
    grammars: Iterable[str],
    tokenizer: Tokenizer,
    vocabulary: int,
    space: ActionSpace | None = None,
    thought: str = "optional",
    most_calls: int = 1,
) -> Constraints | None:
    """Constraints, one for each grammar under its name, under which only responses that can be read are sampled.

    `vocabulary` is the model's, which may be larger than the tokenizer's: open models are padded. With a `space`, what
    it has can be called; without one, every GUI action.
    """
    patterns = {
        grammar: response_pattern(grammar, space=space, thought=thought, most_calls=most_calls) for grammar in grammars
    }
    return compiled(patterns, tokenizer, vocabulary) if patterns else None


def compiled(patterns: Mapping[str, str], tokenizer: Tokenizer, vocabulary: int) -> Constraints:
    tokens, stop = tokenizer.token_bytes(), tokenizer.end
    return compile_constraints(patterns, tokens, stop=stop, vocabulary=vocabulary, encode=tokenizer.encode)


def chat_format(tokenizer: Tokenizer) -> ChatTokens:
    """The special tokens around turns, by what the tokenizer has."""
    return QWEN_CHAT if tokenizer.knows(QWEN_CHAT.end) else OUR_CHAT


def decaying(config: Any, updates: int) -> OptimizerConfig:
    """The optimizer of a stage that ends after so many updates; a short one warms up in half of them at most."""
    return OptimizerConfig(
        config.learning_rate,
        algorithm=config.optimizer,
        warmup=min(OptimizerConfig.warmup, updates // 2),
        decay=updates,
        weight_decay=config.weight_decay,
    )


def agent_config(
    agent: Mapping[str, Any],
    engine: EngineConfig | None,
    image_size: Callable[[int, int], tuple[int, int]] | None = None,
    vision: VisionConfig | None = None,
) -> AgentConfig:
    """The loop that a config's section `agent` describes; `engine` bounds its prompts. `image_size`: of the image that
    a model sees, which may point in its pixels; others point on the grid of 0 to 1000. `vision`: of a policy that sees
    no size but multiples of its patches."""
    steps = agent["min_steps"], agent["max_steps"]
    try:
        memory = MemoryConfig(*steps, agent["max_summaries"], agent.get("line_tokens", 0))
    except InputError as error:
        raise InputError(str(error).replace("memory.", "agent.")) from None
    longest = None if engine is None else engine.max_length - engine.max_new_tokens
    in_pixels = agent.get("coordinates") == "pixels"
    return AgentConfig(
        agent["grammar"],
        memory,
        max_prompt=longest,
        list_actions=agent.get("list_actions", False),
        screenshot_size=None if vision is None else functools.partial(fitting_size, vision.patch * vision.merge),
        image_size=image_size if in_pixels else None,
    )


def image_tokens(vision: VisionConfig, height: int, width: int) -> int:
    """Decoder tokens of a screenshot; a function with a name, as it goes to hosts of a fleet."""
    return math.prod(vision.token_grid(*fitting_size(vision.patch * vision.merge, height, width)))


def fitting_size(unit: int, height: int, width: int) -> tuple[int, int]:
    """The nearest sides that are multiples of `unit` pixels."""
    return max(1, round(height / unit)) * unit, max(1, round(width / unit)) * unit


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


def sandbox_of(config: Any) -> SandboxAddress | None:
    """Address of the sandboxes; None: on this machine. Raises InputError."""
    given = config.sandbox
    return read_address(given.address, given.guests, given.phones, given.key_file)


def browser_config(config: Any, num_browsers: int, pages_per_browser: int) -> BrowserConfig:
    """Browsers whose pages are `config.browser.size` squared, where their environment asks for no size of its own."""
    side = config.browser.size
    return BrowserConfig(
        browsers=num_browsers, pages_per_browser=pages_per_browser, width=side, height=side,
        use_angle=config.browser.use_angle,
    )  # fmt: skip


def run_browsers(config: Any) -> BrowserConfig:
    """The browsers of a run, or of each of its hosts."""
    return browsers_for(config, config.browser.pages, config.browser.size, config.browser.size)


def browsers_for(config: Any, episodes: int, width: int, height: int) -> BrowserConfig:
    """Browsers of `config.browser` with places for so many that play at a time, and as many pages between two episodes.
    With `max_browsers` they come with the pages, whatever memory is left, as an episode that waits for a place would
    hold up its batch; and go when idle."""
    section = config.browser
    browsers = min(section.browsers, episodes)
    return BrowserConfig(
        browsers=browsers, pages_per_browser=-(-2 * episodes // max(browsers, section.max_browsers)),
        max_browsers=section.max_browsers, idle_browser_s=section.idle_browser_seconds, reserve_mb=0, width=width,
        height=height, use_angle=section.use_angle,
    )  # fmt: skip
