"""Decoding of wires and files into typed values: msgspec decodes, errors are sentences of ours.

    @dataclass(frozen=True)
    class Order:
        name: str
        count: Annotated[int, Meta(ge=1, le=9)] = 1

    decoded({"name": "a", "count": 12}, Order, "orders.json: ")
    InputError: orders.json: count must be a whole number from 1 to 9; got 12

A kind is a dataclass, a msgspec.Struct, or what msgspec knows beside them. Rules are annotations (`msgspec.Meta`),
whose `description` says what a field must be where the rule itself does not. A rule over several fields is an
InputError of the class's `__post_init__` that begins with a field's name. A field of an object that is null counts as
absent, and one that the class does not have is an error, as a misspelt name must not be ignored. Text can always be
encoded; numbers are finite.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from tars_jax import InputError
from tars_jax.json_fields import is_text, read_json, read_json_lines, short_repr

_Kind = TypeVar("_Kind")
_OBJECTS = (inspect.StructType, inspect.DataclassType)
_ARRAYS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_ERROR = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)  # of msgspec: what, and where
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])")
_MISSING = "Object missing required field `"
_RULES = (_MISSING, "Expected ", "Invalid ", "Number ")  # other words are those of a class's own __post_init__
UNKNOWN = "must be left out, as there is no such field"


def decoded(value: Any, kind: type[_Kind], where: str = "", *, unknown: str | None = UNKNOWN) -> _Kind:
    """A value of JSON or TOML as `kind`.

    Args:
        where: before the field's name in an error, as "FILE: ".
        unknown: what is said of a field that the class does not have; None: it is ignored.

    Raises InputError that names the field, what it must be and what it got.
    """
    info = _type_info(kind)  # type: ignore[arg-type]
    try:
        found: _Kind = msgspec.convert(_present(value, info, "", unknown is not None), kind)
    except _UnknownField as error:
        raise InputError(f"{where}{error} {unknown}") from None
    except msgspec.ValidationError as error:
        raise InputError(_sentence(str(error), _present(value, info, "", False), kind, where)) from error
    for name, wrong, wanted in _not_encodable(value, ""):
        raise InputError(f"{_place(where, name)} must be {wanted}; got {short_repr(wrong)}")
    return found


def decoded_json(data: bytes, kind: type[_Kind], where: str = "", *, unknown: str | None = UNKNOWN) -> _Kind:
    """Decodes the text of a JSON value, such as a line of many: quick where nothing is wrong.

    A field that is unknown is an error only of a msgspec.Struct that says so (`forbid_unknown_fields`).
    """
    try:
        found: _Kind = _decoder(kind).decode(data)  # type: ignore[arg-type]
        return found
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}it must be JSON; got {error}") from error
    return decoded(value, kind, where, unknown=unknown)


def decoded_file(file: Path, kind: type[_Kind], *, unknown: str | None = UNKNOWN) -> _Kind:
    """Decodes a JSON file; raises InputError that names file and field."""
    return decoded(read_json(file), kind, f"{file}: field ", unknown=unknown)


def decoded_lines(
    file: Path, kind: type[_Kind], what: str = "an object of JSON", *, unknown: str | None = UNKNOWN
) -> Iterator[tuple[str, _Kind]]:
    """Decodes each line of a file, with its place as "FILE:NUMBER" (`json_fields.read_json_lines`)."""
    for where, value in read_json_lines(file, what):
        yield where, decoded(value, kind, f"{where}: ", unknown=unknown)


class _UnknownField(Exception):
    """Its name."""


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@functools.cache
def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _plain(info: inspect.Type) -> inspect.Type:
    return info.type if isinstance(info, inspect.Metadata) else info


def _kinds(info: inspect.Type) -> list[inspect.Type]:
    info = _plain(info)
    return [_plain(each) for each in info.types] if isinstance(info, inspect.UnionType) else [info]


def _fields(value: dict[str, Any], info: inspect.Type) -> dict[str, inspect.Type]:
    """Types of the fields that an object of this type has, its tag among them; none where it has no certain ones."""
    structs = [each for each in _kinds(info) if isinstance(each, _OBJECTS)]
    tagged = [each for each in structs if isinstance(each, inspect.StructType) and each.tag_field is not None]
    found: dict[str, inspect.Type] = {}
    for each in tagged if len(tagged) > 1 else structs:
        tag = getattr(each, "tag_field", None)
        if tag is not None:
            found[tag] = inspect.LiteralType(values=tuple(other.tag for other in tagged))
        if tag is None or len(tagged) == 1 or value.get(tag) == getattr(each, "tag", None):
            found |= {field.encode_name: field.type for field in each.fields}
    return found


def _present(value: Any, info: inspect.Type, name: str, strict: bool) -> Any:
    """The value without fields of objects that are null. `strict`: raises _UnknownField."""
    if isinstance(value, dict) and len(fields := _fields(value, info)) > 0:
        if unknown := [each for each in value if strict and each not in fields]:
            raise _UnknownField(f"{name}.{unknown[0]}".removeprefix("."))
        nothing = inspect.AnyType()
        return {
            key: _present(each, fields.get(key, nothing), f"{name}.{key}", strict)
            for key, each in value.items()
            if each is not None or _may_be_null(fields.get(key, nothing))
        }
    for kind in _kinds(info):
        if isinstance(value, list | tuple) and isinstance(kind, _ARRAYS) and _has_objects(kind.item_type):
            return [_present(each, kind.item_type, f"{name}[{index}]", strict) for index, each in enumerate(value)]
        if isinstance(value, dict) and isinstance(kind, inspect.DictType) and _has_objects(kind.value_type):
            return {key: _present(each, kind.value_type, f"{name}.{key}", strict) for key, each in value.items()}
    return value


def _may_be_null(info: inspect.Type) -> bool:
    return any(isinstance(each, inspect.NoneType | inspect.AnyType) for each in _kinds(info))


def _has_objects(info: inspect.Type) -> bool:
    """Whether it is, or holds, objects with certain fields."""
    kinds = _kinds(info)
    inner = [each for kind in kinds for each in (getattr(kind, "item_type", None), getattr(kind, "value_type", None))]
    return any(isinstance(kind, _OBJECTS) for kind in kinds) or any(_has_objects(each) for each in inner if each)


def _place(where: str, name: str) -> str:
    """A field's, or that of the whole value."""
    return where + name if name else re.sub(r"(: field)?[.: ]*$", "", where) or "it"


