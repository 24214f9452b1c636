"""Configs: a file gives the values, flags override them, the fields' rules say what is possible (`schema.py`).

    --config=FILE            a .py file with get_config(), a bare name for configs/NAME.py, or the config.json of a run
    --config.a.b=value       one field, read by the type that it has in the config
    --config.recipe=NAME     the fields that a recipe sets, where no other flag does (`recipes.py`)

An experiment's fields and their types are those of its default config, configs/EXPERIMENT.py; every other config of it
has the same ones. Values are bool, int, float, str and tuples of these. A placeholder of ml_collections is a field that
the experiment chooses by what it is to learn: `auto`, null in JSON. Whatever cannot be used stops with an `InputError`
that names the field, what it must be and what it got.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import functools
import math
import pathlib
import re
import runpy
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_collections
from ml_collections.config_dict import placeholder

from tars_jax import InputError
from tars_jax.json_fields import is_text, read_json
from tars_jax.launcher import LAUNCHER
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.recipes import recipe_fields
from tars_jax.pipelines.schema import Described, described, together
from tars_jax.rules import MOST, within

AUTO = "auto"  # on the command line: chosen by the experiment
EXAMPLES: Mapping[type, Any] = {bool: True, int: 1, float: 1.0, str: "name"}


@dataclasses.dataclass(frozen=True)
class Unset:
    """The value of a field that the experiment chooses."""

    kind: type

    def __str__(self) -> str:
        return AUTO


def load_config(
    experiment: str,
    arguments: Sequence[str],
    *,
    root: pathlib.Path,
    checked: bool = True,
) -> ml_collections.ConfigDict:
    """The locked config of `experiment` under the flags in `arguments`; raises InputError. Not `checked`: without what
    the fields' rules say, as for somebody who only looks at it."""
    schema = read_python(root / "configs" / f"{experiment}.py")
    files = [argument.removeprefix("--config=") for argument in arguments if argument.startswith("--config=")]
    if len(files) > 1:
        raise InputError(f"--config must be given once; got {', '.join(files)}")
    values, fields = flatten(schema), dict(described(schema))
    usual = {field: _example(value, fields.get(field)) for field, value in values.items()}
    resolved = ""  # the recipe whose values are there already
    if files:
        path = _find(files[0], root)
        given = _read_run(path, experiment) if path.suffix == ".json" else flatten(read_python(path))
        resolved = given.get("recipe", "") if path.suffix == ".json" else ""
        for field in given:
            require_known(field, values, where=f" in {path}")
        for field, value in usual.items():
            if field not in given:
                raise InputError(
                    f"{path}: field {field} must be {_type_name(value)}, for example {value!r}; got nothing"
                )
        values = {field: _coerce(given[field], value, f"{field} in {path}") for field, value in usual.items()}
    flags: dict[str, Any] = {}
    for argument in arguments:
        if not argument.startswith("--config="):
            field, text = _split_flag(argument)
            require_known(field, values, where="")
            flags[field] = parse(text, usual[field], field)
    recipe = flags.get("recipe", values.get("recipe", ""))
    if resolved and recipe != resolved:
        raise InputError(f"config.recipe must be {resolved!r}, whose values {path} has already; got {recipe!r}")
    values = {**values, **({} if resolved else _of_recipe(recipe, experiment, usual)), **flags}
    if checked:
        check({**flags, **values}, fields)  # of several, the sentence is of a flag
        _check_together(values, schema)
    return unflatten(values)


def check(values: Mapping[str, Any], fields: Mapping[str, Described]) -> None:
    """Raises InputError for the first value that its field's rule does not accept; what is open has none."""
    for name, value in values.items():
        rule = fields[name].rule if name in fields else None
        if rule is not None and not isinstance(value, Unset) and not rule.accepts(value):
            raise InputError(f"{_flag(name)} must be {rule.allowed}; got {value!r}")
        if not within(value, MOST):
            raise InputError(f"{_flag(name)} must be at most {MOST}; got {value!r}")


