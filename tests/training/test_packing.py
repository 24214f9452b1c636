"""Windows to rows and back: nothing lost, nothing doubled, every action token found again."""

import dataclasses
import io
from collections.abc import Sequence

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tars_jax import InputError
from tars_jax.model.attention import most_windows
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters, forward
from tars_jax.training.packing import PackedBatch, Packer, PackingConfig
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory

IMAGE = 5
CONFIG = PackingConfig(row_length=48, images_per_row=3)
END = (Outcome.FINISHED, 1.0)
PER_IMAGE = 6  # 16x24 pixels of 8x8


def png(seed: int, size: tuple[int, int] = (16, 24)) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


def step(screenshot: bytes) -> Step:
    return Step(screenshot, "", "", "", None, 0.0, 0, True, {})


def window(first_token: int, images: Sequence[int], answers: Sequence[int]) -> ContextWindow:
    """A preamble token, then for each image its tokens and an answer of so many action tokens.

    Action tokens are numbered from `first_token` on, so that they can be recognized; everything read is 1.
    """
    columns: list[tuple[int, bool, float, int, int]] = [(1, False, 0.0, -1, -1)]
    for image, answer in zip(images, answers, strict=True):
        columns += [(IMAGE, False, 0.0, -1, image)] * PER_IMAGE
        for _ in range(answer):
            columns.append((first_token, True, -first_token / 8, first_token % 7, image))
            first_token += 1
    tokens, mask, log_probs, versions, steps = zip(*columns, strict=True)
    return ContextWindow(
        np.array(tokens, np.int32),
        np.array(mask),
        np.array(log_probs, np.float32),
        np.array(versions, np.int32),
        np.array(steps, np.int32),
        tuple(images),
    )


def trajectory(number: int, sizes: Sequence[Sequence[int]], same_id: bool = False) -> Trajectory:
    """One window for each entry of `sizes`, one image and answer for each number in it."""
    windows, first_step, first_token = [], 0, 1000 * (number + 1)
    for answers in sizes:
        windows.append(window(first_token, range(first_step, first_step + len(answers)), answers))
        first_step += len(answers)
        first_token += sum(answers)
    steps = tuple(step(png(100 * number + index)) for index in range(first_step))
    name = "same" if same_id else str(number)
    return Trajectory(name, {}, tuple(windows), steps, Outcome.FINISHED, 1.0)


@pytest.fixture(scope="module")
def packer(tiny_model: ModelConfig) -> Packer:
    return Packer(tiny_model, CONFIG, image=IMAGE)


def check(packed: PackedBatch, trajectories: Sequence[Trajectory], rows_multiple: int) -> None:
    rows, inputs = packed.rows, packed.rows.inputs
    assert inputs.tokens.shape[0] % rows_multiple == 0
    found = []
    for row in range(inputs.tokens.shape[0]):
        segments = inputs.segments[row]
        used = int((segments > 0).sum())
        assert (segments[used:] == 0).all() and (inputs.image_tokens[row, used:] == -1).all()
        assert not rows.action_mask[row, used:].any()
        for number in range(1, segments.max(initial=0) + 1):
            at = np.flatnonzero(segments == number)
            assert (np.diff(at) == 1).all()
            image_tokens = inputs.image_tokens[row, at]
            seen = image_tokens[image_tokens >= 0].reshape(-1, PER_IMAGE)
            assert (np.diff(seen, axis=1) == 1).all() and (seen[:, 0] % PER_IMAGE == 0).all()
            assert inputs.positions[:, row, at[0]].tolist() == [0, 0, 0]
            found.append(
                (
                    inputs.tokens[row, at].tolist(),
                    rows.action_mask[row, at].tolist(),
                    rows.log_probs[row, at].tolist(),
                    rows.versions[row, at].tolist(),
                    [inputs.images[0][row, index].tobytes() for index in seen[:, 0] // PER_IMAGE],
                )
            )
    expected = [
        (
            each.tokens.tolist(),
            each.action_mask.tolist(),
            each.log_probs.tolist(),
            each.versions.tolist(),
            [pixels(played.steps[image].screenshot).tobytes() for image in each.images],
        )
        for played in trajectories
        for each in played.windows
    ]
    assert sorted(found) == sorted(expected)

    tokens = np.asarray(inputs.tokens).ravel()
    for number, played in enumerate(trajectories):
        valid = packed.action_valid[number]
        assert valid[: played.num_action_tokens].all() and not valid[played.num_action_tokens :].any()
        acted = [each.tokens[each.action_mask] for each in played.windows]
        np.testing.assert_array_equal(tokens[packed.action_index[number][valid]], np.concatenate([[], *acted]))
        steps = [each.steps[each.action_mask] for each in played.windows]
        np.testing.assert_array_equal(packed.action_step[number][valid], np.concatenate([[], *steps]))


def test_windows_share_rows(packer: Packer) -> None:
    trajectories = [trajectory(0, [[3, 2], [4]]), trajectory(1, [[1]]), trajectory(2, [[5], [6], [7]])]
    packed = packer.pack(trajectories, rows_multiple=2)
    check(packed, trajectories, 2)
    assert packed.rows.inputs.segments.max() >= 2
    assert packed.action_index.shape == (3, 64)


SIZES = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(SIZES, max_size=4), st.sampled_from([1, 2, 3]), st.booleans())
def test_nothing_is_lost_or_doubled(
    packer: Packer, sizes: list[list[list[int]]], rows_multiple: int, same_id: bool
) -> None:
    """Also for trajectories that share an id (several attempts at one task), and for those without any window."""
    trajectories = [trajectory(number, each, same_id) for number, each in enumerate(sizes)]
    check(packer.pack(trajectories, rows_multiple), trajectories, rows_multiple)


