"""A session takes what its journal can read back, and refuses the rest before the page has seen any of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import InsertText, MouseDown, MouseMove
from tars_jax.sandbox.browser.sessions import PageSession, PageSessions
from tars_jax.sandbox.browser.sessions.calls import Act, Call, Evaluate, Start

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]

READ = "[seen, performance.now()]"
REFUSED: dict[str, Call] = {
    r"seed must be .*; got -1": Start("0", -1),
    r"seed must be .*; got 1\.5": Start("0", 1.5),  # type: ignore[arg-type]
    r"advance_ms must be .*; got 7200000\.0": Act((), 7.2e6),
    r"events\[1\]\.x must be .*; got 10000000000\.0": Act((MouseMove(1, 1), MouseMove(1e10, 1)), 0),
    r"events\[0\]\.x must be .*; got True": Act((MouseMove(True, 1),), 0),
    r"events\[0\]\.clicks must be .*; got 0": Act((MouseDown(1, 1, clicks=0),), 0),
    r"events\[0\]\.text must be text": Act((InsertText("\ud800"),), 0),
    r"expression must be text": Evaluate("'\ud800'"),
}


def test_what_a_session_takes_it_can_be_adopted_with(laboratory: Any, tmp_path: Path) -> None:
    site = laboratory.site("<script>let seen = 0; addEventListener('mousemove', () => { seen += 1; });</script>")

    async def first() -> PageSession:
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            with pytest.raises(InputError, match=r"width must be .*; got 9000"):
                await sessions.open_page(site, size=(9000, 96))
            session = await sessions.open_page(site)
            await session.start("seen = 0", seed=np.int64(3))  # type: ignore[arg-type]
            for message, call in REFUSED.items():
                with pytest.raises(InputError, match=message):
                    await session.call(call)
            move = MouseMove(np.float32(3.5), np.int64(4))  # type: ignore[arg-type]
            shown = await session.act([move], advance_ms=np.float32(5), read=READ)  # type: ignore[arg-type]
            assert shown.data == [1, 5] and session.recoveries == 0
            return session

    async def second(left: PageSession) -> None:
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            session = sessions.get(left.id)
            assert session.calls == 2 and await session.evaluate(READ) == [1, 5]

    laboratory.run(second(laboratory.run(first())))
