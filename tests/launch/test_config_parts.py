"""Whatever a config says is taken by its experiment, and what an experiment reads is in its config.

By the source alone: which fields are read by name, which sections become which class. Starting an experiment would show
it, too, minutes later (tests/launch/test_commands_start.py).
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_collections
import pytest

from tars_jax import InputError
from tars_jax.inference.config import EngineConfig
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names
from tars_jax.pipelines.config import flatten, load_config

EXPERIMENTS = experiment_names(ROOT)
READERS = ("experiments", "tars_jax.pipelines")  # what is handed a whole config
BY_COMMAND = {"seed", "run", "recipe"}  # fields of tars_jax/pipelines/command.py
# What opens pages, computers or phones where it is told that they are; and parts of a run that nobody opens alone.
OPENERS = {
    "Rollouts", "RunContext", "play_suite", "EnvironmentResources", "RegisteredEpisode", "BrowserManager", "Websites",
    "Computers", "ContainedComputers", "EquippedComputer",
}  # fmt: skip
PARTS_OF_A_RUN = {f"tars_jax.pipelines.{name}" for name in ("run_context", "probing", "harness", "fleet", "suite_play")}
# Whose sandboxes are this machine's: it serves them to others, or they are websites' applications (docs/computer.md).
OF_THIS_MACHINE = {"sandbox_service", "synthesize_websites"}
# Which its game.json names; and games, by their names in the config.
OPTIONS_OF_A_GAME = {"merge_games": "games.", "scoreboard": "starts.", "ablations": "starts."}


@functools.cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(file_of(module).read_text("utf-8"))


def file_of(module: str) -> Path:
    place = ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


@functools.cache
def reached(module: str) -> frozenset[str]:
    """The module, and those of the readers that it imports or starts, and these in turn."""
    found, waiting = {module}, [module]
    while waiting:
        new = {name for name in imported(waiting.pop()) if name.startswith(READERS)} - found
        found |= new
        waiting += new
    return frozenset(found)


@functools.cache
def imported(module: str) -> frozenset[str]:
    """Modules of ours that a module imports, or whose name it holds, as that of a process which it starts."""
    names: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+(\.\w+)+", node.value)
        ):
            names.add(node.value)
    return frozenset(
        name for name in names if name.startswith(("experiments.", "tars_jax.")) and file_of(name).exists()
    )


@functools.cache
def classes_of(module: str) -> dict[str, type[Any]]:
    """The dataclasses that a module knows by a name."""
    known = vars(importlib.import_module(module))
    return {name: value for name, value in known.items() if isinstance(value, type) and dataclasses.is_dataclass(value)}


@functools.cache
def made_by(module: str) -> frozenset[str]:
    """Names that it calls, or a method of which."""
    called = [node.func for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call)]
    roots = [each.value if isinstance(each, ast.Attribute) else each for each in called]
    return frozenset(each.id for each in roots if isinstance(each, ast.Name))


@functools.cache
def taken_by(module: str) -> frozenset[str]:
    """Names that a module reads, as attributes, arguments or texts, and the fields of the classes that it makes."""
    nodes = list(ast.walk(tree_of(module)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    fields = {field.name for name, made in classes_of(module).items() if name in names
              for field in dataclasses.fields(made)}  # fmt: skip
    return frozenset(attributes | texts | arguments | fields)


def not_taken(config: ml_collections.ConfigDict, module: str) -> list[str]:
    """Fields of a config that nothing reads which the module reaches, nor, of a section that is handed on as a whole,
    what lies below."""
    inner = reached(module)
    below = inner.union(*map(imported, inner))
    below = below.union(*map(imported, below))
    near, far = (BY_COMMAND.union(*map(taken_by, modules)) for modules in (inner, below))
    whole = {section_of(node) for each in inner for node in ast.walk(tree_of(each))}
    missing = []
    for field in flatten(config):
        *places, name = field.split(".")
        if name not in (far if whole.intersection(places) else near):
            missing.append(field)
    return missing


def handed_over(module: str) -> Iterator[tuple[str, type[Any]]]:
    """(section, class) of each `Class(**SECTION.to_dict())`; one may have been given a name before."""
    for function in ast.walk(tree_of(module)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        named = {
            node.targets[0].id: section_of(node.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for value in (keyword.value for keyword in node.keywords if keyword.arg is None):
                    section = named.get(value.id, "") if isinstance(value, ast.Name) else section_of(value)
                    if section and node.func.id in classes_of(module):
                        yield section, classes_of(module)[node.func.id]


def section_of(node: ast.AST) -> str:
    """NAME of `a.b.NAME.to_dict()`; empty for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to_dict":
        place = node.func.value
        return place.attr if isinstance(place, ast.Attribute) else place.id if isinstance(place, ast.Name) else ""
    return ""


