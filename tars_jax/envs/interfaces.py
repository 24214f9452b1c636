"""Two interfaces to one task: a screen with mouse and keyboard, and functions that say what they return.

`interface` is an option of an environment: gui, sdk or both. Task, verifier and budget of steps are the same for all
three. By functions alone there is no screen, not even a blank one: a picture that never changes tells nothing and would
cost the tokens of a screenshot at every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import BOTH, INTERFACES, SDK, ActionSpace, Function


def check_interface(interface: object) -> str:
    """Raises InputError for what is none."""
    if interface not in INTERFACES:
        raise InputError(f"interface must be one of {', '.join(INTERFACES)}; got {interface!r}")
    return str(interface)


def space_of(
    interface: str, platform: str, actions: Sequence[str], functions: Sequence[Function]
) -> ActionSpace:  # fmt: skip
    """Action space of an interface: `actions` on the screen of a `platform`, `functions`, or all of them."""
    if interface == SDK:
        return ActionSpace("tools", PLATFORM_ACTIONS["tools"], tuple(functions))
    return ActionSpace(platform, tuple(actions), tuple(functions) if interface == BOTH else ())
