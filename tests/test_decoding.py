"""What errors of msgspec say as ours: the field's name, what it must be, what it got."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded, decoded_file, decoded_lines


@dataclasses.dataclass(frozen=True)
class Item:
    count: Annotated[int, Meta(ge=1, le=5)] = 1
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count == 4:
            raise InputError("count must be no 4; got 4")


class Click(msgspec.Struct, frozen=True, tag="click"):
    x: float


class Key(msgspec.Struct, frozen=True, tag="key"):
    name: Annotated[str, Meta(pattern="^[a-z]+$", description="a key's name")]


class Order(msgspec.Struct, frozen=True):
    name: str
    share: Annotated[float, Meta(ge=0, le=2)] = 1.0
    items: tuple[Item, ...] = ()
    kind: Literal["a", "b", "c"] = "a"
    most: Annotated[int, Meta(ge=0)] | None = None
    paid: bool = False
    prices: Mapping[str, float] = {}
    note: Annotated[str, Meta(max_length=4)] | None = None
    least: float | dict[str, float] | None = None
    input: Click | Key | None = None
    pair: tuple[int, str] = (0, "")
    extra: Any = None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "name must be text; got nothing"),
        ({"name": None}, "name must be text; got nothing"),
        ({"name": 3}, "name must be text; got 3"),
        ({"name": "\ud800"}, "name must be text; got '\\ud800'"),
        ({"name": "a", "nmae": "b"}, "nmae must be left out, as there is no such field"),
        ({"name": "a", "items": [{}, {"cuont": 1}]}, "items[1].cuont must be left out, as there is no such field"),
        ({"name": "a", "share": 3}, "share must be a number from 0 to 2; got 3"),
        ({"name": "a", "share": True}, "share must be a number from 0 to 2; got True"),
        ({"name": "a", "share": math.nan}, "share must be a number from 0 to 2; got nan"),
        ({"name": "a", "prices": {"x": math.inf}}, "prices.x must be a number; got inf"),
        ({"name": "a", "extra": {"deep": [math.nan]}}, "extra.deep[0] must be a number; got nan"),
        ({"name": "a", "prices": {"x": "y"}}, "prices.x must be a number; got 'y'"),
        ({"name": "a", "items": {}}, "items must be an array; got {}"),
        ({"name": "a", "items": [{}, {"count": 1.0}]}, "items[1].count must be a whole number from 1 to 5; got 1.0"),
        ({"name": "a", "items": [{"count": 10**400}]}, "items[0].count must be a whole number from 1 to 5; got 1000"),
        ({"name": "a", "items": [{"tags": ["x", 2]}]}, "items[0].tags[1] must be text; got 2"),
        ({"name": "a", "items": [{"count": 4}]}, "items[0].count must be no 4; got 4"),
        ({"name": "a", "kind": "d"}, "kind must be one of a, b, c; got 'd'"),
        ({"name": "a", "most": -1}, "most must be a whole number of at least 0; got -1"),
        ({"name": "a", "paid": 1}, "paid must be true or false; got 1"),
        ({"name": "a", "note": "12345"}, "note must be text of at most 4 characters; got '12345'"),
        ({"name": "a", "least": "x"}, "least must be a number or an object with a number in each field; got 'x'"),
        ({"name": "a", "input": {"type": "key", "name": "A"}}, "input.name must be a key's name; got 'A'"),
        ({"name": "a", "input": {"type": "key", "x": 1.0}}, "input.x must be left out, as there is no such field"),
        ({"name": "a", "pair": [1, 2]}, "pair[1] must be text; got 2"),
    ],
)  # fmt: skip
def test_an_error_names_the_field(given: Any, says: str) -> None:
    with pytest.raises(InputError) as raised:
        decoded(given, Order, "orders.json: ")
    assert str(raised.value).startswith(f"orders.json: {says}")


def test_null_is_absent_where_a_class_has_the_field() -> None:
    given = {"name": "a", "share": None, "items": [{"count": None}], "extra": {"default": None}, "most": 3}
    assert decoded(given, Order) == Order("a", items=(Item(),), extra={"default": None}, most=3)
    assert decoded({"name": "a", "input": {"type": "click", "x": 1}}, Order).input == Click(1.0)
    assert decoded({"name": "a", "new": 1}, Order, unknown=None) == Order("a")


def test_files_and_lines(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text('{"name": "a"}')
    assert decoded_file(file, Order) == Order("a")
    file.write_bytes(b'\xef\xbb\xbf{"name": "a"}\n\n{"name": "b", "paid": 2}\n')
    lines = decoded_lines(file, Order)
    assert next(lines) == (f"{file}:1", Order("a"))
    with pytest.raises(InputError, match=r"orders.json:3: paid must be true or false; got 2"):
        next(lines)
    file.write_text("[" * 500 + "]" * 500)
    with pytest.raises(InputError, match=r"orders.json must be an object; got"):
        decoded_file(file, Order)
