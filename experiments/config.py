"""Configs: a file gives the values, flags override them, rules say what is possible.

    --config=FILE            a .py file with get_config(), a bare name for configs/NAME.py, or the config.json of a run
    --config.a.b=value       one field, read by the type that it has in the config

An experiment's fields and their types are those of its default config, configs/EXPERIMENT.py; every other config of it
has the same ones. Values are bool, int, float, str and tuples of these. Whatever cannot be used stops with an
`InputError` that names the field, what it got and what it takes.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import math
import pathlib
import runpy
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_collections

from tars_jax import InputError
from tars_jax.training.run_directory import read_json

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a field takes beyond its type."""

    accepts: Callable[[Any], bool]
    takes: str  # completes the sentence "it takes ..."


def between(low: float, high: float) -> Rule:
    return Rule(lambda value: low <= value <= high, f"a value from {low} to {high}")


def at_least(low: float) -> Rule:
    return Rule(lambda value: value >= low, f"a value of at least {low}")


def more_than(low: float) -> Rule:
    return Rule(lambda value: value > low, f"a value above {low}")


def zero_or(rule: Rule) -> Rule:
    """0 for off, or what keeps `rule`."""
    return Rule(lambda value: value == 0 or rule.accepts(value), f"0 for off, or {rule.takes}")


def one_of(*choices: Any) -> Rule:
    return Rule(lambda value: value in choices, "one of " + ", ".join(repr(choice) for choice in choices))


def each(rule: Rule) -> Rule:
    """A tuple, not empty, whose every element keeps `rule`."""
    return Rule(lambda values: len(values) > 0 and all(map(rule.accepts, values)), f"one or more, each {rule.takes}")


def span(low: float) -> Rule:
    """Two values, the least and the most."""
    return Rule(lambda ends: len(ends) == 2 and low <= ends[0] <= ends[1], f"(least, most), each at least {low}")


def load_config(
    experiment: str,
    arguments: Sequence[str],
    *,
    root: pathlib.Path,
    rules: Mapping[str, Rule],
) -> ml_collections.ConfigDict:
    """The locked config of `experiment` under the flags in `arguments`; raises InputError."""
    schema = _read_python(root / "configs" / f"{experiment}.py")
    files = [argument.removeprefix("--config=") for argument in arguments if argument.startswith("--config=")]
    if len(files) > 1:
        raise InputError(f"--config is given {len(files)} times ({', '.join(files)}); it takes one file.")
    values = flatten(schema)
    if files:
        path = _find(files[0], root)
        given = _read_run(path, experiment) if path.suffix == ".json" else flatten(_read_python(path))
        for field in given:
            require_known(field, values, where=f" in {path}")
        for field, value in values.items():
            if field not in given:
                raise InputError(
                    f"{path} lacks the field {field}; it takes {_type_name(value)}, for example {value!r}."
                )
        values = {field: _coerce(given[field], value, f"{field} in {path}") for field, value in values.items()}
    for argument in arguments:
        if not argument.startswith("--config="):
            field, text = _split_flag(argument)
            require_known(field, values, where="")
            values[field] = parse(text, values[field], field)
    for field, rule in rules.items():
        if not rule.accepts(values[field]):
            raise InputError(f"{_flag(field)} got {values[field]!r}; it takes {rule.takes}.")
    return unflatten(values)


def command_of(experiment: str, config: Mapping[str, Any], root: pathlib.Path = ROOT) -> str:
    """The command that repeats a run of `config` in another clone: what differs from the defaults, and the seed."""
    usual = flatten(_read_python(root / "configs" / f"{experiment}.py"))
    given = {field: value for field, value in flatten(config).items() if field != "run"}
    flags = [f"--config.{field}={value}" for field, value in given.items() if field == "seed" or value != usual[field]]
    return shlex.join(["./launch/local.sh", experiment, *flags])


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted field -> value, in the config's order; lists become tuples."""
    return dict(_fields(config, prefix))


def unflatten(values: Mapping[str, Any]) -> ml_collections.ConfigDict:
    """The locked ConfigDict with these dotted fields."""
    tree: dict[str, Any] = {}
    for field, value in values.items():
        *sections, name = field.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[name] = value
    return ml_collections.ConfigDict(tree).lock()


