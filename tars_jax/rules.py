"""What a field must be beyond its type, said once: for the dataclass that has it, for flags and files, for `--help`."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a field must be beyond its type."""

    accepts: Callable[[Any], bool]
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


def span(low: float) -> Rule:
    """Two values, the least and the most."""
    return Rule(lambda ends: len(ends) == 2 and low <= ends[0] <= ends[1], f"(least, most), each at least {low}")


def check_fields(config: Any, rules: Mapping[str, Rule], section: str) -> None:
    """Raises InputError that names the field of a dataclass which breaks its rule.

    None is off, and traced numbers have no value to check.
    """
    for name, rule in rules.items():
        value = getattr(config, name)
        if isinstance(value, numbers.Number | str) and not rule.accepts(value):
            raise InputError(f"{section}.{name} must be {rule.allowed}; got {value!r}")
