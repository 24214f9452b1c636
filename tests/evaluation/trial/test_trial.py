"""What `try` says of an environment: nothing wrong of a sound one, and of each faulty one its fault, with the value."""

import asyncio
import dataclasses

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, EnvironmentFailure, Function, Observation, Task
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.envs.spec import spec_of
from tars_jax.evaluation.trial import (
    LOOK,
    OK,
    WRONG,
    Subject,
    Trial,
    TrialLimits,
    render_trial,
    transcript,
    try_environment,
)
from tars_jax.evaluation.trial.calls import calls_of, unknown_call
from tars_jax.evaluation.trial.findings import difference
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import random_player
from tests.environments.faulty import WORD

LIMITS = TrialLimits(observation_tokens=64, episodes=4, seconds=600)


def tried(name: str, limits: TrialLimits = LIMITS) -> Trial:
    name = f"tests.environments.faulty:{name}"
    spec = load_environment(name, {})
    task = Task("a", name, 0, {}, spec.default_max_steps({}))
    task = Task("a", name, 0, {}, task.max_steps, verification=spec.verification(task))
    writer = PromptWriter(load_tokenizer(), 1, max_observation_tokens=2**31)
    subject = Subject(spec, EnvironmentResources(), writer, AgentConfig())
    return asyncio.run(try_environment(subject, task, random_player(writer, "text"), limits))


def sentences(trial: Trial, level: str) -> list[str]:
    return [finding.sentence for finding in trial.findings if finding.level == level]


def test_of_a_sound_environment_nothing_is_wrong() -> None:
    trial = tried("Sound")
    assert sentences(trial, WRONG) == sentences(trial, LOOK) == []
    said = sentences(trial, OK)
    assert "Seed 0 begins the same 4 times, byte for byte, as seen and as asked." in said
    assert "The same actions lead to the same 4 times, 3 steps long." in said
    assert "4 of 4 episodes ended with success." in said
    assert "4 seeds begin in 4 ways." in said
    assert any(each.startswith("A reset takes ") and "(medians of 4 and 12)" in each for each in said)
    assert any(each.startswith("An episode takes ") and each.endswith("(medians of 4).") for each in said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("OtherByObject", "The task of seed 0 does not begin the same in two environments: the text 'number "),
        (
            "LeakyStart",
            "A reset does not clean: after an episode, seed 0 begins with "
            "the text 'seed 0, said 0' and 'seed 0, said 1'.",
        ),
        (
            "LeakyReward",
            "A reset does not clean, or something is drawn without the task's seed: after an episode, the same actions "
            "lead elsewhere from step 3 on: reward 1.0 and 0.0.",
        ),
        (
            "OutOfReach",
            "a success is a return of at least 475, which cannot be reached in 16 steps, as no step has earned more "
            "than 1; its own limit is 16 steps.",
        ),
        ("LongText", "A window cuts the text of 4 of 16 observations to 64 tokens; the longest takes "),
        ("ChangingPicture", "Its pictures change their size: 8x10, 8x11, 8x8, 8x9."),
        ("Infinite", "reward that a step of tests.environments.faulty:Infinite gives must be a finite number; got inf"),
        ("Contrary", "an episode that failed has a return of 4, one that succeeded 1."),
        ("Unguarded", "\"say(word='')\" fits its schema, and fails: step of tests.environments.faulty:Unguarded raised "
                      "IndexError: string index out of range (tests/environments/faulty.py:"),
        ("Hanging", "`close` fails: close of tests.environments.faulty:Hanging took more than 0.2 s."),
    ],
)  # fmt: skip
def test_a_fault_is_found(name: str, said: str) -> None:
    wrong = sentences(tried(name), WRONG)
    assert any(said in each for each in wrong), wrong


def test_what_somebody_has_to_think_about() -> None:
    trial = tried("Mute")
    assert sentences(trial, WRONG) == []
    assert sentences(trial, LOOK) == [
        "Nobody says what success is: no step has `success`, and there is no threshold and no judge.",
        "Nothing that is seen has changed in 5 steps.",
        "No episode ended by itself: all 4 ran into a limit, 5 steps at most.",
        "All of 4 seeds begin alike: is the task's seed used?",
    ]


