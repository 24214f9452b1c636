"""The report: honest sentences, nothing from elsewhere, nothing unescaped, marks where they belong."""

from __future__ import annotations

import collections
import dataclasses
import io
import math
import pathlib
import re
from collections.abc import Sequence
from html.parser import HTMLParser

import numpy as np
import PIL.Image
import PIL.ImageDraw
import pytest

from tars_jax import InputError
from tars_jax.evaluation import Curve, ReportData, Score, ScoreWording, Series, render_report, verdict, write_report
from tars_jax.evaluation.curves import DEFAULT_CURVES, curve_sections, smooth
from tars_jax.evaluation.replays import MAX_STEPS, outcome_badge, short_action
from tars_jax.evaluation.result import before_and_after
from tars_jax.evaluation.scores import summary
from tars_jax.tasks.games.pictures import chromium
from tars_jax.training.metrics import MetricsRow
from tars_jax.trajectory import Outcome, Step, Trajectory

VOID_TAGS = {"meta", "link", "img", "br", "wbr"}
RESULT = {"score_before": 0.46, "score_after": 0.72, "episodes": 100, "minutes": 9.4, "seed": 0}


def board(light: int, size: int = 96) -> bytes:
    picture = PIL.Image.new("RGB", (size, size), (20, 26, 58))
    draw = PIL.ImageDraw.Draw(picture)
    cell = size // 6
    for i in range(7):
        draw.line([(i * cell, 0), (i * cell, size)], (50, 60, 110))
        draw.line([(0, i * cell), (size, i * cell)], (50, 60, 110))
    draw.ellipse([light * cell + 3, 3, light * cell + cell - 3, cell - 3], (255, 220, 90))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def noise(seed: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (360, 640, 3)).astype(np.uint8)
    PIL.Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def step(index: int, **changes: object) -> Step:
    fields: dict[str, object] = {
        "screenshot": board(index % 6),
        "response": "Thought: right\nAction: click(point='<point>583 417</point>')",
        "thought": f"{index} 0 to 5 0, right",
        "action": "click(point='<point>583 417</point>')",
        "point": (583.0, 417.0),
        "reward": 0.0,
        "think_tokens": 6,
        "valid": True,
        "info": {},
    }
    return Step(**{**fields, **changes})  # type: ignore[arg-type]


def episode(seed: int, num_steps: int = 3, outcome: Outcome = Outcome.FINISHED, reward: float = 1.0) -> Trajectory:
    steps = [step(index) for index in range(num_steps)]
    if reward and steps:
        steps[-1] = dataclasses.replace(steps[-1], reward=reward)
    task = {"id": f"t{seed}", "game": "maze_path_of_light", "seed": seed, "options": {"distance": [2, 4]}}
    return Trajectory(f"e{seed}", task, (), tuple(steps), outcome, reward, success=reward > 0)


def metrics() -> list[MetricsRow]:
    rng = np.random.default_rng(0)
    rows = [MetricsRow(i, "supervised", 0.0, {"loss": 3 * math.exp(-i / 30)}) for i in range(100)]
    rows += [
        MetricsRow(i, "value", 0.0, {"explained_variance": 0.4, "heldout_explained_variance": i / 300})
        for i in range(100)
    ]
    rows += [
        MetricsRow(i, "ppo", 0.0, {"success": 0.4 + i / 50 + rng.normal() / 50, "entropy": math.nan if i == 3 else 0.5})
        for i in range(15)
    ]
    return rows


def example() -> ReportData:
    before = [episode(seed, 4, Outcome.TRUNCATED, 0.0) for seed in range(5)]
    after = [episode(seed) for seed in range(5)]
    config = {"seed": 0, "ppo": {"clip_high": 0.28, "layers": [1, 2]}}
    result = {**RESULT, "simulator_explained_variance": 0.41, "environment_steps": 14213}
    return ReportData("Maze: Path of Light", result, metrics(), before, after, config, command="./again --config=x")


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: collections.Counter[str] = collections.Counter()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag not in VOID_TAGS:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID_TAGS:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_is_well_formed_and_opens_offline() -> None:
    text = render_report(example())
    page = Page(text)
    assert page.open == []
    assert all(link.startswith(("data:", "#")) for link in page.links)
    assert not re.search(r"https?:|//\w+\.\w|url\((?!#)|@import", text)
    assert page.tags["script"] == 0
    assert len(page.ids) == len(set(page.ids))


