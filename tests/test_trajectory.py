"""Trajectory files: exact, deterministic, and never silently wrong."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import io
import json
import math
import os
import pathlib
import random
import zipfile
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import PIL.Image
import pytest

from tars_jax import InputError
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.files import decode_trajectory, encode_trajectory, load_trajectory, save_trajectory


def picture(seed: int, size: int = 96) -> bytes:
    pixels = np.kron(np.random.default_rng(seed).integers(0, 255, (6, 6, 3)), np.ones((size // 6, size // 6, 1)))
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def window(rng: np.random.Generator, length: int, images: tuple[int, ...]) -> ContextWindow:
    mask = rng.random(length) < 0.4
    return ContextWindow(
        tokens=rng.integers(0, 500, length).astype(np.int32),
        action_mask=mask,
        log_probs=np.where(mask, -rng.exponential(size=length), 0).astype(np.float32),
        versions=np.where(mask, 3, -1).astype(np.int32),
        steps=np.sort(rng.integers(-1, max(images) + 1, length)).astype(np.int32),
        images=images,
        routes=rng.integers(-1, 8, (length, 3, 2)).astype(np.int16) if images[0] else None,
    )


def example(num_steps: int = 5, seed: int = 0) -> Trajectory:
    rng = np.random.default_rng(seed)
    steps = tuple(
        Step(
            screenshot=picture(min(s, 3)),  # the last action changed nothing
            response=f'Thought: {s} 0 to 5 5, "right" \u2192\nAction: click',
            thought=f"{s} 0 to 5 5",
            action="click(point='<point>583 417</point>')" if s else "",
            point=(583.5, 417.0) if s else None,
            reward=float(s == num_steps - 1) / 3,
            think_tokens=7,
            valid=s > 0,
            info={"distance": 5 - s, "player": [s, 0], "nested": {"a": None, "b": 0.1}},
        )
        for s in range(num_steps)
    )
    windows = (window(rng, 180, (0, 1, 2)), window(rng, 130, (2, 3, 4)))
    task = {"id": "maze-7", "options": {"distance": [2, 4]}}
    return Trajectory("episode-7", task, windows, steps, Outcome.FINISHED, 1.0, {"browser": 1, "seconds": 0.25})


def assert_same(a: Trajectory, b: Trajectory) -> None:
    for one, other in zip(a.windows, b.windows, strict=True):
        assert one.images == other.images
        for name in ("tokens", "action_mask", "log_probs", "versions", "steps"):
            left, right = getattr(one, name), getattr(other, name)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)
        assert (one.routes is None) == (other.routes is None)
        if one.routes is not None and other.routes is not None:
            assert one.routes.dtype == other.routes.dtype == np.int16
            np.testing.assert_array_equal(one.routes, other.routes)
    assert dataclasses.replace(a, windows=()) == dataclasses.replace(b, windows=())


def sealed(members: dict[str, bytes]) -> bytes:
    """A file with a good checksum, whatever it holds."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = b"sha256:" + b"0" * 64
    content = buffer.getvalue()[:-64]
    return content + hashlib.sha256(content).hexdigest().encode()


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_round_trip_is_exact(tmp_path: pathlib.Path) -> None:
    save_trajectory(tmp_path / "a.npz", example())
    assert_same(load_trajectory(tmp_path / "a.npz"), example())


def test_the_final_screenshot_is_kept_once_and_need_not_be_there() -> None:
    for final in (picture(9), example().steps[1].screenshot):  # a new picture, or one that a step has already
        kept = dataclasses.replace(example(), final_screenshot=final)
        data = encode_trajectory(kept)
        assert_same(decode_trajectory(data), kept)
        pictures = [content for name, content in members_of(data).items() if name.startswith("screenshots/")]
        assert pictures.count(final) == 1
    assert "final_screenshot" not in json.loads(members_of(encode_trajectory(example()))["header.json"])
    with pytest.raises(InputError, match=r"field final_screenshot names screenshots/0007.png, which the file does not"):
        members = members_of(data)
        header = json.loads(members["header.json"]) | {"final_screenshot": 7}
        decode_trajectory(sealed(members | {"header.json": json.dumps(header).encode()}))


