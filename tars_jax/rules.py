"""Fields of configs, each said once, where its dataclass is: default, `--help`'s sentence, and rule.

    @dataclasses.dataclass(frozen=True)
    class PoolConfig:
        group_size: int = field(1, "episodes of one task", at_least(1))

Sections of configs are made from such dataclasses (`tars_jax.pipelines.schema`). Nothing here imports jax.
"""

from __future__ import annotations

import dataclasses
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError

MOST = 2**31 - 1  # of any number, as arrays of int32 hold it
MOST_SEED = 2_000_000_000  # room for the seeds after it (`config.seeds`), which the device holds as int32


@dataclasses.dataclass(frozen=True)
class Rule:
    """Rule for a field's value, beyond its type."""

    accepts: Callable[[Any], bool]
    allowed: str  # completes the sentence "FIELD must be ..."


@dataclasses.dataclass(frozen=True)
class Together:
    """Rule for a field beside the other fields of its section, as a dataclass names it in `TOGETHER`."""

    field: str
    accepts: Callable[[Mapping[str, Any]], bool]  # of the section's values, None for what is open
    allowed: str  # completes the sentence "FIELD must be ..."


def between(low: float, high: float) -> Rule:
    return Rule(lambda value: low <= value <= high, f"a value from {low} to {high}")


def at_least(low: float) -> Rule:
    return Rule(lambda value: value >= low, f"a value of at least {low}")


def more_than(low: float) -> Rule:
    return Rule(lambda value: value > low, f"a value above {low}")


def zero_or(rule: Rule) -> Rule:
    """0 for off, or what keeps `rule`."""
    return Rule(lambda value: value == 0 or rule.accepts(value), f"0 for off, or {rule.allowed}")


def one_of(*choices: Any) -> Rule:
    return Rule(lambda value: value in choices, "one of " + ", ".join(repr(choice) for choice in choices))


def each(rule: Rule) -> Rule:
    """A tuple, not empty, whose every element keeps `rule`."""
    return Rule(lambda values: len(values) > 0 and all(map(rule.accepts, values)), f"one or more, each {rule.allowed}")


def once(rule: Rule) -> Rule:
    """A tuple that keeps `rule` and has each element once."""
    return Rule(
        lambda values: len(set(values)) == len(values) and rule.accepts(values), f"{rule.allowed}, none of them twice"
    )


def span(low: float) -> Rule:
    """Two values, the least and the most."""
    return Rule(lambda ends: len(ends) == 2 and low <= ends[0] <= ends[1], f"(least, most), each at least {low}")


def is_pattern(text: str) -> bool:
    """Whether a text is a regular expression."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def within(value: Any, most: float) -> bool:
    """Whether a value is no number above `most`, nor holds one."""
    if isinstance(value, tuple):
        return all(within(each, most) for each in value)
    return not isinstance(value, int | float) or value <= most


REQUIRED = dataclasses.MISSING  # the default of a field that whoever makes the dataclass must give


def field(default: Any, about: str, rule: Rule | None = None) -> Any:
    """A field of a dataclass: `about` is its sentence in `--help`, `rule` what it must be beyond its type."""
    return dataclasses.field(default=default, metadata={"about": about, "rule": rule})


def field_of(owner: type[Any], name: str, **changed: Any) -> Any:
    """The field that another dataclass has, but for what is `changed`: `default`, `about` or `rule`."""
    found = owner.__dataclass_fields__[name]
    return field(**{"default": found.default, **found.metadata, **changed})


def check_fields(config: Any, section: str) -> None:
    """Raises InputError that names the field of a dataclass which breaks its rule, or that beside the others.

    None is off, and traced numbers have no value to check.
    """
    for each_field in dataclasses.fields(config):
        rule, value = each_field.metadata.get("rule"), getattr(config, each_field.name)
        if rule is not None and isinstance(value, numbers.Number | str | tuple) and not rule.accepts(value):
            raise InputError(f"{section}.{each_field.name} must be {rule.allowed}; got {value!r}")
    for beside in getattr(config, "TOGETHER", ()):
        if not beside.accepts(vars(config)):
            raise InputError(
                f"{section}.{beside.field} must be {beside.allowed}; got {getattr(config, beside.field)!r}"
            )
