"""Configs from dataclasses: a field's default, sentence and rule stand in one place, and go one way.

    dataclass -> section() -> ConfigDict -> flags and files, --help -> check() -> from_section() -> the dataclass

A config file says what differs from the defaults: `section(PPO, learning_rate=3e-4)`. Its ConfigDict is edited,
published and overridden as any other; where it is the default config of an experiment, its rules hold for every config
of that experiment. Nothing here imports jax.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

import ml_collections
from ml_collections.config_dict import placeholder

from tars_jax.rules import MOST_SEED, Rule, Together, between, field

Made = TypeVar("Made")
OPEN = object()  # the value of a field that the experiment chooses by what is to be learned: `auto`
_ELEMENTS = {f"tuple[{kind.__name__}, ...]": kind for kind in (str, int, float)}


@dataclasses.dataclass(frozen=True)
class RunFields:
    """Fields of every experiment that leaves a run directory."""

    seed: int = field(0, "random seed", between(0, MOST_SEED))
    run: str = field("", "run directory; empty: a new one under runs/")


@dataclasses.dataclass(frozen=True)
class Described:
    """Sentence and rule of a config's field."""

    about: str
    rule: Rule | None
    element: type | None = None  # of a tuple, which may be empty


class Section(ml_collections.ConfigDict):
    """A ConfigDict that knows the dataclass that its fields are of."""

    def __init__(self, made_of: type[Any], values: dict[str, Any]) -> None:
        object.__setattr__(self, "made_of", made_of)
        super().__init__(values)


def section(made_of: type[Any], /, without: Collection[str] = (), **values: Any) -> Section:
    """The fields of a dataclass that are described, at their defaults but for `values`; then the sections in `values`.

    `without` names fields that the experiment has no use for. Raises TypeError for values of fields that there are not.
    """
    fields: dict[str, Any] = {field.name: field.default for field in _described(made_of) if field.name not in without}
    inner = {name: values.pop(name) for name in list(values) if isinstance(values[name], ml_collections.ConfigDict)}
    if unknown := (values.keys() | without) - {field.name for field in _described(made_of)}:
        raise TypeError(f"{made_of.__name__} has no fields {', '.join(sorted(unknown))}")
    chosen = {
        name: placeholder(type(fields[name])) if value is OPEN else type(fields[name])(value)
        for name, value in values.items()
    }
    return Section(made_of, {**fields, **chosen, **inner})


def from_section(made_of: type[Made], config: Mapping[str, Any] | ml_collections.ConfigDict, **others: Any) -> Made:
    """The dataclass with the values that a section has for its fields, but for `others`."""
    names = {field.name for field in dataclasses.fields(made_of)}  # type: ignore[arg-type]
    return made_of(**{name: config[name] for name in config if name in names} | others)


def changes(made_of: type[Any], /, **values: Any) -> Section:
    """A section with only the fields of a dataclass that differ from a section elsewhere."""
    return section(made_of, without={field.name for field in _described(made_of)} - values.keys(), **values)


def described(config: ml_collections.ConfigDict, prefix: str = "") -> Iterator[tuple[str, Described]]:
    """Dotted field, or section, of a config -> what its dataclass says of it."""
    fields = {field.name: field for field in _described(config.made_of)} if isinstance(config, Section) else {}
    for name in config:
        value = config[name]
        if isinstance(value, ml_collections.ConfigDict):
            words = (value.made_of.__doc__ or "").partition("\n")[0] if isinstance(value, Section) else ""
            yield f"{prefix}{name}", Described(words, None)
            yield from described(value, f"{prefix}{name}.")
        elif name in fields:
            yield f"{prefix}{name}", Described(**fields[name].metadata, element=_ELEMENTS.get(_written(fields[name])))


def together(config: ml_collections.ConfigDict, prefix: str = "") -> Iterator[tuple[str, Together]]:
    """The dotted name of each section with a dot behind it, empty for the config -> rules of fields beside others."""
    for rule in getattr(config.made_of, "TOGETHER", ()) if isinstance(config, Section) else ():
        yield prefix, rule
    for name in config:
        if isinstance(config[name], ml_collections.ConfigDict):
            yield from together(config[name], f"{prefix}{name}.")


def _written(field: dataclasses.Field[Any]) -> str:
    """Its annotation, which is a text under `from __future__ import annotations`."""
    return field.type if isinstance(field.type, str) else str(field.type)


def _described(made_of: type[Any]) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(made_of) if "about" in field.metadata]
