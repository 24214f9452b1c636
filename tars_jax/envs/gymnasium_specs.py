"""Facts about a gymnasium environment before it is played: its registration, its limit, its maker."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from tars_jax import InputError

UNLIMITED_STEPS = 100  # the step budget for what has no limit
OWN_OPTIONS = ("size", "text", "action_names", "success_return", "instruction")  # of the adapter, not of the class
# What registers the ids of a namespace, and how it is installed.
_PACKAGES = {"ALE": ("ale_py", "gymnasium[atari]")}
# Attributes of classes that end an episode themselves.
_LIMITS = ("max_episode_steps", "_max_episode_steps", "max_steps")


def find_spec(id: str) -> EnvSpec:
    """Raises InputError for an unknown id, or where the package that registers it is not installed."""
    namespace = id.rpartition(":")[2].rpartition("/")[0]
    if namespace in _PACKAGES and importlib.util.find_spec(_PACKAGES[namespace][0]):
        importlib.import_module(_PACKAGES[namespace][0])
    try:
        module, _, name = id.rpartition(":")
        if module:
            importlib.import_module(module)
        return gymnasium.spec(name)
    except (ImportError, gymnasium.error.Error) as error:
        raise spec_error(id, error) from error


def check_options(id: str, options: Mapping[str, Any]) -> None:
    """Raises InputError for an unknown id, and for an option of the adapter that cannot be.

    Others are `gymnasium.make`'s, which says of them when the environment is made.
    """
    find_spec(id)

    def must(name: str, what: str, holds: bool) -> None:
        if options.get(name) is not None and not holds:
            raise InputError(f"gymnasium:{id}: option {name} must be {what}; got {options[name]!r:.80}")

    size, names, least = (options.get(name) for name in ("size", "action_names", "success_return"))
    sides = [size] if isinstance(size, int) else size
    whole = isinstance(sides, Sequence) and all(type(side) is int and side > 0 for side in sides)
    must("size", "a number of pixels, or [width, height]", whole and (type(size) is int or len(sides or ()) == 2))
    must("text", "true or false", type(options.get("text")) is bool)
    texts = isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(name, str) for name in names)
    must("action_names", "different names", texts and len(set(names or ())) == len(names or ()))
    number = isinstance(least, int | float) and not isinstance(least, bool) and math.isfinite(least)
    must("success_return", "a finite number", number)
    must("instruction", "a text", isinstance(options.get("instruction"), str))


def episode_steps(id: str, options: Mapping[str, Any]) -> int:
    """The agent's step budget: the limit of an episode, or ours where it has none."""
    return episode_limit(id, options) or UNLIMITED_STEPS


def episode_limit(id: str, options: Mapping[str, Any]) -> int | None:
    """The step limit of episodes, by options, registration, or the environment that is made; None: there is none."""
    given = options.get("max_episode_steps")
    limit = given if given is not None else find_spec(id).max_episode_steps
    if limit is None or limit < 0:  # gymnasium's word for none
        made_with = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
        limit = _limit_of_made(id, json.dumps({**made_with, "render_mode": None}))
    return int(limit) if limit else None


def success_return(id: str, options: Mapping[str, Any]) -> float | None:
    """The least return of a success, by its options or its registration; None where nobody has said one."""
    given = options.get("success_return")
    return find_spec(id).reward_threshold if given is None else given


@functools.lru_cache(maxsize=64)
def _limit_of_made(id: str, make_kwargs: str) -> int | None:
    env = make_env(id, find_spec(id), json.loads(make_kwargs))
    try:
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, gymnasium.wrappers.TimeLimit):
                return env._max_episode_steps
            env = env.env
        limits = (getattr(env, name, None) for name in _LIMITS)
        return next((limit for limit in limits if type(limit) is int and limit > 0), None)
    finally:
        env.close()


def make_env(id: str, spec: EnvSpec, make_kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """A class need not have heard of a render_mode of None."""
    kwargs = {name: value for name, value in make_kwargs.items() if name != "render_mode" or value is not None}
    try:
        return gymnasium.make(spec, **kwargs)
    except (ImportError, gymnasium.error.Error, TypeError, ValueError) as error:
        raise spec_error(id, error) from error


def renders(id: str, spec: EnvSpec) -> bool:
    try:
        made_by = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    except (ImportError, gymnasium.error.Error) as error:
        raise spec_error(id, error) from error
    return "rgb_array" in (getattr(made_by, "metadata", {}).get("render_modes") or ())


def spec_error(id: str, error: Exception) -> InputError:
    namespace = id.rpartition(":")[2].rpartition("/")[0]
    said = re.sub(r"\x1b\[[0-9;]*m", "", str(error)) or type(error).__name__
    if isinstance(error, gymnasium.error.NamespaceNotFound) and namespace in _PACKAGES:
        return InputError(
            f"gymnasium:{id} must have its package; install it with pip install {_PACKAGES[namespace][1]!r}"
        )
    if "pygame" in said:
        return InputError(
            f"gymnasium:{id} must have pygame to draw; install it with pip install 'tars_jax[gymnasium]', "
            "or do without screenshots by the option render_mode=null"
        )
    if isinstance(error, gymnasium.error.DependencyNotInstalled | ImportError):
        return InputError(f"gymnasium:{id} must have what it is made of installed; got {said}")
    return InputError(f"gymnasium:{id} must be an environment that gymnasium can make; got {said}")
