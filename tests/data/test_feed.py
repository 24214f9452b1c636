"""What feeds training: every item once a pass, mixed by weights, resumed where it stopped."""

from __future__ import annotations

import collections
import itertools
import json
import sys
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.data.store import Store
from tars_jax.data.store.feed import (
    ArrayRecordEpisodes,
    Feed,
    FeedSource,
    StoredEpisodes,
    grain_feed,
    write_array_record,
)
from tars_jax.data.texts import SUMS, sums
from tests.data.test_store import played

AGENT, CHAT = [f"agent {n}" for n in range(7)], [f"chat {n}" for n in range(3)]


def sources() -> list[FeedSource[str]]:
    return [FeedSource("agent", AGENT, 0.75), FeedSource("chat", CHAT, 0.25)]


def test_each_pass_is_a_permutation_in_the_shares_of_the_weights() -> None:
    drawn = Feed(sources(), seed=1).take(56)
    agent = [item for item in drawn if item in AGENT]
    assert len(agent) == 42  # three quarters, to the item
    passes = [tuple(agent[start : start + 7]) for start in range(0, 42, 7)]
    assert all(sorted(one) == AGENT for one in passes) and len(set(passes)) > 1
    for count in range(1, 56):  # at any moment to within one item
        assert abs(sum(item in CHAT for item in drawn[:count]) - 0.25 * count) <= 1
    assert Feed(sources(), seed=1).take(56) == drawn != Feed(sources(), seed=2).take(56)


@pytest.mark.parametrize("stop", [0, 1, 13, 40])
def test_a_feed_goes_on_where_it_stopped(stop: int) -> None:
    whole = Feed(sources(), seed=3).take(50)
    feed = Feed(sources(), seed=3)
    assert feed.take(stop) == whole[:stop]
    state = json.loads(json.dumps(feed.state()))
    assert Feed(sources(), seed=3).restore(state).take(50 - stop) == whole[stop:]


def test_what_cannot_be_fed() -> None:
    with pytest.raises(InputError, match="source chat must hold one item or more"):
        FeedSource("chat", [])
    with pytest.raises(InputError, match="weight of the source chat must be above 0; got 0"):
        FeedSource("chat", CHAT, 0)
    with pytest.raises(InputError, match="sources must be one or more of different names"):
        Feed([FeedSource("chat", CHAT), FeedSource("chat", AGENT)], 0)
    state = Feed(sources(), seed=3).state()
    with pytest.raises(InputError, match="state of a feed must be of seed 4"):
        Feed(sources(), seed=4).restore(state)
    with pytest.raises(InputError, match="state of a feed must be of sizes"):
        Feed([FeedSource("agent", AGENT[:3])], seed=3).restore(state)


def test_episodes_of_a_store_are_read_as_they_are_drawn(tmp_path: Path) -> None:
    with Store(tmp_path / "store", create=True) as store:
        ids = store.add([played(number, True) for number in range(5)])
        texts = list(sums())
        assert len(texts) == SUMS and all(not step.screenshot for text in texts for step in text.steps)
        feed = Feed([FeedSource("sft", StoredEpisodes(store, ids), 0.5), FeedSource("text", texts, 0.5)], seed=0)
        drawn = feed.take(10)
        assert sorted(each.id for each in drawn if each.task["environment"] != "recorded") == [
            f"played {n}" for n in range(5)
        ]
        assert len(StoredEpisodes(store, ids)[1:3]) == 2


def test_grain_feeds_the_same_and_resumes() -> None:
    pytest.importorskip("grain", reason="the extra grain")
    drawn = list(itertools.islice(grain_feed(sources(), seed=1), 56))
    counts = collections.Counter(item in AGENT for item in drawn)
    assert 40 <= counts[True] <= 44
    assert sorted([item for item in drawn if item in AGENT][:7]) == AGENT
    feed = grain_feed(sources(), seed=1)
    assert list(itertools.islice(feed, 20)) == drawn[:20]
    state = feed.get_state()
    later = grain_feed(sources(), seed=1)
    later.set_state(state)
    assert list(itertools.islice(later, 36)) == drawn[20:]


def test_array_records_hold_whole_episodes(tmp_path: Path) -> None:
    pytest.importorskip("array_record", reason="the extra grain")
    given = [played(number, number > 0) for number in range(4)]
    file = tmp_path / "größe 1" / "episodes.array_record"
    assert write_array_record(file, given) == 4
    episodes = ArrayRecordEpisodes(file)
    assert len(episodes) == 4 and [each.id for each in episodes[1:3]] == ["played 1", "played 2"]
    assert episodes[-1].steps == given[3].steps and [each.id for each in episodes] == [each.id for each in given]
    with pytest.raises(InputError, match="must be an ArrayRecord file; got none"):
        ArrayRecordEpisodes(tmp_path / "nothing")


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("grain", "array_record", "array_record.python.array_record_module"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"grain_feed needs .* the extra grain, tars_jax\[grain\]"):
        grain_feed(sources(), 0)
    with pytest.raises(InputError, match="the extra grain"):
        write_array_record(tmp_path / "file", [])
