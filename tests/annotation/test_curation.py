"""Curation: executed again, reviewed by two, without near-duplicates, thoughts that add nothing, a page."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent.actions import Click, Finished, Point, ToolCall, Type
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.response import Response
from tars_jax.annotation.curation import augmentation, thoughts
from tars_jax.annotation.curation.config import CurationConfig, Similarity
from tars_jax.annotation.curation.curate import curate
from tars_jax.annotation.curation.executability import Reason, ReplayedExecution, executed
from tars_jax.annotation.curation.grounding import content, flipped_negations, ungrounded_words
from tars_jax.annotation.curation.near_duplicates import (
    Work,
    common,
    jaccard,
    near_duplicates,
    pieces,
    similar_sets,
)
from tars_jax.annotation.curation.reviews import (
    Review,
    ReviewDecision,
    agreements,
    cohens_kappa,
    decisions,
    read_reviews,
)
from tars_jax.annotation.curation.statistics import application_of, statistics_of
from tars_jax.annotation.curation.thoughts import EndpointRefiner, RuleRefiner, refine_thoughts
from tars_jax.annotation.task_design.applications import read_applications
from tars_jax.annotation.task_design.design import design_tasks
from tars_jax.annotation.task_design.example import APPLICATIONS, GRAPHS
from tars_jax.annotation.task_design.graph import MEASURES, read_graph
from tars_jax.annotation.task_design.wording import WRITTEN, EndpointInstructionWriter
from tars_jax.data.datasets import read_dataset
from tars_jax.environment import Observation, Task
from tars_jax.envs.corridor import AHEAD, CorridorEnvironment
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources, EnvironmentSpec
from tars_jax.evaluation.curation_page import render_curation
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.sandbox.browser.service import browsers
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.files import save_trajectory
from tests.judges.answering_server import answering


def step(thought: str, *actions: Any, text: str = "", **more: Any) -> Step:
    response = format_response(Response(thought, actions))
    return Step(b"", response, thought, "\n\n".join(map(format_call, actions)), None, 0.0, 0, True, {}, text, **more)


def trajectory(
    id: str, *steps: Step, success: bool | None = True, instruction: str = "", **metadata: Any
) -> Trajectory:
    task = Task(id, "recorded", 0, {}, max(1, len(steps))).to_json()
    metadata = {"instruction": instruction or f"Do what {id} says.", **metadata}
    return Trajectory(id, task, (), steps, Outcome.FINISHED, float(bool(success)), metadata, success=success)


CLICKS = (step("I click", Click(Point(100, 200))), step("I type", Type("hello")), step("done", Finished()))

# ---- executed again


def walked(seed: int, way: str = "", more: Sequence[Step] = (), **changes: Any) -> Trajectory:
    """Through the corridor, and at its end `way`, or the right one."""
    environment = CorridorEnvironment(2, 3)
    first = asyncio.run(environment.reset(Task("x", "corridor", seed, {}, 9)))
    state = first.info["state"]
    steps = [step("on", ToolCall("go", {"way": AHEAD})) for _ in range(state["left"])]
    steps += [step("turn", ToolCall("go", {"way": way or state["way"]})), *more]
    task = Task(f"walk-{seed}", "corridor", seed, {"shortest": 2, "longest": 3}, 9).to_json()
    success = not way or way == state["way"]
    made = Trajectory(f"walk-{seed}-{way}", task, (), tuple(steps), Outcome.FINISHED, float(success), success=success)
    return dataclasses.replace(made, **changes)


def again(one: Trajectory) -> ReplayedExecution:
    return asyncio.run(executed(one, EnvironmentResources()))


def test_what_reaches_its_recorded_end_is_executable() -> None:
    assert again(walked(0)).reason is Reason.REACHED
    lost = walked(1, "down" if walked(1).steps[-1].action != "go(way='down')" else "up")
    assert not lost.success and again(lost).reason is Reason.REACHED  # it ends as badly as it was recorded


@pytest.mark.parametrize(
    ("changed", "reason", "at", "says"),
    [
        (walked(2, success=False), Reason.OTHER_VERDICT, -1, False),
        (walked(2, reward=0.5), Reason.OTHER_RETURN, -1, False),
        (walked(2, more=[step("more", ToolCall("go", {"way": AHEAD}))]), Reason.ENDED_EARLY, 4, False),
        (dataclasses.replace(walked(2), steps=(step("", Click(Point(1, 1))),)), Reason.REFUSED, 0, False),
        (
            dataclasses.replace(walked(2), steps=(dataclasses.replace(step("", Finished()), action="go("),)),
            Reason.UNREADABLE, 0, False,
        ),
        (trajectory("recorded", *CLICKS), Reason.NO_ENVIRONMENT, -1, None),
        (walked(2, task={**walked(2).task, "environment": "gone:Away"}), Reason.NO_ENVIRONMENT, -1, None),
        (walked(2, task={**walked(2).task, "options": {"shortest": -1}}), Reason.NO_ENVIRONMENT, -1, None),
        (walked(2, success=None), Reason.NOTHING_TO_COMPARE, -1, None),
        (walked(2, success=None, final_text="end"), Reason.REACHED, -1, True),
        (walked(2, success=None, final_text="elsewhere"), Reason.OTHER_TEXT, -1, False),
    ],
)  # fmt: skip
def test_what_does_not_says_why(changed: Trajectory, reason: Reason, at: int, says: bool | None) -> None:
    found = again(changed)
    if reason is Reason.ENDED_EARLY:
        at = len(changed.steps) - 1
    assert (found.reason, found.step, found.says) == (reason, at, says), found


class Broken(CorridorEnvironment):
    async def reset(self, task: Task) -> Observation:
        raise OSError("the disk is away")


def test_a_sandbox_that_fails_says_nothing() -> None:
    here = f"{__name__}:Broken"
    sys.modules.setdefault(__name__, sys.modules[Broken.__module__])
    found = again(walked(0, task={**walked(0).task, "environment": here}))
    assert found.reason is Reason.SANDBOX and found.says is None


# ---- near-duplicates

sets = st.lists(st.frozensets(st.sampled_from("abcdefghij"), min_size=1), max_size=12)


@given(sets, st.floats(0.05, 1.0))
def test_every_pair_of_similar_sets_is_found_and_no_other(given_sets: list[frozenset[str]], least: float) -> None:
    meant = {
        (one, other)
        for other in range(len(given_sets))
        for one in range(other)
        if jaccard(given_sets[one], given_sets[other]) >= least
    }
    assert set(similar_sets(given_sets, least)) == meant


def test_jaccard_of_pieces_by_hand() -> None:
    assert pieces("Abc, de!") == {"abc ", "bc d", "c de"}
    assert jaccard(pieces("abcde"), pieces("abcdf")) == pytest.approx(1 / 3)  # abcd of abcd, bcde, bcdf
    assert pieces("ab") == {"ab"}


def work(id: str, instruction: str, *calls: str, application: str = "Notes", solved: bool = True) -> Work:
    return Work(id, application, instruction, calls, solved)


def test_the_same_work_under_the_same_words_is_a_duplicate_and_the_solved_or_shorter_stays() -> None:
    told = "Rename the document plan.txt to draft.txt in the folder letters."
    calls = tuple(f"click('{n},1')" for n in range(12))
    works = [
        work("lost", told, *calls, solved=False),
        work("longer", told.replace("Rename", "rename").replace(".txt in", ".txt, in"), *calls, "wait()"),
        work("kept", told, *calls),
        work("other number", told + " Do it 3 times.", *calls),
        work("other work", told, *reversed(calls)),
        work("other application", told, *calls, application="Files"),
        work("other words", "Print the letter that came today.", *calls),
    ]
    assert near_duplicates(works, Similarity()) == {0: 2, 1: 2}
    assert near_duplicates(works, Similarity(asked=0.8, done=0.0)).keys() >= {0, 1, 4}


calls_of = st.lists(st.sampled_from("abc"), max_size=8).map(tuple)


@given(st.lists(calls_of, max_size=10), st.floats(0.1, 1.0))
def test_of_the_same_instruction_the_calls_alone_tell(all_calls: list[tuple[str, ...]], least: float) -> None:
    works = [work(str(n), "Do the same.", *calls) for n, calls in enumerate(all_calls)]
    replaced = near_duplicates(works, Similarity(0.8, least))
    for place, by in replaced.items():
        assert by not in replaced and common(all_calls[place], all_calls[by]) >= least * max(
            len(all_calls[place]), len(all_calls[by])
        )
    kept = [place for place in range(len(works)) if place not in replaced]
    for one in kept:
        for other in kept:
            longer = max(len(all_calls[one]), len(all_calls[other]))
            assert one == other or common(all_calls[one], all_calls[other]) < least * longer


def test_points_nearby_are_the_same_call() -> None:
    one, other = (trajectory(id, step("", Click(Point(x, 500)))) for id, x in (("a", 401), ("b", 404)))
    assert Work.of(one, "x", "y").calls == Work.of(other, "x", "y").calls
    assert Work.of(one, "x", "y").calls != Work.of(trajectory("c", step("", Click(Point(460, 500)))), "x", "y").calls


# ---- reviews


def test_kappa_by_hand() -> None:
    # Cohen's table: 20 both keep, 5 and 10 differ, 15 both reject, of 50.
    # p_o = 35 / 50 = .7; first keeps 25 / 50, second 30 / 50: p_e = .5 * .6 + .5 * .4 = .5; kappa = .2 / .5 = .4
    first = ["keep"] * 25 + ["reject"] * 25
    second = ["keep"] * 20 + ["reject"] * 5 + ["keep"] * 10 + ["reject"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)


labels = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40)


@given(labels, st.randoms(use_true_random=False))
def test_kappa_is_symmetric_bounded_and_of_no_order(pairs: list[tuple[str, str]], rng: random.Random) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    kappa = cohens_kappa(first, second)
    assert cohens_kappa(first, first) in (None, pytest.approx(1.0))
    assume(kappa is not None)
    assert kappa is not None and -1 - 1e-9 <= kappa <= 1 + 1e-9
    assert cohens_kappa(second, first) == pytest.approx(kappa)
    assert (kappa == pytest.approx(1)) == (first == second)
    mixed = rng.sample(pairs, len(pairs))
    renamed = {"a": "z", "b": "y", "c": "x"}
    again = cohens_kappa([renamed[one] for one, _ in mixed], [renamed[other] for _, other in mixed])
    assert again == pytest.approx(kappa)


def review(id: str, who: str, verdict: Any, **more: Any) -> Review:
    return Review(trajectory=id, reviewer=who, verdict=verdict, **more)


REVIEWS = (
    review("both", "mara", "keep"), review("both", "yusuf", "keep"),
    review("neither", "mara", "reject"), review("neither", "yusuf", "reject"),
    review("open", "mara", "keep"), review("open", "yusuf", "reject"),
    review("decided", "mara", "keep"), review("decided", "yusuf", "reject"),
    review("decided", "lee", "reject", adjudicates=True), review("one", "mara", "keep"),
)  # fmt: skip


def test_two_agree_or_a_third_decides() -> None:
    found = decisions(REVIEWS, ["both", "neither", "open", "decided", "one", "nobody"])
    assert list(found.values()) == [
        ReviewDecision.KEEP, ReviewDecision.REJECT, ReviewDecision.OPEN, ReviewDecision.REJECT,
        ReviewDecision.ONE_REVIEW, ReviewDecision.NO_REVIEW,
    ]  # fmt: skip
    (agreement,) = agreements(REVIEWS)
    # of four: p_o = 2 / 4; mara keeps 3 / 4, yusuf 1 / 4: p_e = 3 / 16 + 3 / 16; kappa = (1/2 - 3/8) / (5/8) = .2
    assert (agreement.reviewers, agreement.count, agreement.observed) == (("mara", "yusuf"), 4, 0.5)
    assert agreement.kappa == pytest.approx(0.2)


def test_who_adjudicates_alone_decides_nothing() -> None:
    final = Review(trajectory="x", reviewer="lee", verdict="keep", adjudicates=True)
    one = Review(trajectory="x", reviewer="mara", verdict="reject")
    assert decisions([final], ["x"]) == {"x": ReviewDecision.NO_REVIEW}
    assert decisions([final, one], ["x"]) == {"x": ReviewDecision.ONE_REVIEW}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", ":2 must be a review; Expecting property name"),
        ('{"trajectory": "a", "reviewer": "b"}', ":2: verdict must be keep or reject; got nothing"),
        ('{"trajectory": "a", "reviewer": 1, "verdict": "keep"}', ":2: reviewer must be a name; got 1"),
        ('{"trajectory": "a", "reviewer": "b", "verdict": "maybe"}', ":2: verdict must be keep or reject"),
        ('{"trajectory": "a", "reviewer": "b", "verdict": "keep", "x": 1}', ":2: x must be left out"),
        ('{"trajectory": "x", "reviewer": "m", "verdict": "keep"}', "is reviewed by 'm' a second time"),
        ('{"trajectory": "x", "reviewer": " ", "verdict": "keep"}', ":2: reviewer must be a name; got ' '"),
        (
            '{"trajectory": "x", "reviewer": "m", "verdict": "keep", "adjudicates": true}',
            "must be another than who has",
        ),
    ],
)
def test_a_malformed_review_is_named_by_line_and_field(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "reviews.jsonl"
    file.write_text('{"trajectory": "x", "reviewer": "m", "verdict": "keep"}\n' + line + "\n")
    with pytest.raises(InputError) as raised:
        read_reviews(file)
    assert says in str(raised.value) and str(file) in str(raised.value)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.binary(max_size=30)
        | st.sampled_from(
            [
                b'{"trajectory": "a", "reviewer": "b", "verdict": "keep"}',
                b'{"trajectory": "a", "reviewer": "c", "verdict": 3}',
            ]
        )
    )
)
def test_any_file_of_reviews_is_read_or_refused_by_line(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reviews.jsonl")
        file.write_bytes(b"\n".join(lines))
        try:
            read_reviews(file)
        except InputError as error:
            assert re.match(rf"{re.escape(str(file))}:\d+(:| must be) ", str(error))


# ---- thoughts


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("I open the settings.", ()),
        ("I then click Save, because it is there.", ()),
        ("I am opening the setting, saving it.", ()),
        ("I open 3 settings.", ("3",)),
        ("I open the Printer settings.", ("Printer",)),
        ("I close the settings.", ("close",)),
        ("I do not open the settings.", ("not",)),
        ("I open the settings before I save.", ("before",)),
    ],
)
def test_what_a_thought_adds_is_found(text: str, more: tuple[str, ...]) -> None:
    assert ungrounded_words(text, ["uh open the setting", "click(point='<point>1 2</point>')", "Save"]) == more


words = st.sampled_from(
    ["red", "button", "12", "Printer", "not", "the", "save", "open", "3.5", "never", "on", "设", "置"]
)


@given(st.lists(words, max_size=8), st.lists(words, max_size=8))
def test_nothing_of_what_was_said_is_an_addition_and_all_else_is(said: list[str], new: list[str]) -> None:
    assert ungrounded_words(" ".join(said), [" ".join(said)]) == ()
    known = {word.casefold() for word in said} | ({"not", "never"} if {"not", "never"} & {*said} else set())
    extra = [word for word in content(" ".join(new)) if word.casefold() not in known]
    assert ungrounded_words(" ".join(new), [" ".join(said)]) == tuple(dict.fromkeys(extra))


@pytest.mark.parametrize(
    ("text", "said", "turned"),
    [
        ("I save the file.", "don't save the file", ("save", "file")),
        ("I do not save the file.", "I don't save the file", ()),
        ("I choose the red one.", "not the blue one, the red one", ()),
        ("I choose the blue one.", "not the blue one, the red one", ("blue",)),
        ("I save it.", "no wait, save it", ()),
        ("删除文件", "不要删除文件", ("删", "除", "文", "件")),
        ("I close it.", "without saving I close it", ("close",)),
        ("it loads", "it fails to load", ("load",)),
        ("I see it clearly", "I hardly see it", ("see",)),
        ("upload", "stop the upload", ("upload",)),
        ("ich lösche die Datei", "ich lösche die Datei nicht", ("ich", "lösche", "die", "Datei")),
        ("I wait and do not click.", "I do not click, I wait", ()),
    ],
)
def test_what_was_denied_is_not_claimed(text: str, said: str, turned: tuple[str, ...]) -> None:
    assert flipped_negations(text, said) == turned


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        ("um so I I need to uh click the the save button", "So I need to click the save button."),
        ("okay, now, uh, the file menu", "Now, the file menu."),
        ("click the right button, you know, on the right", "Click the right button, on the right."),
        ("uh... um", ""),
        ("Don't save it", "Don't save it."),
        ("I click on I click on save", "I click on save."),
        ("The code is 5 5 5 1 2", "The code is 5 5 5 1 2."),
        ("enter five five one", "Enter five five one."),
        ("https://er.example/um/ is the page", "https://er.example/um/ is the page."),
        ("the file is called um.txt", "The file is called um.txt."),
        ('he said "um" twice', 'He said "um" twice.'),
        ("Er sagt, es ist um fünf", "Er sagt, es ist um fünf."),
        ("Ich suche, um Berlin zu finden", "Ich suche, um Berlin zu finden."),
        ("The ER is on the map", "The ER is on the map."),
        ("New York, New York is the song", "New York, New York is the song."),
        ("press A, A, B", "Press A, A, B."),
        ("Press Tab tab Tab", "Press Tab tab Tab."),
    ],
)
def test_the_rule_leaves_out_what_carries_nothing(said: str, becomes: str) -> None:
    assert RuleRefiner().refine(said, "", "") == becomes


@given(st.lists(st.sampled_from(["um", "uh,", "I", "click", "the", "red", "button", "well,", "right", "3", "not"])))
def test_the_rule_adds_nothing(spoken: list[str]) -> None:
    said = " ".join(spoken)
    assert ungrounded_words(RuleRefiner().refine(said, "", ""), [said]) == ()


class Says:
    name = "says"

    def __init__(self, text: str) -> None:
        self._text = text

    def refine(self, said: str, typed: str, seen: str) -> str:
        return self._text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I type hello into the field.", thoughts.REFINED),  # typed, said, and seen
        ("I type hello to greet Anna.", thoughts.ADDS),
        ("", thoughts.DECLINED),
        ("uh type it into the uh field", thoughts.UNCHANGED),
        ("I type hello into the field. " * 20, thoughts.LONGER),
    ],
)
def test_a_refined_thought_stands_or_the_original_stays_and_is_counted(text: str, reason: str) -> None:
    original = trajectory("a", step("uh type it into the uh field", Type("hello"), text="Name"))
    counts = Counter[str]()
    done = refine_thoughts(original, Says(text), counts)
    assert counts == {reason: 1}
    if reason == thoughts.REFINED:
        assert done.steps[0].thought == text and done.metadata["said"] == {"0": original.steps[0].thought}
        assert done.steps[0].response == format_response(Response(text, (Type("hello"),)))
    else:
        assert done == original


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """An endpoint that refines; how is the model's name."""
    with answering(str(Path(__file__).parent / "refining_server.py")) as address:
        yield address


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("name", "reason"),
    [("careful", thoughts.REFINED), ("inventing", thoughts.ADDS), ("declining", thoughts.DECLINED)],
)
def test_a_models_thoughts_are_checked(model: str, name: str, reason: str) -> None:
    counts = Counter[str]()
    original = trajectory("a", step("uh I uh type the name", Type("hello")))
    done = refine_thoughts(original, EndpointRefiner(EndpointModel(model, name)), counts)
    assert counts == {reason: 1}
    assert done.steps[0].thought == ("I type the name." if reason == thoughts.REFINED else original.steps[0].thought)