def _check_together(values: Mapping[str, Any], schema: ml_collections.ConfigDict) -> None:
    """Raises InputError for the first value that its section's rules do not accept beside the section's others."""
    for prefix, rule in together(schema):
        section = {
            name.removeprefix(prefix): None if isinstance(value, Unset) else value
            for name, value in values.items()
            if name.startswith(prefix)
        }
        if not rule.accepts(section):
            raise InputError(f"{_flag(prefix + rule.field)} must be {rule.allowed}; got {section[rule.field]!r}")


def _example(value: Any, said: Described | None) -> Any:
    """A value of the field's type: of an empty tuple its dataclass says what it may hold."""
    return (EXAMPLES[said.element],) if value == () and said is not None and said.element else value


@contextlib.contextmanager
def naming(field: str, argument: str, **others: str) -> Iterator[None]:
    """Renames errors: one about an `argument` of code below names the field of the config that holds it; so do
    `others`, fields by their arguments. Any other error that names no field of the config is one of `field`."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(_flag("")):
            raise
        for named, of in {argument: field, **others}.items():
            if str(error).startswith(f"{named} must "):
                raise InputError(f"{of}{str(error).removeprefix(named)}") from error
        raise InputError(f"{field}: {error}") from error


def named_in(config: Mapping[str, Any], sentence: str) -> str:
    """The sentence of an error; where it begins with a field in a section of the config, with `config.` before it."""
    first = re.match(r"\w+(\.\w+)+", sentence)
    return f"{_flag('')}{sentence}" if first and first[0] in flatten(config) else sentence


def _of_recipe(recipe: str, experiment: str, usual: Mapping[str, Any]) -> dict[str, Any]:
    found = recipe_fields(recipe, experiment)
    for field in found:
        require_known(field, usual, where=f" of the recipe {recipe}")
    return {field: _coerce(value, usual[field], field) for field, value in found.items()}


def command_of(experiment: str, config: Mapping[str, Any], root: pathlib.Path = ROOT) -> str:
    """The command that repeats a run of `config` in another clone: what differs from the defaults, or from those of its
    recipe, and the seed."""
    usual = flatten(read_python(root / "configs" / f"{experiment}.py"))
    usual |= _of_recipe(config.get("recipe", ""), experiment, usual)
    given = {field: value for field, value in flatten(config).items() if field != "run"}
    flags = [f"--config.{field}={value}" for field, value in given.items() if field == "seed" or value != usual[field]]
    return shlex.join([LAUNCHER, experiment, *flags])


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted field -> value, in the config's order; lists become tuples."""
    return dict(_fields(config, prefix))


def unflatten(values: Mapping[str, Any]) -> ml_collections.ConfigDict:
    """The locked ConfigDict with these dotted fields; None, of those that are unset."""
    tree: dict[str, Any] = {}
    for field, value in values.items():
        *sections, name = field.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[name] = placeholder(value.kind) if isinstance(value, Unset) else value
    return ml_collections.ConfigDict(tree).lock()


def _fields(config: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, Mapping | ml_collections.ConfigDict):
            yield from _fields(value, f"{prefix}{name}.")
        elif value is None and isinstance(config, ml_collections.ConfigDict):
            yield f"{prefix}{name}", Unset(config.get_type(name))
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
            f"--config must be a .py config file, the config.json of a run, or one of {', '.join(known)}; "
            f"got {name!r}, and there is no file {path}"
        )
    return path


def read_python(path: pathlib.Path) -> ml_collections.ConfigDict:
    """The config that a file makes; raises InputError for one that makes none."""
    try:
        return _executed(str(path), path.stat().st_mtime_ns)["get_config"]()
    except Exception as error:
        raise InputError(
            f"{path} must be a Python file with a function get_config() that returns an ml_collections.ConfigDict; "
            f"got {type(error).__name__}: {error}"
        ) from error


@functools.lru_cache(maxsize=100)
def _executed(path: str, changed_ns: int) -> dict[str, Any]:
    """The names of a Python file, which is executed again when it has changed."""
    return runpy.run_path(path)


