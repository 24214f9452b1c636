"""Tasks for annotators from task graphs of applications, with their difficulty and track; a second.

Commands:
  ./launch/local.sh design_tasks                       # the example that ships: a website and two programs of a desktop
  ./launch/local.sh design_tasks --config.graphs=FOLDER --config.applications=TABLE.csv --config.tasks=200
  ./launch/local.sh design_tasks --config.helper=https://HOST/v1 --config.model=NAME --config.api_key_file=FILE

Expected result: RUN/tasks.jsonl, a task a line, and RUN/table.md, by application: its score and how many tasks it has
of each difficulty and track. The same seed gives the same tasks. With a model as helper RUN/result.json says under
`wording` how many it worded, and why the templates' words stayed for the others.
"""

import dataclasses
from typing import ClassVar

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import HelperFields, address_or
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Together, at_least, between, field


@dataclasses.dataclass(frozen=True)
class DesignTasks(HelperFields, RunFields):
    """The tasks to design, from task graphs of applications."""

    graphs: str = field("", "folder of task graphs in TOML or JSON, or files between commas; empty: the example")
    applications: str = field("", "table of applications in CSV, with coverage and penetration; empty: the example's")
    most_applications: int = field(
        0, "number of applications with the best scores that tasks are made for; 0: all that have a graph", at_least(0)
    )
    tasks: int = field(60, "number of tasks to design", at_least(1))
    across: float = field(0.25, "share of tasks that span two applications", between(0, 1))
    helper: str = field(
        "embedded", "model that words the tasks: embedded, or an OpenAI-compatible endpoint", address_or("embedded")
    )


@dataclasses.dataclass(frozen=True)
class Weights:
    """Weights of a function's importance."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (
        Together("frequency", lambda weights: any(weights.values()), "above 0 where the other weights are 0"),
    )

    frequency: float = field(1.0, "weight of how often the function is used", at_least(0))
    benefit: float = field(1.0, "weight of the function's benefit to its users", at_least(0))
    transfer: float = field(1.0, "weight of how much of the function serves elsewhere", at_least(0))


def get_config() -> ConfigDict:
    return section(DesignTasks, weights=section(Weights))
