"""Models that are small enough for every test, and a compiler that does not take longer than they."""

import dataclasses
import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import jax
import pytest

from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.presets import preset


@pytest.fixture(scope="session")
def tiny_model() -> ModelConfig:
    """nano with every number reduced; 32 tokens, 5 is the image token, 8x8 pixels a decoder token."""
    return dataclasses.replace(
        preset("nano", vocabulary=32),
        width=16,
        depth=2,
        query_heads=2,
        kv_heads=1,
        head_dim=8,
        rope_sections=(2, 1, 1),
        experts=4,
        experts_per_token=2,
        expert_width=16,
        vision=VisionConfig(patch=4, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16),
    )


@pytest.fixture(scope="session")
def tiny_parameters(tiny_model: ModelConfig) -> Parameters:
    """Random, with a vocabulary head and routers strong enough that nothing is near uniform."""
    parameters = jax.jit(lambda key: init_parameters(tiny_model, key))(jax.random.key(0))
    parameters["vocabulary_head"]["kernel"] *= 3
    parameters["decoder"]["layers"]["experts"]["router"] *= 3
    return parameters