# ---- instructions in other words


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("careful", augmentation.TAKEN), ("inventing", augmentation.ADDS), ("declining", augmentation.DECLINED),
    ],
)  # fmt: skip
def test_a_models_variants_are_checked(model: str, name: str, reason: str) -> None:
    counts = Counter[str]()
    paraphraser = augmentation.EndpointParaphraser(EndpointModel(model, name))
    made = augmentation.augment(trajectory("a", *CLICKS), "Open the red file.", paraphraser, 1, 0, counts)
    assert counts == {reason: 1}
    assert [each.metadata["instruction"] for each in made] == (
        ["Please open the red file."] if reason == augmentation.TAKEN else []
    )


@pytest.mark.multiprocess
@pytest.mark.parametrize(("name", "reason"), [("careful", WRITTEN), ("inventing", "adds a figure")])
def test_a_models_words_for_a_task_are_checked(model: str, name: str, reason: str) -> None:
    graphs = [read_graph(GRAPHS / "files.toml")]
    writer = EndpointInstructionWriter(EndpointModel(model, name))
    tasks, counts = design_tasks(
        graphs, read_applications(APPLICATIONS), 2, 0, across=0, weights=dict.fromkeys(MEASURES, 1.0), writer=writer
    )
    assert counts == {reason: 2}
    assert {each.worded_by for each in tasks} == {name if reason == WRITTEN else "templates"}