def test_equal_trajectories_give_equal_bytes() -> None:
    assert encode_trajectory(example()) == encode_trajectory(example())
    shuffled = dataclasses.replace(example(), task={"options": {"distance": [2, 4]}, "id": "maze-7"})
    assert encode_trajectory(shuffled) == encode_trajectory(example())


def test_a_screenshot_is_stored_once_and_the_file_is_small() -> None:
    data = encode_trajectory(example())
    names = [name for name in members_of(data) if name.startswith("screenshots/")]
    assert len(names) == 4
    assert len(data) < sum(len(picture(s)) for s in range(4)) + 6000


def test_numpy_reads_the_arrays(tmp_path: pathlib.Path) -> None:
    save_trajectory(tmp_path / "a.npz", example())
    with np.load(tmp_path / "a.npz") as arrays:
        np.testing.assert_array_equal(arrays["tokens"], np.concatenate([window.tokens for window in example().windows]))
        assert json.loads(arrays["header.json"])["outcome"] == "finished"


def test_an_episode_that_never_began() -> None:
    failed = Trajectory("x", {}, (), (), Outcome.FAILED, 0.0)
    assert_same(decode_trajectory(encode_trajectory(failed)), failed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(
    st.dictionaries(st.text(), json_values, max_size=3),
    st.text(),
    st.binary(max_size=50),
    st.floats(-1e300, 1e300),
    st.floats(0, 1000),
)
def test_any_text_number_and_picture_survives(
    info: dict[str, Any], text: str, png: bytes, reward: float, at: float
) -> None:
    step = Step(png, text, text, text, (at, 1000 - at), reward, 2**40, True, info)
    one = Trajectory(text, info, (), (step, step), Outcome.REJECTED, reward, info)
    assert_same(decode_trajectory(encode_trajectory(one)), one)


def test_a_file_truncated_anywhere_is_refused() -> None:
    data = encode_trajectory(example())
    for size in range(len(data)):
        with pytest.raises(InputError, match=r"^here\.npz: damaged, truncated or not a trajectory file"):
            decode_trajectory(data[:size], "here.npz")


def test_a_flipped_bit_is_refused() -> None:
    data = encode_trajectory(example())
    rng = random.Random(0)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.randrange(8)
        with pytest.raises(InputError, match="damaged"):
            decode_trajectory(bytes(damaged))


@pytest.mark.parametrize("data", [b"", b"hello", b"\0" * 5000, picture(0)], ids=["empty", "short", "zeros", "png"])
def test_foreign_files_are_refused(tmp_path: pathlib.Path, data: bytes) -> None:
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(InputError, match=r"b\.npz: damaged, truncated or not a trajectory file"):
        load_trajectory(tmp_path / "b.npz")


def test_a_foreign_npz_is_refused(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "b.npz", tokens=np.arange(5))
    with pytest.raises(InputError, match="not a trajectory file"):
        load_trajectory(tmp_path / "b.npz")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_trajectory(tmp_path / "none.npz")
    with pytest.raises(InputError, match="directory"):
        load_trajectory(tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "tars_jax trajectory 9", "field format must be .*; got 'tars_jax trajectory 9'"),
        (["outcome"], "won", "field outcome must be one of finished, truncated, rejected, failed; got 'won'"),
        (["reward"], "1", "field reward must be a value of type float; got '1'"),
        (["reward"], math.nan, "field reward must be a finite number; got nan"),
        (["steps", 1, "reward"], -math.inf, r"field steps\[1\].reward must be a finite number; got -inf"),
        (["steps", 1, "think_tokens"], -1, r"field steps\[1\].think_tokens must be 0 or more; got -1"),
        (["steps", 1, "point"], [1, 1000.5], r"field steps\[1\].point must be numbers of 0..1000; got \(1, 1000.5\)"),
        (["steps", 1, "point"], [math.nan, 1], r"field steps\[1\].point must be numbers of 0..1000; got \(nan, 1\)"),
        (["task"], None, "field task must be a value of type dict; got nothing"),
        (["steps"], {}, "field steps must be a value of type list; got {}"),
        (["steps", 1], [], r"field steps\[1\].response must be .*; got nothing"),
        (["steps", 1, "think_tokens"], True, r"field steps\[1\].think_tokens must be .*; got True"),
        (["steps", 1, "screenshot"], 9, r"field steps\[1\].screenshot names screenshots/0009.png"),
        (["steps", 1, "point"], [1, "2"], r"field steps\[1\].point must be two numbers; got \(1, '2'\)"),
        (["windows", 0, "length"], 181, r"field tokens must have shape \(311,\), .*; got \(310,\)"),
        (["windows", 0, "length"], -1, r"field windows\[0\].length must be at least 0; got -1"),
        (["windows", 1, "images"], [2, 3, 5], r"field windows\[1\].images must be steps 0 to 4"),
        (["windows", 1, "images"], [2, "3"], r"field windows\[1\].images must be steps"),
    ],
)
def test_inconsistent_headers_are_refused_by_field(path: list[Any], value: Any, message: str) -> None:
    members = members_of(encode_trajectory(example()))
    header = json.loads(members["header.json"])
    place = header
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InputError, match="^f.npz: " + message):
        decode_trajectory(sealed({**members, "header.json": json.dumps(header).encode()}), "f.npz")


