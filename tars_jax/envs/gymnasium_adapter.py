"""Anybody's gymnasium environment as an environment: its observations as text or pictures, its actions one function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.agent.actions import CallUser, Finished
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.gymnasium_actions import ActFunction
from tars_jax.envs.gymnasium_observations import is_readable, observation_json, observation_text, picture, shows_picture
from tars_jax.envs.gymnasium_specs import OWN_OPTIONS, check_options, find_spec, make_env, renders, spec_error

_SEEDS = 2**32  # what generators of numpy's older kind take; even seeds stay even
_HIGHLIGHT = re.compile(r"(?:\x1b\[[0-9;]*m)+([^\x1b]*)(?:\x1b\[0m)+")  # how text renderings mark a place
_SUCCESS_KEYS = ("is_success", "success")  # of info: of the Farama robotics and Stable Baselines; of Meta-World


class GymnasiumEnvironment:
    """`gymnasium.make(id, **make_kwargs)`, played by calls of a function `act`.

    What is seen, where nothing else is asked for: observations as text where they are a few numbers or texts (a frame
    of a cart says nothing of its speed); an observation that is a picture, or holds one, as the screenshot, a stack of
    frames side by side; else the rendered frame. Rewards are summed over the calls of a turn.

    `success` is, in this order: that the return has reached `success_return`; what the last `info` with "is_success" or
    "success" said; that the return has reached the `reward_threshold` that gymnasium knows; without one, None. A return
    of 0 or less counts when the episode has ended, as it can only fall until then.

    Args:
      id: of gymnasium; MODULE:ID imports the module that registers it first.
      size: of screenshots, in pixels: a number for a square, or [width, height]; None: as they are. Asks for pictures.
      text: whether observations are also written as text (gymnasium_observations.py), up to 32 numbers and texts; None:
        where there are no rendered frames.
      action_names: of a discrete space, in its order; `act` takes one of them then.
      success_return: the least return of a success.
      instruction: what to do; empty: the task's.
      make_kwargs: go to `gymnasium.make`; render_mode="rgb_array" asks for frames, render_mode="ansi" makes text,
        render_mode=None does without either.

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
        check_options(id, dict(zip(OWN_OPTIONS, own, strict=True)))
        self._id, self._size = id, (size, size) if isinstance(size, int) else size
        self._env = make_env(id, spec, make_kwargs)
        space = self._env.observation_space
        readable, observed = is_readable(space), shows_picture(space)
        asked = size is not None or text is False
        if "render_mode" not in make_kwargs and not observed and (asked or not readable) and renders(id, spec):
            self._env.close()
            make_kwargs["render_mode"] = "rgb_array"
            self._env = make_env(id, spec, make_kwargs)
        mode = make_kwargs.get("render_mode")
        if text and not readable:
            raise InputError(
                f"gymnasium:{id}: option text must be false where observations are large; got true for {space}"
            )
        self._renders, self._observes = mode is not None, observed and mode != "rgb_array"
        self._text = readable and mode != "rgb_array" if text is None else text
        if not (self._text or self._renders or self._observes):
            raise InputError(
                f"gymnasium:{id} must have a rendering as rgb_array, or small observations; got {space} alone"
            )
        self._act = ActFunction(f"gymnasium:{id}", self._env.action_space, action_names)
        self._least = success_return
        self._threshold = spec.reward_threshold if success_return is None else success_return
        self._own_instruction, self._instruction = instruction, instruction
        self._return = 0.0
        self._said: bool | None = None  # what the environment itself says of success
        self._last: tuple[Any, Mapping[str, Any]] = (None, {})  # what gymnasium gave at last, and its info

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("game", functions=(self._act.function,))

    @property
    def instruction(self) -> str:
        return self._instruction

    def reset(self, task: Task) -> Observation:
        """Raises InputError where a package that draws is not installed."""
        self._return, self._said = 0.0, None
        self._instruction = self._own_instruction or task.instruction or f"Play {self._id.rpartition(':')[2]}."
        try:
            self._last = self._env.reset(seed=task.seed % _SEEDS)
            return self._observation()
        except gymnasium.error.DependencyNotInstalled as error:
            raise spec_error(self._id, error) from error

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
                self._said = self._said if (said := _said_of_success(info)) is None else said
            if terminated or truncated:
                break
        self._return += reward
        success = self._success(bool(terminated or truncated))
        return Transition(self._observation(remarks), reward, bool(terminated), bool(truncated), success)

    def close(self) -> None:
        self._env.close()

    def _success(self, ended: bool) -> bool | None:
        if self._least is None and self._said is not None:
            return self._said
        if self._threshold is None:
            return None
        return bool(self._return >= self._threshold) and (ended or self._threshold > 0)

    def _observation(self, remarks: Sequence[str] = ()) -> Observation:
        seen, info = self._last
        lines = [*remarks, *([observation_text(self._env.observation_space, seen)] if self._text else [])]
        frame = self._env.render() if self._renders else None
        if isinstance(frame, str):
            lines.append(_HIGHLIGHT.sub(r"[\1]", frame).strip("\n"))
        text = "\n".join(lines)
        about = {
            "state": {"observation": observation_json(seen), "info": observation_json(info)},
            "return": self._return,
        }
        if self._observes:
            frame = picture(self._env.observation_space, seen)
        if isinstance(frame, np.ndarray):
            return Observation.from_pixels(self._resized(frame), text, about)
        return Observation(text=text, info=about)

    def _resized(self, frame: np.ndarray) -> np.ndarray:
        if self._size is None or (frame.shape[1], frame.shape[0]) == tuple(self._size):
            return frame
        width, height = self._size
        return np.asarray(Image.fromarray(frame).resize((width, height), Image.Resampling.BOX))


def _said_of_success(info: Mapping[str, Any]) -> bool | None:
    """Success according to an info, as a flag or a number; None: it says nothing."""
    for said in (np.asarray(info.get(key)) for key in _SUCCESS_KEYS):
        if said.size == 1 and said.dtype.kind in "biuf":
            return bool(said.item())
    return None
