"""The whole policy on packed rows."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import (
    NEVER,
    Inputs,
    Output,
    Parameters,
    count_parameters,
    encode_images,
    forward,
    init_parameters,
)
from tars_jax.model.positions import rope_positions
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer

IMAGE = 5
GRID = (2, 3)
WIDTH = 40
Window = tuple[list[int], list[np.ndarray]]


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (16, 24, 3), np.uint8)


WINDOWS: list[Window] = [
    ([1, 7, *[IMAGE] * 6, 8, 9, *[IMAGE] * 6, 4], [picture(0), picture(1)]),
    ([1, 10, 11], []),
    ([1, *[IMAGE] * 6, 12, 13], [picture(2)]),
]


def row(windows: list[Window]) -> Inputs:
    """Windows one after another in one row of WIDTH tokens and 3 images."""
    tokens = np.zeros(WIDTH, np.int32)
    positions, segments = np.zeros((3, WIDTH), np.int32), np.zeros(WIDTH, np.int32)
    images, start = np.zeros((3, 16, 24, 3), np.uint8), 0
    seen = [image for _, pictures in windows for image in pictures]
    images[: len(seen)] = np.stack(seen) if seen else 0
    for number, (window, _) in enumerate(windows, start=1):
        span = slice(start, start + len(window))
        tokens[span], segments[span] = window, number
        positions[:, span] = rope_positions([token == IMAGE for token in window], GRID)[0]
        start += len(window)
    is_image = tokens == IMAGE
    image_tokens = np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)
    return Inputs(tokens[None], positions[:, None], segments[None], (images[None],), image_tokens[None])


@pytest.fixture(scope="module")
def run(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Any:
    jitted = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs))

    def to_host(inputs: Inputs) -> Output:
        return jax.tree.map(np.asarray, jitted(inputs))

    return to_host


def test_packed_windows_are_as_good_as_alone(run: Any) -> None:
    packed, start = run(row(WINDOWS)), 0
    for window in WINDOWS:
        size = len(window[0])
        alone = run(row([window]))
        for name in ("hidden", "logits"):
            expected, got = getattr(alone, name)[0, :size], getattr(packed, name)[0, start : start + size]
            np.testing.assert_allclose(got, expected, atol=1e-5)
        start += size


def test_nothing_is_seen_before_its_time(run: Any) -> None:
    tokens, images = WINDOWS[0]
    changed = run(row([([*tokens[:9], 20, *tokens[10:]], [images[0], picture(9)])]))
    original = run(row([(tokens, images)]))
    np.testing.assert_array_equal(changed.logits[0, :9], original.logits[0, :9])
    assert np.abs(changed.logits[0, 9:17] - original.logits[0, 9:17]).max() > 1e-2


def test_an_image_stands_in_for_its_tokens(run: Any) -> None:
    inputs = row(WINDOWS[:1])
    same_tokens = dataclasses.replace(inputs, tokens=np.where(inputs.image_tokens >= 0, 17, inputs.tokens))
    np.testing.assert_array_equal(run(same_tokens).hidden, run(inputs).hidden)  # their embeddings are never read
    swapped = dataclasses.replace(inputs, images=(inputs.images[0][:, [1, 0, 2]],))
    assert np.abs(run(swapped).hidden[0, 2:8] - run(inputs).hidden[0, 2:8]).max() > 1e-2


@pytest.mark.full
def test_images_may_be_seen_beforehand(tiny_model: ModelConfig) -> None:
    """Shared by all rows, in any order: the same logits and gradients, but for those of the vision encoder."""
    model = dataclasses.replace(tiny_model, vision=dataclasses.replace(tiny_model.vision, deepstack=(0,)))
    rows = [row(WINDOWS), row(WINDOWS[2:])]  # the last picture of the first row is the first of the second
    joined = [
        np.concatenate(each) for each in zip(*((r.tokens, r.segments, r.image_tokens) for r in rows), strict=True)
    ]
    positions = np.concatenate([each.positions for each in rows], axis=1)
    images = np.concatenate([each.images[0] for each in rows])
    inputs = Inputs(joined[0], positions, joined[1], (images,), joined[2])
    order = np.array([2, 0, 1])  # place i holds picture order[i]
    place = np.array([[1, 2, 0], [0, 0, 0]])  # of each row's pictures
    index = np.maximum(joined[2], 0)
    elsewhere = np.where(joined[2] >= 0, np.take_along_axis(place, index // 6, axis=1) * 6 + index % 6, -1)

    def loss(parameters: Parameters, inputs: Inputs) -> tuple[jax.Array, jax.Array]:
        logits = forward(model, parameters, inputs).logits
        return jax.nn.log_softmax(logits)[..., 7].sum(), logits

    @jax.jit
    def both(key: jax.Array) -> Any:
        parameters = init_parameters(model, key)
        encoded = encode_images(model, parameters, images[0, order])
        assert encoded.shape == (2, 3, 6, model.width)
        beforehand = dataclasses.replace(
            inputs, images=(), image_tokens=elsewhere, image_features=encoded.reshape(-1, 18, model.width)
        )
        run = jax.grad(loss, has_aux=True)
        return run(parameters, inputs), run(parameters, beforehand)

    (now, expected), (before, got) = both(jax.random.key(4))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    vision = before.pop("vision")
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(vision))
    assert any((leaf != 0).any() for leaf in jax.tree.leaves(now.pop("vision")))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), now, before)


def test_padding_does_not_count_in_the_routers(run: Any) -> None:
    inputs = row(WINDOWS[1:2])
    other = dataclasses.replace(inputs, tokens=np.where(inputs.segments > 0, inputs.tokens, 21))
    np.testing.assert_allclose(run(inputs).routers.load, run(other).routers.load)
    np.testing.assert_allclose(run(inputs).routers.load.sum(-1), [1.0, 1.0], rtol=1e-6)


@pytest.mark.slow
def test_the_image_token_has_no_probability_and_no_gradient_is_lost(
    tiny_model: ModelConfig, tiny_parameters: Parameters, run: Any
) -> None:
    logits = run(row(WINDOWS)).logits
    assert (logits[..., IMAGE] == NEVER).all()
    assert jax.nn.softmax(logits)[..., IMAGE].max() == 0

    def loss(parameters: Parameters) -> jax.Array:
        log_probs = jax.nn.log_softmax(forward(tiny_model, parameters, row(WINDOWS)).logits)
        return -log_probs[0, :-1][np.arange(WIDTH - 1), row(WINDOWS).tokens[0, 1:]][:1].sum()

    gradients = jax.jit(jax.grad(loss))(tiny_parameters)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
    assert (np.asarray(gradients["vocabulary_head"]["kernel"])[:, IMAGE] == 0).all()


@pytest.mark.slow
def test_heads_are_what_the_config_asks_for(tiny_model: ModelConfig) -> None:
    value_model = dataclasses.replace(tiny_model, scalar_head=True, vocabulary_head=False)

    @jax.jit
    def run_value(key: jax.Array) -> Output:
        return forward(value_model, init_parameters(value_model, key), row(WINDOWS))

    output = run_value(jax.random.key(3))
    assert output.logits is None and output.values.shape == (1, WIDTH)
    assert (output.values == 0).all()  # an untrained value model is the constant 0
    assert np.abs(output.hidden).max() > 0.1


def test_parameters_by_hand(tiny_model: ModelConfig) -> None:
    vocabulary, width, layers = 32, 16, 2
    attention = width * (2 + 1 + 1) * 8 + 2 * 8 * width + 2 * 8  # query, key, value; out; two norms of 8
    expert = 3 * width * 16
    layer = attention + 2 * width + width * 4 + 4 * expert
    vision = (
        (4 * 4 * 3 * 8 + 8)  # patches
        + 3 * 3 * 8  # positions
        + (8 * 24 + 24) + (8 * 8 + 8) + (8 * 16 + 16) + (16 * 8 + 8) + 4 * 8  # one block, two norms
        + 2 * 8 + (32 * 32 + 32) + (32 * width + width)  # merger
    )  # fmt: skip
    total = 2 * vocabulary * width + layers * layer + width + vision
    assert count_parameters(tiny_model) == (total, total - layers * 2 * expert)  # two of four experts work


def test_nano_fits_the_committed_tokenizer() -> None:
    tokenizer = load_tokenizer()
    model = preset("nano", tokenizer.vocabulary)
    assert model.image_token == tokenizer.image
    total, active = count_parameters(model)
    assert 200_000 < active < total < 2_000_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_sections": (2, 2, 2)}, "rope_sections must sum to 4, half of head_dim"),
        ({"rope_sections": (6, -1, -1)}, r"rope_sections must be three numbers of 0 or more; got \(6, -1, -1\)"),
        ({"width": 0}, "width must be a whole number of 1 or more; got 0"),
        ({"kv_heads": 0}, "kv_heads must be a whole number of 1 or more; got 0"),
        ({"expert_width": 1.5}, "expert_width must be a whole number of 1 or more; got 1.5"),
        ({"kv_heads": 3}, "query_heads must be a multiple of 3, .*; got 2"),
        ({"experts_per_token": 5}, "experts_per_token must be 1 to 4; got 5"),
    ],
)
def test_impossible_shapes(tiny_model: ModelConfig, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(tiny_model, **changes)


def test_unknown_preset() -> None:
    with pytest.raises(InputError, match="model.preset must be one of micro, nano.*; got 'tiny'"):
        preset("tiny", 10)


def test_the_first_logits_do_not_depend_on_the_row_length(run: Any, tiny_model: ModelConfig) -> None:
    """The learner's long rows and the engine's short ones take different ways through the experts."""
    inputs = row(WINDOWS[1:2])
    many = jax.tree.map(lambda leaf: np.concatenate([leaf] * 8, axis=1 if leaf.ndim == 3 else 0), inputs)
    many = dataclasses.replace(many, images=(np.repeat(inputs.images[0], 8, axis=0),))
    assert many.tokens.size > 128
    np.testing.assert_allclose(run(many).logits[3], run(inputs).logits[0], atol=1e-5)


def test_a_row_of_nothing_but_padding(run: Any) -> None:
    assert np.isfinite(run(row([])).logits).all()
    assert jnp.isfinite(run(row([])).routers.balance_loss).all()