def test_what_the_page_holds() -> None:
    page = Page(render_report(example()))
    text = " ".join(page.texts)
    for expected in ("46.0%", "72.0%", "Improvement by PPO", "Value pretraining", "Supervised start", "Replays"):
        assert expected in text
    for expected in ("what the simulator’s state explains, 0.41", "ppo.clip_high", "./again --config=x", "14,213"):
        assert expected in text
    assert page.tags["img"] == 4 * 4 + 4 * 3  # four episodes of each side
    assert text.count("Episode ") == 4  # the sides played the same tasks and stand together


def test_equal_data_gives_equal_bytes(tmp_path: pathlib.Path) -> None:
    path = write_report(tmp_path, example())
    assert path == tmp_path / "report.html"
    assert path.read_text() == render_report(example())
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_whatever_an_agent_writes_stays_text() -> None:
    attack = "</p><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    bad = step(0, thought=attack, action=attack)
    unreadable = step(1, valid=False, response=attack, thought="", action="", point=None)
    trajectory = dataclasses.replace(
        episode(0), steps=(bad, unreadable), task={"environment": attack, "options": {attack: 1}}
    )
    data = dataclasses.replace(
        example(),
        title=attack,
        subtitle=attack,
        before=[trajectory],
        after=[],
        config={attack: attack},
        command=attack,
        curves=[Curve(attack, attack, (Series("ppo", "success", attack),), attack, attack)],
    )
    page = Page(render_report(data))
    assert page.open == []
    assert page.tags["script"] == 0
    assert page.tags["img"] == 2
    assert "onerror" not in page.attributes
    assert sum(attack in text for text in page.texts) >= 8
    assert "".join(page.texts).count(attack) >= 9  # calls may break between their parts


def test_marks_stand_at_the_point() -> None:
    first = step(0, point=(583.0, 417.0))
    data = dataclasses.replace(
        example(),
        before=[],
        after=[dataclasses.replace(episode(0), steps=(first, step(1, point=None, action="wait(seconds=1)")))],
    )
    text = render_report(data)
    assert re.findall(r'<circle cx="([\d.]+)%" cy="([\d.]+)%" r="[\d.]+" class="ring"/>', text) == [("58.3", "41.7")]
    assert "click(583 417)" in text.replace("<wbr>", "")


@pytest.mark.parametrize(
    ("game", "shown"),
    [
        ("runs/a_b/games/ice_river_3", "ice river 3"),
        ("miniwob/click-test", "miniwob/click-test"),
        ("shapes", "shapes"),
        ("my_world:Large", "my_world:Large"),
    ],
)
def test_an_episode_is_titled_by_its_game(game: str, shown: str) -> None:
    played = dataclasses.replace(episode(1), task={"environment": game, "seed": 7})
    text = render_report(dataclasses.replace(example(), before=[played], after=[]))
    assert f'<span class="detail">{shown}, seed 7</span>' in text


def test_options_of_an_episode_are_read_as_they_are_meant() -> None:
    options = {"distance": [2, 5], "choices": ["0", "1", "2"], "data_of": "my_data:rows"}
    played = dataclasses.replace(episode(1), task={"environment": "prompts", "options": options})
    text = render_report(dataclasses.replace(example(), before=[played], after=[]))
    assert "prompts, distance 2 to 5, choices 0, 1, 2, data of my_data:rows</span>" in text


@pytest.mark.parametrize("value", [0.0, 3e-5, 2_000_000.0])
def test_an_axis_has_no_factor_above_it(value: float) -> None:
    """Which would be cut off: there is no room."""
    rows = [MetricsRow(step, "ppo", 0.0, {"think_tokens": value}) for step in (1, 2)]
    (section,) = curve_sections(DEFAULT_CURVES, rows, {})
    assert "Think length" in section and not re.search(r">\s*[−\d.]*(1e|×)", section)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_a_browser_shows_it(tmp_path: pathlib.Path, width: int, scheme: str) -> None:
    scores = [
        Score.of_successes("Maze: Path of Light", (0, 200), (0, 200)),
        Score.of_successes("Tiles Master", (173, 200), (188, 200)),
    ]
    path = write_report(tmp_path, dataclasses.replace(example(), scores=scores))
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(path.as_uri())
        image = page.locator(".screen img").first.bounding_box()
        ring = page.locator(".ring").first.bounding_box()
        assert image is not None
        assert ring is not None
        assert (ring["x"] + ring["width"] / 2 - image["x"]) / image["width"] == pytest.approx(0.583, abs=0.01)
        assert (ring["y"] + ring["height"] / 2 - image["y"]) / image["height"] == pytest.approx(0.417, abs=0.01)
        assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing hangs over the edge
        rows = page.evaluate("[...document.querySelectorAll('.parts tr')].map(row => row.clientHeight)")
        assert len(rows) == 3 and max(rows) < 100  # and no word is broken to fit
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth === 96)")
    assert [request for request in requests if not request.startswith("data:")] == [path.as_uri()]
    assert complaints == []