def sections(config: ml_collections.ConfigDict, name: str) -> Iterator[ml_collections.ConfigDict]:
    for key, value in config.items():
        if isinstance(value, ml_collections.ConfigDict):
            yield from [value] if key == name else sections(value, name)


def build(made: type[Any], section: ml_collections.ConfigDict) -> None:
    """Raises TypeError for a field that the class lacks, and what the class raises for a value. What is 0 or empty
    stands for what the experiment puts there; what the class needs besides comes from elsewhere."""
    fields = {field.name: field for field in dataclasses.fields(made)}
    if unknown := section.keys() - fields.keys():
        raise TypeError(f"{made.__name__} takes no {', '.join(sorted(unknown))}")
    given = {name: value for name, value in section.items() if value}
    needed = {name for name, field in fields.items()
              if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING}  # fmt: skip
    if needed <= given.keys():
        made(**given)


def not_there(config: ml_collections.ConfigDict, module: str) -> list[str]:
    """What a module's functions read of their argument `config` that it has not."""
    missing = []
    for function in ast.walk(tree_of(module)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = list(ast.walk(function))
        given = any(argument.arg == "config" for argument in function.args.args)
        names = [node for node in nodes if isinstance(node, ast.Name) and node.id == "config"]
        if given and not any(isinstance(name.ctx, ast.Store) for name in names):  # else it may be a section of it
            missing += [".".join(path) for node in nodes if (path := path_of(node)) and not has(config, path)]
    return sorted(set(missing))


def path_of(node: ast.AST) -> list[str]:
    """a, b of `config.a.b`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names if isinstance(node, ast.Name) and node.id == "config" else []


def has(config: Any, path: list[str]) -> bool:
    """What stands beyond a field is an attribute of its value."""
    for name in path:
        if not isinstance(config, ml_collections.ConfigDict):
            return True
        if name not in config:
            return hasattr(ml_collections.ConfigDict, name)
        config = config[name]
    return True


def default_of(name: str) -> ml_collections.ConfigDict:
    return load_config(name, [], root=ROOT, checked=False)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_config_and_its_experiment_know_the_same_fields(name: str) -> None:
    module, config = f"experiments.{name}", default_of(name)
    options = OPTIONS_OF_A_GAME.get(name, "-")
    assert [field for field in not_taken(config, module) if not field.startswith(options)] == []
    assert not_there(config, module) == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_sections_become_what_they_are_for(name: str) -> None:
    config = default_of(name)
    for module in reached(f"experiments.{name}"):
        for section, made in handed_over(module):
            for found in sections(config, section):
                build(made, found)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_whoever_opens_sandboxes_is_told_where_they_are(name: str) -> None:
    config, usual = default_of(name), default_of("train")
    modules = reached(f"experiments.{name}") - PARTS_OF_A_RUN
    opened = OPENERS.intersection(frozenset().union(*map(made_by, modules)))
    assert bool(opened and name not in OF_THIS_MACHINE) == ("sandbox" in config), opened
    if "sandbox" in config:
        assert config.sandbox == usual.sandbox and set(config.get("browser", {})) <= set(usual.browser)


def test_a_field_that_nothing_takes_is_found() -> None:
    """As `serve` once had one: `alternatives`, which the engine calls top_logprobs."""
    config = default_of("serve")
    with config.unlocked():
        config.engine.alternatives = 20
        config.server.max_reqests = 3
    with pytest.raises(TypeError, match="EngineConfig takes no alternatives"):
        build(EngineConfig, config.engine)
    assert ("engine", EngineConfig) in list(handed_over("experiments.serve"))
    assert "server.max_reqests" in not_taken(config, "experiments.serve")
    del config.unlock().engine.weights
    assert not_there(config, "experiments.serve") == ["engine.weights"]


def test_a_value_that_a_part_does_not_take_is_found() -> None:
    config = default_of("serve")
    with config.unlocked():
        config.engine.slots = -1
    with pytest.raises(InputError, match="slots must be a value of at least 1; got -1"):
        build(EngineConfig, config.engine)
