"""Functions of an action space: which one a name stands for, and its arguments as typed JSON.

Policies write text; a function's JSON schema says what a text stands for. Where it allows nothing but text, a value is
taken as it is written. Where it allows no text, a value is read as JSON. Where it allows both, what is written in
quotes (the text form) is text, and what is not is the first of JSON and text that fits the schema.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS, NAME_PATTERN, ActionError, BadArgument, MissingArgument, ToolCall
from tars_jax.agent.schemas import describe_schema, is_fully_described, kind_of, kinds_of, read_json, resolved, to_json
from tars_jax.agent.spellings import fold, function_of, plain
from tars_jax.environment import ActionSpace, Function

_MOST_NAMES = 24  # that an error lists
_PYTHON: Mapping[str, Any] = {"true": True, "false": False, "none": None}
_OPEN: Mapping[str, Any] = {"type": "object", "additionalProperties": True}


class Bare(str):
    """A value that was written without quotes: JSON where the schema allows it."""


class _Recorded(ActionSpace):
    def function(self, name: str) -> Function | None:
        return Function(name, parameters=_OPEN)


RECORDED: ActionSpace = _Recorded(actions=tuple(FUNCTIONS))
"""Of calls that were recorded, in the text form: all GUI actions, and any function with any parameters."""


def check_space(space: ActionSpace) -> None:
    """Whether policies can be asked for the actions of a space.

    Raises InputError for an unknown GUI action, a function with a GUI action's name or one that no grammar can write,
    and parameters that are no JSON schema of an object, or one that refers to what is not in it.
    """
    if unknown := sorted(set(space.actions) - FUNCTIONS.keys()):
        raise InputError(f"actions of an action space must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
    for function in space.functions:
        if function.name in FUNCTIONS:
            raise InputError(f"a function's name must not be that of a GUI action; got {function.name!r}")
        if not re.fullmatch(NAME_PATTERN, function.name):
            raise InputError(f"a function's name must be letters, digits and . _ -; got {function.name!r:.80}")
        _check_parameters(function)


def function_named(name: str, space: ActionSpace | None) -> Function | None:
    """The function of a space that a written name stands for: exactly, or but for case and `_` where no GUI action of
    the space has that spelling."""
    if space is None or name in FUNCTIONS:
        return None
    if exact := space.function(name):
        return exact
    if function_of(name) in space.actions:
        return None
    alike = [function for function in space.functions if fold(function.name) == fold(name)]
    return alike[0] if len(alike) == 1 else None


def action_named(name: str, space: ActionSpace | None) -> str | None:
    """The GUI action that a written name stands for, if the space has it; without a space, of all."""
    action = function_of(name)
    return action if space is None or action in space.actions else None


def unknown_function(name: str, space: ActionSpace | None) -> ActionError:
    """The error of a name that stands for nothing; it lists what there is in the space."""
    if space is None:
        return ActionError(f"a function must be one of the action space; got {name[:80]!r}")
    names = [*space.actions, *(function.name for function in space.functions)]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ActionError(f"a function must be one of {', '.join(names[:_MOST_NAMES])}{more}; got {name[:80]!r}")


def tool_call(function: Function, written: Mapping[str, Any], positional: Sequence[str] = ()) -> ToolCall:
    """The call of a function with what was written for its parameters.

    Args:
      written: values by name, as text, `Bare` text or JSON.
      positional: values without a name; one at most, of a function that has or needs but one parameter.

    Raises:
      MissingArgument, BadArgument: the function takes something else. The message names function and parameter.
    """
    try:
        return _tool_call(function, written, positional)
    except ActionError:
        raise
    except RecursionError:
        raise BadArgument(f"{function.name}: the arguments must not be nested so deeply") from None
    except Exception as error:  # a schema of others makes jsonschema and what it stands on raise what they like
        raise BadArgument(f"{function.name}: its schema cannot be applied to the arguments: {error!r:.200}") from error


def written_value(value: Any, schema: Any, root: Mapping[str, Any]) -> str:
    """A JSON value as `Bare` text that is read as the same value under its schema: text as it is, where it may be."""
    if isinstance(value, str) and "string" in kinds_of(schema, root):
        read = _typed(Bare(value), schema, root)
        if isinstance(read, str) and read == value:
            return value
    return to_json(value)


def parameter_schema(function: Function, name: str) -> Any:
    """The schema of one parameter, or None if there is no such parameter."""
    schema = function.parameters
    if name in schema.get("properties", {}):
        return schema["properties"][name]
    for pattern, each in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            return each
    if name in schema.get("required", ()):
        return schema.get("additionalProperties", True)
    return schema.get("additionalProperties", False) or None


def _tool_call(function: Function, written: Mapping[str, Any], positional: Sequence[str]) -> ToolCall:
    root = function.parameters
    arguments: dict[str, Any] = {}
    for name, value in [*_named(function, positional), *written.items()]:
        parameter = _parameter(function, name)
        if parameter in arguments:
            raise BadArgument(f"{function.name}: {parameter} is given twice")
        arguments[parameter] = _typed(value, parameter_schema(function, parameter), root)
    missing = [name for name in root.get("required", ()) if name not in arguments]
    if missing:
        kind = describe_schema(parameter_schema(function, missing[0]), root)
        raise MissingArgument(f"{function.name}: {missing[0]} is missing; it must be {kind}")
    call = ToolCall(function.name, arguments)
    errors = list(validator_of(dict(root), root).iter_errors(dict(call.parameters)))
    if errors:
        raise _bad_argument(function, max(errors, key=jsonschema.exceptions.relevance), arguments)
    return call


def _named(function: Function, positional: Sequence[str]) -> list[tuple[str, str]]:
    """A value without a name as that of the only parameter that there is or that is needed."""
    if not positional:
        return []
    names, required = list(function.parameters.get("properties", ())), list(function.parameters.get("required", ()))
    only = names if len(names) == 1 else required
    if len(only) != 1 or len(positional) > 1:
        raise BadArgument(f"{function.name}: arguments must have a name, name='value'; got {positional[0][:80]!r}")
    return [(only[0], positional[0])]


def _parameter(function: Function, written: str) -> str:
    if parameter_schema(function, written) is not None:
        return written
    names = list(dict.fromkeys([*function.parameters.get("properties", ()), *function.parameters.get("required", ())]))
    alike = [name for name in names if fold(name) == fold(written)]
    if len(alike) == 1:
        return alike[0]
    known = ", ".join(names[:_MOST_NAMES]) or "none"
    raise BadArgument(f"{function.name}: a parameter must be one of {known}; got {written[:80]!r}")


def _typed(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    """A written value as JSON of the schema's kind where it can be read so; else as it is, for the schema to refuse."""
    if not isinstance(value, str):
        return value
    kinds = kinds_of(schema, root)
    text = str(value)
    if "string" not in kinds:
        return _read(text, kinds)
    if kinds == {"string"}:
        return _choice(text, resolved(schema, root))
    if not isinstance(value, Bare):
        return text
    try:
        read = read_json(text)
    except ValueError:
        return text
    return read if kind_of(read) in kinds and validator_of(schema, root).is_valid(read) else text