@pytest.mark.parametrize(
    ("before", "after", "kind", "beginning"),
    [
        (0.46, 0.72, "better", "The agent improved: it solved 46.0% of 100 held-out episodes before"),
        (0.72, 0.46, "worse", "The agent got worse: it solved 72.0%"),
        (0.46, 0.50, "unclear", "Improvement is not shown: it solved 46.0%"),
        (0.50, 0.46, "unclear", "The run did not improve the agent: it solved 50.0%"),
        (0.50, 0.50, "unclear", "The run did not improve the agent: it solved 50.0%"),
        (1.00, 1.00, "solved", "Already solved: it solved 100.0% of 100 held-out episodes before and 100.0% after"),
        (1.00, 0.99, "solved", "Already solved before: it solved 100.0% of 100 held-out episodes before and 99.0%"),
        (1.00, 0.80, "worse", "The agent got worse: it solved 100.0%"),
        (0.99, 1.00, "unclear", "Improvement is not shown: it solved 99.0%"),
        (0.00, 0.00, "unclear", "The run did not improve the agent: it solved 0.0%"),
    ],
)
def test_verdict(before: float, after: float, kind: str, beginning: str) -> None:
    result = {**RESULT, "score_before": before, "score_after": after}
    got, sentence = verdict(result)
    assert got == kind
    assert sentence.startswith(beginning)
    assert ("cannot tell from chance" in sentence) == (kind == "unclear" or (after < before == 1 and kind != "worse"))
    data = dataclasses.replace(example(), result=result)
    assert f'class="headline {kind}"' in render_report(data)


def test_the_verdict_tells_the_difference_with_its_interval() -> None:
    # Wilson: 46 of 100 is .36561 to .55735, 72 of 100 is .62512 to .79860.
    # Newcombe: .26 - hypot(.72 - .62512, .55735 - .46) = .12406; .26 + hypot(.79860 - .72, .46 - .36561) = .38283
    assert verdict(RESULT)[1].endswith("72.0% after, +26.0 points (95% interval +12.4 to +38.3).")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("score_after", None, "result: field score_after must be a number; got None"),
        ("minutes", "9", "result: field minutes must be a number; got '9'"),
        ("score_before", 46.0, "result: field score_before must be a success rate of 0 to 1; got 46.0"),
        ("episodes", 0, "result: field episodes must be at least 1; got 0"),
        ("episodes", float("inf"), "result: field episodes must be a number; got inf"),
    ],
)
def test_an_incomplete_result_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message) + "$"):
        ReportData("x", {**RESULT, field: value})


def test_a_run_without_metrics_and_replays_has_a_report() -> None:
    page = Page(render_report(ReportData("x", RESULT)))
    assert page.open == []
    assert page.tags["figure"] == 0
    assert "Replays" not in page.texts


def test_curves_take_what_the_run_has() -> None:
    section = Curve("S", "Only", (Series("ppo", "success"), Series("ppo", "missing", "none")), percent=True)
    absent = Curve("S", "Absent", (Series("other", "success"),))
    [got] = curve_sections([section, absent], metrics(), {})
    assert got.count("<svg") == 1
    assert "Absent" not in got
    assert curve_sections([absent], metrics(), {}) == []
    one = [MetricsRow(0, "ppo", 0.0, {"success": 0.0})]
    assert "<b>0%</b>" in curve_sections([section], one, {})[0]
    constant = [MetricsRow(i, "ppo", 0.0, {"success": 0.0}) for i in range(3)]
    assert "<svg" in curve_sections([dataclasses.replace(section, percent=False)], constant, {})[0]


def test_a_series_with_a_star_is_a_curve_for_each_name_that_begins_so() -> None:
    each = Curve("S", "", (Series("ppo", "rewards/*"),), "of a function")
    rows = [MetricsRow(i, "ppo", 0.0, {"rewards/exact": i / 2, "rewards/<b>": 1.0, "reward": 2.0}) for i in range(3)]
    [got] = curve_sections([each], [*rows, MetricsRow(0, "value", 0.0, {"rewards/other": 0.0})], {})
    assert re.findall("<h3>(.*?)</h3>", got) == ["exact", "&lt;b&gt;"] and got.count("of a function") == 2
    assert curve_sections([each], metrics(), {}) == []


