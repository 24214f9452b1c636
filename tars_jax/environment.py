"""The contract between an agent and what it acts on: a page, a terminal, a desktop, a simulator.

    task -> reset -> Observation -> actions -> step -> Transition -> ... -> close

An environment says by its `ActionSpace` what can be done in it: GUI actions by name (`tars_jax.agent.actions`), and
functions with a JSON schema. What it says of success is the task's verdict; nobody reads it off the reward.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.json_fields import Fields
from tars_jax.pictures import pixels_of

PLATFORMS = ("computer", "phone", "browser", "game", "tools")
VERIFIERS = ("environment", "judge", "none")
_LARGEST_SEED = 2**53 - 1  # exact in JavaScript, where two larger seeds may be one level
_MOST_STEPS = 2**31 - 1


class EnvironmentFailure(Exception):
    """The environment failed, not the policy: the episode is played again, and is never a reward of 0.

    `details`: JSON, to find out why; it is kept with the episode where that is lost.
    """

    def __init__(self, kind: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind, self.details = kind, dict(details or {})


class CannotSay(Exception):
    """A verdict: whoever judges an episode cannot tell, as what it needs (an alias, a picture) is not there. It is not
    asked again; the episode carries no reward, and is counted."""


@dataclasses.dataclass(frozen=True)
class Observation:
    """An observation that a policy sees: a screenshot, or text, or both."""

    screenshot: bytes = b""  # PNG; empty: none
    text: str = ""  # what a tool, a terminal or the environment says
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # JSON, for verification; no policy sees it

    @functools.cached_property
    def pixels(self) -> np.ndarray | None:
        """[height, width, 3] uint8; None without a screenshot."""
        if not self.screenshot:
            return None
        return pixels_of(self.screenshot, "screenshot")

    @classmethod
    def decoded(
        cls, screenshot: bytes, pixels: np.ndarray, text: str = "", info: Mapping[str, Any] | None = None
    ) -> Self:
        """Makes an observation of a screenshot whose pixels are at hand, so that nobody decodes it again."""
        observation = cls(screenshot, text, info or {})
        vars(observation)["pixels"] = pixels
        return observation

    def resized(self, height: int, width: int) -> Self:
        """The same with a screenshot of this size; without one, or with one of it, as it is."""
        if self.pixels is None or self.pixels.shape[:2] == (height, width):
            return self
        smaller = Image.fromarray(self.pixels).resize((width, height), Image.Resampling.BICUBIC)
        return self.from_pixels(np.asarray(smaller), self.text, self.info)

    @classmethod
    def from_pixels(cls, pixels: np.ndarray, text: str = "", info: Mapping[str, Any] | None = None) -> Self:
        """From uint8 [height, width, 3]. Raises InputError for other arrays."""
        if not (isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and pixels.ndim == 3):
            raise InputError(f"pixels must be uint8 [height, width, 3]; got {_kind(pixels)}")
        if pixels.shape[2] != 3 or 0 in pixels.shape:
            raise InputError(f"pixels must be uint8 [height, width, 3]; got {_kind(pixels)}")
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
        return cls.decoded(buffer.getvalue(), pixels, text, info)


@dataclasses.dataclass(frozen=True)
class Transition:
    """Result of a turn's actions."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False  # the task is over
    truncated: bool = False  # the environment's own limit ended it
    success: bool | None = None  # the verdict so far; None: the environment has none
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rewards: Mapping[str, float] = dataclasses.field(default_factory=dict)  # what each part of it says, to be measured


