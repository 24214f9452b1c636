"""Any environment of the registry as a gymnasium environment: `gymnasium.make("TarsJax/Environment-v0", name=NAME)`."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent import Finished, ParseError, parse_response
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.background import background
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.gym import SIDE, TRAINING_SEEDS, browser_config, facts_of
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.envs.text_space import AnyText, CallSpace
from tars_jax.sandbox.address import read_address

T = TypeVar("T")


class RegisteredEnv(gymnasium.Env[dict[str, Any], str]):
    """An environment that `load_environment` knows by `name`, synchronous, with texts in and texts out.

    Observation: a dictionary of "text" and, where the environment shows any, "screenshot", uint8 [height, width, 3] in
    the size of its first one. Action: what a policy would write in the text grammar, `Action: say(word='red')`; one
    that cannot be read changes nothing, and the next text says why. An episode ends when the environment says so or the
    agent says `finished`, and is truncated after `max_steps`. Tasks are drawn from the environment's generator, so
    `reset(seed=...)` fixes one; they are training tasks, which no evaluation uses. info: what the observation has for
    verification, "instruction", "task_seed", "success".

    Args:
      name: game, benchmark's task, gymnasium:ID, package.module:attribute, an entry point or what was registered.
      options: of its tasks; `reset(options={...})` overrides them for one episode.
      max_steps: the step budget; None takes the environment's own.
      instruction: where the environment has none of its own.
      sandbox: where its pages, computers and phones are, as `config.sandbox` says it.

    An `EnvironmentFailure` passes through `step`, and through `reset` after one further attempt. After it there is no
    episode, and `step` raises ResetNeeded.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - as gymnasium.Env has it

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        instruction: str = "",
        render_mode: str | None = None,
        sandbox: Mapping[str, Any] | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode must be rgb_array or None; got {render_mode!r}")
        if max_steps is not None and max_steps < 1:
            raise InputError(f"max_steps must be 1 or more; got {max_steps!r}")
        self.render_mode = render_mode
        self._name, self._options, self._instruction = name, dict(options or {}), instruction
        self._spec = load_environment(name, self._options)
        self._max_steps = max_steps
        self._sandbox = read_address(**(sandbox or {}))
        self._browser = browser_config(SIDE, SIDE) if self._spec.needs_browser else None
        self._environment: CheckedEnvironment | None = None
        self._observation: Observation | None = None
        self._steps, self._budget, self._task_seed = 0, 0, 0
        self._verdict: bool | None = None  # the last, which a refused action leaves as it is
        try:
            first = self._begin(0, self._options)
            calls = self._open().action_space
        except BaseException:
            self.close()
            raise
        self._observation = None
        self.action_space = CallSpace(calls)
        shown: dict[str, spaces.Space[Any]] = {"text": AnyText()}
        self._screenshot = None if first.pixels is None else first.pixels.shape
        if self._screenshot is None:
            self.metadata = {"render_modes": []}
        else:
            shown["screenshot"] = spaces.Box(0, 255, self._screenshot, np.uint8)
        self.observation_space = spaces.Dict(shown)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._observation = None  # whatever is refused below, the old episode is over
        drawn = 2 * int(self.np_random.integers(TRAINING_SEEDS))
        observation = self._begin(drawn, {**self._options, **(options or {})})
        return self._shown(observation), self._info(observation, None)

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        if self._observation is None:
            raise gymnasium.error.ResetNeeded("step must follow a reset; got a step while no episode is running")
        if not isinstance(action, str):
            raise InputError(f"action must be text, such as {self.action_space.sample()!r}; got {action!r:.80}")
        environment = self._open()
        read = parse_response(action, grammar="text", space=environment.action_space)
        self._steps += 1
        if isinstance(read, ParseError):
            before = self._observation
            transition = Transition(Observation(before.screenshot, read.message, before.info), success=self._verdict)
        else:
            try:
                transition = self._run(environment.step(read.actions))
            except BaseException:
                self._observation = None  # the episode is lost
                raise
        terminated = transition.terminated
        if not isinstance(read, ParseError):
            terminated = terminated or any(isinstance(each, Finished) for each in read.actions)
        truncated = not terminated and (transition.truncated or self._steps >= self._budget)
        over, self._verdict = terminated or truncated, transition.success
        observation = transition.observation
        shown, info = self._shown(observation), self._info(observation, transition.success)
        self._observation = None if over else observation
        return shown, transition.reward, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """The last screenshot of a running episode, if `render_mode` is rgb_array and there is any."""
        if self.render_mode is None or self._observation is None or self._observation.pixels is None:
            return None
        return self._observation.pixels.copy()

    def close(self) -> None:
        """Closes the environment, and the browser if nobody else uses it. May be called again."""
        environment, self._environment, self._observation = self._environment, None, None
        if environment is not None:
            try:
                background().run(environment.close())
            finally:
                background().release(self._browser, self._sandbox)

    def _begin(self, seed: int, options: Mapping[str, Any]) -> Observation:
        spec = load_environment(self._name, options)
        if spec.made_with != self._spec.made_with:  # what it is made with cannot change in one that is made
            self.close()
            self._spec = spec
        self._budget = self._max_steps or spec.default_max_steps(options)
        task = Task(f"{spec.name}-gym-{seed}", self._name, seed, options, self._budget, self._instruction)
        environment = self._open()
        try:
            self._observation = self._run(environment.reset(task))
        except EnvironmentFailure:
            self._observation = self._run(environment.reset(task))
        self._steps, self._task_seed, self._verdict = 0, seed, None
        return self._observation

    def _open(self) -> CheckedEnvironment:
        if self._environment is None:
            resources = EnvironmentResources(sandbox=self._sandbox)
            if self._browser is None:
                background().hold()
            else:
                manager = background().acquire(self._browser, self._sandbox)
                resources = EnvironmentResources(lambda: manager, self._sandbox)

            async def made() -> CheckedEnvironment:
                return self._spec.checked(resources)

            self._environment = self._run(made())
        return self._environment

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return background().run(work)

    def _shown(self, observation: Observation) -> dict[str, Any]:
        shown: dict[str, Any] = {"text": observation.text}
        if self._screenshot is not None:
            pixels = observation.resized(*self._screenshot[:2]).pixels
            shown["screenshot"] = np.zeros(self._screenshot, np.uint8) if pixels is None else pixels.copy()
        return shown

    def _info(self, observation: Observation, success: bool | None) -> dict[str, Any]:
        return {
            **facts_of(observation),
            "instruction": self._open().instruction or self._instruction,
            "task_seed": self._task_seed,
            "success": success,
        }
