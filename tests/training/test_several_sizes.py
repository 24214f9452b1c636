"""Screenshots of several sizes in one batch, one row and one window: the numbers of each size alone."""

import dataclasses
import io
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from PIL import Image

from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters, forward, init_parameters
from tars_jax.model.positions import rope_positions
from tars_jax.training.advantages import make_advantage_fn
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.frozen_image_features import FrozenImageFeatures
from tars_jax.training.learner import PPOLearner
from tars_jax.training.log_probs import headless, token_statistics
from tars_jax.training.minibatches import take_rows
from tars_jax.training.packing import Packer, PackingConfig, Rows, with_features
from tars_jax.training.ppo import make_score_fn
from tars_jax.training.state import init_train_state
from tars_jax.training.supervised import make_supervised_update
from tars_jax.training.value import gather_actions, shift_values, value_model
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tests.training.updates import prepare, update

IMAGE = 5
WIDE, TALL, SMALL = (16, 24), (32, 8), (8, 8)  # height and width, of 6, 4 and 1 image tokens
GRID = {WIDE: (2, 3), TALL: (4, 1), SMALL: (1, 1)}
CONFIG = PackingConfig(row_length=32, images_per_row=5)
Turn = tuple[tuple[int, int] | None, Sequence[int]]  # the size of what was seen, and the answer


def screen(size: tuple[int, int], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def trajectory(name: str, windows: Sequence[Sequence[Turn]], reward: float) -> Trajectory:
    """In each window the token 1, then for each turn the screenshot, the token 2, and the answer."""
    steps: list[Step] = []
    built = []
    for turns in windows:
        columns, shown = [(1, False, -1)], []
        for size, answer in turns:
            number = len(steps)
            steps.append(Step(b"" if size is None else png(screen(size, number)), "", "", "", None, 0.0, 0, True, {}))
            if size is not None:
                shown.append(number)
                columns += [(IMAGE, False, number)] * math.prod(GRID[size])
            columns += [(2, False, number), *((token, True, number) for token in answer)]
        tokens, mask, of_step = map(np.array, zip(*columns, strict=True))
        log_probs, versions = np.where(mask, -2.0, 0).astype(np.float32), np.where(mask, 0, -1).astype(np.int32)
        built.append(
            ContextWindow(tokens.astype(np.int32), mask, log_probs, versions, of_step.astype(np.int32), tuple(shown))
        )
    return Trajectory(name, {"max_steps": 9, "name": name}, tuple(built), tuple(steps), Outcome.FINISHED, reward)


# By the size of their screenshots.
WIDE_ONES = [
    trajectory("a", [[(WIDE, [7, 8, 9]), (WIDE, [10])], [(WIDE, [11, 12])]], 1.0),
    trajectory("b", [[(WIDE, [13])]], 0.0),
]
TALL_ONES = [trajectory("c", [[(TALL, [14, 15])], [(TALL, [16, 17, 18]), (TALL, [19])]], 1.0)]
TEXT = [
    trajectory("d", [[(None, [20, 21]), (None, [22])]], 0.0),
    trajectory("e", [[(None, [23])]], 1.0),
]
MIXED = [
    trajectory("f", [[(TALL, [7, 8]), (WIDE, [9]), (None, [10]), (TALL, [11])], [(SMALL, [12]), (WIDE, [13])]], 1.0)
]


@pytest.fixture(scope="module")
def packer(tiny_model: ModelConfig) -> Packer:
    return Packer(tiny_model, CONFIG, image=IMAGE)


@pytest.fixture(scope="module")
def value_parameters(tiny_model: ModelConfig) -> Parameters:
    parameters = jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(1))
    parameters["scalar_head"]["kernel"] += 0.3
    return parameters


