"""Documents that a page writes anew, and ways that lead to none: the clock goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("end", ["document.close()", ""])
def test_time_goes_on_through_a_document_written_anew(laboratory: Any, end: str) -> None:
    page = laboratory.open(f"""<script>setTimeout(() => {{ document.open(); document.write('<p>written'); {end} }}, 20);
      setTimeout(() => location.assign('#here'), 30); setTimeout(() => location.assign('index.html?next'), 40);</script>
      """)
    laboratory.run(page.start("0", seed=0))
    read = "[Date.now() - __clock.EPOCH_MS, document.body.textContent.trim(), document.adoptedStyleSheets.length]"
    seen = laboratory.run(page.act([], advance_ms=30, read=read)).data
    assert seen[:2] == [30, "written"] and seen[2] == 1
    assert laboratory.run(page.act([], advance_ms=20, read=f"[...{read}, location.search]")).data[::3] == [50, "?next"]


@pytest.mark.parametrize("address", ["mailto:a@b.example", "tel:112", "unknown:x"])
def test_an_address_for_another_program_takes_nobody_away(laboratory: Any, address: str) -> None:
    page = laboratory.open(f"""<iframe id=f srcdoc=x></iframe><script>
      setTimeout(() => {{ location = '{address}'; }}, 5);
      setTimeout(() => {{ f.contentWindow.location = '{address}'; }}, 10);</script>""")
    began = time.monotonic()
    assert laboratory.run(page.act([], advance_ms=20, read="performance.now()")).data == 20
    assert time.monotonic() - began < 4  # page.js gives a navigation up after 10 s