@dataclasses.dataclass(frozen=True)
class Function:
    """Something that can be called besides the GUI actions."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = dataclasses.field(  # JSON schema of an object
        default_factory=lambda: {"type": "object", "properties": {}}
    )


# A task's interface: a screen with mouse and keyboard, functions, or both. They stand here since configs name them.
GUI, SDK, BOTH = INTERFACES = ("gui", "sdk", "both")


@dataclasses.dataclass(frozen=True)
class ActionSpace:
    """Actions that an environment takes."""

    platform: str = "game"  # one of PLATFORMS: how prompts introduce the actions
    actions: tuple[str, ...] = ()  # GUI actions, by their names in `tars_jax.agent.actions.FUNCTIONS`
    functions: tuple[Function, ...] = ()

    def __post_init__(self) -> None:
        if self.platform not in PLATFORMS:
            raise InputError(f"platform must be one of {', '.join(PLATFORMS)}; got {self.platform!r}")
        names = [*self.actions, *(function.name for function in self.functions)]
        if not names:
            raise InputError("an action space must have an action or a function; got none")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"names of an action space must differ; got {twice[0]!r} twice")

    @classmethod
    def joined(cls, spaces: Sequence[ActionSpace]) -> ActionSpace:
        """All that can be done in some of one or more, on the first one's platform.

        Raises InputError where two have other functions of one name.
        """
        actions = dict.fromkeys(name for space in spaces for name in space.actions)
        functions: dict[str, Function] = {}
        for function in (function for space in spaces for function in space.functions):
            if functions.setdefault(function.name, function).parameters != function.parameters:
                raise InputError(f"functions of one name must have the same parameters; got two of {function.name!r}")
        return cls(spaces[0].platform, tuple(actions), tuple(functions.values()))

    def function(self, name: str) -> Function | None:
        return next((function for function in self.functions if function.name == name), None)


@dataclasses.dataclass(frozen=True)
class Verification:
    """The way in which a task's success is told."""

    by: str = "environment"  # one of VERIFIERS
    reference: str = ""  # the answer that a judge compares with; empty: a judge alone
    threshold: float | None = None  # success is a return of at least this

    def __post_init__(self) -> None:
        if self.by not in VERIFIERS:
            raise InputError(f"verification.by must be one of {', '.join(VERIFIERS)}; got {self.by!r}")


@dataclasses.dataclass(frozen=True)
class Task:
    """One episode to play, as plain data. Where time is virtual, the same task gives the same first observation."""

    id: str
    environment: str  # a name that `tars_jax.envs.registry.load_environment` takes
    seed: int  # 0 or more
    options: Mapping[str, Any]  # JSON, checked by the environment
    max_steps: int  # the agent's step budget
    instruction: str = ""  # where the environment has none of its own
    verification: Verification = Verification()

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Task:
        """Reads what `to_json` wrote.

        Raises InputError for a missing, unknown, ill-typed or impossible field.
        """
        fields = Fields(record, "task: field ")
        for name, kind in (("id", str), ("environment", str), ("options", dict)):
            fields.of_type(name, kind)
        for name, least, most in (("seed", 0, _LARGEST_SEED), ("max_steps", 1, _MOST_STEPS)):
            if fields.integer(name, None, least, most) is None:
                raise fields.error(name, f"a whole number from {least} to {most}")
        if "instruction" in record:
            fields.of_type("instruction", str)
        verification = fields.of_type("verification", dict) if "verification" in record else {}
        known = [field.name for field in dataclasses.fields(cls)]
        if unknown := fields.unread():
            raise InputError(f"task: a field must be one of {', '.join(known)}; got {unknown[0]!r}")
        known = [field.name for field in dataclasses.fields(Verification)]
        if unknown := sorted(verification.keys() - set(known)):
            raise InputError(f"task: field verification must have {', '.join(known)}; got {unknown[0]!r}")
        return cls(**{**record, "verification": Verification(**verification)})


@runtime_checkable
class Environment(Protocol):
    """Plays one episode after another. Methods may be coroutines or plain functions; plain ones run in a thread."""

    @property
    def action_space(self) -> ActionSpace:
        """Action space of the running episode; before the first, of any."""
        ...

    @property
    def instruction(self) -> str:
        """Instruction of the running episode; empty: the task says it."""
        ...

    async def reset(self, task: Task) -> Observation:
        """Begins the task's episode.

        Raises InputError for a task that it cannot have, EnvironmentFailure where it failed itself.
        """
        ...

    async def step(self, actions: Sequence[Any]) -> Transition:
        """Carries out the actions of one turn in order. Raises EnvironmentFailure where it failed itself."""
        ...

    async def close(self) -> None:
        """Gives back what it holds. May be called at any time, and again."""
        ...


def _kind(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
