"""The family of tasks of Fossil's boxes, against a table of settings as the site has it. No site runs here."""

from __future__ import annotations

from tars_jax.tasks.websites.fossil_small import BOXES, tasks
from tars_jax.tasks.websites.tables import Tables, to_tables
from tars_jax.tasks.websites.task import WebsiteTask


def state(*on: str, **others: str) -> Tables:
    """The settings as the two forms leave them that are sent before it begins: each box has a row."""
    rows = {**{key: "0" for _, key, _ in BOXES}, "timeline-utc": "1", **dict.fromkeys(on, "1"), **others}
    return to_tables({"settings": [{"name": name, "value": value} for name, value in rows.items()], "tickets": []})


def test_a_task_is_done_when_the_settings_are_those_asked_for_and_no_others() -> None:
    task = next(each for each in tasks() if each.id == "boxes-0100-1001")
    assert task.instruction == "Tick only block, break"
    assert task.sent_first[0] == ("/setup_timeline", {"tbm": "1", "tpt": "1", "ttb": "1", "thnl": "1", "utc": "0"})
    assert task.sent_first[1:] == (("/setup_timeline", {"tbm": "0", "tpt": "1", "ttb": "0", "thnl": "0", "utc": "1"}),)
    first, block, line = state("timeline-plaintext"), "timeline-block-markup", "timeline-hard-newlines"

    def wrong(now: Tables) -> str:
        return task.wrong(first, now, None)

    assert not wrong(state(line, block))
    assert wrong(first) and wrong(state(block)) and wrong(state()) and wrong(state(line, block, "timeline-plaintext"))
    assert wrong(state(line, block, **{"timeline-utc": "0"}))
    assert wrong({**state(line, block), "tickets": [{"id": "1"}]})
    none = next(each for each in tasks() if each.id == "boxes-0010-0000")
    beginning = state("timeline-truncate-at-blank")
    assert none.instruction == "Tick none" and not none.wrong(beginning, state(), None)
    assert none.wrong(beginning, beginning, None)


def test_there_is_a_task_for_each_pair_of_different_ways_and_files_hold_it() -> None:
    assert len(tasks()) == 16 * 15 == len({each.id for each in tasks()})
    for task in tasks():
        _, first, last = task.id.split("-")
        boxes = task.about["form"]["boxes"]
        sent = task.sent_first[-1][1]
        assert first != last and "".join(sent[name] for name, *_ in boxes) == first
        assert "".join(str(int(ticked)) for *_, ticked in boxes) == last
        assert WebsiteTask.from_json(task.to_json()) == task
