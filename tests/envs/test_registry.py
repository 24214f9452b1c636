"""Environments by name: ours, gymnasium's, anybody's by module and by entry point, and what an unknown name is told."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import math
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Environment, Function, Observation, Task, Transition
from tars_jax.envs import BrowserGame
from tars_jax.envs.registry import (
    EnvironmentResources,
    EnvironmentSpec,
    known_environments,
    load_environment,
    register_environment,
)
from tars_jax.sandbox.browser import OpensPages
from tars_jax.tasks.games.catalog import game_names, load_game

HERE = __name__
NOTHING = EnvironmentResources()
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"


class Bare:
    """What the contract asks for, and nothing else."""

    action_space = ActionSpace("tools", functions=(Function("go"),))
    instruction = "Go."

    def reset(self, task: Task) -> Observation:
        return Observation(text="here")

    def step(self, actions: Sequence[Any]) -> Transition:
        return Transition(Observation(text="there"), 1.0, terminated=True)

    def close(self) -> None:
        pass


class Rich(Bare):
    """Says all that a spec can hold."""

    time_limit = 3.5
    needs_browser = True

    def __init__(self, resources: EnvironmentResources, depth: int = 1) -> None:
        self.pages, self.depth = resources.pages("Rich"), depth

    @staticmethod
    def max_steps(options: Mapping[str, Any]) -> int:
        return 2 * int(options.get("depth", 1))

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: Any, skill: float = 1.0) -> Any:
        return "move"

    @staticmethod
    def check_options(options: Mapping[str, Any]) -> None:
        if options.get("depth") == 0:
            raise InputError("depth must be 1 or more; got 0")


class Holder:
    Inner = Bare


def made_by_a_function(depth: int, *, width: int = 3) -> Bare:
    environment = Bare()
    environment.instruction = f"{depth} {width}"
    return environment


def takes_anything(**options: Any) -> Bare:
    environment = Bare()
    environment.instruction = repr(options)
    return environment


def makes_nothing() -> None:
    return None


SPEC = EnvironmentSpec("a_spec", lambda resources: cast(Environment, Bare()))


class Half:
    def reset(self, task: Task) -> Observation:
        return Observation(text="x")


def made(name: str, options: Mapping[str, Any] | None = None, resources: EnvironmentResources = NOTHING) -> Any:
    return load_environment(name, options or {}).make(resources)


def pages() -> OpensPages:
    return cast(OpensPages, object())


def test_a_class_of_ones_own() -> None:
    spec = load_environment(f"{HERE}:Bare", {})
    assert isinstance(spec.make(NOTHING), Bare)
    assert (spec.time_limit, spec.needs_browser, spec.reference, spec.default_max_steps({})) == (60, False, None, 16)
    assert isinstance(made(f"{HERE}:Holder.Inner"), Bare)


def test_what_a_class_says_becomes_the_specs() -> None:
    spec = load_environment(f"{HERE}:Rich", {"depth": 4, "for_reset": 1})
    assert spec.reference is Rich.reference_player and spec.time_limit == 3.5 and spec.needs_browser
    assert spec.default_max_steps({"depth": 4}) == 8 and spec.made_with == {"depth": 4}
    environment = cast(Any, spec.make(EnvironmentResources(pages)))
    assert environment.depth == 4 and environment.pages
    with pytest.raises(InputError, match="depth must be 1 or more"):
        load_environment(f"{HERE}:Rich", {"depth": 0})
    with pytest.raises(InputError, match="Rich must be run where there are browsers"):
        spec.make(NOTHING)


def test_options_are_the_arguments_of_whoever_makes_it() -> None:
    assert made(f"{HERE}:made_by_a_function", {"depth": 5, "width": 1}).instruction == "5 1"
    assert made(f"{HERE}:takes_anything", {"a": 1}).instruction == "{'a': 1}"
    with pytest.raises(InputError, match="an option must be one of depth, width; got 'height'"):
        load_environment(f"{HERE}:made_by_a_function", {"depth": 5, "height": 1})
    with pytest.raises(InputError, match="an option must be left out, as it has none; got 'height'"):
        load_environment(f"{HERE}:Bare", {"height": 1})
    with pytest.raises(InputError, match="missing a required argument: 'depth'"):
        made(f"{HERE}:made_by_a_function")
    with pytest.raises(InputError, match="rounds must be 1 to 4; got 9"):
        made(ECHO, {"rounds": 9})


def test_a_spec_is_taken_as_it_is() -> None:
    assert load_environment(f"{HERE}:SPEC", {}) is SPEC


def test_the_guard_has_the_specs_name_and_limit() -> None:
    async def play() -> Transition:
        environment = load_environment(f"{HERE}:Bare", {}).checked(NOTHING)
        await environment.reset(Task("t", "x", 0, {}, 1))
        with pytest.raises(InputError, match=f"step of {HERE}:Bare must follow a reset"):
            await environment.step([])
            await environment.step([])
        await environment.close()
        return await environment_step(environment)

    async def environment_step(environment: Any) -> Transition:
        await environment.reset(Task("t", "x", 0, {}, 1))
        transition = await environment.step([])
        await environment.close()
        return cast(Transition, transition)

    assert asyncio.run(play()).reward == 1.0


def test_a_registered_name() -> None:
    register_environment(SPEC)
    register_environment(SPEC)  # by a module that is imported twice
    assert load_environment("a_spec", {}) is SPEC and "a_spec" in known_environments()
    with pytest.raises(InputError, match="name of an environment must be new; got 'a_spec'"):
        register_environment(dataclasses.replace(SPEC, time_limit=1.0))
    assert load_environment("a_spec", {}) is SPEC


@pytest.mark.parametrize("name", game_names())
def test_our_games(name: str) -> None:
    spec, game = load_environment(name, {"level": 1}), load_game(name)
    assert (spec.name, spec.needs_browser, spec.reference, spec.time_limit) == (name, True, game.reference, math.inf)
    assert spec.made_with == {}  # one page plays all levels
    assert [spec.default_max_steps({"level": level}) for level in (1, 2)] == [game.steps_of_level(n) for n in (1, 2)]
    assert isinstance(spec.make(EnvironmentResources(pages)), BrowserGame)
    with pytest.raises(InputError, match=f"{name} must be run where there are browsers"):
        spec.make(NOTHING)
    with pytest.raises(InputError, match="an option must be .*; got colour"):
        load_environment(name, {"colour": 1})


def test_the_folder_of_a_game_and_benchmarks() -> None:
    folder = load_game("infinity_loop").folder
    assert load_environment(str(folder), {}).name == "infinity_loop"
    assert load_environment("lmgame/tetris", {}).reference is not None
    assert load_environment("miniwob/click-button", {}).reference is None
    with pytest.raises(InputError, match="miniwob/no-such-task"):
        load_environment("miniwob/no-such-task", {})


def test_an_entry_point_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution as pip lays it out: a module, and a folder that says what it offers."""
    (tmp_path / "far_away.py").write_text(
        f"from {HERE} import SPEC\nfrom tars_jax.envs.examples.text_echo import TextEcho\n"
    )
    about = tmp_path / "far_away-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far-away\nVersion: 1.0\n")
    offers = ["far_echo = far_away:TextEcho", "far_spec = far_away:SPEC", "a_spec = far_away:TextEcho"]
    offers.append("far_gone = far_gone:Nothing")
    (about / "entry_points.txt").write_text("\n".join(["[tars_jax.environments]", *offers]))
    with pytest.raises(InputError, match="got 'far_echo'"):
        load_environment("far_echo", {})
    monkeypatch.syspath_prepend(tmp_path)
    spec = load_environment("far_echo", {"rounds": 3})
    assert (spec.name, spec.default_max_steps({}), spec.time_limit) == ("far_echo", 4, 10.0)
    assert type(spec.make(NOTHING)).__name__ == "TextEcho"
    assert load_environment("far_spec", {}).name == "a_spec"
    register_environment(SPEC)
    assert load_environment("a_spec", {}) is SPEC, "what is registered goes before what is installed"
    assert {"far_echo", "far_spec"} <= set(known_environments())
    with pytest.raises(InputError, match="did you mean 'far_echo'"):
        load_environment("far_ecko", {})
    with pytest.raises(InputError, match="'far_gone' must be a module that can be imported"):
        load_environment("far_gone", {})


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(InputError) as caught:
        load_environment("maze_path_of_lite", {})
    message = str(caught.value)
    assert "did you mean 'maze_path_of_light'" in message and "package.module:attribute" in message
    assert "emoji_sort_master" in message and "more" in message and len(message) < 600


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_package.x:Y", "must be a module that can be imported; got ModuleNotFoundError"),
        (":Y", "'' must be a module that can be imported"),
        (f"{HERE}:Bear", "'Bear' must be an attribute of .*; it has 'Bare'"),
        (f"{HERE}:HERE", "must be a class, a function that makes an environment, or an EnvironmentSpec; got .* str"),
        (f"{HERE}:Half", "must have step; got Half without it"),
    ],
)
def test_a_name_that_leads_nowhere(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_environment(name, {})


def test_a_function_that_makes_nothing() -> None:
    with pytest.raises(InputError, match="must have reset; got NoneType without it"):
        made(f"{HERE}:makes_nothing")


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"time_limit": 0}, "time_limit must be more than 0 seconds; got 0"),
        ({"time_limit": "long"}, "time_limit"),
        ({"max_steps": 0}, "max_steps must be a whole number of 1 or more; got 0"),
        ({"max_steps": 2.5}, "max_steps"),
    ],
)
def test_attributes_that_cannot_be(attributes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("made_up_environments")
    module.Made = type("Made", (Bare,), attributes)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert importlib.import_module(module.__name__) is module
    with pytest.raises(InputError, match=said):
        load_environment("made_up_environments:Made", {}).default_max_steps({})
