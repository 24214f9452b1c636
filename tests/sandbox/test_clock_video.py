"""A video plays on the clock from wherever it comes, and shows the picture of the virtual moment."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

GRAYS = Path(__file__).with_name("pages") / "grays.webm"  # 30 pictures, 20 a second, picture n of the gray 8n
BYTES = base64.b64encode(GRAYS.read_bytes()).decode()
SOURCES = {
    "site": "'grays.webm'",
    "data": f"'data:video/webm;base64,{BYTES}'",
    "blob": f"URL.createObjectURL(new Blob([Uint8Array.from(atob('{BYTES}'), (c) => c.charCodeAt(0))]))",
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_video_shows_the_picture_of_the_moment(laboratory: Any, source: str) -> None:
    site = laboratory.site(f"""<body style='margin: 0'><video id=v muted width=64 height=64></video><script>
      v.src = {SOURCES[source]}; const told = []; v.requestVideoFrameCallback((now, {{ presentationTime }}) =>
        told.push(now === performance.now(), presentationTime === now));</script>""")
    shutil.copy(GRAYS, site.root)
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("v.play().then(() => 0)", seed=0))
    seen = []
    for _ in range(24):
        shown = laboratory.run(page.act([], advance_ms=50, read="v.currentTime"))
        seen.append((round(shown.data * 20, 3), round(int(shown.pixels[32, 32, 0]) / 8)))
    assert seen == [(step, step) for step in range(1, 25)]
    assert laboratory.run(page.act([], advance_ms=0, read="told")).data == [True, True]


def test_files_are_served_by_ranges(laboratory: Any) -> None:
    site = laboratory.site("")
    (site.root / "ten.txt").write_text("0123456789")
    page = laboratory.run(laboratory.manager.open_page(site))
    asked = ["bytes=2-4", "bytes=7-", "bytes=-3", "bytes=8-99", "bytes=10-", "bytes=4-2", "bytes=0-1,3-4", "lines=1-2"]
    ask = """async (range) => { const answer = await fetch('ten.txt', { headers: { range } });
      return [answer.status, answer.headers.get('content-range'), await answer.text()]; }"""
    answers = laboratory.run(page.evaluate(f"Promise.all({asked!r}.map({ask}))"))
    whole = [200, None, "0123456789"]
    assert answers == [
        [206, "bytes 2-4/10", "234"],
        [206, "bytes 7-9/10", "789"],
        [206, "bytes 7-9/10", "789"],
        [206, "bytes 8-9/10", "89"],
        [416, "bytes */10", ""],
        whole,
        whole,
        whole,
    ]
