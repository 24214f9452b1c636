"""Reward functions: how they are called, what they come to, and what their failures cost."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import types
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task, Verification
from tars_jax.judges import Judge, Judgement, JudgeUnavailable, UnreadableVerdict, load_judge
from tars_jax.judges.reward_functions import reward_function
from tars_jax.judges.rewards import judged_together
from tars_jax.trajectory import Outcome, Trajectory
from tests.judges.episodes import episode, task

HERE = f"{__name__}:"


def asked(said: str = "4", columns: Any = None, prompt: Any = "2 + 2") -> Trajectory:
    """An episode of `prompts`, as its environment keeps it."""
    record = {"prompt": prompt, **(columns if columns is not None else {"answer": "4"})}
    played = episode([("", f"answer(text='{said}')")], instruction="2 + 2")
    first = dataclasses.replace(played.steps[0], info={"record": record, "prompt": prompt})
    final = {"turn": 1, "messages": [{"role": "assistant", "content": said}]}
    return dataclasses.replace(
        played, steps=(first,), metadata={**played.metadata, "final": final}, task=task().to_json()
    )


def told(functions: Any, played: Trajectory, about: Task | None = None, **options: Any) -> Trajectory:
    judge = dataclasses.replace(load_judge("rewards", {"functions": functions, **options}), pause=0.0)
    return asyncio.run(judge.judged(played, about or task()))


def exact(completion: Any, answer: str) -> bool:
    return bool(completion == answer)


async def short(completion: str) -> float:
    await asyncio.sleep(0)
    return 1 - len(completion) / 10


def nothing(completion: str) -> None:
    return None


def not_a_number(completion: str) -> float:
    return float("nan")


def a_list(completion: str) -> Any:
    return [1.0]


def raising(completion: str) -> float:
    raise OSError("gone")


def every_column(completion: str, **columns: Any) -> float:
    return float({"answer", "kind", "prompt", "state"} <= columns.keys())


def first_of_two(state: dict[str, Any]) -> float:
    state["seen"] = state["completion"]
    return 0.0


def second_of_two(state: dict[str, Any], info: Any) -> float:
    return float(state["seen"] == state["completion"] and info == {"n": 1})


def a_judge(trajectory: Trajectory, task: Task) -> Judgement:
    return Judgement(0.5, False)


def longest(completions: list[str], answers: list[str], kind: list[str]) -> list[Any]:
    assert answers == ["4"] * len(completions) == [*kind]
    return [len(each) == max(map(len, completions)) if each else None for each in completions]


def too_few(prompts: list[str]) -> list[float]:
    return [1.0] * (len(prompts) - 1)


def away(completions: list[str]) -> list[float]:
    raise OSError("gone")


class Within:
    """Made with options."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self, completion: str) -> float:
        return float(len(completion) <= self._most)


def test_the_reward_is_the_weighted_sum_and_each_part_is_kept() -> None:
    found = told({f"{HERE}exact": 1.0, f"{HERE}short": 0.5, f"{HERE}Within": {"weight": 0, "most": 0}}, asked())
    assert found.reward == pytest.approx(1 + 0.5 * 0.9) and found.success is True
    assert found.metadata["rewards"] == {"exact": 1.0, "short": 0.9, "Within": 0.0}
    assert found.metadata["judge"] == "rewards" and [step.reward for step in found.steps] == [found.reward]
    assert told({f"{HERE}exact": 1.0}, asked("5")).success is False


def test_a_number_is_no_verdict_and_a_threshold_is_one() -> None:
    assert told({f"{HERE}short": 1}, asked()).success is None
    about = dataclasses.replace(task(), verification=Verification("judge", threshold=0.9))
    assert told({f"{HERE}short": 1}, asked(), about).success is True
    assert told({f"{HERE}short": 1}, asked("44"), about).success is False


def test_functions_take_what_they_name() -> None:
    columns = {"answer": "4", "kind": "sum"}
    assert told({f"{HERE}every_column": 1}, asked(columns=columns)).reward == 1.0
    shared = {f"{HERE}first_of_two": 1, f"{HERE}second_of_two": 1}
    assert told(shared, asked(columns={"info": '{"n": 1}'})).reward == 1.0
    dialog = told({f"{HERE}exact": 1.0}, asked(columns={"answer": "4"}, prompt=[{"role": "user", "content": "2 + 2"}]))
    assert dialog.reward == 0.0  # messages, where the prompt has messages


def missing(completion: str, kind: Any) -> float:
    return float(kind is None)


def test_a_column_that_a_record_lacks_is_none() -> None:
    found = told({f"{HERE}missing": 1}, asked(), columns=["answer", "kind"])
    assert found.reward == 1.0


def nobody_said(completion: Any) -> bool:
    return bool(completion == [{"role": "assistant", "content": ""}])


def test_an_answer_that_could_not_be_read_says_nothing() -> None:
    played = asked(prompt=[{"role": "user", "content": "2 + 2"}])
    unread = dataclasses.replace(played, metadata={"final": dict(played.steps[0].info)})
    assert told({f"{HERE}nobody_said": 1}, unread).success is True


def test_other_environments_give_their_answer() -> None:
    played = episode([("", "finished(content='4')")], instruction="2 + 2")
    assert told({f"{HERE}short": 1}, played).reward == 0.9


def test_a_judge_is_one_of_the_functions_by_name_or_as_a_function() -> None:
    about = dataclasses.replace(task(), instruction="How many?", verification=Verification("judge", "4"))
    found = told({"answer": 2, f"{HERE}exact": 1, f"{HERE}a_judge": 0}, asked(), about)
    assert (found.reward, found.success) == (3.0, True)
    assert found.metadata["rewards"] == {"exact": 1.0, "answer": 1.0, "a_judge": 0.5}
    assert told({"answer": 1, f"{HERE}a_judge": 0.1}, asked(), about).success is False


