"""The pure core and the gate, by whatever is asked of them in whatever order."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.annotation.interactive import core
from tars_jax.annotation.interactive.asking_gate import AskingGate, action_shares, asking, margin, uncertainty
from tars_jax.annotation.interactive.core import Candidate, Conflict, Decision, Ending, EpisodeView

BUDGET = 4


def candidate(probability: float = 1.0, action: str = "wait()", error: str = "") -> Candidate:
    return Candidate(f"Action: {action}", "", action, error, (1,), (-1.0,), (0,), -1.0, probability)


def decision(live: bool = False, hidden: bool = False) -> Decision:
    return Decision("Action: wait()", "", "wait()", (1,), (0.0,), (-1,), "annotator", live=live, hidden=hidden)


def asked(asks: bool) -> core.Asking:
    return core.Asking(asks, 0, "because" if asks else None)


MOVES = {
    "propose": lambda episode: core.proposed(episode, [candidate()], asked(True)),
    "propose alone": lambda episode: core.proposed(episode, [candidate()], asked(False)),
    "away": lambda episode: core.proposed(episode, [], asked(False), "it is away"),
    "nonsense": lambda episode: core.proposed(episode, [candidate(error="no")], asked(False)),
    "decide": lambda episode: core.decided(episode, decision()),
    "live": lambda episode: core.decided(episode, decision(live=True)),
    "act": core.acted,
    "undo": lambda episode: core.undone(episode, episode.step),
    "again": lambda episode: core.proposing(episode, episode.step),
    "take over": core.taken_over,
    "give back": core.given_back,
    "secret": lambda episode: core.secret_begun(episode, decision(live=True, hidden=True)),
    "secret over": core.secret_over,
    "end": lambda episode: core.finished(episode, Ending(True, 1.0, "")),
}


@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=40))
def test_whatever_is_asked_an_episode_keeps_its_promises(moves: list[str]) -> None:
    episode = EpisodeView(BUDGET)
    for move in moves:
        before = episode
        try:
            episode = MOVES[move](episode)
        except Conflict as error:
            assert "\n" not in str(error) and episode is before
            continue
        assert 0 <= episode.step <= len(episode.decisions) <= BUDGET
        assert abs(len(episode.decisions) - len(before.decisions)) <= 1
        assert not episode.person or not episode.candidates  # while a person has it, the agent proposes nothing
        assert episode.person or not episode.secret
        assert episode.switches in (before.switches, before.switches + 1)
        if before.phase == "ended":
            raise AssertionError(f"{move} went on after the end")
        if episode.phase == "deciding":
            valid = any(each.valid for each in episode.candidates)
            assert episode.asked or valid  # nothing but a person decides where nothing can be read


@pytest.mark.parametrize(
    ("record", "words"),
    [({}, "must have its fields"), ({"text": "x", "colour": 1}, "must have its fields")],
)
def test_what_is_no_decision_is_not_read(record: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        core.decision_from_json(record)
    with pytest.raises(InputError, match="marks"):
        core.candidate_from_json({"marks": [1]})


def test_decisions_and_candidates_are_read_back_as_they_were() -> None:
    one = dataclasses.replace(candidate(), marks=(core.Mark("drag", 0.1, 0.2, 0.3, 0.4),))
    assert core.candidate_from_json(core.candidate_to_json(one)) == one
    assert core.decision_from_json(core.decision_to_json(decision(True))) == decision(True)


def test_uncertainty_is_that_of_the_actions() -> None:
    assert uncertainty([candidate()]) == uncertainty([]) == 0
    assert uncertainty([candidate(0.5), candidate(0.5, "back()")]) == pytest.approx(1)
    assert 0 < uncertainty([candidate(0.9), candidate(0.1, "back()")]) < 0.5
    assert margin([candidate(0.9), candidate(0.1, "back()")]) == pytest.approx(0.8) and margin([candidate()]) == 1
    # Worded in three ways, it is the same action.
    assert uncertainty([candidate(0.4), candidate(0.3), candidate(0.3)]) == 0
    assert margin([candidate(0.4), candidate(0.3), candidate(0.3)]) == 1
    # By hand: wait .6 and .15, back .05, two that cannot be read .2 together. Shares .75, .2, .05:
    # .75 ln(4/3) + .2 ln 5 + .05 ln 20 = .215762 + .321888 + .149787 = .687436, of ln 3 = 1.098612: .625731.
    odd = [candidate(0.1, "", "no call"), candidate(0.1, "", "a quote does not close")]
    mixed = [candidate(0.6), candidate(0.15), candidate(0.05, "back()"), *odd]
    assert action_shares(mixed) == pytest.approx([0.75, 0.2, 0.05])
    assert uncertainty(mixed) == pytest.approx(0.625731, abs=1e-6)
    assert margin(mixed) == pytest.approx(0.55)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(1e-6, 1.0)), min_size=1, max_size=12), st.randoms())
def test_neither_wording_nor_order_changes_a_doubt(drawn: list[tuple[str, float]], rng: random.Random) -> None:
    """Split into more wordings, or in another order, candidates that do the same are as uncertain as before."""
    total = sum(weight for _, weight in drawn)
    whole = [candidate(weight / total, f"{name}()") for name, weight in drawn]
    split = [dataclasses.replace(each, probability=each.probability / 2) for each in whole for _ in range(2)]
    rng.shuffle(split)
    assert uncertainty(split) == pytest.approx(uncertainty(whole), abs=1e-9)
    assert margin(split) == pytest.approx(margin(whole), abs=1e-9)
    assert 0 <= uncertainty(whole) <= 1 and 0 <= margin(whole) <= 1
    assert math.isclose(sum(action_shares(whole)), 1)
    assert (uncertainty(whole) == 0) == (len({name for name, _ in drawn}) == 1)


def test_two_thresholds_make_few_switches() -> None:
    """A doubt that goes up and down around the threshold fetches a person once, not at every other step."""
    gate = AskingGate("gated", uncertainty=0.5, calm_share=0.6, calm_steps=2)
    doubts = [0.1, 0.15, 0.08, 0.13, 0.08, 0.13, 0.08, 0.08, 0.02, 0.02, 0.02]  # of the less likely of two answers
    was, calm, asks = False, 0, []
    for doubt in doubts:
        found = asking(gate, [candidate(1 - doubt), candidate(doubt, "back()")], was_asked=was, calm=calm)
        was, calm = found.asks, found.calm
        asks.append(found.asks)
    switches = sum(now and not before for before, now in zip([False, *asks], asks, strict=False))
    assert switches == 1 and not asks[-1]
    naive = [uncertainty([candidate(1 - doubt), candidate(doubt, "back()")]) > 0.5 for doubt in doubts]
    assert sum(now and not before for before, now in zip([False, *naive], naive, strict=False)) == 3


def test_who_is_asked_and_why() -> None:
    sure = [candidate()]

    def ask(gate: AskingGate, candidates: list[Candidate] = sure, **more: float) -> core.Asking:
        return asking(gate, candidates, was_asked=False, calm=0, **more)

    assert (
        ask(AskingGate("every_step")).asks and not ask(AskingGate("on_call")).asks and not ask(AskingGate("gated")).asks
    )
    assert not ask(AskingGate("every_step"), minutes_left=0.0).asks
    calls = [candidate(action="call_user()")]
    for mode in ("every_step", "gated", "on_call"):
        assert ask(AskingGate(mode), calls, minutes_left=0.0).reason == "the policy calls for the user"
    near = [candidate(0.51), candidate(0.49, "back()")]
    assert "nearly as likely" in str(ask(AskingGate("gated", uncertainty=1.0, margin=0.1), near).reason)
    assert "little is expected" in str(ask(AskingGate("gated", value=0.5), value=0.2).reason)
    assert not ask(AskingGate("gated", value=0.5), value=0.7).asks and not ask(AskingGate("gated", value=0.5)).asks


@pytest.mark.parametrize(
    ("given", "words"),
    [({"mode": "never"}, "gate.mode"), ({"uncertainty": 2.0}, "gate.uncertainty"), ({"calm_steps": 0}, "calm_steps")],
)
def test_a_gate_that_means_nothing_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        AskingGate(**given)  # type: ignore[arg-type]