@pytest.mark.parametrize(
    ("instruction", "text", "reason"),
    [
        ('Create a folder "x".', 'Please make a folder "x".', ""),
        ('Create a folder "x".', 'Delete the folder "x".', augmentation.ADDS),
        ('Create a folder "x".', "Create a folder.", augmentation.LOSES),
        ("Open 3 files.", "Open 4 files.", augmentation.LOSES),
        ("In Files, open it.", "Open it.", augmentation.LOSES),
        ("Open the red file.", "Open the file.", augmentation.LOSES),
        ("Do not open it.", "Open it.", augmentation.DENIES),
        ("Open it.", "", augmentation.DECLINED),
        ("Open a.example/open now.", "Open a.example/start now.", augmentation.LOSES),
    ],
)
def test_a_variant_asks_for_the_same_or_is_refused(instruction: str, text: str, reason: str) -> None:
    assert augmentation.why_refused(instruction, text) == reason


@pytest.mark.parametrize(
    ("instruction", "never"),
    [
        ("Make sure that it is not removed", "create"), ("Show me the way", "display"), ("Open the settings", "start"),
        ("Open http://a.example/open?show=1", "show=1?"), ("Bitte öffne die Datei", ""), ("打开设置", ""), ("  ", ""),
    ],
)  # fmt: skip
def test_what_the_rule_leaves_as_it_is(instruction: str, never: str) -> None:
    found = augmentation.RuleParaphraser().variants(instruction, 20, 0)
    assert bool(found) == bool(never)
    assert not any(never in each.casefold() for each in found)