def test_windows_without_a_screenshot_are_learned_from(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """And nothing at all, too: what is left of episodes that broke before their first answer."""
    packer = Packer(tiny_model, CONFIG, image=IMAGE)
    answered = ContextWindow(
        np.array([1, 2, 3], np.int32), np.array([False, True, True]), np.zeros(3, np.float32),
        np.zeros(3, np.int32), np.zeros(3, np.int32), (),
    )  # fmt: skip
    for windows, actions in (((answered,), 2), ((), 0)):
        packed = packer.pack([Trajectory("a", {}, windows, (), Outcome.FINISHED, 1.0)], rows_multiple=1)
        assert packed.action_valid.sum() == actions
        output = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs))(packed.rows.inputs)
        assert np.isfinite(output.hidden[0, : 3 if windows else 0]).all()


@pytest.mark.parametrize(
    ("screenshot", "shown", "words"),
    [
        (b"no picture", 0, "trajectory a: a window shows the screenshot of step 0, which must be an image"),
        (png(0), 3, "trajectory a: a window shows the screenshot of step 3, and there are 1 steps"),
        (b"", 0, "trajectory a: a window shows the screenshot of step 0, which has none"),
        (png(0, (16, 20)), 0, "of step 0: both sides of an image must be multiples of 8 pixels; got 16x20"),
    ],
)
def test_a_screenshot_that_is_not_there_is_named(packer: Packer, screenshot: bytes, shown: int, words: str) -> None:
    windows = (window(7, [shown], [2]),)
    with pytest.raises(InputError, match=words):
        packer.pack([Trajectory("a", {}, windows, (step(screenshot),), Outcome.FINISHED, 1.0)], 1)


def test_a_screenshot_that_no_window_shows_is_not_looked_at(packer: Packer) -> None:
    steps = (step(png(0)), step(b"no picture"), step(png(0, (50, 50))))
    packed = packer.pack([Trajectory("a", {}, (window(7, [0], [2]),), steps, Outcome.FINISHED, 1.0)], 1)
    assert packed.action_valid.sum() == 2


def test_a_window_as_long_as_a_row_fits(packer: Packer) -> None:
    exact = trajectory(0, [[CONFIG.row_length - 1 - PER_IMAGE]])
    check(packer.pack([exact], 1), [exact], 1)
    with pytest.raises(
        InputError, match="packing.row_length: a window of 49 tokens and 1 images does not fit a row of 48"
    ):
        packer.pack([trajectory(0, [[CONFIG.row_length - PER_IMAGE]])], 1)
    with pytest.raises(InputError, match="29 tokens and 4 images does not fit a row of 48 tokens and 3 images"):
        packer.pack([trajectory(0, [[1, 1, 1, 1]])], 1)


def test_a_row_holds_no_more_windows_than_the_attention_takes(tiny_model: ModelConfig) -> None:
    """Windows of one image and one answer, 8 tokens: 40 of them fill a row, but for cuDNN, which takes 8."""
    many = [trajectory(number, [[1]]) for number in range(20)]
    config = PackingConfig(row_length=8 * 40, images_per_row=40)
    model = dataclasses.replace(tiny_model, execution=Execution(attention="cudnn"))
    assert [most_windows("cudnn", length) for length in (320, 4096, 8192, 1 << 20)] == [8, 8, 16, 16]
    for policy, expected in ((tiny_model, [20]), (model, [8, 8, 4])):
        packed = Packer(policy, config, image=IMAGE).pack(many, 1)
        assert packed.rows.inputs.segments.max(axis=1).tolist() == expected
        check(packed, many, 1)


