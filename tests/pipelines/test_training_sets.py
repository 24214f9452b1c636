"""What a stage of the flywheel trains on: a set, shuffled, with texts mixed in; the same again after a kill."""

from __future__ import annotations

import collections
import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest

from tars_jax.data.datasets import read_dataset
from tars_jax.data.store.routing import CT
from tars_jax.data.texts import sums
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.flywheel import LOSS_ON
from tars_jax.pipelines.training_sets import draw_training_set, in_rows, learned_tokens, mixture
from tars_jax.trajectory import ContextWindow, Trajectory
from tars_jax.trajectory.checks import check_windows
from tests.data.test_store import played

EPISODES = [played(number, True) for number in range(6)]
TEXTS = list(sums())[:2]


def one(_: Trajectory) -> int:
    return 1


def text(tokens: int, first: int = 10) -> Trajectory:
    """A question of two tokens and an answer, without screenshots."""
    written = np.arange(tokens) > 1
    window = ContextWindow(
        np.arange(first, first + tokens, dtype=np.int32),
        written,
        np.where(written, -0.5, 0).astype(np.float32),
        np.where(written, 3, -1).astype(np.int32),
        np.where(written, 0, -1).astype(np.int32),
        (),
    )
    return dataclasses.replace(TEXTS[0], id=f"text {first}", windows=(window,))


def test_a_weight_is_a_share_of_what_is_learned_from() -> None:
    """Texts of 8 tokens beside episodes of 2: for three quarters of the tokens 3 of 7 items are text."""
    texts = [text(8, first) for first in (10, 20, 30)]

    def size(each: Trajectory) -> int:
        return 8 if each.id.startswith("text") else 2

    drawn = draw_training_set("ct", EPISODES * 2, texts, 0.75, size=size, count=0, seed=0)
    found = mixture(drawn, {each.id: "tutorials" for each in texts}, size)
    assert found == {"agent": {"episodes": 12, "tokens": 24}, "tutorials": {"episodes": 9, "tokens": 72}}
    alone = draw_training_set("ct", [], texts, 0.75, size=size, count=0, seed=0, texts_alone=True)
    assert sorted(each.id for each in alone) == ["text 10", "text 20", "text 30"]
    assert draw_training_set("ct", [], texts, 0.0, size=size, count=0, seed=0, texts_alone=True) == []


@pytest.mark.parametrize("name", sorted(file.stem for file in (ROOT / "configs").glob("flywheel*.py")))
def test_the_agents_data_are_the_smaller_part_of_ct(name: str) -> None:
    """In every flywheel that is shipped, whatever the lengths of texts and episodes; one has no text, and says so."""
    config = importlib.import_module(f"configs.{name}").get_config()
    if name == "flywheel_text":
        assert not config.text.datasets
        return
    assert set(config.text.datasets) >= {"tars_jax.data.tutorials:tutorials"}
    texts = [text(length, first) for first, length in ((10, 4), (20, 9), (30, 60))]

    def size(each: Trajectory) -> int:
        return learned_tokens(each, LOSS_ON[CT], image=0)

    for episodes in (EPISODES * 8, [text(50, 1000 + number) for number in range(40)]):
        drawn = draw_training_set("ct", episodes, texts, config.text.ct_weight, size=size, count=0, seed=0)
        found = mixture(drawn, {each.id: "text" for each in texts}, size)
        assert 0 < found["agent"]["tokens"] < 0.35 * sum(each["tokens"] for each in found.values())


def test_what_a_stage_learns_from() -> None:
    """All text but the first token of a window, which nothing predicts, and no screenshot; or the agent's tokens."""
    episode = EPISODES[0]  # of tokens 1, 2 and 3, of which two are sampled
    assert learned_tokens(episode, "text", image=0) == 2 and learned_tokens(episode, "text", image=3) == 1
    assert learned_tokens(text(8), "text", image=0) == 7 and learned_tokens(text(8), "agent", image=0) == 6


def test_a_text_that_is_longer_than_a_row_goes_on_in_the_next() -> None:
    whole = text(10)
    pieces = in_rows(whole, 4).windows
    assert [piece.tokens.tolist() for piece in pieces] == [[10, 11, 12, 13], [14, 15, 16, 17], [18, 19]]
    assert [piece.action_mask.tolist() for piece in pieces] == [
        [False, False, True, True], [False, True, True, True], [False, True]
    ]  # fmt: skip
    assert [piece.versions[0] for piece in pieces] == [-1] * 3 and whole.windows[0].action_mask[4]
    check_windows(in_rows(whole, 4), "here")
    assert in_rows(whole, 10).windows[0] is whole.windows[0]
    assert len(in_rows(EPISODES[0], 2).windows) == 1  # it shows screenshots


@pytest.mark.parametrize("by_grain", [False, True])
def test_a_set_is_shuffled_mixed_and_drawn_again_alike(by_grain: bool, tmp_path: Path) -> None:
    if by_grain:
        pytest.importorskip("grain", reason="the extra grain")
    records = tmp_path / "größe" / "sft.array_record" if by_grain else None

    def drawn(seed: int, weight: float = 0.25, count: int = 0) -> list[str]:
        return [
            each.id
            for each in draw_training_set(
                "sft", EPISODES, TEXTS, weight, size=one, count=count, seed=seed, records=records
            )
        ]

    found = drawn(3)
    assert len(found) == 8  # six are three quarters of it
    counts = collections.Counter(found)
    assert {counts[each.id] for each in EPISODES} == {1} and sum(counts[each.id] for each in TEXTS) == 2
    assert [id for id in found if id.startswith("played")] != [each.id for each in EPISODES]
    assert drawn(3) == found != drawn(4)  # from the file that is there already
    assert sorted(drawn(3, 0.0)) == [each.id for each in EPISODES] and len(drawn(3, count=20)) == 20
    assert draw_training_set("sft", [], TEXTS, 0.5, size=one, count=5, seed=0, records=records) == []
    if records is not None:
        assert [each.id for each in read_dataset(str(records))] == [each.id for each in EPISODES]