def test_curves_use_the_colors_of_the_page() -> None:
    [*sections] = curve_sections(example().curves, metrics(), {"simulator_explained_variance": 0.4})
    for svg in re.findall(r"<svg.*?</svg>", "".join(sections), flags=re.DOTALL):
        assert "var(--after)" in svg
        assert not re.search(r"#[0-9a-f]{6}\b(?!\))", re.sub(r'(id="|#)[mpC]\w+', "", svg))


def test_smooth() -> None:
    # Windows of three, two at the ends: (0 + 3) / 2, (0 + 3 + 6) / 3, (3 + 6) / 2
    np.testing.assert_allclose(smooth(np.array([0.0, 3.0, 6.0]), 3), [1.5, 3, 4.5])
    np.testing.assert_allclose(smooth(np.array([1.0, 5.0]), 1), [1, 5])


@pytest.mark.parametrize(
    ("trajectory", "badge"),
    [
        (episode(0, 1), ("good", "solved in 1 step")),
        (episode(0, 5, reward=0.5), ("good", "solved in 5 steps, reward 0.5")),
        (episode(0, 5, reward=0.0), ("bad", "ended unsolved after 5 steps")),
        (episode(0, 5, Outcome.TRUNCATED, 0.0), ("bad", "out of budget after 5 steps")),
        (episode(0, 2, Outcome.REJECTED, 0.0), ("bad", "unreadable answers, stopped after 2 steps")),
        (episode(0, 2, Outcome.FAILED, 0.0), ("void", "sandbox failed after 2 steps, not counted")),
    ],
)
def test_outcome_badge(trajectory: Trajectory, badge: tuple[str, str]) -> None:
    assert outcome_badge(trajectory) == badge


def test_short_action() -> None:
    drag = "drag(start_point='<point>1 2</point>', end_point='<point>30.5 40</point>')"
    assert short_action(drag) == "drag(1 2, 30.5 40)"
    assert short_action("type(content='a\\n')") == "type(content='a\\n')"


@pytest.mark.slow
def test_long_episodes_of_large_screens_stay_small() -> None:
    screens = [noise(seed) for seed in range(3)]
    steps = tuple(step(index, screenshot=screens[index % 3]) for index in range(100))
    long = [dataclasses.replace(episode(seed), steps=steps) for seed in range(8)]
    text = render_report(dataclasses.replace(example(), before=long, after=[], replays=8))
    assert f"{100 - MAX_STEPS} more steps" in text
    assert len(text) < 5_000_000
    assert 1 <= text.count('class="level"') < 8  # the budget ended the list


def test_what_an_agent_wrote_without_end_is_cut_and_what_is_no_text_replaced(tmp_path: pathlib.Path) -> None:
    chatter = step(0, thought="é" * 10**6 + "\ud83d", action="type(content='" + "a" * 10**6 + "')")
    half = step(1, thought="half a pair: \ud83d")
    talkative = dataclasses.replace(episode(0), steps=(chatter, half))
    path = write_report(tmp_path, dataclasses.replace(example(), before=[talkative], after=[talkative]))
    page = path.read_text(encoding="utf-8")
    assert len(page) < 300_000 and "half a pair: ?" in page and "characters are left out" in page


def test_what_is_damaged_in_an_episode_or_a_result_loses_no_page() -> None:
    damaged = episode(0, 2)
    steps = (dataclasses.replace(damaged.steps[0], screenshot=b"no picture"), damaged.steps[1])
    damaged = dataclasses.replace(
        damaged, steps=steps, task={"environment": "g" * 9999, "options": [1, 2], "seed": None}
    )
    result = {**RESULT, "parameters": math.nan, "environment_steps": "many", "training_episodes": 1234}
    page = render_report(dataclasses.replace(example(), result=result, after=[damaged]))
    assert page.count("the screenshot is damaged") == 1 and "1,234" in page
    assert "g" * 299 in page and "g" * 301 not in page


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_picture_of_any_shape_or_damage_costs_its_place_and_no_more() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (30_000, 300, 3), dtype=np.uint8)
    cut = bytearray(png(np.zeros((300, 400, 3), np.uint8)))
    cut[cut.index(b"IDAT") - 4 : cut.index(b"IDAT")] = bytes(4)  # no length: what follows is no chunk
    pictures = [png(noise), png(noise[:20, :1].repeat(40_000, 1)), bytes(cut)]
    steps = tuple(dataclasses.replace(step(index), screenshot=each) for index, each in enumerate(pictures))
    page = render_report(dataclasses.replace(example(), after=[dataclasses.replace(episode(0), steps=steps)]))
    assert len(page) < 500_000 and page.count("the screenshot is damaged") == 1


