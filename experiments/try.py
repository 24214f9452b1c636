"""An environment is tried before anything is trained on it: an episode is shown, and what was found is said.

The module's name is a word of Python's: commands load their files by name, and nothing else imports them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from typing import Any

import ml_collections

from tars_jax import InputError
from tars_jax.agent.grammar_plain import PLAIN
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.tool_schemas import TEXT
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, environments_in
from tars_jax.evaluation.trial import (
    Subject,
    Trial,
    TrialEpisode,
    TrialLimits,
    render_trial,
    transcript,
    try_environment,
)
from tars_jax.evaluation.trial.examine import PARTS
from tars_jax.evaluation.trial.trial_report import findings_text, verdict_of
from tars_jax.files import write_atomic
from tars_jax.judges import judge_of
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.defaults import MOST_TEXT, filled
from tars_jax.pipelines.environments import configured_environment, options_of
from tars_jax.pipelines.sections import agent_config, browser_config, chat_format, image_tokens, sandbox_of
from tars_jax.pipelines.serving import read_key
from tars_jax.pipelines.starting_weights import starting_point
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.rollout.players import Player, own_player, random_player, reference_player
from tars_jax.sandbox.browser.service import browsers
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json

CHANCE, REFERENCE = "chance", "reference"
POSITIONAL = ("environment",)
RESUMES = False  # it begins anew
PAGES = 2  # of a browser: the environment that plays, and another beside it
UNCUT = 2**31  # tokens of a text


def run(config: Any, run_directory: RunDirectory) -> int:
    read_key(config.api_key_file)  # one that cannot be read is said whoever plays
    spec, task = subject_of(config)
    in_words = spec.answered_in_words and config.tools == TEXT
    config = filled(config, {"agent.grammar": config.agent.grammar or (PLAIN if in_words else "text")})
    judge = judge_of(task, None, spec.judge) if spec.judge or task.verification.reference else None
    with naming("config.preset", "preset"):
        model, tokenizer, _ = starting_point(config.preset)
    writer = PromptWriter(tokenizer, 1, config.agent.show_budget, chat_format(tokenizer), UNCUT)
    player, agent = player_of(config, spec, writer)
    by = f"{spec.name}, seed {task.seed}, at most {task.max_steps} steps, played by {config.player}"
    print(by, flush=True)
    limits = TrialLimits(
        says_limit=bool(config.max_steps) or spec.says_max_steps,
        trained_tokens=MOST_TEXT,
        observation_tokens=config.agent.max_observation_tokens,
        image_tokens=functools.partial(image_tokens, model.vision),
        preset=config.preset,
        episodes=config.episodes,
        seconds=config.seconds,
    )

    async def tried() -> Trial:
        async with contextlib.AsyncExitStack() as stack:
            resources = await _resources(config, spec, stack)
            subject = Subject(spec, resources, writer, agent, judge)
            progress = Progress("try", len(PARTS), "parts", quiet=5.0)

            def on_part(done: int) -> None:
                if done < len(PARTS):
                    progress.update(done, next=PARTS[done])

            return await try_environment(subject, task, player, limits, on_played=_show, on_part=on_part)

    try:
        trial = asyncio.run(tried())
    except EnvironmentFailure as failure:
        raise InputError(f"{spec.name} must begin an episode to be tried; got {failure}") from failure
    print(f"\n{findings_text(trial.findings)}\n\n{verdict_of(trial)[1]}")
    page = run_directory.path / "report.html"
    write_atomic(page, render_trial(spec.name, by, trial).encode(errors="replace"))
    found = [dataclasses.asdict(finding) for finding in trial.findings]
    write_json(run_directory.path / "result.json", {"environment": spec.name, "findings": found, "wrong": trial.wrong})
    print(f"report: {page}")
    return 1 if trial.wrong else 0


def subject_of(config: Any) -> tuple[EnvironmentSpec, Task]:
    """The environment and the task that is played. Raises InputError for several of either."""
    names, kinds = environments_in(config.environment), options_of(config)
    if len(names) > 1 or len(kinds) > 1:
        raise InputError(f"config.environment must be one environment with one kind of options; got {', '.join(names)}")
    (name,), (options,) = names, kinds
    spec = configured_environment(name, options)
    limit = config.max_steps or spec.default_max_steps(options)
    task = Task(f"try-{config.seed}", name, config.seed, options, limit, config.instruction)
    return spec, dataclasses.replace(task, verification=spec.verification(task))


def player_of(config: Any, spec: EnvironmentSpec, writer: PromptWriter) -> tuple[Player, Any]:
    """Who plays, and how the loop reads what it writes. Raises InputError where there is none."""
    agent, grammar = agent_config(config.agent, None), config.agent.grammar
    scripted = dataclasses.replace(agent, list_actions=False)
    if config.player == CHANCE:
        return random_player(writer, grammar), scripted
    if config.player == REFERENCE:
        if spec.reference is None:
            raise InputError(f"config.player must not be reference, as {spec.name} has no reference player; got it")
        return reference_player(writer, grammar, 1.0), scripted
    if not config.player.startswith(("http://", "https://")):
        with naming("config.player", "player"):
            return own_player(config.player, writer, grammar, 1.0), scripted
    from tars_jax.pipelines.contestants import remote  # with the engine, for which other players need not wait

    more = {"guide": False, "screen": 0, "patience": config.answer_seconds}
    contestant = remote(ml_collections.ConfigDict({**config.to_dict(), **more}), "player")
    return contestant.player, contestant.agent


async def _resources(config: Any, spec: EnvironmentSpec, stack: contextlib.AsyncExitStack) -> EnvironmentResources:
    sandbox = sandbox_of(config)
    if not spec.needs_browser:
        return EnvironmentResources(sandbox=sandbox)
    settings = browser_config(config, 1, PAGES)
    browser = browsers(settings, sandbox)
    stack.push_async_callback(browser.close)
    await browser.start()
    return page_resources(browser, settings, PAGES, sandbox)


def _show(played: TrialEpisode) -> None:
    print(f"{transcript(played)}\n", flush=True)
