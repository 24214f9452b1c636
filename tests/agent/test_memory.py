"""Folding: what stays in full, what becomes a summary, when a new window begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent.memory import MAX_INTENTION, Memory, MemoryConfig, RememberedStep, summarize
from tars_jax.agent.observations import ShownObservation


def turn(step: int) -> RememberedStep:
    return RememberedStep(step, (step,), ShownObservation(), 100 - step, f"s{step}")


def play(config: MemoryConfig, steps: int) -> list[tuple[list[int], list[str], bool]]:
    """Working steps, episodic summaries and whether it folded, after each step."""
    memory, history = Memory(config), []
    for step in range(steps):
        memory, folded = memory.add(turn(step))
        history.append(([each.step for each in memory.working], list(memory.episodic), folded))
    return history


def test_a_wide_gap_folds_rarely() -> None:
    history = play(MemoryConfig(min_steps=1, max_steps=3), 7)
    assert history == [
        ([0], [], False),
        ([0, 1], [], False),
        ([0, 1, 2], [], False),
        ([3], ["s0", "s1", "s2"], True),
        ([3, 4], ["s0", "s1", "s2"], False),
        ([3, 4, 5], ["s0", "s1", "s2"], False),
        ([6], ["s0", "s1", "s2", "s3", "s4", "s5"], True),
    ]


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 6), st.integers(1, 30))
def test_every_step_is_in_one_place(min_steps: int, gap: int, limit: int, steps: int) -> None:
    config = MemoryConfig(min_steps, min_steps + gap, limit)
    for number, (working, episodic, folded) in enumerate(play(config, steps)):
        assert len(working) <= config.max_steps
        assert not folded or len(working) == config.min_steps
        assert working == list(range(number + 1 - len(working), number + 1))  # the latest, in order
        older = [f"s{step}" for step in range(number + 1 - len(working))]
        assert episodic == older[max(0, len(older) - limit) :]


def test_text() -> None:
    assert Memory(MemoryConfig()).text() == ""
    assert Memory(MemoryConfig(), episodic=("right", "down: nothing")).text() == "right; down: nothing"


def test_summaries() -> None:
    assert summarize("2 3 to 4 3, right right, right", changed=True, valid=True) == "right"
    assert summarize("2 3 to 4 3, right right, right", changed=False, valid=True) == "right: nothing"
    assert summarize("", changed=True, valid=True) == "acted"
    assert summarize("", changed=False, valid=False) == "unreadable"
    assert summarize("x" * 1000, changed=True, valid=True) == "x" * MAX_INTENTION


@pytest.mark.parametrize(("low", "high"), [(3, 2), (-1, 2)])
def test_impossible_bounds(low: int, high: int) -> None:
    with pytest.raises(InputError, match=f"memory.min_steps must be 0 to {high}, .*; got {low}"):
        MemoryConfig(low, high)