def test_variants_are_copies_with_other_words() -> None:
    counts = Counter[str]()
    original = trajectory("a", *CLICKS, instruction='Create an issue titled "Door".')
    rule, told = augmentation.RuleParaphraser(), original.metadata["instruction"]
    made = augmentation.augment(original, told, rule, 3, 0, counts)
    assert len(made) == 3 == counts[augmentation.TAKEN] and len({each.id for each in made}) == 3
    said = {each.metadata["instruction"] for each in made}
    assert len(said) == 3 and all('"Door"' in each for each in said)
    assert all(each.steps == original.steps and each.metadata["augmented_from"] == "a" for each in made)


# ---- all of it


def test_what_is_left_out_has_its_reason_and_the_rest_is_counted() -> None:
    told = "Rename plan.txt to draft.txt in the folder letters."
    given_trajectories = [
        trajectory("both", *CLICKS, instruction=told, application="Files", track="expert"),
        trajectory("again", *CLICKS, instruction=told, application="Files", track="expert"),
        trajectory("neither", *CLICKS), trajectory("open", *CLICKS), trajectory("unlike", step("uh x", Type("x"))),
        trajectory("both", *CLICKS),
        trajectory("broken", *CLICKS),
    ]  # fmt: skip
    executions = {"broken": ReplayedExecution(Reason.OTHER_VERDICT), "open": ReplayedExecution(Reason.SANDBOX)}
    curated = curate(
        given_trajectories, CurationConfig(variants=1), executions=executions, reviews=REVIEWS, refiner=RuleRefiner(),
        paraphraser=augmentation.RuleParaphraser(),
    )  # fmt: skip
    assert curated.left_out == {
        "again": "a near-duplicate", "neither": "reviewers reject it",
        "open": "reviewers disagree, and nobody has decided", "both (5)": "another one has its id",
        "broken": "executed again: the verdict is another",
    }  # fmt: skip
    assert [each.id for each in curated.trajectories] == ["both", "both-said-1", "unlike", "unlike-said-1"]
    told_of = curated.statistics
    assert (told_of.trajectories, told_of.steps, told_of.applications["Files"]) == (2, 4, (1, 3))
    assert told_of.actions == {"type": 2, "click": 1, "finished": 1} and told_of.tracks == {"expert": 1, "unknown": 1}
    only = curate(given_trajectories, CurationConfig(reviews_needed=True), reviews=REVIEWS)
    assert [each.id for each in only.trajectories] == ["both"]
    assert only.reasons["nobody has reviewed it"] == 3