def test_scores_of_parts_say_what_is_shown_and_what_is_not() -> None:
    """Of 100 episodes, 40 to 70 is an improvement, 50 to 55 shows nothing, 80 to 40 is a loss."""
    scores = [
        Score.of_successes("<up>", (40, 100), (70, 100)),
        Score.of_successes("b", (50, 100), (55, 100)),
        Score.of_successes("c", (80, 100), (40, 100)),
    ]
    assert [score.kind for score in scores] == ["better", "unclear", "worse"]
    assert scores[2].line().split()[:4] == ["c", "80.0%", "40.0%", "−40.0"] and "got worse" in scores[2].line()
    page = render_report(ReportData("x", RESULT, scores=scores))
    for said in ("&lt;up&gt;", "+30.0", "improved", "no change shown", "got worse"):
        assert said in page
    assert "Each part" not in render_report(ReportData("x", RESULT))


@pytest.mark.parametrize("steps", [(1,), (1, 2)])
def test_counts_have_whole_ticks(steps: tuple[int, ...]) -> None:
    """A curriculum's distance that stays at 3, and a run of one or two updates."""
    curve = Curve("S", "Distance", (Series("ppo", "distance"),), whole=True)
    rows = [MetricsRow(step, "ppo", 0.0, {"distance": 3.0}) for step in steps]
    (page,) = curve_sections([curve], rows, {})
    ticks = re.findall(r"<text[^>]*>([^<]*)</text>", page)
    assert {tick for tick in ticks if tick != curve.x_label} == {"3", *map(str, steps)}


def test_the_page_says_what_its_score_is() -> None:
    counted = ScoreWording("it gave the verifier's verdict on", "held-out trajectories", "agreement", "judge")
    page = render_report(dataclasses.replace(example(), counted=counted, curves=()))
    assert "<span>agreement, with 95% intervals</span>" in page and "success, with" not in page
    assert "The judge improved: it gave the verifier" in page


def dense(returns: Sequence[float], success: bool | None = False) -> list[Trajectory]:
    """Episodes of two steps that earn half of their return in each."""
    halves = [[dataclasses.replace(step(index), reward=value / 2) for index in range(2)] for value in returns]
    return [
        dataclasses.replace(episode(1), steps=tuple(steps), reward=value, success=success)
        for steps, value in zip(halves, returns, strict=True)
    ]


def test_dense_rewards_are_judged_by_their_mean_return() -> None:
    """The sides' values by hand; the interval of the change holds the difference of the means, 2, and leaves out 0."""
    before, after = dense([1.0, 2.0, 3.0, 2.0] * 10), dense([3.0, 4.0, 5.0, 4.0] * 10)
    result = {**RESULT, **before_and_after(before, after)}
    kind, sentence = verdict(result)
    assert kind == "better" and sentence.startswith(
        "The agent improved: mean return 2 in 40 held-out episodes before and 4 after, +2 (95% interval +1."
    )
    score = Score.of_result(result)
    assert (score.before.value, score.after.value, score.change.value) == (2, 4, 2)
    assert 1.5 < score.change.low < 2 < score.change.high < 2.5
    page = render_report(dataclasses.replace(example(), result=result))
    assert "mean return, with 95% intervals" in page and "success, with 95% intervals" not in page
    assert summary(before).startswith("mean return 2 [1.") and summary(before).endswith("] of 40")


@pytest.mark.parametrize(
    ("episodes", "measure"),
    [
        ([*dense([0.5, 1.0])], "return"),
        ([*dense([0.5], success=None)], "return"),
        ([episode(1)], "success"),
        ([dataclasses.replace(episode(1), reward=-0.3, success=False)], "success"),
    ],
    ids=["earns before its end", "no verdict", "success alone", "partial credit at the end"],
)
def test_what_is_compared_follows_from_the_episodes(episodes: list[Trajectory], measure: str) -> None:
    assert Score.of_episodes("", episodes, episodes).measure == measure


def test_one_return_alone_shows_nothing() -> None:
    assert Score.of_returns("", [0.0], [5.0]).kind == "unclear"