def test_none_is_a_verdict_that_masks_the_episode() -> None:
    found = told({f"{HERE}exact": 1, f"{HERE}nothing": 1}, asked())
    assert (found.outcome, found.reward, found.success) == (Outcome.FAILED, 0.0, None)
    assert found.cannot_say == "reward function nothing returned None"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [("raising", JudgeUnavailable, "raising raised OSError: gone .tests/judges/test_rewards.py:[0-9]+., the last of 3"),
     ("not_a_number", UnreadableVerdict, "not_a_number raised UnreadableVerdict: it returned nan")],
)  # fmt: skip
def test_what_fails_is_asked_again_and_is_infrastructure(
    name: str, kind: type[Exception], message: str, pauses: list[float]
) -> None:
    with pytest.raises(kind, match=message):
        told({f"{HERE}{name}": 1}, asked())
    assert pauses == [1.0, 2.0]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited before each further attempt, which takes no time."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    # The judges' own name for the module: others of this process go on sleeping.
    monkeypatch.setattr("tars_jax.judges.judge.asyncio", types.SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    return found


def test_what_takes_too_long_is_away(pauses: list[float]) -> None:
    over = threading.Event()

    def hangs(completion: str) -> float:
        over.wait()
        return 1.0

    function = dataclasses.replace(reward_function("hangs", 1, hangs, {}, None), time_limit=0.05)

    async def ask() -> None:
        try:
            with pytest.raises(JudgeUnavailable, match="hangs took more than 0.05 s, the last of 3"):
                await function.value({"completion": "a"})
        finally:
            over.set()

    asyncio.run(ask())


def test_what_is_no_number_ends_the_run() -> None:
    with pytest.raises(InputError, match=r"a_list must return a number.*got \[1.0\] \(a list is what a function of"):
        told({f"{HERE}a_list": 1}, asked())


def by_place(completion: str, /) -> float:
    return 1.0


def misspelt(completion: str, anwser: str) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({}, "rewards must be functions and their weights"),
        (None, "rewards must be functions and their weights"),
        ({f"{HERE}exact": "much"}, "weight of reward function .*exact must be a number; got 'much'"),
        ({f"{HERE}gone": 1}, "reward function '.*:gone': 'gone' must be an attribute"),
        ({"nowhere.at:all": 1}, "'nowhere.at' must be a module that can be imported"),
        ({"exact": 1}, "judge must be one of environment, reference"),
        ({f"{HERE}HERE": 1}, "must be a function; got an object of type str"),
        ({f"{HERE}by_place": 1}, "by_place must take its parameters by name; got completion"),
        ({f"{HERE}misspelt": 1}, r"must take prompt, completion.*\(answer, kind\).*'anwser' \(did you mean 'answer'"),
        ({f"{HERE}exact": {"weight": 1, "most": 2}}, "must be a class to have options; got most"),
        ({f"{HERE}Within": {"least": 2}}, "must be made with its options; got {'least': 2}"),
    ],
)
def test_what_is_no_function_is_told_before_anything_is_played(functions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_judge("rewards", {"functions": functions, "columns": ["answer", "kind"]})


# ---- over a group


def members(*said: str) -> list[Trajectory]:
    functions = {f"{HERE}exact": 1.0, f"{HERE}longest": 0.5}
    return [told(functions, asked(each, {"answer": "4", "kind": "4"})) for each in said]


def test_a_function_over_a_group_waits_for_it_and_compares_its_members() -> None:
    before = members("4", "44")
    assert [each.reward for each in before] == [1.0, 0.0] and "group_rewards" in before[0].metadata
    after = asyncio.run(judged_together(before))
    assert [(each.reward, each.success) for each in after] == [(1.0, False), (0.5, False)]
    assert after[1].metadata["rewards"] == {"exact": 0.0, "longest": 1.0} and "group_rewards" not in after[1].metadata
    assert [step.reward for each in after for step in each.steps] == [1.0, 0.5]
    (alone,) = asyncio.run(judged_together(members("4")))
    assert (alone.reward, alone.success) == (1.5, True)


def test_members_that_carry_no_reward_stand_aside_and_told_ones_are_compared_with() -> None:
    first, second = members("4", "")
    lost = dataclasses.replace(first, outcome=Outcome.FAILED, reward=0.0)
    judged, untold, aside = asyncio.run(judged_together([first, second, lost]))
    assert judged.reward == 1.5 and aside is lost
    assert untold.cannot_say == "reward function longest returned None" and untold.outcome is Outcome.FAILED
    again, late = asyncio.run(judged_together([judged, *members("444")]))
    assert again is judged and late.reward == 0.5


def test_a_group_that_gets_too_few_numbers_ends_the_run() -> None:
    with pytest.raises(InputError, match="too_few must return a list of 2 numbers, one for each completion; got 1"):
        asyncio.run(judged_together([told({f"{HERE}too_few": 1}, asked())] * 2))


def test_the_judge_votes_and_is_closed_as_others() -> None:
    judge = load_judge("rewards", {"functions": {f"{HERE}exact": 1.0}})
    assert isinstance(judge, Judge) and asyncio.run(judge.judgement(asked(), task())) == (1.0, True)
    judge.close()
    with pytest.raises(CannotSay):
        asyncio.run(load_judge("rewards", {"functions": {f"{HERE}nothing": 1.0}}).judgement(asked(), task()))