def test_applications_are_told_or_the_windows_that_were_used() -> None:
    def within(*windows: str) -> tuple[Step, ...]:
        return tuple(dataclasses.replace(CLICKS[0], info={"window": window}) for window in windows)

    assert application_of(trajectory("a", *within("Files", "todo - Mail", "news — Mail"))) == "Files, Mail"
    assert application_of(trajectory("a", *within("Files"), applications=["Mail", "Notes"])) == "Mail, Notes"
    assert application_of(walked(0)) == "corridor"


def test_statistics_of_nothing() -> None:
    assert statistics_of(()).lengths.mean == 0.0


def test_the_page_says_it_all_and_runs_nothing() -> None:
    odd = trajectory("<b>x</b>", *CLICKS, instruction="Do <it>.")
    curated = curate([odd], CurationConfig(), reviews=REVIEWS)
    page = render_curation(curated, "From <here>.")
    for said in ("1 of 1 trajectories are kept", "mara and yusuf", "0.20", "Do &lt;it&gt;.", "From &lt;here&gt;."):
        assert said in page, said
    assert "<script" not in page and "<it>" not in page and "<b>x" not in page


def test_the_command_writes_what_datasets_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "recorded"
    folder.mkdir()
    wrong = walked(2, success=False, id="wrong", metadata={"instruction": "Go on."})
    for number, each in enumerate(
        (
            walked(0, metadata={"instruction": "Turn at the end."}),
            wrong,
            trajectory("said", step("um I I click", Click(Point(1, 2))), instruction="Open the red file."),
        )
    ):
        save_trajectory(folder / f"{number}.trajectory", each)
    (tmp_path / "reviews.jsonl").write_text(json.dumps({"trajectory": "said", "reviewer": "m", "verdict": "keep"}))
    flags = [
        f"--config.reviews={tmp_path / 'reviews.jsonl'}",
        f"--config.run={tmp_path / 'run'}",
        "--config.variants=1",
    ]
    assert main(["curate", f"{folder},", *flags]) == 0
    out = capsys.readouterr().out
    assert "1  executed again: the verdict is another" in out and "4 trajectories of 3 read" in out
    found = {each.id: each for each in read_dataset(str(tmp_path / "run" / "curated"))}
    assert found.keys() == {"walk-0-", "walk-0--said-1", "said", "said-said-1"}
    assert found["said"].steps[0].thought == "I click."
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["executions"] == {"reached": 1, "the verdict is another": 1}
    page = (tmp_path / "run" / "report.html").read_text()
    assert re.search(r"2 of 3 trajectories are kept, and 2 more", page)
    assert main(["curate", f"{folder},", f"--config.output={folder}", f"--config.run={tmp_path / 'two'}"]) == 2


