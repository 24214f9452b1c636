"""A thought and calls, as people write them, in the policy's grammar."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from tars_jax import InputError
from tars_jax.agent import parse_response, pixel_size
from tars_jax.agent.actions import Action, Click, Drag, Point, Type
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.platform_prompt import platform_space
from tars_jax.agent.response import ParseError
from tars_jax.annotation.interactive import inputs
from tars_jax.annotation.interactive.completion import answer_text, complete_calls
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.environment import Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.trajectory import Trajectory
from tests.annotation.interactive.boards import Boards
from tests.annotation.interactive.corridors import Said, setting

SPACE = platform_space("browser")
CALLS = "click(point='<point>250 500</point>')\n\ntype(content='it\\'s </parameter>')"


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("thought", ["", "on", "so:\nAction: click(\n</think>", "<script>\u202e שלום 🙃"])
def test_what_is_written_is_what_the_policy_would_have_said(grammar: str, thought: str) -> None:
    read = parse_response(answer_text(thought, CALLS, grammar, SPACE), grammar, space=SPACE)
    assert not isinstance(read, ParseError)
    assert read.thought == thought and read.actions == (Click(Point(250, 500)), Type("it's </parameter>"))


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("size", [(1288, 728), (112, 3024), (1000, 1000)])
def test_a_place_lands_where_it_was_placed_in_pixels_too(grammar: str, size: tuple[int, int]) -> None:
    calls = (
        "click(point='<point>0 1000</point>')\n\n"
        "drag(start_point='<point>250 500</point>', end_point='<point>999 1</point>')"
    )
    text = answer_text("there", calls, grammar, SPACE, size)
    read = parse_response(text, grammar, space=SPACE, pixel_size=size)
    assert not isinstance(read, ParseError)
    click, drag = read.actions
    assert isinstance(click, Click) and isinstance(drag, Drag)
    for found, placed in ((click.point, (0, 1000)), (drag.start_point, (250, 500)), (drag.end_point, (999, 1))):
        for at, wanted, side in zip((found.x, found.y), placed, size, strict=True):
            assert abs(at - wanted) * side / 1000 <= 0.5 + 1e-9  # pixels
    assert f"<point>0 {size[1]}</point>" in text


@pytest.mark.parametrize("calls", ["", "clock()", "click(", "click(point='<point></point>')", "open_app(app_name='x')"])
def test_what_cannot_be_read_is_refused(calls: str) -> None:
    with pytest.raises(InputError):
        answer_text("on", calls, "tool", SPACE)


def test_calls_alone_are_completed() -> None:
    assert [each.insert for each in complete_calls("left", 4, SPACE)] == ["_double("]
    assert complete_calls("", 0, SPACE)[0].insert == "click("


class Touched(Boards):
    """Boards that keep where they were clicked, across all that are opened."""

    places: ClassVar[list[Point]] = []

    async def step(self, actions: Sequence[Action]) -> Transition:
        Touched.places += [action.point for action in actions if isinstance(action, Click)]
        return await super().step(actions)


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("image_size", [None, pixel_size], ids=["grid", "pixels"])
def test_what_a_person_places_lands_there(grammar: str, image_size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written on the page, done by hand and played again, for policies that point in either way."""
    monkeypatch.setattr(Touched, "places", [])
    agent = AgentConfig(grammar=grammar, image_size=image_size)
    task = Task("board", "boards", 0, {}, 12)
    wanted = [(250, 500), (999, 1), (333, 667)]

    async def play() -> Trajectory:
        played = dataclasses.replace(setting(Said(("?",))), agent=agent)
        live = await LiveEpisode.begin(
            played, lambda: CheckedEnvironment(Touched, may_be_empty=True), task, EpisodeWriter("one"), "ada"
        )
        await live.settled(30)
        assert (live.pixel_size() is None) == (image_size is None)
        for step, (x, y) in enumerate(wanted[:2]):
            calls = f"click(point='<point>{x} {y}</point>')"
            live.decide(step, None, answer_text("there", calls, grammar, live.record.space, live.pixel_size()))
            await live.settled(30)
        await live.take_over()
        await live.act(inputs.action_of({"type": "click", "x": 0.333, "y": 0.667}, live.record.space))
        [mark] = live.read(live.record.steps[-1].decision.text)[3]  # where the page draws it
        assert (mark.x, mark.y) == pytest.approx((0.333, 0.667), abs=1e-3)
        await live.undo(3)  # the two before are played again
        await live.settled(30)
        trajectory = await live.trajectory()
        await live.close()
        assert trajectory is not None
        return trajectory

    trajectory = asyncio.run(play())
    assert len(Touched.places) == 5
    told = [*Touched.places, *(Point(*step.point) for step in trajectory.steps if step.point is not None)]
    for found, (x, y) in zip(told, [*wanted, *wanted[:2], *wanted[:2]], strict=True):
        assert (found.x, found.y) == pytest.approx((x, y), abs=0.5 if image_size is None else 0.5 * 1000 / 360 + 1e-6)