def _sentence(error: str, whole: Any, kind: Any, where: str) -> str:
    """One of msgspec's as one of ours."""
    words, place = _ERROR.fullmatch(error).groups()  # type: ignore[union-attr]
    place = (place or "") + (f".{words.removeprefix(_MISSING)[:-1]}" if words.startswith(_MISSING) else "")
    name, info, value = "", _type_info(kind), whole
    path: list[str | int] = []
    for match in _STEP.finditer(place):
        field, index, _ = match.groups()
        if field is not None and isinstance(value, dict):
            info = _fields(value, info).get(field, inspect.AnyType())
            value, name = value.get(field), f"{name}.{field}"
            path.append(field)
        elif index is not None:
            info = next(
                (_item(each, int(index)) for each in _kinds(info) if _item(each, int(index))), inspect.AnyType()
            )
            value, name = value[int(index)], f"{name}[{index}]"
            path.append(int(index))
        else:  # some value of an object, which msgspec does not name
            of_values = next((each.value_type for each in _kinds(info) if isinstance(each, inspect.DictType)), None)
            wrong = next((key for key in value if _error_of(_with_only(whole, path, key), kind) == error), None)
            if of_values is None or wrong is None:
                break
            info, value, name = of_values, value[wrong], f"{name}.{wrong}"
            path.append(wrong)
    name = name.removeprefix(".")
    if not words.startswith(_RULES):
        return where + f"{name}.{words}".removeprefix(".")
    return f"{_place(where, name)} must be {_wanted(info)}; got {'nothing' if value is None else short_repr(value)}"


def _error_of(value: Any, kind: Any) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _with_only(value: Any, path: Sequence[str | int], key: str) -> Any:
    """The value, with a single field in the object at `path`."""
    if not path:
        return {key: value[key]}
    step, *rest = path
    inner = _with_only(value[step], rest, key)
    return {**value, step: inner} if isinstance(step, str) else [*value[:step], inner, *value[step + 1 :]]


def _item(info: inspect.Type, index: int) -> Any:
    if isinstance(info, inspect.TupleType):
        return info.item_types[index]
    return info.item_type if isinstance(info, _ARRAYS) else None


def _wanted(info: inspect.Type) -> str:
    """What a field must be, in words."""
    if isinstance(info, inspect.Metadata):
        return (info.extra_json_schema or {}).get("description") or _wanted(info.type)
    match info:
        case inspect.UnionType():
            kinds = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return " or ".join(dict.fromkeys(map(_wanted, kinds)))
        case inspect.IntType():
            return _number("a whole number", info)
        case inspect.FloatType():
            return _number("a number", info)
        case inspect.LiteralType():
            known = [str(each) for each in info.values]
            return " or ".join(known) if len(known) < 3 else f"one of {', '.join(known)}"
        case inspect.StrType():
            return "text" if info.max_length is None else f"text of at most {info.max_length} characters"
        case inspect.BoolType():
            return "true or false"
        case inspect.DictType():
            return f"an object with {_wanted(info.value_type)} in each field"
        case inspect.StructType() | inspect.DataclassType():
            return "an object"
    return "an array"


def _number(what: str, info: inspect.IntType | inspect.FloatType) -> str:
    if info.ge is not None and info.le is not None:
        return f"{what} from {info.ge} to {info.le}" if "whole" in what else f"{what} from {info.ge:g} to {info.le:g}"
    bounds = {"above": info.gt, "of at least": info.ge, "below": info.lt, "of at most": info.le}
    return " ".join([what, *(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)])


def _not_encodable(value: Any, name: str) -> Iterator[tuple[str, Any, str]]:
    """Texts with halves of surrogate pairs and numbers that are not finite: their places, and what they must be."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False, default=str).encode()
        return
    except ValueError:  # UnicodeEncodeError among them
        pass
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _not_encodable(each, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _not_encodable(each, f"{name}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield name, value, "a number"
    elif isinstance(value, str) and not is_text(value):
        yield name, value, "text"