def test_missing_members_are_refused() -> None:
    members = members_of(encode_trajectory(example()))
    for name in members:
        fewer = copy.copy(members)
        del fewer[name]
        with pytest.raises(InputError, match=name):
            decode_trajectory(sealed(fewer))


def npz_of(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokens.npy", b""),
        ("tokens.npy", members_of(npz_of(np.array(3)))["x.npy"]),  # no dimension
        ("tokens.npy", npz_of(np.arange(3))),
        ("header.json", b"[" * 100_000),
    ],
)
def test_members_of_other_kinds_are_refused(name: str, content: bytes) -> None:
    members = members_of(encode_trajectory(example()))
    with pytest.raises(InputError, match="^f.npz: not a trajectory file"):
        decode_trajectory(sealed({**members, name: content}), "f.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_probs": np.zeros(3, np.float32)}, r"windows\[0\].log_probs must be float32\[180\]; got float32\[3\]"),
        ({"tokens": np.zeros(180, np.int64)}, r"windows\[0\].tokens must be int32\[180\]; got int64\[180\]"),
        ({"steps": np.full(180, 5, np.int32)}, r"windows\[0\].steps must be -1 to 4; got 5 to 5"),
        ({"routes": np.zeros((180, 3, 2))}, r"windows\[0\].routes must be int16\[180, .*; got float64\[180, 3, 2\]"),
        (
            {"routes": np.zeros((9, 3, 2), np.int16)},
            r"windows\[0\].routes must be int16\[180, .*; got int16\[9, 3, 2\]",
        ),
        ({"log_probs": np.full(180, np.nan, np.float32)}, r"windows\[0\].log_probs must be finite and at most 0"),
        (
            {"log_probs": np.full(180, 0.5, np.float32)},
            r"windows\[0\].log_probs must be finite and at most 0 at sampled",
        ),
        ({"tokens": np.full(180, -7, np.int32)}, r"windows\[0\].tokens must be 0 or more; got -7"),
        ({"versions": np.full(180, -2, np.int32)}, r"windows\[0\].versions must be -1 or more; got -2"),
        ({"routes": np.full((180, 3, 2), -2, np.int16)}, r"windows\[0\].routes must be -1 or more; got -2"),
        ({"images": (-1,)}, r"windows\[0\].images must be steps 0 to 4"),
        ({"action_mask": np.ones(180, bool)}, r"windows\[0\].action_mask must begin with a token that was read"),
        ({"action_mask": np.full(180, 2, np.uint8).view(bool)}, r"windows\[0\].action_mask must be 0 or 1; got 2"),
        ({"log_probs": np.full(180, -np.inf, np.float32)}, r"windows\[0\].log_probs must be finite and at most 0"),
        (
            {"log_probs": np.full(180, np.nan, np.float32), "action_mask": np.zeros(180, bool)},
            r"windows\[0\].log_probs must be finite",
        ),
        (
            {"action_mask": np.arange(180) > 0, "steps": (np.arange(180, dtype=np.int32) // 60) % 2},
            r"windows\[0\].steps must not go back at sampled tokens; got 0 after 1",
        ),
        (
            dict.fromkeys(("tokens", "steps", "versions"), np.zeros(0, np.int32))
            | {"action_mask": np.zeros(0, bool), "log_probs": np.zeros(0, np.float32), "routes": None},
            r"windows\[0\].tokens must hold one token or more; got none",
        ),
    ],
)
def test_contradictory_windows_are_not_saved(tmp_path: pathlib.Path, change: dict[str, Any], message: str) -> None:
    good = example()
    bad = dataclasses.replace(good, windows=(dataclasses.replace(good.windows[0], **change), good.windows[1]))
    save_trajectory(tmp_path / "a.npz", good)
    with pytest.raises(InputError, match=message):
        save_trajectory(tmp_path / "a.npz", bad)
    assert_same(load_trajectory(tmp_path / "a.npz"), good)