def test_a_coin_that_no_seed_tosses_is_found() -> None:
    assert any("same actions lead elsewhere" in finding.sentence for finding in tried("Coin").findings)


def test_a_success_that_nobody_has_had_is_looked_at() -> None:
    trial = tried("OutOfSteps")
    assert sentences(trial, WRONG) == []
    assert "None of 4 episodes ended with success, within 2 steps: nobody has shown that it can be had." in sentences(
        trial, LOOK
    )


def test_a_text_that_training_cuts_says_what_it_costs() -> None:
    trial = tried("LongAnswer", dataclasses.replace(LIMITS, observation_tokens=0, trained_tokens=100))
    (said,) = sentences(trial, LOOK)
    assert "`train` cuts it to 100, and with --config.agent.max_observation_tokens=" in said
    assert (
        sentences(tried("LongAnswer", dataclasses.replace(LIMITS, observation_tokens=0, trained_tokens=2000)), LOOK)
        == []
    )


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="function say: parameters must be a JSON schema of type object; got "):
        tried("BadSchema")


def test_what_a_terminal_would_obey_is_spelled() -> None:
    trial = tried("Turning")
    assert "seed\\u202e 0 \\x1b[31m" in transcript(trial.played) and "\u202e" not in transcript(trial.played)


def test_a_long_text_that_is_no_task_may_be_cut() -> None:
    trial = tried("LongAnswer")
    assert sentences(trial, WRONG) == []
    (said,) = sentences(trial, LOOK)
    assert said.startswith("A window cuts the text of 4 of 16 observations to 64 tokens; the longest takes ")


def test_an_episode_is_read() -> None:
    trial = tried("Sound")
    read = transcript(trial.played)
    assert "  instruction  Say it three times.\ncan be called  say(word)\n       1 sees  seed 0, said 0\n" in read
    assert "         says  Action: say(word='" in read and "       reward  1, success, over\n" in read
    assert read.endswith("The episode is over (finished) after 3 turns, with success; its return is 1.")
    page = render_trial("Sound", "by chance", trial)
    assert "Nothing was found wrong." in page and "3 steps" in page and "<script" not in page


def test_an_environment_that_breaks_off_is_shown_so_far() -> None:
    trial = tried("Infinite")
    assert trial.played.trajectory is None and len(trial.played.turns) == 3
    assert "The environment failed in turn 3: reward that a step" in transcript(trial.played)
    assert "seed 0, said 2" in render_trial("Infinite", "", trial)


def test_calls_that_come_through_a_schema_and_that_do_not() -> None:
    space = ActionSpace("tools", ("finished",), (Function("say", "", WORD),))
    calls = {call.written: call for call in calls_of(space)}
    assert calls["say(word='')"].action.parameters == {"word": ""}
    assert calls["say()"].refused == "say: word is missing; it must be a text"
    assert calls["say(word=null)"].refused and calls["say(word={})"].refused
    through = [call for call in calls_of(space) if not call.refused]
    assert through[-1].action.name == "finished"  # it ends an episode
    assert unknown_call(space) == "a function must be one of finished, say; got 'no_such_function'"


def test_pictures_that_differ() -> None:
    dark = np.zeros((3, 4, 3), np.uint8)
    marked = dark.copy()
    marked[0, 0], marked[2, 3, 1] = 9, 1
    one, other = Observation.from_pixels(dark), Observation.from_pixels(marked)
    assert difference(one, other) == "2 of 12 pixels"
    assert difference(one, one) == "" and difference(one, Observation(text="x")) == "the text '' and 'x'"


def test_what_cannot_begin_is_said() -> None:
    class Never:
        action_space = ActionSpace("tools", functions=(Function("say", "", WORD),))
        instruction = ""

        def reset(self, task: Task) -> Observation:
            raise ValueError("no")

        step = close = reset

    spec = spec_of("never", Never, {})
    writer = PromptWriter(load_tokenizer(), 1, max_observation_tokens=2**31)
    subject = Subject(spec, EnvironmentResources(), writer, AgentConfig())
    with pytest.raises(EnvironmentFailure, match="reset of never raised ValueError: no"):
        asyncio.run(try_environment(subject, Task("a", "never", 0, {}, 3), random_player(writer, "text"), LIMITS))