def _read_run(path: pathlib.Path, experiment: str) -> dict[str, Any]:
    stored = read_json(path, each_once=True)
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict):
        raise InputError(f"{path} must be a run's config, an object with the fields experiment and config; got another")
    if others := sorted(stored.keys() - {"experiment", "config"}):
        raise InputError(f"{path} must have the fields experiment and config alone; got {others[0]!r:.80}")
    if stored.get("experiment") != experiment:
        raise InputError(
            f"{path} must be a config of the experiment {experiment!r}; got one of {stored.get('experiment')!r}"
        )
    return flatten(stored["config"])


def _split_flag(argument: str) -> tuple[str, str]:
    flag, equals, text = argument.partition("=")
    if not flag.startswith("--config.") or not equals:
        raise InputError(f"an argument must be --config=FILE or --config.FIELD=VALUE; got {argument!r}")
    return flag.removeprefix("--config."), text


def require_known(field: str, values: Mapping[str, Any], where: str) -> None:
    """Raises InputError that guesses which field was meant; `where` follows its name, as in " in FILE"."""
    if field in values:
        return
    inside = [name for name in values if name.startswith(f"{field}.")]
    if inside:
        raise InputError(
            f"a field{where} must be one of {', '.join(map(_flag, inside))}; got {_flag(field)}, a group of fields"
        )
    near = difflib.get_close_matches(field, values, n=1, cutoff=0.5)
    by_last_name = [name for name in values if name.rpartition(".")[2] == field.rpartition(".")[2]]
    guess = (by_last_name or near)[:1]
    if guess:
        raise InputError(
            f"a field{where} must be one of this config; got {_flag(field)} (did you mean {_flag(guess[0])}?)"
        )
    raise InputError(f"a field{where} must be one of {', '.join(values)}; got {_flag(field)}")


def parse(text: str, current: Any, field: str) -> Any:
    """The value that `text` on the command line means for a field of the type of `current`."""
    if isinstance(current, Unset):
        return current if text == AUTO else parse(text, EXAMPLES[current.kind], field)
    if isinstance(current, str):
        return _coerce(text, current, field)
    if isinstance(current, bool):
        return _coerce({"true": True, "false": False}.get(text.lower(), text), current, field)
    if isinstance(current, tuple):
        return _coerce(_parse_tuple(text, current), current, field)
    for read in (int, float):
        try:
            return _coerce(read(text), current, field)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
    return _coerce(text, current, field)


def _parse_tuple(text: str, like: tuple[Any, ...]) -> Any:
    """(1, 2), [1, 2] or 1,2 as Python reads them; words need no quotes: left,right, and a folder may be named 7."""
    words = tuple(word.strip() for word in text.strip("()[] ").split(",") if word.strip())
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: of what nests too deep
        return words
    values = value if isinstance(value, list | tuple) else (value,)
    are_words = like and isinstance(like[0], str) and not any(isinstance(each, str) for each in values)
    return words if are_words else values


def _coerce(value: Any, like: Any, field: str) -> Any:
    """`value` in the type of `like`: a whole number serves as a number, nothing else changes its type."""
    if isinstance(like, Unset):
        return like if value is None or value == like else _coerce(value, EXAMPLES[like.kind], field)
    if isinstance(like, tuple) and isinstance(value, list | tuple):
        try:
            return tuple(_coerce(element, like[0], field) for element in value)
        except InputError:
            pass
    elif isinstance(like, float) and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    elif (
        type(value) is type(like) and not isinstance(like, float | tuple) and (type(value) is not str or is_text(value))
    ):
        return value
    raise InputError(f"{_flag(field)} must be {_type_name(like)}, for example {like!r}; got {value!r}")


def _type_name(value: Any) -> str:
    if isinstance(value, Unset):
        return f"{_type_name(EXAMPLES[value.kind])}, or {AUTO}"
    if isinstance(value, tuple):
        return f"a tuple, each element {_type_name(value[0])}"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(value)]


def _flag(field: str) -> str:
    return f"config.{field}"
