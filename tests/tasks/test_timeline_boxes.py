"""The family of tasks of Fossil's boxes, against a table of settings as the site has it. No site runs here."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.site import Row, Website
from tars_jax.tasks.websites.task import WebsiteTask
from tars_jax.tasks.websites.timeline_boxes import tasks


class Settings:
    """Those that are on; of what is off some have a row, and others have none."""

    site: Website = load_website("fossil")

    def __init__(self, *on: str) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.row_factory = sqlite3.Row
        self._database.execute("CREATE TABLE config (name, value)")
        rows = {"timeline-plaintext": "0", "timeline-utc": "1", **dict.fromkeys(on, "1")}
        self._database.executemany("INSERT INTO config VALUES (?, ?)", rows.items())

    async def read(self, reader: str) -> Sequence[Row]:
        raise AssertionError(reader)

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        return [dict(row) for row in self._database.execute(statement, parameters)]


def wrong(task: WebsiteTask, *on: str) -> str:
    return asyncio.run(task.wrong(Settings(*on), None))


def test_a_task_is_done_when_the_settings_are_those_asked_for_and_no_others() -> None:
    task = next(each for each in tasks() if each.id == "boxes-0100-1001")
    assert task.instruction == "Tick only block, break"
    assert task.sent_first == (("/setup_timeline", {"tbm": "0", "tpt": "1", "ttb": "0", "thnl": "0"}),)
    assert not wrong(task, "timeline-hard-newlines", "timeline-block-markup")
    assert wrong(task, "timeline-plaintext") and wrong(task, "timeline-block-markup") and wrong(task)
    assert wrong(task, "timeline-hard-newlines", "timeline-block-markup", "timeline-plaintext")
    none = next(each for each in tasks() if each.id == "boxes-0010-0000")
    assert none.instruction == "Tick none" and not wrong(none) and wrong(none, "timeline-truncate-at-blank")


def test_there_is_a_task_for_each_pair_of_different_ways_and_files_hold_it() -> None:
    assert len(tasks()) == 16 * 15 == len({each.id for each in tasks()})
    for task in tasks():
        _, first, last = task.id.split("-")
        boxes = task.about["form"]["boxes"]
        sent = task.sent_first[0][1]
        assert first != last and "".join(sent[name] for name, *_ in boxes) == first
        assert "".join(str(int(ticked)) for *_, ticked in boxes) == last
        assert WebsiteTask.from_json(task.to_json()) == task