def test_image_tokens_lead_to_their_own_pixels(packer: Packer) -> None:
    """Of every window, whatever else is in its row; positions are those of its grids in order."""
    played = [*MIXED, *WIDE_ONES, *TEXT, *TALL_ONES]
    inputs = packer.pack(played, 2).rows.inputs
    sizes = [images.shape[2:4] for images in inputs.images]
    assert sizes == [SMALL, WIDE, TALL]  # by height
    most = [images.shape[1] for images in inputs.images]
    assert most[0] == 1 and all(width in (2, 4) for width in most[1:])
    # What each image token of a row stands for: a size, an image, and which of its tokens.
    names = [
        (size, image, token)
        for size, width in zip(sizes, most, strict=True)
        for image in range(width)
        for token in range(math.prod(GRID[size]))
    ]
    found = []
    for row, segments in enumerate(inputs.segments):
        for number in range(1, segments.max() + 1):
            at = np.flatnonzero(segments == number)
            tokens, image_tokens = inputs.tokens[row, at], inputs.image_tokens[row, at]
            np.testing.assert_array_equal(tokens == IMAGE, image_tokens >= 0)
            named = [names[token] for token in image_tokens[image_tokens >= 0]]
            images = [(size, image) for size, image, token in named if token == 0]
            assert named == [(*each, token) for each in images for token in range(math.prod(GRID[each[0]]))]
            grids = [GRID[size] for size, _ in images]
            np.testing.assert_array_equal(inputs.positions[:, row, at], rope_positions(tokens == IMAGE, grids)[0])
            pixels = [inputs.images[sizes.index(size)][row, image].tobytes() for size, image in images]
            found.append((tokens.tolist(), pixels))
    expected = [
        (
            window.tokens.tolist(),
            [np.asarray(Image.open(io.BytesIO(each.steps[step].screenshot))).tobytes() for step in window.images],
        )
        for each in played
        for window in each.windows
    ]
    assert sorted(found) == sorted(expected)


def test_shapes_are_few(packer: Packer) -> None:
    """Alone, a size has as many places as rows have; beside others, as its fullest row takes: 1, 2 or 4 or all."""

    def shapes(played: Sequence[Trajectory]) -> list[tuple[int, ...]]:
        return [images.shape[1:4] for images in packer.pack(played, 1).rows.inputs.images]

    assert shapes(WIDE_ONES[1:]) == shapes(WIDE_ONES) == [(5, *WIDE)]
    assert shapes(TEXT) == []
    assert shapes([*TEXT, *TALL_ONES]) == [(5, *TALL)]
    assert shapes([*WIDE_ONES[1:], *TALL_ONES]) == [(1, *WIDE), (4, *TALL)]
    many = trajectory("g", [[(SMALL, [7])] * 4, [(WIDE, [8])]], 1.0)
    assert shapes([many]) == [(4, *SMALL), (1, *WIDE)]
    many = trajectory("g", [[(SMALL, [7])] * 5, [(WIDE, [8])]], 1.0)
    assert shapes([many]) == [(5, *SMALL), (1, *WIDE)]  # no more than a row holds at all


def test_rows_are_taken_of_every_size(packer: Packer) -> None:
    rows = packer.pack([*MIXED, *WIDE_ONES, *TALL_ONES], 4).rows
    chosen = np.array([3, 0])
    picked = take_rows(rows, chosen)
    for mine, images in zip(picked.inputs.images, rows.inputs.images, strict=True):
        np.testing.assert_array_equal(mine, images[chosen])
    np.testing.assert_array_equal(picked.inputs.tokens, rows.inputs.tokens[chosen])
    np.testing.assert_array_equal(picked.inputs.positions, rows.inputs.positions[:, chosen])
    np.testing.assert_array_equal(picked.log_probs, rows.log_probs[chosen])


def learned(model: ModelConfig, parameters: Parameters, packer: Packer, played: Sequence[Trajectory]) -> Any:
    """Log-probabilities, values and advantages [N, A] of trajectories, and gradients that are sums over them."""

    @jax.jit
    def read(parameters: Parameters, rows: Rows) -> Any:
        def weighted(parameters: Parameters) -> tuple[jax.Array, Any]:
            output = forward(headless(model), parameters, rows.inputs)
            of_tokens = output.hidden, rows.inputs.tokens, rows.action_mask
            log_probs = token_statistics(model, parameters, *of_tokens).log_probs
            values = shift_values(output.values)
            weights = jnp.where(rows.action_mask, jnp.cos(rows.inputs.tokens), 0)
            return ((log_probs + values) * weights).sum(), (log_probs, values)

        return jax.grad(weighted, has_aux=True)(parameters)

    packed = packer.pack(played, 2)
    gradients, (log_probs, values) = jax.tree.map(np.asarray, read(parameters, packed.rows))
    config = PPOConfig(normalize_advantages=False)
    batch, _ = prepare(
        packed, played, log_probs, values, config, RewardConfig(max_length=99), make_advantage_fn(config)
    )
    return [gather_actions(packed, each) for each in (log_probs, values, np.asarray(batch.advantages))], gradients


