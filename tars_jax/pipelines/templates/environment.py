"""An environment of your own: an agent reads a digit and says whether it is above 4.

tars-jax try mine:Large     one episode by chance, and what is found in the environment
python mine.py              trains an agent on it; flags go behind it, as --config.seed=1
"""

import sys
from collections.abc import Sequence

from tars_jax.agent import ToolCall
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.pipelines.command import main

# The parameters of a function are a JSON schema: what does not fit it never comes to `step`.
YES = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}


class Large:
    """Its name is mine:Large. What `__init__` takes are its options (--config.environment_options='{"above": 6}')."""

    instruction = "Is it large?"  # a property, where tasks differ
    # What can be called: functions of your own, and mouse and keyboard by the names of tars_jax.agent.PLATFORM_ACTIONS.
    action_space = ActionSpace("tools", functions=(Function("answer", "Answers.", YES),))
    max_steps = 1  # of an episode

    def __init__(self, above: int = 4) -> None:
        self.above, self.digit = above, 0

    def reset(self, task: Task) -> Observation:
        """Begins an episode: the same for the same task, whatever was played before. Seeds of training are even, those
        of evaluation odd."""
        self.digit = task.seed // 2 % 10
        return Observation(text=str(self.digit))  # or Observation.from_pixels(array), or both

    def step(self, actions: Sequence[ToolCall]) -> Transition:
        """Carries out what the agent called in one turn, in order: here, one call ends the episode."""
        right = actions[0].parameters["yes"] == (self.digit > self.above)
        return Transition(Observation(text="over"), reward=float(right), terminated=True, success=right)

    def close(self) -> None:
        """Gives back what it holds: a process, a page, a file."""


if __name__ == "__main__":
    sys.exit(main(["train", "--config.environment=mine:Large", *sys.argv[1:]]))