def _read(text: str, kinds: frozenset[str]) -> Any:
    """JSON, or a number or a word of Python in whatever quotes and width it is written."""
    word = plain(text)
    for written in (text, word):
        with contextlib.suppress(ValueError):
            read = read_json(written)
            if written is text or not isinstance(read, list | dict):
                return read
    known = _PYTHON.get(word.lower(), text)
    return known if kind_of(known) in kinds else text


def _choice(text: str, schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum", ())
    return plain(text) if text not in choices and plain(text) in choices else text


def validator_of(schema: Any, root: Mapping[str, Any]) -> Any:
    """Validator of a part of the schema `root`, whose references lead into the whole of it."""
    return jsonschema.validators.validator_for(root, default=jsonschema.Draft202012Validator)(root).evolve(
        schema=schema
    )


def _bad_argument(function: Function, error: jsonschema.ValidationError, arguments: Mapping[str, Any]) -> ActionError:
    where = error.json_path.removeprefix("$").removeprefix(".")
    place = f"{function.name}: {where}" if where else function.name
    if where and error.validator == "required":
        required: Any = error.validator_value
        instance: Any = error.instance
        missing = next(name for name in required if name not in instance)
        return MissingArgument(f"{place}.{missing} is missing")
    if not where or not is_fully_described(error.schema, function.parameters):
        return BadArgument(f"{place} must fit its schema; {error.message[:200]}")
    given, kinds = error.instance, kinds_of(error.schema, function.parameters)
    form = ", written as JSON" if isinstance(given, str) and kinds <= {"array", "object"} else ""
    got = to_json(given) if len(error.path) > 1 or not isinstance(given, str) else repr(given)
    return BadArgument(f"{place} must be {describe_schema(error.schema, function.parameters)}{form}; got {got[:80]}")


def _check_parameters(function: Function) -> None:
    schema = function.parameters
    place = f"function {function.name}: parameters"
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise InputError(f"{place} must be a JSON schema of type object; got {schema!r:.80}")
    try:
        to_json(schema)
        jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator).check_schema(dict(schema))
        for part in _parts(schema):
            resolved(part, schema)
    except (jsonschema.SchemaError, RecursionError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, jsonschema.SchemaError) else str(error)
        raise InputError(f"{place} must be a JSON schema; got {schema!r:.80}: {message[:200]}") from error
    for name in [*schema.get("properties", ()), *schema.get("required", ())]:
        if not re.fullmatch(NAME_PATTERN, name):
            raise InputError(f"{place} must have names of letters, digits and . _ -; got {name[:80]!r}")


def _parts(schema: Any) -> list[Any]:
    """A schema's parts that hold a reference."""
    if isinstance(schema, Mapping):
        own = [schema] if isinstance(schema.get("$ref"), str) else []
        return own + [part for each in schema.values() for part in _parts(each)]
    return [part for each in schema for part in _parts(each)] if isinstance(schema, list | tuple) else []