@pytest.mark.full
@pytest.mark.parametrize("remat", ["none", "full"])
def test_a_batch_of_two_sizes_is_two_batches(
    tiny_model: ModelConfig, tiny_parameters: Parameters, packer: Packer, remat: str
) -> None:
    model = dataclasses.replace(tiny_model, scalar_head=True, execution=Execution(remat=remat))
    head = np.random.default_rng(0).normal(0, 0.3, (model.width, 1)).astype(np.float32)
    parameters = {**tiny_parameters, "scalar_head": {"kernel": head, "bias": np.zeros(1, np.float32)}}
    found, gradients = learned(model, parameters, packer, [*WIDE_ONES, *TALL_ONES])
    parts = [learned(model, parameters, packer, each) for each in (WIDE_ONES, TALL_ONES)]
    for column, name in enumerate(("log_probs", "values", "advantages")):
        expected = np.concatenate([part[column] for part, _ in parts])
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(found[column], expected, atol=1e-5, err_msg=name)
    (_, first), (_, second) = parts
    for got, *both in zip(*map(jax.tree.leaves, (gradients, first, second)), strict=True):
        np.testing.assert_allclose(got, sum(both), atol=1e-5 * max(1, np.abs(got).max()))
    for part in (first, second):
        assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(part["vision"])) > 1e-3


@pytest.mark.full
def test_frozen_features_of_several_sizes(tiny_model: ModelConfig, tiny_parameters: Parameters, packer: Packer) -> None:
    rows = packer.pack([*MIXED, *WIDE_ONES], 2).rows
    cache = FrozenImageFeatures(tiny_model)
    features = cache.get_or_encode(tiny_parameters, rows.inputs.images)
    seen = {(each.shape, each.tobytes()) for images in rows.inputs.images for row in images for each in row}
    assert cache.encoded == len(seen)
    sizes = [(images.shape[2], images.shape[3]) for images in rows.inputs.images]
    tokens = sum(
        images.shape[1] * math.prod(GRID[size]) for images, size in zip(rows.inputs.images, sizes, strict=True)
    )
    assert features.shape == (1, len(rows.action_mask), tokens, tiny_model.width)
    score = make_score_fn(tiny_model)
    anew, kept = (np.asarray(score(tiny_parameters, each)) for each in (rows, with_features(rows, features)))
    np.testing.assert_allclose(kept, anew, atol=1e-5)
    cache.get_or_encode(tiny_parameters, rows.inputs.images)
    assert cache.encoded == len(seen)


def learner(model: ModelConfig, packer: Packer, freeze_vision: bool) -> PPOLearner:
    rate = OptimizerConfig(1e-3, warmup=0, weight_decay=0.5)
    config = PPOConfig(freeze_vision=freeze_vision, minibatch_rows=4, decoupled=False)
    return PPOLearner(model, packer, config, RewardConfig(max_length=99), rate, rate)


@pytest.mark.full
def test_a_learner_takes_sizes_and_text_together(
    tiny_model: ModelConfig, tiny_parameters: Parameters, value_parameters: Parameters, packer: Packer
) -> None:
    """One minibatch an update: the same metrics whether the encoder learns or its features are kept."""
    found = []
    for freeze in (False, True):
        ours = learner(tiny_model, packer, freeze)
        states = ours.init_states(tiny_parameters, value_parameters)
        _, metrics = update(ours, states, [*MIXED, *WIDE_ONES, *TEXT])
        found.append(metrics)
    for name in ("policy_loss", "value_loss", "entropy", "explained_variance"):
        np.testing.assert_allclose(found[1][name], found[0][name], atol=1e-5, err_msg=name)


@pytest.mark.full
def test_text_alone_is_learned_from(
    tiny_model: ModelConfig, tiny_parameters: Parameters, value_parameters: Parameters, packer: Packer
) -> None:
    """A batch of windows without a screenshot, of steps without one, by PPO with a frozen encoder and by imitation."""
    ours = learner(tiny_model, packer, freeze_vision=True)
    state, metrics = update(ours, ours.init_states(tiny_parameters, value_parameters), TEXT)
    policy, value = state.policy, state.value
    assert metrics["gradient_norm"] > 0 and metrics["value_loss"] > 0
    for before, after in ((tiny_parameters, policy.parameters), (value_parameters, value.parameters)):
        jax.tree.map(np.testing.assert_array_equal, after["vision"], before["vision"])
        assert not np.array_equal(after["embed"]["embedding"], before["embed"]["embedding"])

    optimizer = optax.sgd(0.1)
    imitate = make_supervised_update(tiny_model, optimizer, 0.01)
    rows = packer.pack(TEXT, 1).rows
    imitating = init_train_state(tiny_parameters, optimizer)
    losses = []
    for _ in range(5):
        imitating, found = imitate(imitating, rows)
        losses.append(float(found["loss"]))
    assert losses[-1] < losses[0]
