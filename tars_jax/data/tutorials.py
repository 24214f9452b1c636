"""Tutorials, tasks and how they are done in words: `--config.text.datasets=tars_jax.data.tutorials:tutorials,`.

Continual pre-training begins with tutorials (UI-TARS-2, 2.3: "task tutorials, instructional videos, demonstrations from
the internet"). These are written from what this code says of its own environments: the rules of games, the actions of
a screen and the functions of tools, and the recorded solutions of websites' tasks, of which those of held-out sites are
told to nobody. A question, and the steps as its answer; no screenshot.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator

from tars_jax.agent import Response, parse_response
from tars_jax.agent.actions import (
    Action,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    MoveTo,
    Navigate,
    RightSingle,
    Scroll,
    Type,
    Wait,
)
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.platform_prompt import EXAMPLES, PLATFORM_ACTIONS
from tars_jax.data.texts import answered
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.games.catalog import game_names, load_game
from tars_jax.tasks.splits import TRAIN
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks
from tars_jax.trajectory import Trajectory

SITE = "site"  # in the metadata of a tutorial of a website: which one
_ASKS = ("How do I do this: {}", "What are the steps for this? {}", "Show me how: {}")


def tutorials(seed: int = 0) -> Iterator[Trajectory]:
    """All tutorials, in an order and with questions that the seed draws; always the same for the same seed."""
    rng = random.Random(f"tutorials {seed}")
    found = [*games(), *screens(), *tools(), *websites(rng)]
    rng.shuffle(found)
    yield from found


def games() -> Iterator[Trajectory]:
    """The rules of each game, and what its levels are like."""
    for name in game_names():
        game = load_game(name)
        yield answered(f"rules-{name}", f"How is {game.title} played?", game.instruction)
        for level in game.levels:
            yield answered(
                f"level-{name}-{level.level}",
                f"What is level {level.level} of {game.title} like?",
                f"{level.summary}. It takes at most {level.max_steps} steps. {game.instruction}",
            )


def screens() -> Iterator[Trajectory]:
    """Texts about each action of a screen, what it does and how it is written, and what can be done on each
    platform."""
    for action, meaning in EXAMPLES:
        call = format_call(action)
        yield answered(f"action-{action.name}", f"What does {action.name} do?", f"{meaning}: {call}")
        yield answered(f"written-{action.name}", f"How is this written: {meaning}?", call)
    for platform, names in PLATFORM_ACTIONS.items():
        yield answered(f"platform-{platform}", f"What can be done on this platform: {platform}?", ", ".join(names))


def tools() -> Iterator[Trajectory]:
    """Texts about each function, what it is for and what it takes."""
    for name, function in FUNCTIONS.items():
        takes = ", ".join(function.parameters["properties"])
        needs = ", ".join(function.parameters.get("required", ())) or "nothing"
        yield answered(f"tool-{name}", f"What is {name} for?", function.description)
        yield answered(f"takes-{name}", f"What does {name} take?", f"{takes}. It must have {needs}.")


def websites(rng: random.Random) -> Iterator[Trajectory]:
    """The steps of each admitted task's recorded solution. Tasks of held-out sites are left out."""
    for task in read_website_tasks(SYNTHESIZED):
        if steps := steps_of(task) if is_told(task) else []:
            asked = rng.choice(_ASKS).format(task.instruction)
            told = " ".join(f"{number}. {step}." for number, step in enumerate(steps, 1))
            text = answered(f"steps-{task.id}", f"{load_website(task.site).title}. {asked}", told)
            yield dataclasses.replace(text, metadata={**text.metadata, SITE: task.site})


def is_told(task: WebsiteTask) -> bool:
    """Whether it is one to train on."""
    return task.split == TRAIN


def steps_of(task: WebsiteTask) -> list[str]:
    """The recorded solution in words; none where it has none."""
    found = []
    for call in task.about.get("solution", ()):
        read = parse_response(f"Action: {call}", space=RECORDED)
        assert isinstance(read, Response), f"{task.id}: {call}"  # admitted tasks have been played by them
        found += [_in_words(action) for action in read.actions]
    return found


_WORDS: dict[type, Callable[..., str]] = {
    Click: lambda action: f"Click at {_place(action.point)}",
    LeftDouble: lambda action: f"Double-click at {_place(action.point)}",
    RightSingle: lambda action: f"Right-click at {_place(action.point)}",
    MoveTo: lambda action: f"Point at {_place(action.point)}",
    Drag: lambda action: f"Drag from {_place(action.start_point)} to {_place(action.end_point)}",
    Hotkey: lambda action: f"Press {' and '.join(action.keys)}",
    Type: lambda action: f'Type "{action.content.rstrip()}"' + " and press Enter" * action.content.endswith("\n"),
    Scroll: lambda action: f"Scroll {action.direction}",
    Navigate: lambda action: f"Open {action.content}",
    Wait: lambda action: "Wait",
    Finished: lambda action: f'Answer "{action.content}"' if action.content else "Say that it is done",
}


def _in_words(action: Action) -> str:
    words = _WORDS.get(type(action))
    return words(action) if words else format_call(action)


def _place(point: object) -> str:
    """Describes a point: thousandths to the right and thousandths down."""
    x, y = (round(getattr(point, name)) for name in ("x", "y"))
    return f"{x} right, {y} down"