def test_a_step_without_a_sampled_token_has_no_reward_to_lose() -> None:
    first, second = example().windows
    silent = dataclasses.replace(second, action_mask=second.action_mask & (second.steps < 4))
    unanswered = dataclasses.replace(example(), windows=(first, silent))
    with pytest.raises(InputError, match=r"field steps\[4\] must have a sampled token in a window, for its reward"):
        encode_trajectory(unanswered)
    failed = dataclasses.replace(unanswered, outcome=Outcome.FAILED)  # which carries none
    assert_same(decode_trajectory(encode_trajectory(failed)), failed)


def test_a_full_disk_leaves_the_old_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_trajectory(tmp_path / "a.npz", example())

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_trajectory(tmp_path / "a.npz", example(seed=1))
    assert_same(load_trajectory(tmp_path / "a.npz"), example())
    assert os.listdir(tmp_path) == ["a.npz"]


def test_texts_and_verdicts_are_kept() -> None:
    made = example()
    steps = (dataclasses.replace(made.steps[0], text="$ ls\nnotes.txt <|end|>"), *made.steps[1:])
    for success in (True, False, None):
        again = dataclasses.replace(made, steps=steps, final_text="done", success=success)
        read = decode_trajectory(encode_trajectory(again))
        assert (read.steps[0].text, read.final_text, read.success) == ("$ ls\nnotes.txt <|end|>", "done", success)
        assert read.succeeded is (success is True)


def test_a_step_without_a_screenshot_is_in_no_windows_images() -> None:
    made = example()
    blank = (dataclasses.replace(made.steps[0], screenshot=b"", text="only text"), *made.steps[1:])
    without = tuple(dataclasses.replace(each, images=tuple(i for i in each.images if i)) for each in made.windows)
    read = decode_trajectory(encode_trajectory(dataclasses.replace(made, steps=blank, windows=without)))
    assert read.steps[0].screenshot == b"" and read.steps[1].screenshot == made.steps[1].screenshot
    with pytest.raises(InputError, match=r"windows\[0\]\.images must name steps with a screenshot; got step 0"):
        encode_trajectory(dataclasses.replace(made, steps=blank))


@pytest.mark.parametrize("reward", [1.0, 0.0, -0.5])
def test_files_of_the_first_version_are_read(reward: float) -> None:
    """They had no texts, named the environment `game`, and their success was a reward above 0."""
    made = dataclasses.replace(example(), reward=reward, task={"game": "maze_path_of_light", "seed": 3})
    members = members_of(encode_trajectory(made))
    header = json.loads(members["header.json"])
    header["format"] = "tars_jax trajectory 1"
    del header["success"], header["final_text"]
    for step in header["steps"]:
        del step["text"]
    read = decode_trajectory(sealed({**members, "header.json": json.dumps(header).encode()}))
    assert read.success is (reward > 0) and read.task == {"environment": "maze_path_of_light", "seed": 3}
    assert [step.text for step in read.steps] == [""] * len(read.steps) and read.windows[0].tokens.size
