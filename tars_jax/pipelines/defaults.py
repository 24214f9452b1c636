"""Defaults of fields that a job's config leaves open: values that follow from its environment.

Before anything is compiled, chance and the reference player play a few episodes (`tars_jax.pipelines.probing`). Every
value that follows is printed with its reason, stands in RUN/config.json, and is a flag.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from tars_jax.agent.grammar_plain import PLAIN
from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs.registry import load_environment
from tars_jax.inference.constraint import Constraints
from tars_jax.pipelines.config import flatten
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.judges import open_judge
from tars_jax.pipelines.mixture import fewest_groups
from tars_jax.pipelines.probing import TaskShape, callable_in, probe, probes
from tars_jax.pipelines.sections import chat_format, well_formed
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.training import processes
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.run_directory import RunDirectory

MOST_TEXT = 1024  # tokens of an observation's text, whatever is seen
BATCH_STEPS = 1024  # of an update of PPO: its episodes are as many as give them, within bounds
FEWEST, MOST = 16, 192  # episodes of an update, where each is as long as expected
RARE = 400  # episodes of an evaluation where few earn something: in fewer a rise from 1% to 4% cannot be seen
ENOUGH = 48  # steps of the optimizer in an update
IMITATED_STEPS = 4000  # of all demonstrations
HORIZON = 100  # steps that a reward counts for, where they come along the way and an episode may have more
EVEN = 8  # steps of an episode in which all texts have one length, so that a longer one is not expected
TELLING = 10  # episodes by chance that say how many earn something
EARNING = 3  # episodes of a batch that earn something, where few do
ROUNDS = 3  # of episodes for the value model, if it takes as long to level off
MOST_TURNS = 10  # of a dialog that a window holds
SHORT, WHOLE = 8, 2048  # steps of an episode of texts, and their tokens, that a window holds whole


@dataclasses.dataclass(frozen=True)
class Choice:
    """The value of a field, and why."""

    field: str
    value: Any
    reason: str


def choose(
    config: Any, run: RunDirectory, played: Callable[[Any], Any] = lambda config: config
) -> tuple[Any, list[TaskShape] | None]:
    """Like `chosen`, said on stdout; a run that is resumed has the values with which it began.

    `played`: of a config, that of all tasks that will be played, where others are than those that are trained on.
    """
    open_judge(config)  # what it cannot have is said before anything is played
    stored = flatten(run.config)
    unset = _unset(config)
    config = filled(config, {field: stored[field] for field in unset if stored.get(field) is not None})
    found, shapes = chosen(played(config))
    values = processes.gather({choice.field: choice.value for choice in found})[0]  # a clock may have its part in them
    for choice in found:
        print(f"train: config.{choice.field}={values[choice.field]}: {choice.reason}", flush=True)
    config = filled(config, values)
    if found:
        run.choose(config.to_dict())
    for shape in shapes or ():
        task = shape.begun[0]
        spec = load_environment(task.environment, task.options)
        if doubt := spec.doubt_of_limit(task, shape.seen.reward or None):
            print(f"train: {doubt}", flush=True)
    return config, shapes


def chosen(config: Any) -> tuple[list[Choice], list[TaskShape] | None]:
    """Values for the fields that are open; and the shapes of its tasks, where these were looked at for it.

    Raises InputError where an episode cannot be begun.
    """
    if not (unset := _unset(config)):
        return [], None
    tasks = EnvironmentTasks(config)
    model, tokenizer, parent = starting_point(config.model.preset)
    forms = [choice for choice in _forms(tasks) if choice.field in unset]  # in which a few episodes are played
    config = filled(config, {choice.field: choice.value for choice in forms})
    writer = PromptWriter(tokenizer, 1, config.agent.show_budget, chat_format(tokenizer), MOST_TEXT)
    shapes = probe(config, writer, probes(config), chance=True)

    def constraints(thought: str) -> Constraints | None:
        of_agent = callable_in(shapes), thought, config.agent.most_calls
        return well_formed([config.agent.grammar], tokenizer, model.vocabulary, *of_agent)

    found = choices(config, shapes, tasks.has_reference, parent is not None, constraints)
    return [*forms, *(choice for choice in found if choice.field in unset)], shapes


def _forms(tasks: EnvironmentTasks) -> list[Choice]:
    """Forms of prompts and answers."""
    said = all(kind.spec.answered_in_words for kind in tasks.kinds)
    programs = any(kind.spec.harness is not None for kind in tasks.kinds)
    why = "what the policy writes is its answer" if said else "what the policy writes are calls"
    whose = (
        "a program's prompts say what an answer is" if programs else "only calls that the environment has are sampled"
    )
    return [
        Choice("agent.grammar", PLAIN if said else "text", why),
        Choice("agent.show_budget", not said, why),
        Choice("agent.constrained", not programs, whose),
    ]


def choices(
    config: Any,
    shapes: Sequence[TaskShape],
    has_player: bool,
    has_weights: bool,
    constraints: Callable[[str], Constraints | None],
) -> list[Choice]:
    """Choices for all fields that may be left open.

    Args:
      has_player: there is somebody who shows how it is done.
      has_weights: the policy begins with weights that have learned something.
      constraints: under which answers are sampled whose thoughts are "never", "optional" or "required".
    """
    said = config.agent.grammar == PLAIN
    steps = max(shape.seen.steps for shape in shapes)
    limit, says_limit = max(shape.max_steps for shape in shapes), all(shape.says_max_steps for shape in shapes)
    text, shortest = max(shape.seen.text for shape in shapes), min(shape.seen.shortest for shape in shapes)
    even = steps >= EVEN and shortest == text
    pictures = any(shape.screenshot is not None for shape in shapes)
    spoken = max((each.answer for shape in shapes for each in (shape.seen, shape.shown) if each is not None), key=len)
    answer = max(len(spoken), *(shape.answer for shape in shapes))
    imitates = (has_player and config.demonstrations.episodes != 0) or bool(config.demonstrations.datasets)
    scratch = not (imitates or has_weights)
    group = config.ppo.group_size * processes.count()

    played = [each for shape in shapes for each in (shape.seen, shape.shown) if each is not None]
    shows = [shape.shown.steps for shape in shapes if imitates and shape.shown is not None]
    begins, by = (max(shows), "who shows how") if shows else (steps, "chance")
    # A policy that learns may play longer than it begins, up to the limit: between the two, whatever their ratio.
    expected = math.sqrt(begins * max(limit, begins))
    per_episode = f"an episode by {by} has {begins:.0f} step{'s' * (round(begins) != 1)} of at most {limit}"
    beginning = (
        "it begins with random weights"
        if scratch
        else "it begins with " + ("weights that have learned something" if has_weights else "what it imitates")
    )
    seen = "pictures" if pictures else "text alone"
    rate, why = _learning_rate(scratch, has_weights, pictures)
    shrinks = config.ppo.min_batch is None
    batch, of_batch = _episodes(BATCH_STEPS, begins if shrinks else expected, FEWEST, MOST), per_episode
    episodes, earned = (sum(getattr(shape.seen, name) for shape in shapes) for name in ("episodes", "earned"))
    evaluated, of_evaluated = _episodes(2000, expected, 40, 200), per_episode
    if scratch and episodes >= TELLING and EARNING * episodes > batch * earned:
        batch = min(MOST, -(-EARNING * episodes // earned)) if earned else MOST
        of_batch = of_evaluated = f"of {episodes} episodes by chance {earned or 'none'} earned something"
        evaluated = RARE
    passes, rows, of_rows = _passes(config, (config.ppo.min_batch or batch) * begins, scratch)
    size = max(each.size for each in played)
    digits = max(0, math.floor(math.log10(max(size, 1))))
    rewarded = max(each.rewarded for each in played)
    thought = "never" if scratch else "optional"
    longest = max(16, _multiple(answer * 1.25, 4)) if scratch else max(40, answer)

    def decisions() -> int:
        if not config.agent.constrained or (found := constraints(config.agent.thought or thought)) is None:
            return answer
        under = AnswerConstraint(found, found.start[config.agent.grammar], config.engine.max_new_tokens or longest)
        return max(1, under.decisions(spoken))

    of_round = _episodes(1000, expected, 32, 200)
    gamma, of_gamma = _discount(config, rewarded, limit, decisions)
    return [
        Choice("task.max_steps", limit,
               "the environment's own limit" if says_limit else "the environment has no limit of its own"),
        Choice("task.evaluation_episodes", evaluated, of_evaluated),
        Choice("agent.thought", thought, beginning),
        Choice("agent.list_actions", has_weights, f"{beginning}: a list of calls {'tells' if has_weights else 'says'} "
               f"{'it what there is' if has_weights else 'nothing to it'}"),
        Choice("agent.max_steps",
               *_earlier_steps(config.agent.min_steps, limit, said, pictures, min(MOST_TEXT, text) + answer)),
        Choice("agent.max_observation_tokens",
               _multiple(min(MOST_TEXT, max(text + 2 if even else text * 1.5, not pictures)), 4),
               f"{'each' if even else 'the longest'} text that was seen has {text} tokens"),
        Choice("engine.max_new_tokens", longest, f"the longest answer that was seen has {answer} tokens"),
        Choice("browser.pages", 8 if pictures else 16, f"observations are {seen}"),
        Choice("demonstrations.episodes",
               *_demonstrations(begins, f"one takes {begins:.0f} steps", has_player, said and has_weights)),
        Choice("supervised.updates", 700 if pictures else 300, f"observations are {seen}"),
        Choice("value.episodes", of_round, per_episode),
        Choice("value.max_episodes", ROUNDS * (config.value.episodes or of_round), f"{ROUNDS} rounds of them"),
        Choice("value.max_updates", 60 if pictures else 40, f"observations are {seen}"),
        Choice("reward.scale", 10.0**-digits, f"an episode was seen to earn {size:.3g}, whatever its sign"),
        Choice("ppo.updates", *_updates(scratch, gamma, beginning)),
        Choice("ppo.min_batch", max(-(-batch // group), fewest_groups(config.mixture.weights)) * group, of_batch),
        Choice("ppo.batch_steps", BATCH_STEPS if shrinks else 0,
               "of longer episodes fewer are taken" if shrinks else "a batch is so many episodes, however long"),
        Choice("ppo.gamma", gamma, of_gamma),
        Choice("ppo.epochs", passes, of_rows),
        Choice("ppo.minibatch_rows", rows, of_rows),
        Choice("ppo.learning_rate", rate, why),
        Choice("ppo.entropy_bonus", 0.01 if scratch else 0.0, beginning),
    ]  # fmt: skip


def _earlier_steps(least: int, limit: int, said: bool, pictures: bool, of_step: int) -> tuple[int, str]:
    """That stand in a window before the one under way. `of_step`: the most tokens of text and answer that were seen."""
    if said:
        return max(least, min(limit, MOST_TURNS) - 1), "earlier turns of a dialog stand in a window"
    at_most = f"an episode has at most {limit} step{'s' * (limit != 1)}"
    if limit == 1:
        return least, at_most
    if limit <= SHORT and not pictures and limit * of_step <= WHOLE:
        return max(least, limit - 1), f"{at_most}: all are seen"
    why = "of pictures" if pictures else "too many to see all" if limit > SHORT else f"of up to {of_step} tokens"
    return least, f"{at_most}, {why}: where earlier ones must be remembered, this flag is how many are seen"


def _discount(config: Any, rewarded: float, limit: int, decisions: Callable[[], int]) -> tuple[float, str]:
    """Discount per token that is chosen among several, or per turn where that is the unit of credit."""
    if rewarded < 0.5 or limit <= HORIZON:
        return 1.0, "rewards come at the end" if rewarded < 0.5 else f"an episode has at most {limit} steps"
    each = 1 if config.ppo.advantages == "turn" else decisions()
    gamma = round(1 - 1 / (HORIZON * each), 6)
    counts = f"which counts for {HORIZON} steps of {each} decision{'s' * (each != 1)}"
    return gamma, f"{rewarded:.0%} of the steps have a reward, {counts}"


def _passes(config: Any, steps: float, scratch: bool) -> tuple[int, int, str]:
    """Passes over a batch of so many steps, and rows of a minibatch. One pass with half the rows makes as many steps of
    the optimizer as two, in half the time: enough where these are many."""
    of_two = 32 if scratch else 64
    once = steps >= ENOUGH * (config.ppo.minibatch_rows or of_two // 2)
    of_one = f"a batch begins with about {steps:.0f} steps, of which one pass is {'' if once else 'not '}enough"
    return (1, of_two // 2, of_one) if once else (2, of_two, of_one)


def _updates(scratch: bool, gamma: float, beginning: str) -> tuple[int, str]:
    """Number of updates: where most steps earn something, and an episode is long, each update has much to learn
    from."""
    if not scratch:
        return 16, beginning
    return (24, "rewards come along the way") if gamma < 1 else (36, beginning)


def _learning_rate(scratch: bool, has_weights: bool, pictures: bool) -> tuple[float, str]:
    if has_weights:
        return 1.5e-4, "it begins with weights that have learned something"
    if scratch:
        return 1e-3, "it begins with random weights"
    imitated = "it imitates what it sees in pictures" if pictures else "it imitates what it reads"
    return 1.5e-4 if pictures else 3e-4, f"{imitated}, which larger steps would undo"


def _demonstrations(of_one: float, per_episode: str, has_player: bool, is_chat: bool) -> tuple[int, str]:
    if not has_player:
        return 0, "there is no player that shows how"
    if is_chat:
        return 0, "it begins with weights that have learned something, and a record's answer is what it is held to"
    return _episodes(IMITATED_STEPS, of_one, 100, 1000), per_episode


def _episodes(steps: float, of_one: float, least: int, most: int) -> int:
    """As many as give so many steps, within bounds; a multiple of 8."""
    return min(most, max(least, round(steps / of_one / 8) * 8))


def _multiple(value: float, unit: int) -> int:
    return math.ceil(value / unit) * unit


def _unset(config: Any) -> list[str]:
    return [field for field, value in flatten(config.to_dict()).items() if value is None]


def filled(config: Any, values: dict[str, Any]) -> Any:
    """A locked copy of the config, with these values filled in."""
    filled = config.copy_and_resolve_references()
    with filled.unlocked(), filled.ignore_type():
        filled.update_from_flattened_dict(values)
    return filled.lock()
