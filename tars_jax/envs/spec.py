"""Environment specs: what is known of an environment before it is made, and how a class or a function declares it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from tars_jax import InputError
from tars_jax.environment import Environment, Task, Verification
from tars_jax.envs.checked import DEFAULT_TIME_LIMIT_S, CheckedEnvironment
from tars_jax.envs.pages_of_another_loop import PagesOfAnotherLoop
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import OpensPages
from tars_jax.tasks.games.catalog import ReferencePlayer

if TYPE_CHECKING:
    from tars_jax.envs.harness import Harness

DEFAULT_MAX_STEPS = 16
_METHODS = ("reset", "step", "close")


@dataclasses.dataclass(frozen=True)
class EnvironmentResources:
    """Resources of a run that an environment may need."""

    open_pages: Callable[[], OpensPages] | None = None  # access to browsers; None: there are none
    sandbox: SandboxAddress | None = None  # where computers and phones are; None: on this machine

    def pages(self, name: str) -> OpensPages:
        """Raises InputError where there are no browsers."""
        if self.open_pages is None:
            raise InputError(f"{name} must be run where there are browsers; got resources without any")
        return self.open_pages()

    def of_another_loop(self, loop: asyncio.AbstractEventLoop) -> EnvironmentResources:
        """The resources for an environment with an event loop of its own, while the browsers run on `loop`."""
        return dataclasses.replace(self, open_pages=lambda: PagesOfAnotherLoop(self.pages("an environment"), loop))


class Levels(Protocol):
    """Tasks of which there are so many and no more, such as the rows of a data set."""

    def seed(self, split: str, index: int, stream: int) -> int:
        """Seed of task `index` of a stream of a split: even to train on, odd to evaluate."""
        ...

    def count(self, split: str) -> int:
        """Number of different tasks of a split."""
        ...

    def telling(self) -> Sequence[int]:
        """Seeds of those that take the longest windows."""
        ...


def _any_options(options: Mapping[str, Any]) -> None:
    """Accepts all options."""


def _default_steps(options: Mapping[str, Any]) -> int:
    return DEFAULT_MAX_STEPS


def _no_return(options: Mapping[str, Any]) -> None:
    """Success is not told by the return."""


def _own_verifier(task: Task) -> Verification:
    return task.verification


@dataclasses.dataclass(frozen=True)
class EnvironmentSpec:
    """Declares how an environment is made, and what is known of it before.

    What one spec makes plays the tasks of every other with the same `name` and `made_with`.
    """

    name: str  # in the ids of tasks, and in what their seeds are drawn from
    make: Callable[[EnvironmentResources], Environment]
    needs_browser: bool = False
    check_options: Callable[[Mapping[str, Any]], None] = _any_options  # InputError for a task's that it cannot have
    default_max_steps: Callable[[Mapping[str, Any]], int] = _default_steps  # the agent's step budget, by the options
    says_max_steps: bool = True  # false: `default_max_steps` is ours, as the environment has none
    success_return: Callable[[Mapping[str, Any]], float | None] = _no_return  # the least of a success, if it is known
    reference: ReferencePlayer | None = None  # plays from what an observation's info holds as "state"
    time_limit: float = DEFAULT_TIME_LIMIT_S  # seconds of one reset or step; infinity: it has limits of its own
    verification: Callable[[Task], Verification] = _own_verifier  # how a task's success is told, such as its reference
    made_with: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # options that `make` has; others: `reset`'s
    judge: tuple[str, Mapping[str, Any]] | None = None  # name and options of who judges, where the run names nobody
    answered_in_words: bool = False  # what the policy says is the answer, turn by turn: a dialog, and no calls
    may_be_empty: bool = False  # observations that say nothing are none of its failures: the instruction says it all
    levels: Levels | None = None  # None: a task for any seed
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # of options that are left out, where known
    harness: Callable[[EnvironmentResources], Harness] | None = (
        None  # plays whole episodes in the place of an agent loop
    )
    answered_by: str = ""  # the function that answers a harness's program in the policy's place, to show how it is done
    on_callers_loop: bool = False  # its coroutines run on the loop of whoever calls them, and never block it

    def __post_init__(self) -> None:
        if isinstance(self.time_limit, bool) or not isinstance(self.time_limit, int | float) or not self.time_limit > 0:
            raise InputError(f"{self.name}: time_limit must be more than 0 seconds; got {self.time_limit!r}")

    @property
    def has_reference(self) -> bool:
        """Whether somebody can show how its tasks are done."""
        return self.reference is not None or bool(self.answered_by)

    def doubt_of_limit(self, task: Task, largest_reward: float | None = None) -> str:
        """A sentence where a task's limit of steps may allow no success; empty: there is nothing to say.

        Args:
          largest_reward: of a step, of all that were played; with it the sentence says what cannot be. None: unknown.
        """
        asked, own, max_steps = task.verification.threshold, self.default_max_steps(task.options), task.max_steps
        least = self.success_return(task.options) if asked is None else asked
        if least is None or least <= 0:
            return ""
        if largest_reward is not None:
            if largest_reward * max_steps >= least:
                return ""
            about = f"cannot be reached in {max_steps} steps, as no step has earned more than {largest_reward:g}"
        elif max_steps < own:
            about = f"may take more than {max_steps} steps"
        else:
            return ""
        return f"{self.name}: a success is a return of at least {least:g}, which {about}; its own limit is {own} steps"

    def checked(self, resources: EnvironmentResources) -> CheckedEnvironment:
        """The environment that an agent loop drives. It is made when it is first needed.

        Call it on the event loop that the browsers of `resources` run on, where there are any.
        """
        if resources.open_pages is not None and not self.on_callers_loop:
            resources = resources.of_another_loop(asyncio.get_running_loop())
        return CheckedEnvironment(
            lambda: self.make(resources),
            self.time_limit,
            self.name,
            on_callers_loop=self.on_callers_loop,
            may_be_empty=self.may_be_empty,
        )


def spec_of(name: str, made_by: Any, options: Mapping[str, Any]) -> EnvironmentSpec:
    """The spec of a class, or of a function that makes environments; a spec is its own.

    `made_by` is called with those options that are its parameters (and with the `EnvironmentResources`, where it has a
    parameter `resources`). Raises InputError for anything else, and for a class that is no environment.
    """
    if isinstance(made_by, EnvironmentSpec):
        return made_by
    if not callable(made_by):
        about = f"environment {name!r} must be a class, a function that makes an environment, or an EnvironmentSpec"
        raise InputError(f"{about}; got an object of type {type(made_by).__name__}")
    if isinstance(made_by, type):
        _check_attributes(name, made_by, _METHODS)
    signature = inspect.signature(made_by)
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    parameters = [
        each.name
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and each.name != "resources"
    ]
    arguments = {option: value for option, value in options.items() if takes_all or option in parameters}
    own_check = getattr(made_by, "check_options", None)

    def check_options(options: Mapping[str, Any]) -> None:
        if own_check is not None:
            own_check(options)
        elif unknown := [option for option in options if not takes_all and option not in parameters]:
            wanted = f"one of {', '.join(parameters)}" if parameters else "left out, as it has none"
            raise InputError(f"{name}: an option must be {wanted}; got {unknown[0]!r}")

    def make(resources: EnvironmentResources) -> Environment:
        further = {"resources": resources} if "resources" in signature.parameters else {}
        try:
            signature.bind(**arguments, **further)
        except TypeError as error:
            raise InputError(f"{name} must be made with other options; got {dict(arguments)}: {error}") from None
        environment = made_by(**arguments, **further)
        _check_attributes(name, environment, (*_METHODS, "action_space", "instruction"))
        return cast(Environment, environment)

    return EnvironmentSpec(
        name=name,
        make=make,
        needs_browser=bool(needs(options) if callable(needs := getattr(made_by, "needs_browser", False)) else needs),
        check_options=check_options,
        default_max_steps=functools.partial(_own_steps, name, getattr(made_by, "max_steps", DEFAULT_MAX_STEPS)),
        says_max_steps=hasattr(made_by, "max_steps"),
        success_return=functools.partial(_own_return, name, getattr(made_by, "success_return", None)),
        reference=getattr(made_by, "reference_player", None),
        time_limit=getattr(made_by, "time_limit", DEFAULT_TIME_LIMIT_S),
        may_be_empty=bool(getattr(made_by, "may_be_empty", False)),
        verification=functools.partial(_said_verification, name, getattr(made_by, "verification", _own_verifier)),
        made_with=arguments,
        defaults={
            each.name: each.default
            for each in signature.parameters.values()
            if each.name in parameters and each.default is not each.empty
        },
    )


def _own_steps(name: str, max_steps: Any, options: Mapping[str, Any]) -> int:
    steps = max_steps(options) if callable(max_steps) else max_steps
    if type(steps) is not int or steps < 1:
        raise InputError(f"{name}: max_steps must be a whole number of 1 or more; got {steps!r}")
    return steps


def _own_return(name: str, success_return: Any, options: Mapping[str, Any]) -> float | None:
    least = success_return(options) if callable(success_return) else success_return
    number = isinstance(least, int | float) and not isinstance(least, bool) and math.isfinite(least)
    if least is not None and not number:
        raise InputError(f"{name}: success_return must be a finite number or None; got {least!r}")
    return least


def _said_verification(name: str, verification: Callable[[Task], Verification], task: Task) -> Verification:
    if not isinstance(said := verification(task), Verification):
        raise InputError(f"{name}: verification must return a Verification of the task; got {type(said).__name__}")
    return said


def _check_attributes(name: str, made: Any, attributes: tuple[str, ...]) -> None:
    for attribute in attributes:
        if not hasattr(made, attribute):
            kind = made.__name__ if isinstance(made, type) else type(made).__name__
            raise InputError(f"environment {name!r} must have {attribute}; got {kind} without it")
