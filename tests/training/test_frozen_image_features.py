"""Screenshots that are encoded once: what the decoder sees of them, and a learner that leaves the encoder alone."""

import dataclasses
import io
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, encode_images, init_parameters
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.frozen_image_features import FrozenImageFeatures
from tars_jax.training.learner import PPOLearner
from tars_jax.training.packing import Packer, PackingConfig, with_features
from tars_jax.training.ppo import make_score_fn
from tars_jax.training.value import value_model
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tests.training.updates import update

IMAGE, ROWS = 5, 2
RNG = np.random.default_rng(0)
SCREENS = [RNG.integers(0, 256, (8, 16, 3), np.uint8) for _ in range(5)]  # of two image tokens each


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def trajectory(screens: list[int], reward: float) -> Trajectory:
    """Windows of a step and of the step before it, as a memory of two keeps them: most screenshots are read twice."""
    steps = tuple(Step(png(SCREENS[each]), "", "", "", None, reward, 0, True, {}) for each in screens)
    windows = []
    for last in range(len(screens)):
        shown = tuple(range(max(last - 1, 0), last + 1))
        columns = [column for step in shown for column in (*[(IMAGE, False)] * 2, (10 + step, step == last))]
        tokens, mask = map(np.array, zip(*columns, strict=True))
        of_step = np.repeat(np.array(shown), 3)
        versions = np.where(mask, 0, -1)
        columns_of = (np.where(mask, -2.0, 0).astype(np.float32), versions.astype(np.int32), of_step.astype(np.int32))
        windows.append(ContextWindow(tokens.astype(np.int32), mask, *columns_of, shown))
    return Trajectory("made", {"max_steps": 9}, tuple(windows), steps, Outcome.FINISHED, reward, success=reward > 0)


PLAYED = [trajectory([0, 1, 2], 1.0), trajectory([0, 3], 0.0)]


@pytest.mark.slow
def test_what_was_seen_stands_where_the_screenshots_were(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    rows = Packer(tiny_model, PackingConfig(16, 6), image=IMAGE).pack(PLAYED, ROWS).rows
    cache = FrozenImageFeatures(tiny_model)
    features = cache.get_or_encode(tiny_parameters, rows.inputs.images)
    (images,) = rows.inputs.images
    num_rows, num_images = images.shape[:2]
    assert features.shape == (1, num_rows, 2 * num_images, tiny_model.width)
    assert cache.encoded == 4 + 1  # four screens, and the blank of places that no window takes
    expected = encode_images(tiny_model, tiny_parameters, images[0])
    np.testing.assert_allclose(features[:, 0], np.asarray(expected).reshape(1, -1, tiny_model.width), atol=1e-5)
    score = make_score_fn(tiny_model)
    anew, kept = (score(tiny_parameters, each) for each in (rows, with_features(rows, features)))
    np.testing.assert_allclose(kept, anew, atol=1e-5)
    assert float(jnp.abs(anew).max()) > 0.1

    cache.get_or_encode(tiny_parameters, (images[:, ::-1],))
    assert cache.encoded == 5
    other = cache.get_or_encode(tiny_parameters, (np.stack([SCREENS[:1], SCREENS[4:]]),))
    assert cache.encoded == 6
    assert np.abs(other[:, 0] - other[:, 1]).max() > 1e-3


def make_learner(model: ModelConfig, freeze_vision: bool) -> PPOLearner:
    """One minibatch an update."""
    config = PPOConfig(freeze_vision=freeze_vision, minibatch_rows=ROWS, decoupled=False)
    rate = OptimizerConfig(1e-3, warmup=0, weight_decay=0.5)
    packer = Packer(model, PackingConfig(64, 16), image=IMAGE)
    return PPOLearner(model, packer, config, RewardConfig(max_length=99), rate, rate)


@pytest.fixture(scope="module")
def frozen(tiny_model: ModelConfig) -> PPOLearner:
    return make_learner(tiny_model, True)


@pytest.fixture(scope="module")
def values(tiny_model: ModelConfig) -> Parameters:
    parameters = jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(1))
    parameters["scalar_head"]["kernel"] += 0.3
    return parameters


@pytest.mark.full
def test_a_learner_leaves_the_encoders_as_they_are(
    tiny_model: ModelConfig, tiny_parameters: Parameters, values: Parameters, frozen: PPOLearner
) -> None:
    found: list[Any] = []
    for learner in (make_learner(tiny_model, False), frozen):
        state, metrics = update(learner, learner.init_states(tiny_parameters, values), PLAYED)
        found.append((state.policy.parameters, state.value.parameters, metrics))
    for name in ("policy_loss", "value_loss", "entropy", "explained_variance", "advantage_std"):
        np.testing.assert_allclose(found[1][2][name], found[0][2][name], atol=1e-5, err_msg=name)
    for before, free, kept in zip((tiny_parameters, values), found[0], found[1], strict=False):
        jax.tree.map(np.testing.assert_array_equal, kept["vision"], before["vision"])
        assert not np.array_equal(free["vision"]["patch_embed"]["kernel"], before["vision"]["patch_embed"]["kernel"])
        assert not np.array_equal(kept["embed"]["embedding"], before["embed"]["embedding"])


@pytest.mark.full
@pytest.mark.slow
def test_the_value_model_has_eyes_of_its_own(
    tiny_parameters: Parameters, values: Parameters, frozen: PPOLearner
) -> None:
    """With an encoder of zeros values cannot depend on screenshots, log-probabilities do."""
    blind = {**values, "vision": jax.tree.map(jnp.zeros_like, values["vision"])}
    others = [
        dataclasses.replace(each, steps=tuple(dataclasses.replace(s, screenshot=png(SCREENS[4])) for s in each.steps))
        for each in PLAYED
    ]
    first, second = (update(frozen, frozen.init_states(tiny_parameters, blind), each)[1] for each in (PLAYED, others))
    np.testing.assert_allclose(second["value_loss"], first["value_loss"], rtol=1e-5)
    assert abs(second["entropy"] - first["entropy"]) > 1e-4