@pytest.mark.browser
def test_a_game_is_executed_again_in_chromium() -> None:
    """As its reference player played it, and with its first moves left out."""

    async def played_and_executed() -> tuple[ReplayedExecution, ReplayedExecution, bool]:
        spec = load_environment("maze_path_of_light", {})
        settings = BrowserConfig(browsers=1, pages_per_browser=1, width=128, height=128)
        browser = browsers(settings, None)
        await browser.start()
        try:
            resources = page_resources(browser, settings, 1)
            played = await by_reference(spec, resources)
            cut = dataclasses.replace(played, steps=played.steps[2:])
            return await executed(played, resources), await executed(cut, resources), played.succeeded
        finally:
            await browser.close()

    whole, cut, solved = asyncio.run(played_and_executed())
    assert solved and (whole.reason, whole.diverged) == (Reason.REACHED, -1)
    assert cut.says is False and cut.reason in (Reason.OTHER_VERDICT, Reason.OTHER_RETURN) and cut.diverged == 0


async def by_reference(spec: EnvironmentSpec, resources: EnvironmentResources) -> Trajectory:
    task = Task("maze", spec.name, 3, {}, spec.default_max_steps({}))
    environment = spec.checked(resources)
    observation = await environment.reset(task)
    steps: list[Step] = []
    total, success, over = 0.0, None, False
    assert spec.reference is not None
    while not over:
        move = spec.reference(observation.info["state"], random.Random(0), 1.0)
        action = action_from_call(move.function, move.parameters, space=environment.action_space)
        steps.append(dataclasses.replace(step(move.thought, action), screenshot=png_of(observation)))
        transition = await environment.step([action])
        observation, total, success = transition.observation, total + transition.reward, transition.success
        over = transition.terminated or transition.truncated
    await environment.close()
    return Trajectory("maze", task.to_json(), (), tuple(steps), Outcome.FINISHED, total, success=success)


def png_of(observation: Observation) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(observation.pixels)).save(buffer, "PNG")
    return buffer.getvalue()
