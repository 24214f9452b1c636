"""Anybody's gymnasium environment as an environment: rendered frames are its screenshots, its actions one function."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from PIL import Image

from tars_jax import InputError
from tars_jax.agent.actions import CallUser, Finished
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.gymnasium_spaces import ActFunction, is_readable, plain, written

UNLIMITED_STEPS = 100  # the step budget for what gymnasium sets no limit to
_SEEDS = 2**32  # what generators of numpy's older kind take; even seeds stay even
# What registers the ids of a namespace, and how it is installed.
_PACKAGES = {"ALE": ("ale_py", "gymnasium[atari]")}
_HIGHLIGHT = re.compile(r"(?:\x1b\[[0-9;]*m)+([^\x1b]*)(?:\x1b\[0m)+")  # how text renderings mark a place
_OWN_OPTIONS = ("size", "text", "action_names", "success_return", "instruction")


class GymnasiumEnvironment:
    """`gymnasium.make(id, **make_kwargs)`, played by calls of a function `act`.

    A screenshot is the rendered frame, where there is a rendering as rgb_array. Rewards are summed over the calls of a
    turn. `success` is that the episode's return has reached what the environment calls solved, or `success_return`;
    a return of 0 or less counts when the episode has ended, as it can only fall until then.

    Args:
      id: of gymnasium; MODULE:ID imports the module that registers it first.
      size: of screenshots, in pixels: a number for a square, or [width, height]; None: as rendered.
      text: whether observations are also written as text; None: where there are no screenshots. The space must be
        small: a number, up to 32 of them, a text, or a tuple or dictionary of such.
      action_names: of a discrete space, in its order; `act` takes one of them then.
      success_return: the least return of a success; None: the environment's `reward_threshold`.
      instruction: what to do; empty: the task's.
      make_kwargs: go to `gymnasium.make`; render_mode=None does without screenshots, render_mode="ansi" makes text.

    Raises InputError for an unknown id, a package that is not installed, options and spaces that it cannot have.
    """

    def __init__(
        self,
        id: str,
        *,
        size: int | Sequence[int] | None = None,
        text: bool | None = None,
        action_names: Sequence[str] | None = None,
        success_return: float | None = None,
        instruction: str = "",
        **make_kwargs: Any,
    ) -> None:
        spec = find_spec(id)
        own = (size, text, action_names, success_return, instruction)
        check_options(id, dict(zip(_OWN_OPTIONS, own, strict=True)))
        render_mode = make_kwargs.pop("render_mode", "rgb_array" if _renders(id, spec) else None)
        rendering = {} if render_mode is None else {"render_mode": render_mode}  # not every class has heard of it
        try:
            self._env = gymnasium.make(spec, **rendering, **make_kwargs)
        except (ImportError, gymnasium.error.Error, TypeError, ValueError) as error:
            raise _refused(id, error) from error
        self._id, self._size = id, (size, size) if isinstance(size, int) else size
        space, self._renders = self._env.observation_space, render_mode is not None
        if text and not is_readable(space):
            raise InputError(
                f"gymnasium:{id}: option text must be false where observations are large; got true for {space}"
            )
        self._text = is_readable(space) if text is None and render_mode != "rgb_array" else bool(text)
        if not (self._text or self._renders):
            raise InputError(
                f"gymnasium:{id} must have a rendering as rgb_array, or small observations; got {space} alone"
            )
        self._act = ActFunction(f"gymnasium:{id}", self._env.action_space, action_names)
        self._threshold = spec.reward_threshold if success_return is None else success_return
        self._own_instruction, self._instruction = instruction, instruction
        self._return = 0.0
        self._last: tuple[Any, Mapping[str, Any]] = (None, {})  # what gymnasium gave at last, and its info

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("game", functions=(self._act.function,))

    @property
    def instruction(self) -> str:
        return self._instruction

    def reset(self, task: Task) -> Observation:
        """Raises InputError where a package that draws is not installed."""
        self._return = 0.0
        self._instruction = self._own_instruction or task.instruction or f"Play {self._id.rpartition(':')[2]}."
        try:
            self._last = self._env.reset(seed=task.seed % _SEEDS)
            return self._observation()
        except gymnasium.error.DependencyNotInstalled as error:
            raise _refused(self._id, error) from error

    def step(self, actions: Sequence[Any]) -> Transition:
        """A call that the space has no action for changes nothing, and the next observation says why."""
        reward, terminated, truncated, remarks = 0.0, False, False, list[str]()
        for action in actions:
            if isinstance(action, Finished | CallUser):
                terminated = True
            else:
                try:
                    sample = self._act.sample(action)
                except InputError as error:
                    remarks.append(str(error))
                    continue
                seen, gain, terminated, truncated, info = self._env.step(sample)
                self._last, reward = (seen, info), reward + float(gain)
            if terminated or truncated:
                break
        self._return += reward
        success = self._success(bool(terminated or truncated))
        return Transition(self._observation(remarks), reward, bool(terminated), bool(truncated), success)

    def close(self) -> None:
        self._env.close()

    def _success(self, ended: bool) -> bool | None:
        if self._threshold is None:
            return None
        return bool(self._return >= self._threshold) and (ended or self._threshold > 0)

    def _observation(self, remarks: Sequence[str] = ()) -> Observation:
        seen, info = self._last
        lines = [*remarks, *([written(self._env.observation_space, seen)] if self._text else [])]
        frame = self._env.render() if self._renders else None
        if isinstance(frame, str):
            lines.append(_HIGHLIGHT.sub(r"[\1]", frame).strip("\n"))
        text = "\n".join(lines)
        about = {"state": {"observation": plain(seen), "info": plain(info)}, "return": self._return}
        if isinstance(frame, np.ndarray):
            return Observation.from_pixels(self._resized(frame), text, about)
        return Observation(text=text, info=about)

    def _resized(self, frame: np.ndarray) -> np.ndarray:
        if self._size is None or (frame.shape[1], frame.shape[0]) == tuple(self._size):
            return frame
        width, height = self._size
        return np.asarray(Image.fromarray(frame).resize((width, height), Image.Resampling.BOX))


def find_spec(id: str) -> gymnasium.envs.registration.EnvSpec:
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
        raise _refused(id, error) from error


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
    """The limit of an episode, by its own options or its registration."""
    return int(options.get("max_episode_steps") or find_spec(id).max_episode_steps or UNLIMITED_STEPS)


def success_return(id: str, options: Mapping[str, Any]) -> float | None:
    """The least return of a success, by its own options or its registration."""
    asked: float | None = options.get("success_return")
    return find_spec(id).reward_threshold if asked is None else asked


def _renders(id: str, spec: gymnasium.envs.registration.EnvSpec) -> bool:
    try:
        made_by = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    except (ImportError, gymnasium.error.Error) as error:
        raise _refused(id, error) from error
    return "rgb_array" in (getattr(made_by, "metadata", {}).get("render_modes") or ())


def _refused(id: str, error: Exception) -> InputError:
    namespace = id.rpartition(":")[2].rpartition("/")[0]
    said = re.sub(r"\x1b\[[0-9;]*m", "", str(error)) or type(error).__name__
    if isinstance(error, gymnasium.error.NamespaceNotFound) and namespace in _PACKAGES:
        return InputError(
            f"gymnasium:{id} must have its package; install it with pip install {_PACKAGES[namespace][1]!r}"
        )
    if "pygame" in said:
        return InputError(
            f"gymnasium:{id} must have pygame to draw; install it with pip install 'tars_jax[gymnasium]', "
            "or do without screenshots by the options render_mode=null and text=true"
        )
    if isinstance(error, gymnasium.error.DependencyNotInstalled | ImportError):
        return InputError(f"gymnasium:{id} must have what it is made of installed; got {said}")
    return InputError(f"gymnasium:{id} must be an environment that gymnasium can make; got {said}")
