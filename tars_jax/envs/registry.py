"""Environments by name: the one place that knows what there is.

A name is, in this order: one that `register_environment` was given; a game or a benchmark's task of ours; gymnasium:ID;
package.module:attribute; an entry point of the group `tars_jax.environments` of any installed package.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tars_jax import InputError
from tars_jax.environment import Environment
from tars_jax.envs.composite import NAME as COMPOSITE
from tars_jax.envs.composite import composite_spec
from tars_jax.envs.harness import NAME as HARNESS
from tars_jax.envs.harness import Harness
from tars_jax.envs.harness_options import read_options
from tars_jax.envs.prompt_dataset import NAME as PROMPTS
from tars_jax.envs.prompt_dataset import prompts_spec
from tars_jax.envs.registration import register_with_gymnasium
from tars_jax.envs.spec import EnvironmentResources, EnvironmentSpec, spec_of
from tars_jax.plugins import Plugins
from tars_jax.tasks.benchmarks.benchmark import Benchmark
from tars_jax.tasks.benchmarks.catalog import BENCHMARKS, is_benchmark
from tars_jax.tasks.games.catalog import game_names
from tars_jax.tasks.library import COLLECTIONS, SUITES, load_playable, members, playable_names

__all__ = [
    "EnvironmentResources",
    "EnvironmentSpec",
    "environments_in",
    "installed_environments",
    "known_environments",
    "load_environment",
    "register_environment",
    "written_environments",
]

_PLUGINS = Plugins("environment", "tars_jax.environments")
_GYMNASIUM = "gymnasium:"
# Ours that are no pages, on the loop of their caller: computers and sites share one isolation, phones one server.
_CLASSES = {
    "computer": "tars_jax.envs.computer:ComputerEnvironment",
    "corridor": "tars_jax.envs.corridor:CorridorEnvironment",
    "browsing": "tars_jax.envs.browsing:BrowsingEnvironment",
    "openenv": "tars_jax.envs.openenv_client:OpenEnvEnvironment",
    "phone": "tars_jax.envs.phone:PhoneEnvironment",
    "website_app": "tars_jax.envs.website_app:WebsiteAppEnvironment",
    "lmgame/ace_attorney": "tars_jax.envs.ace_attorney:AceAttorney",
    "lmgame/super_mario_bros": "tars_jax.envs.retro_game:SuperMarioBros",
}
# By name, as the folders that these functions are in import files beside this one.
_BENCHMARK_SPEC = "tars_jax.envs.benchmarks.spec:benchmark_spec"
_FOREIGN = ("verifiers", "skyrl_gym")
_FOREIGN_SPEC = "tars_jax.envs.foreign.spec:foreign_spec"
_MOST_NAMES = 12  # that an error lists


_registered: dict[str, EnvironmentSpec] = {}


def register_environment(spec: EnvironmentSpec) -> None:
    """Makes an environment known in this process, to gymnasium too; other processes know entry points and
    package.module:attribute.

    Raises InputError where the name is another's.
    """
    if _registered.setdefault(spec.name, spec) is not spec:
        raise InputError(f"name of an environment must be new; got {spec.name!r}, which is registered")
    register_with_gymnasium(spec.name)


def load_environment(name: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    """The environment of that name.

    `options` are those of its tasks. A class, or a function that makes environments, is called with those among them
    that are its parameters (and with the `EnvironmentResources`, where it has a parameter `resources`); the others must
    be for `reset`, as its `check_options` says. Further attributes of it are the spec's: `max_steps` (a number or a
    function of the options), `reference_player`, `verification` (a function of the task), `time_limit`,
    `needs_browser` (a truth or a function of the options).

    Raises:
      InputError: there is no such environment, what it needs is not installed, or it does not take the options.
    """
    spec = _spec(name, options)
    spec.check_options(options)
    return spec


def environments_in(names: str) -> tuple[str, ...]:
    """The environments that a text names: one, several separated by commas, and all of a collection or benchmark.

    Raises InputError where one of them is named twice.
    """
    found = tuple(each for name in written_environments(names) for each in members(name))
    if twice := [name for name in found if found.count(name) > 1]:
        raise InputError(f"environment must name each environment once; got {twice[0]!r} twice in {names!r:.80}")
    return found


def written_environments(names: str) -> tuple[str, ...]:
    """Names of environments as they are written, a collection by its name."""
    return (names,) if Path(names, "game.json").is_file() else tuple(name.strip() for name in names.split(","))


def known_environments() -> tuple[str, ...]:
    """The names that need no colon."""
    ours = (each for collection in COLLECTIONS for each in playable_names(collection))
    return (
        *_registered,
        *ours,
        *_CLASSES,
        PROMPTS,
        HARNESS,
        COMPOSITE,
        *BENCHMARKS,
        *_FOREIGN,
        *installed_environments(),
    )


def installed_environments() -> tuple[str, ...]:
    """Environments of other packages, by their entry points."""
    return tuple(_PLUGINS.entry_points())


def _spec(name: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    if name in _registered:
        return _registered[name]
    if is_playable(name):
        return _playable_spec(name)
    if name in _CLASSES:
        return dataclasses.replace(spec_of(name, _PLUGINS.load(_CLASSES[name]), options), on_callers_loop=True)
    if name == PROMPTS:
        return prompts_spec(options)
    if name == HARNESS:
        return _harness_spec(options)
    if name == COMPOSITE:
        return composite_spec(options, load_environment)
    if name in _FOREIGN:
        return cast(EnvironmentSpec, _PLUGINS.load(_FOREIGN_SPEC)(name, options))
    if is_benchmark(name):
        return _benchmark_spec(name, options)
    if name.startswith(_GYMNASIUM):
        return _gymnasium_spec(name, options)
    if ":" in name or name in _PLUGINS.entry_points():
        found = _PLUGINS.load(name)
        return _benchmark_spec(name, options) if isinstance(found, Benchmark) else spec_of(name, found, options)
    raise InputError(_unknown(name))


# ---- ours


def is_playable(name: str) -> bool:
    """Whether it is a page: a game of ours or of a folder, or a task of a benchmark (`tasks/library.py`)."""
    collection, slash, _ = name.partition("/")
    if name in _CLASSES:
        return False
    return name in game_names() or (bool(slash) and collection in COLLECTIONS) or Path(name, "game.json").is_file()


@functools.cache
def _playable_spec(name: str) -> EnvironmentSpec:
    playable = load_playable(name)

    def make(resources: EnvironmentResources) -> Environment:
        from tars_jax.envs.browser_game import BrowserGame

        return cast(Environment, BrowserGame(resources.pages(playable.name)))

    try:
        reference = playable.reference
    except InputError:  # nobody wrote one
        reference = None
    return EnvironmentSpec(
        name=playable.name,
        make=make,
        needs_browser=True,
        check_options=playable.check_options,
        defaults={"level": 1} if "level" in getattr(playable, "options", ()) else {},
        default_max_steps=playable.steps_for,
        reference=reference,
        time_limit=math.inf,  # the browser bounds each of its calls, and a place in a shared one may be waited for
        on_callers_loop=True,
    )


def _harness_spec(options: Mapping[str, Any]) -> EnvironmentSpec:
    found, rows = read_options(options)

    def no_steps(resources: EnvironmentResources) -> Environment:
        raise InputError(
            f"{HARNESS} must be played by its own program, from its beginning to its end; got steps for it"
        )

    return EnvironmentSpec(
        name=HARNESS,
        make=no_steps,
        harness=lambda resources: Harness(found, rows, resources.sandbox),
        answered_by=found.reference,
        answered_in_words=True,
        default_max_steps=lambda options: found.answers,
        success_return=lambda options: found.success_reward,
        made_with=dict(options),
        levels=None if rows is None else rows.dealt,
    )


def _benchmark_spec(name: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    return cast(EnvironmentSpec, _PLUGINS.load(_BENCHMARK_SPEC)(name, options))


# ---- gymnasium's


def _gymnasium_spec(name: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    from tars_jax.envs.gymnasium_adapter import GymnasiumEnvironment
    from tars_jax.envs.gymnasium_specs import check_options, episode_limit, episode_steps, success_return

    id = name.removeprefix(_GYMNASIUM)
    return EnvironmentSpec(
        name=name,
        make=lambda resources: cast(Environment, GymnasiumEnvironment(id, **options)),
        check_options=functools.partial(check_options, id),
        default_max_steps=functools.partial(episode_steps, id),
        says_max_steps=episode_limit(id, options) is not None,
        success_return=functools.partial(success_return, id),
        made_with=options,
    )


# ---- what was meant


def _unknown(name: str) -> str:
    known = known_environments()
    guess = difflib.get_close_matches(name, known, 1)
    listed = ", ".join(known[:_MOST_NAMES]) + (f" and {len(known) - _MOST_NAMES} more" if known[_MOST_NAMES:] else "")
    return (
        f"environment must be one of {listed}, the folder of a game.json, gymnasium:ID, package.module:attribute, an "
        f"entry point of {_PLUGINS.group}, or the benchmark {', '.join(SUITES)}; got {name!r}"
        + (f" (did you mean {guess[0]!r}?)" if guess else "")
    )