def _fields(config: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, Mapping | ml_collections.ConfigDict):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _as_tuple(value)


def _as_tuple(value: Any) -> Any:
    """JSON has no tuples: a config has no lists."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _find(name: str, root: pathlib.Path) -> pathlib.Path:
    path = pathlib.Path(name)
    if path.suffix not in {".py", ".json"}:
        path = root / "configs" / f"{name}.py"
    if not path.is_file():
        known = sorted(file.stem for file in (root / "configs").glob("*.py") if not file.stem.startswith("_"))
        raise InputError(
            f"--config got {name!r}, and there is no file {path}; it takes a .py config file, the config.json of a "
            f"run, or one of {', '.join(known)}."
        )
    return path


def _read_python(path: pathlib.Path) -> ml_collections.ConfigDict:
    try:
        return runpy.run_path(str(path))["get_config"]()
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a config ({type(error).__name__}: {error}); it takes a Python file with "
            "a function get_config() that returns an ml_collections.ConfigDict."
        ) from error


def _read_run(path: pathlib.Path, experiment: str) -> dict[str, Any]:
    stored = read_json(path)
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict):
        raise InputError(f"{path} is no config of a run; it takes an object with the fields experiment and config.")
    if stored.get("experiment") != experiment:
        raise InputError(
            f"{path} is a config of the experiment {stored.get('experiment')!r}; it takes one of {experiment!r}."
        )
    return flatten(stored["config"])


def _split_flag(argument: str) -> tuple[str, str]:
    flag, equals, text = argument.partition("=")
    if not flag.startswith("--config.") or not equals:
        raise InputError(f"{argument!r} is no argument; it takes --config=FILE and --config.FIELD=VALUE.")
    return flag.removeprefix("--config."), text


def require_known(field: str, values: Mapping[str, Any], where: str) -> None:
    """Raises InputError that guesses which field was meant; `where` follows its name, as in " in FILE"."""
    if field in values:
        return
    inside = [name for name in values if name.startswith(f"{field}.")]
    if inside:
        raise InputError(
            f"{_flag(field)}{where} is a group of fields; it takes one of {', '.join(map(_flag, inside))}."
        )
    near = difflib.get_close_matches(field, values, n=1, cutoff=0.5)
    by_last_name = [name for name in values if name.rpartition(".")[2] == field.rpartition(".")[2]]
    guess = (by_last_name or near)[:1]
    advice = f"did you mean {_flag(guess[0])}?" if guess else f"it takes one of {', '.join(values)}."
    raise InputError(f"{_flag(field)}{where} is not a field of this config; {advice}")


def parse(text: str, current: Any, field: str) -> Any:
    """The value that `text` on the command line means for a field of the type of `current`."""
    if isinstance(current, str):
        return text
    if isinstance(current, bool):
        return _coerce({"true": True, "false": False}.get(text.lower(), text), current, field)
    if isinstance(current, tuple):
        return _coerce(_parse_tuple(text), current, field)
    for read in (int, float):
        try:
            return _coerce(read(text), current, field)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
    return _coerce(text, current, field)


def _parse_tuple(text: str) -> Any:
    """(1, 2), [1, 2] or 1,2 as Python reads them; words need no quotes: left,right."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = tuple(word.strip() for word in text.strip("()[] ").split(",") if word.strip())
    return value if isinstance(value, list | tuple) else (value,)


def _coerce(value: Any, like: Any, field: str) -> Any:
    """`value` in the type of `like`: a whole number serves as a number, nothing else changes its type."""
    if isinstance(like, tuple) and isinstance(value, list | tuple):
        if not like:
            return _as_tuple(value)
        try:
            return tuple(_coerce(element, like[0], field) for element in value)
        except InputError:
            pass
    elif isinstance(like, float) and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    elif type(value) is type(like) and not isinstance(like, float | tuple):
        return value
    raise InputError(f"{_flag(field)} got {value!r}; it takes {_type_name(like)}, for example {like!r}.")


def _type_name(value: Any) -> str:
    if isinstance(value, tuple):
        return "a tuple" if not value else f"a tuple, each element {_type_name(value[0])}"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(value)]


def _flag(field: str) -> str:
    return f"config.{field}"
