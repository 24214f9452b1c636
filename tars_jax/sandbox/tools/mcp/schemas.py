"""Schemas of tools of others whose parameters have names that no policy can write, such as $filter or 城市.

Such a name gets another one wherever the schema speaks of the arguments themselves; what is inside of one stays. A
regular expression that may take long is left to the tool: one of theirs would hold whoever applies it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from tars_jax import InputError
from tars_jax.sandbox.tools.names import folded, free_name

LARGEST_SCHEMA = 1 << 16  # characters of its JSON
WRITABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_LISTS, _SCHEMAS = ("allOf", "anyOf", "oneOf"), ("not", "if", "then", "else")  # that are of the same arguments
_QUICK = re.compile(r"\^[^()|*+?{]*(?:[*+?]|\{[0-9,]*\})?[^()|*+?{]*")  # one repetition, from the beginning on
_NAMED, _VALUES = ("properties", "patternProperties", "$defs", "definitions"), ("enum", "const", "default", "examples")
_BY_NAME = ("properties", "dependentRequired", "dependentSchemas", "dependencies")


def writable(schema: Mapping[str, Any], place: str) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The schema with names that can be written, and the tool's own names by those.

    Raises InputError, which begins with `place`, for a schema that is none of an object, too large, or one that speaks
    of such names by references or patterns.
    """
    schema = {"type": "object", "properties": {}, **schema}
    properties, required = schema["properties"], schema.get("required", ())
    if schema["type"] != "object" or not isinstance(properties, dict) or not isinstance(required, list | tuple):
        raise InputError(f"{place} must be one of an object; got {schema!r:.80}")
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        raise InputError(f"{place} must have at most {LARGEST_SCHEMA:,} characters; got more")
    schema = _quick(schema)
    names = [name for name in dict.fromkeys((*properties, *required)) if isinstance(name, str)]
    odd = [name for name in names if not WRITABLE.fullmatch(name)]
    if not odd:
        return schema, {}
    taken, ours = {folded(name) for name in names if name not in odd}, dict[str, str]()
    for name in odd:
        bare = re.sub(r"[^A-Za-z0-9_.-]", "", name)
        ours[name] = free_name(bare or "parameter", "parameter", taken)
        taken.add(folded(ours[name]))
    if "propertyNames" in schema or _refers(schema):
        raise InputError(f"{place} must have names of letters, digits and . _ -; got {odd[0]!r:.80}")
    renamed = _renamed(_redirected(schema, ours), lambda name: ours.get(name, name))
    for name in odd:
        if isinstance(about := renamed["properties"].get(ours[name]), dict):
            about["description"] = f"{name}: {about.get('description', '')}".rstrip(": ")
    return renamed, {new: name for name, new in ours.items()}


def _quick(schema: Any) -> Any:
    """Without expressions that may take long, and without what means another thing where they are missing."""
    if isinstance(schema, list | tuple):
        return [_quick(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    new = {key: value if key in _VALUES else _quick(value) for key, value in schema.items()}
    for key in _NAMED:
        if isinstance(named := schema.get(key), Mapping):
            new[key] = {name: _quick(each) for name, each in named.items()}
    if isinstance(pattern := new.get("pattern"), str) and not _QUICK.fullmatch(pattern):
        del new["pattern"]
        new["description"] = f"{new.get('description', '')} (matches {pattern})".lstrip()
    without = [key for key in ("not", "if") if new.get(key) != schema.get(key)]
    if not all(map(_QUICK.fullmatch, new.get("patternProperties", ()))):
        without += ["patternProperties", "additionalProperties", "unevaluatedProperties"]
    if "oneOf" in new and new["oneOf"] != schema["oneOf"]:
        new.setdefault("anyOf", new.pop("oneOf"))
    return {key: value for key, value in new.items() if key not in without}


def _same(schema: Any) -> list[Any]:
    """Parts of a schema that are of the same value."""
    return [each for key in _LISTS for each in schema.get(key, ())] + [schema[key] for key in _SCHEMAS if key in schema]


def _refers(schema: Any) -> bool:
    return isinstance(schema, Mapping) and ("$ref" in schema or any(map(_refers, _same(schema))))


def _renamed(schema: Any, name: Callable[[str], str]) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    new = dict(schema)
    for key in _BY_NAME:
        if isinstance(schema.get(key), Mapping):
            new[key] = {name(each): value for each, value in schema[key].items()}
            if key != "properties":
                new[key] = {
                    each: [name(other) for other in value] if isinstance(value, list) else _renamed(value, name)
                    for each, value in new[key].items()
                }
    if "required" in schema:
        new["required"] = [name(each) for each in schema["required"]]
    new.update({key: [_renamed(each, name) for each in schema[key]] for key in _LISTS if key in schema})
    new.update({key: _renamed(schema[key], name) for key in _SCHEMAS if key in schema})
    return new


def _redirected(schema: Any, ours: Mapping[str, str]) -> Any:
    """A copy in which references to parameters lead to their new names."""
    if isinstance(schema, list | tuple):
        return [_redirected(each, ours) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    new = {key: _redirected(value, ours) for key, value in schema.items()}
    if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#/properties/"):
        first, slash, rest = reference.removeprefix("#/properties/").partition("/")
        name = unquote(first).replace("~1", "/").replace("~0", "~")
        new["$ref"] = f"#/properties/{quote(ours[name])}{slash}{rest}" if name in ours else reference
    return new
