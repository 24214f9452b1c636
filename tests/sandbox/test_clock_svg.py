"""SVG's own animations (SMIL) move on virtual time; images beside them stand."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from PIL import Image

from tars_jax.sandbox.browser import InputEvent, MouseDown, MouseMove, MouseUp
from tars_jax.sandbox.browser.drawings import has_smil, still_image

pytestmark = pytest.mark.browser
SAY = "<script>var log = [], say = (...values) => log.push([performance.now(), ...values].join(' '))</script>"
HEAR = """<script>for (const one of document.querySelectorAll('animate, set'))
  for (const type of ['begin', 'end', 'repeat']) one.addEventListener(`${type}Event`, () => say(one.id, type));
</script>"""


def steps(laboratory: Any, html: str, read: str, *, count: int, ms: float = 100, events: Any = ()) -> list[Any]:
    page = laboratory.open(f"{SAY}<body style='margin: 0'>{html}{HEAR}")
    laboratory.run(page.start("0", seed=0))
    seen = [laboratory.run(page.act(events if at == 0 else [], advance_ms=ms, read=read)).data for at in range(count)]
    laboratory.run(page.close())
    return seen


def svg(inside: str, attributes: str = "") -> str:
    return f"<svg id=s width=96 height=60 {attributes}>{inside}</svg>"


def test_a_drawing_moves_and_thinking_changes_nothing(laboratory: Any) -> None:
    html = svg("""<circle id=c cx=10 cy=30 r=8><animate id=a attributeName=cx from=10 to=60 dur=1s fill=freeze />
      </circle>""")
    read = "[c.cx.animVal.value, c.getBoundingClientRect().x, s.getCurrentTime()]"
    runs = []
    for thinking_s in (0, 0.12):
        page = laboratory.open(f"{SAY}<body style='margin: 0'>{html}{HEAR}")
        shown = [laboratory.run(page.start("0", seed=0, read=read))]
        for _ in range(6):
            time.sleep(thinking_s)
            shown.append(laboratory.run(page.act([], advance_ms=200, read=read)))
        assert laboratory.run(page.act([], advance_ms=0, read="log")).data == ["0 a begin", "1000 a end"]
        runs.append(shown)
    data = [one.data for one in runs[0]]
    assert [one[0] for one in data] == pytest.approx([10, 20, 30, 40, 50, 60, 60])
    assert [one[1] for one in data] == pytest.approx([2, 12, 22, 32, 42, 52, 52])
    assert [one[2] for one in data] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1.2])
    assert runs[0] == runs[1] and len({one.png for one in runs[0]}) == 6


CASES = {
    "repeats": ("<animate id=a attributeName=x to=9 dur=.2s begin=.1s repeatCount=3 />",
                ["100 a begin", "300 a repeat", "500 a repeat", "700 a end"]),
    "chained": ("""<animate id=a attributeName=x to=9 dur=.2s begin=.1s fill=freeze />
                <set id=b attributeName=y to=5 begin=a.end+.1s dur=.2s />""",
                ["100 a begin", "300 a end", "400 b begin", "600 b end"]),
    "attributes": ("""<animate id=a attributeName=x to=9 dur=.2s repeatDur=.4s onbegin="say('on')"
                onrepeat="say('again')" onend="say('off')" />""",
                   ["0 on", "0 a begin", "200 again", "200 a repeat", "400 off", "400 a end"]),
    "scripted": ("""<animate id=a attributeName=x to=9 dur=.3s begin=indefinite /></rect></svg><script>
                setTimeout(() => a.beginElement(), 90); setTimeout(() => a.endElement(), 190);
                setTimeout(() => a.beginElementAt(.1), 290)</script>""",
                 ["90 a begin", "190 a end", "383.3333333333333 a begin"]),
    "nested": ("""</rect><svg id=n><rect><animate id=a attributeName=x to=9 dur=.2s begin=.1s repeatCount=2 /></rect>
                </svg>""", ["100 a begin", "300 a repeat", "500 a end"]),
    "beside what only has the name": ("""<animate id=a attributeName=x to=9 dur=.1s begin=.1s /></rect><foreignObject>
                <div><animate></animate><set></set></div></foreignObject>""", ["100 a begin", "200 a end"]),
    "of a repeat": ("""<animate id=a attributeName=x to=9 dur=.2s repeatCount=3 />
                <set id=b attributeName=y to=5 begin="a.repeat(2); a.repeat(7)" dur=.1s />""",
                    ["0 a begin", "200 a repeat", "400 b begin", "400 a repeat", "500 b end", "600 a end"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_beginnings_repeats_and_ends_come_at_their_times(laboratory: Any, case: str) -> None:
    inside, expected = CASES[case]
    assert sorted(steps(laboratory, svg(f"<rect id=r width=5 height=5>{inside}"), "log", count=3, ms=200)[2]) == sorted(
        one for one in expected if float(one.split()[0]) <= 600
    )


def test_a_click_begins(laboratory: Any) -> None:
    html = svg("""<rect id=r width=40 height=40><animate id=a attributeName=x to=20 dur=.1s begin=click fill=freeze />
      </rect>""")
    click: list[InputEvent] = [MouseMove(20, 20), MouseDown(20, 20), MouseUp(20, 20)]
    seen = steps(laboratory, html, "[log, r.x.animVal.value]", count=3, events=click)
    assert [one[1] for one in seen] == [pytest.approx(20, abs=4), 20, 20]
    assert [one.split()[1:] for one in seen[2][0]] == [["a", "begin"], ["a", "end"]]


def test_shadow_trees_frames_and_files(laboratory: Any) -> None:
    moving = "<svg xmlns='http://www.w3.org/2000/svg'><rect><animate attributeName='x' to='100' dur='1s'/></rect></svg>"
    site = laboratory.site(f"""<p id=p></p><iframe id=f srcdoc="{moving}"></iframe><iframe id=g src=a.svg></iframe>
      <object id=o data=a.svg></object><script>p.attachShadow({{ mode: 'open' }}).innerHTML = "{moving}"</script>""")
    (site.root / "a.svg").write_text(moving)
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("0", seed=0))
    read = """[p.shadowRoot, f.contentDocument, g.contentDocument, o.contentDocument].map((one) =>
      one.querySelector('rect').x.animVal.value)"""
    laboratory.run(page.act([], advance_ms=250))
    assert laboratory.run(page.act([], advance_ms=250, read=read)).data == pytest.approx([50] * 4)


def test_what_a_page_tells_the_clock_of_a_drawing(laboratory: Any) -> None:
    html = svg("<rect id=r><animate id=a attributeName=x to=100 dur=1s repeatCount=indefinite /></rect>")
    page = laboratory.open(html)
    laboratory.run(page.start("0", seed=0))
    read = "[r.x.animVal.value, s.getCurrentTime(), a.getCurrentTime(), s.animationsPaused()]"

    def then(expression: str, advance_ms: float) -> Any:
        laboratory.run(page.evaluate(expression))
        return laboratory.run(page.act([], advance_ms=advance_ms, read=read)).data

    assert then("s.pauseAnimations()", 300) == [0, 0, 0, True]
    assert then("s.unpauseAnimations()", 300) == [pytest.approx(30), *[pytest.approx(0.3)] * 2, False]
    assert then("s.setCurrentTime(.7)", 0) == [pytest.approx(70), *[pytest.approx(0.7)] * 2, False]
    assert then("0", 100) == [pytest.approx(80), *[pytest.approx(0.8)] * 2, False]
    laboratory.run(page.start("0", seed=0))  # goes on
    assert then("0", 100) == [pytest.approx(90), *[pytest.approx(0.9)] * 2, False]


def moving(form: str) -> bytes:
    frames = [Image.new("RGB", (30, 30), color) for color in ("red", "lime", "blue")]
    file = io.BytesIO()
    frames[0].save(file, form, save_all=True, append_images=frames[1:], duration=20, loop=0)
    return file.getvalue()


def test_images_beside_a_drawing_stand(laboratory: Any) -> None:
    image = """<svg xmlns='http://www.w3.org/2000/svg' width='30' height='30'><rect width='30' height='30' fill='red'>
      <animate attributeName='fill' values='lime;blue' dur='.1s' repeatCount='indefinite'/></rect></svg>"""
    site = laboratory.site(f"""<body style='margin: 0; font-size: 0'>{svg("<animate />", "style='position: fixed'")}
      <img src=a.gif><img src=a.svg><img src="data:image/svg+xml,{image}"><br>
      <b style='display: inline-block; width: 30px; height: 30px; background: url(a.png)'></b><img src=a.webp>""")
    for name in ("gif", "png", "webp"):
        (site.root / f"a.{name}").write_bytes(moving(name))
    (site.root / "a.svg").write_text(image)
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("0", seed=0))
    for advance_ms in (0, 50, 30):
        time.sleep(0.05)
        picture = Image.open(io.BytesIO(laboratory.run(page.act([], advance_ms=advance_ms)).png)).convert("RGB")
        places = [(x, y) for x, y in ((15, 15), (45, 15), (75, 15), (15, 45), (45, 45))]
        for red, green, blue in (picture.crop((x, y, x + 1, y + 1)).tobytes() for x, y in places):
            assert red > 200 and green < 60 and blue < 60


@pytest.mark.parametrize("html, expected", [
    ("<svg><animate attributeName=x></svg>", True),
    ("<script>document.createElementNS(ns, 'animate')</script>", True),
    ("<script>make('animateMotion')</script>", True),
    ("<svg><set attributeName=x to=1 /></svg>", True),
    ("<p class='animate'>set <b>", False),
    ("<script>on('animate', () => [...new Set()])</script>", False),
    ("""<i style="background: url(data:image/svg+xml,<svg id='/svg'><animate/></svg>)">""", False),
])  # fmt: skip
def test_a_site_says_whether_it_holds_smil(laboratory: Any, html: str, expected: bool) -> None:
    assert has_smil(laboratory.site(html)) is expected


def test_pages_without_smil_have_the_browsers_that_they_had(laboratory: Any) -> None:
    kinds = []
    for html in ("<p>", svg("<animate />"), "<p>"):
        page = laboratory.open(html)
        kinds += [place.launched.kind.smil for place in laboratory.manager.browsers.places if page in place.pages]
        laboratory.run(page.close())
    assert kinds == [False, True, False]


def test_what_is_no_moving_image_is_served_as_it_is() -> None:
    still = io.BytesIO()
    Image.new("RGB", (2, 2)).save(still, "GIF")
    for body in (still.getvalue(), b"no image", b""):
        assert still_image(body, "image/gif") == (body, "image/gif")
