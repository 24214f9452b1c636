"""Tokens and images that an agent's context windows need, worked out from its tasks before anything is played.

A window holds at most `agent.max_steps` completed steps and the one under way, each a screenshot and an answer, below
the instruction and the summaries of older steps. Sizes of rows and of the engine's windows that are 0 become what that
takes; others are compared with it, as an episode that outgrows them is cut short or cannot be learned from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import ml_collections

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.pipelines.game_names import game_members, is_game
from tars_jax.pipelines.games import Games, several_levels
from tars_jax.pipelines.harness import Asked
from tars_jax.pipelines.probing import FEWEST_PROBES, TaskShape, longest_answer, probe, probes
from tars_jax.tasks.library import load_playable
from tars_jax.trajectory import Trajectory

# Tokens of the longest answer of each reference player, in the text grammar and in the tool grammar: a drag has more.
ANSWERS = {
    "emoji_sort_master": (22, 23),
    "energy": (23, 24),
    "free_the_key": (31, 50),
    "game_2048": (18, 27),
    "gem_11": (22, 23),
    "hex_frvr": (29, 48),
    "infinity_loop": (23, 24),
    "laser_maze_puzzle": (19, 20),
    "maze_path_of_light": (24, 25),
    "merge_and_double": (22, 24),
    "shapes": (19, 20),
    "snake_solver": (17, 26),
    "tiles_master": (33, 34),
    "wood_blocks_3d": (25, 44),
    "yarn_untangle": (25, 44),
}
OTHER = (24, 26)  # of a game that is none of ours: the templates' players click
SEVERAL = {"verdict": {"solved": 0}}  # of an episode of several levels, as its instruction looks at
PROGRAM_GROWS = 1.25
MEMORY_BEGINS = 8  # tokens of the words before what the policy wrote, and of its end
SUMMARY = 8  # tokens of an older step as memory keeps it
MULTIPLE = 16  # sizes that are worked out are multiples of it, which keeps the shapes few


@dataclasses.dataclass(frozen=True)
class WindowLength:
    """The longest context window of the tasks of one environment."""

    name: str
    steps: int  # observations and answers in it
    images: int  # screenshots among them
    tokens: int
    read: int  # tokens of its beginning, which the engine reads in one piece


def games_of(config: Any) -> dict[str, int]:
    """The games that a config's episodes are of, each with the step budget of its episodes."""
    if "games" in config and isinstance(config.games, ml_collections.ConfigDict):
        return {name: config.games[name].max_steps for name in config.games}
    names = ("games" in config and game_members(config.games)) or (config.task.game,)
    return dict.fromkeys(names, config.task.max_steps)


def reference_answer(games: Iterable[str], grammar: str) -> int:
    """Tokens of the longest answer that demonstrations of these games hold."""
    return max(ANSWERS.get(name, OTHER)[grammar == "tool"] for name in games)


def shapes_of(config: Any, writer: PromptWriter) -> list[TaskShape]:
    """Shapes of a config's tasks: of games by their files, of other environments by beginning some episodes; nothing
    where it plays none."""
    if "environment" in config:
        return probe(config, writer, probes(config))
    if "games" not in config and "task" not in config:  # it learns from what was recorded
        return []
    games = games_of(config)
    known = [
        TaskShape(
            name,
            budget,
            load_playable(name).instruction_for(SEVERAL if several_levels(config) else {}),
            (config.browser.size, config.browser.size),
            reference_answer([name], config.agent.grammar),
            PAGE_ACTIONS,
        )
        for name, budget in games.items()
        if is_game(name)
    ]
    others = [Games(config).probes(name, FEWEST_PROBES) for name in games if not is_game(name)]
    return [*known, *(probe(config, writer, others) if others else [])]