def test_nothing_is_read_from_the_window_packed_before(packer: Packer) -> None:
    first = trajectory(0, [[2]])
    headless = dataclasses.replace(first.windows[0], action_mask=np.arange(9) != 1)
    with pytest.raises(InputError, match=r"0: field windows\[0\].action_mask must begin with a token that was read"):
        packer.pack([trajectory(1, [[1]]), dataclasses.replace(first, windows=(headless,))], 1)


def test_images_and_their_tokens_must_fit(packer: Packer) -> None:
    played = trajectory(0, [[2, 2]])
    unseen = dataclasses.replace(window(10, [0], [2]), images=(0, 1))
    lost = Trajectory("7", {}, (unseen,), played.steps, *END)
    words = (
        r"trajectory 7: field windows\[0\].tokens must hold 12 image tokens for its screenshots \(2 of 16x24\); got 6"
    )
    with pytest.raises(InputError, match=words):
        packer.pack([lost], 1)
    blind = dataclasses.replace(played.windows[0], images=())
    with pytest.raises(InputError, match=r"must hold 0 image tokens for its screenshots \(none\); got 12"):
        packer.pack([dataclasses.replace(played, windows=(blind,))], 1)
    mixed = Trajectory("8", {}, played.windows, (played.steps[0], step(png(0, (16, 16)))), *END)
    with pytest.raises(InputError, match=r"must hold 10 .* \(1 of 16x24, 1 of 16x16\); got 12"):
        packer.pack([mixed], 1)
    sizes = [(8, 16), (16, 24), (16, 16)]  # of 2, 6 and 4 tokens, where the window shows 6 and 6
    tiled = dataclasses.replace(played.windows[0], images=(0, 1, 2))
    with pytest.raises(
        InputError, match=r"windows\[0\].tokens: the image at token 3 must be 6 image tokens in a row; got 4"
    ):
        packer.pack([Trajectory("9", {}, (tiled,), tuple(step(png(0, size)) for size in sizes), *END)], 1)


def test_routes_land_beside_their_tokens(packer: Packer) -> None:
    """Each token's routes are its own number in base 4; what has none, and padding, is free."""

    def routed(played: Trajectory) -> Trajectory:
        def routes(tokens: np.ndarray) -> np.ndarray:
            digits = np.stack([tokens % 4, tokens // 4 % 4], axis=1)
            return np.stack([digits, (digits + 1) % 4], axis=1).astype(np.int16)

        return dataclasses.replace(
            played, windows=tuple(dataclasses.replace(each, routes=routes(each.tokens)) for each in played.windows)
        )

    played = [trajectory(0, [[3, 2], [4]]), trajectory(1, [[1]])]
    packed = packer.pack([routed(each) for each in played], 2, routes=True).rows.inputs
    real = packed.segments > 0
    assert packed.routes is not None and packed.routes.shape == (*packed.tokens.shape, 2, 2)
    digits = np.stack([packed.tokens % 4, packed.tokens // 4 % 4], axis=-1)
    np.testing.assert_array_equal(packed.routes[real][:, 0], digits[real])
    assert (packed.routes[~real] == -1).all()
    assert packer.pack([routed(each) for each in played], 2).rows.inputs.routes is None
    with pytest.raises(InputError, match=r"trajectory 0: routes to replay must be .*engine.record_routes.*got None"):
        packer.pack(played, 2, routes=True)


def test_what_cannot_be_packed_is_left_out_and_counted(packer: Packer, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else's server sampled the token of a screenshot; another window is too long; a picture is damaged."""
    good, sampled, long, damaged = (trajectory(number, [[2, 1]]) for number in range(4))
    (shown,) = sampled.windows
    tokens = np.where(np.arange(shown.tokens.size) == 8, IMAGE, shown.tokens)
    sampled = dataclasses.replace(sampled, windows=(dataclasses.replace(shown, tokens=tokens),))
    assert shown.action_mask[8]
    long = trajectory(2, [[40, 40]])
    damaged = dataclasses.replace(damaged, steps=(step(png(1)[:60]), *damaged.steps[1:]))
    readable, errors = packer.sort_out([sampled, good, long, damaged])
    assert [each.trajectory for each in readable] == [good] and len(errors) == 3
    assert "must hold 12 image tokens" in str(errors[0]) and "does not fit a row" in str(errors[1])
    assert "3 of 4 trajectories cannot be packed and are left out; the first: trajectory 1" in caplog.text
    packed, alone = packer.pack_read(readable, 1), packer.pack([good], 1)
    assert all(map(np.array_equal, jax.tree.leaves(packed.rows), jax.tree.leaves(alone.rows)))
    with pytest.raises(InputError, match="must hold 12 image tokens"):
        packer.sort_out([sampled, long])
