import hashlib
import json
import pathlib
from typing import Any

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.training.recorded_updates import Starts, differing_leaves, digest, read_updates, write_updates

DIGESTS = [{"policy": f"{number:064x}", "value": f"{number + 9:064x}"} for number in range(3)]


def test_the_digest_by_hand() -> None:
    tree = {"b": np.array([1.0, -0.0], np.float32), "a": np.array([[7]], np.int32)}
    by_hand = hashlib.sha256()
    by_hand.update(b"a int32[1, 1]\n" + (7).to_bytes(4, "little"))
    by_hand.update(b"b float32[2]\n" + bytes.fromhex("0000803f") + bytes.fromhex("00000080"))
    assert digest(tree) == by_hand.hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.zeros(2, np.float32), "b": np.array([0.0, -0.0], np.float32)},  # equal numbers, other bits
        {"a": np.zeros(2, np.float32), "b": np.zeros((1, 2), np.float32)},
        {"a": np.zeros(2, np.float32), "c": np.zeros(2, np.float32)},
        {"a": np.zeros(2, np.float32), "b": np.zeros(2, np.int32)},
    ],
)
def test_anything_else_has_another_digest(other: dict[str, np.ndarray]) -> None:
    assert digest(other) != digest({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float32)})


def test_leaves_that_differ() -> None:
    one = [{"x": np.array([1.0, 2.0], np.float32)}, {"y": np.array([0.0], np.float32), "z": np.zeros(1, np.float32)}]
    two = [{"x": np.array([1.0, 1.5], np.float32)}, {"y": np.array([-0.0], np.float32), "z": np.zeros(1, np.float32)}]
    assert differing_leaves(one, two) == {"0/x": 0.5, "1/y": 0.0}


def test_a_record_comes_back_in_order(tmp_path: pathlib.Path) -> None:
    no_value_model = [{**each, "value": None} for each in DIGESTS]
    write_updates(tmp_path / "updates.json", Starts("start/policy", None), [[3, 1], [0, 7]], no_value_model)
    assert [each.value for each in read_updates(tmp_path / "updates.json").digests] == [None] * 3
    for starts in (Starts("start/policy", None), Starts("start/policy", "value")):
        write_updates(tmp_path / "updates.json", starts, [[3, 1], [0, 7]], DIGESTS)
        found = read_updates(tmp_path / "updates.json")
        assert found.starts == starts
    assert found.episodes == ((3, 1), (0, 7))
    assert [each.value for each in found.digests] == [each["value"] for each in DIGESTS]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("format", "tars_jax updates 9", "field format"),
        ("episodes", [3, 1], r"episodes\[0\] must be an array"),
        ("episodes", [[3], [-1]], r"episodes\[1\]\[0\] must be a whole number"),
        ("episodes", [[3]], "must be 2 objects"),
        ("digests", [*DIGESTS[:2], {"policy": "x", "value": "y"}], "SHA-256"),
        ("starts", {"policy": "/etc", "value": "value"}, "field starts"),
        ("starts", {"policy": "supervised"}, "field starts"),
        ("starts", {"policy": None, "value": None}, "field starts"),
        ("starts", {"policy": "../other", "value": "value"}, "field starts"),
    ],
)
def test_a_bad_record_is_named(tmp_path: pathlib.Path, field: str, value: Any, words: str) -> None:
    path = tmp_path / "updates.json"
    write_updates(path, Starts("supervised", "value"), [[3, 1], [0, 7]], DIGESTS)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InputError, match=words) as error:
        read_updates(path)
    assert str(path) in str(error.value)