def longest_windows(config: Any, writer: PromptWriter, shapes: Sequence[TaskShape]) -> list[WindowLength]:
    """Longest windows of the tasks of each shape. An answer counts with as many tokens as the policy may write, or a
    demonstration has; the text of an observation with as many as it may have."""
    agent = config.agent
    text = "x" if writer.max_observation_tokens else ""
    found = []
    for shape in shapes:
        if shape.asked is not None:
            found.append(_of_program(shape.name, shape.asked, config.engine.max_new_tokens))
            continue
        if shape.screenshot is None and not writer.max_observation_tokens:
            raise InputError(
                f"agent.max_observation_tokens must be 1 or more for {shape.name}, whose observations are text; got 0."
            )
        answer = max(config.engine.max_new_tokens, shape.answer)
        steps = min(agent.max_steps + 1, shape.max_steps)
        shown = ShownObservation(text, 0 if shape.screenshot is None else writer.image_size(*shape.screenshot))
        first, later = (
            max(len(writer.observation(left, first=is_first, shown=shown)) for left in range(1, shape.max_steps + 1))
            + writer.max_observation_tokens
            for is_first in (True, False)
        )
        line, asked = agent.get("line_tokens", 0), 0
        summaries = SUMMARY * min(agent.max_summaries, max(0, shape.max_steps - agent.max_steps - 1))
        if line:  # at the end of a window it is asked for and written, at the beginning of the next one it stands
            summaries, asked = MEMORY_BEGINS + line, len(writer.ask_for_memory()) + line
        configured = AgentConfig(agent.grammar, list_actions=agent.get("list_actions", False))
        head = len(writer.preamble(configured.prompt_instruction(shape.instruction, shape.space), ""))
        head += summaries + (head // 2 if shape.varies else 0)
        kept = min(agent.min_steps, steps - 1)
        tokens = head + first + (steps - 1) * later + steps * answer + asked
        images = 0 if shape.screenshot is None else steps
        found.append(WindowLength(shape.name, steps, images, tokens, head + first + kept * (later + answer)))
    return found


def _of_program(name: str, asked: Asked, answer: int) -> WindowLength:
    """Longest window of a program's requests, with `PROGRAM_GROWS` times what was seen, as other tasks may take
    more."""
    tokens = round(asked.tokens * PROGRAM_GROWS) + asked.turns * answer
    return WindowLength(name, asked.turns, asked.images, tokens, round(asked.first * PROGRAM_GROWS))


def fill_window_sizes(config: Any, writer: PromptWriter, shapes: Sequence[TaskShape]) -> Any:
    """The config whose sizes that are 0 are what the windows of its tasks take."""
    packing, engine = config.packing, config.engine
    if all((packing.row_length, packing.images_per_row, engine.max_length, engine.max_new_tokens)):
        return config
    filled = config.copy_and_resolve_references()
    with filled.unlocked():
        packing, engine = filled.packing, filled.engine
        engine.max_new_tokens = engine.max_new_tokens or max(shape.answer for shape in shapes)
        windows = longest_windows(filled, writer, shapes)
        tokens = -(-max(window.tokens for window in windows) // MULTIPLE) * MULTIPLE
        packing.row_length = packing.row_length or tokens
        packing.images_per_row = packing.images_per_row or max(window.images for window in windows)
        if not engine.max_length:
            half = -(-tokens // 2 // MULTIPLE) * MULTIPLE
            engine.max_length, engine.length_buckets = tokens, tuple(sorted({half, tokens}))
    return filled


def fill_recorded_sizes(
    config: Any, writer: PromptWriter, shapes: Sequence[TaskShape], recorded: Sequence[Trajectory]
) -> Any:
    """The config whose sizes that are 0 are what the windows of its tasks and those of recorded episodes take.

    Raises InputError for a row that does not hold what was recorded.
    """
    windows = [window for trajectory in recorded for window in trajectory.windows]
    if not windows:
        return config
    answers = [*(len(longest_answer(window)) for window in windows), *(shape.answer for shape in shapes)]
    needs = {
        "row_length": -(-max(window.tokens.size for window in windows) // MULTIPLE) * MULTIPLE,
        "images_per_row": max(len(window.images) for window in windows),
    }
    filled = config.copy_and_resolve_references()
    with filled.unlocked():
        filled.engine.max_new_tokens = config.engine.max_new_tokens or max(answers)
        filled = fill_window_sizes(filled, writer, shapes)
    with filled.unlocked():
        for field, needed in needs.items():
            if not config.packing[field]:
                filled.packing[field] = max(filled.packing[field], needed)
            elif config.packing[field] < needed:
                raise InputError(
                    f"packing.{field} must be at least {needed} for the episodes of demonstrations.datasets, or 0 "
                    f"for what windows take; got {config.packing[field]}."
                )
    return filled


def require_room(config: Any, writer: PromptWriter, shapes: Sequence[TaskShape]) -> None:
    """Raises InputError where a window of its tasks does not fit a row of the learner or the engine's context, or an
    answer that a reference player was seen to give is longer than the policy's may be."""
    windows = longest_windows(config, writer, shapes)
    longest = max(windows, key=lambda window: window.tokens)
    images = max(window.images for window in windows)
    sizes = {
        "packing.row_length": (config.packing.row_length, longest.tokens),
        "packing.images_per_row": (config.packing.images_per_row, images),
        "engine.max_length": (config.engine.max_length, longest.tokens),
        "engine.length_buckets": (max(config.engine.length_buckets), max(window.read for window in windows)),
    }
    longest_shown = max(shapes, key=lambda shape: shape.answer)
    if "environment" in config and config.engine.max_new_tokens < longest_shown.answer:
        raise InputError(
            f"engine.max_new_tokens must be at least {longest_shown.answer}, the tokens of an answer of the reference "
            f"player of {longest_shown.name}; got {config.engine.max_new_tokens}"
        )
    short = {field: (got, needed) for field, (got, needed) in sizes.items() if got < needed}
    if short:
        needs = ", ".join(f"{field} must be at least {needed}; got {got}" for field, (got, needed) in short.items())
        zeros = " ".join(f"--config.{field}=0" for field in short if field != "engine.length_buckets")
        raise InputError(
            f"{needs} (a window of {longest.name} holds {longest.steps} steps of {longest.tokens} tokens with "
            f"agent.max_steps={config.agent.max_steps}" + (f"; {zeros} for what windows take)" if zeros else ")")
        )
