"""Tutorials: how tasks are done, in words, from what this code says of its own environments."""

from __future__ import annotations

import collections

from tars_jax.data.datasets import read_dataset
from tars_jax.data.tutorials import SITE, is_told, steps_of, tutorials
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks


def test_they_are_the_same_for_the_same_seed() -> None:
    found = {each.id: each for each in read_dataset("tars_jax.data.tutorials:tutorials")}
    assert [each.id for each in tutorials()] == list(found) and found == {each.id: each for each in tutorials(0)}
    assert [each.id for each in tutorials(1)] != list(found) and {each.id for each in tutorials(1)} == set(found)
    assert not any(step.screenshot for each in found.values() for step in each.steps)
    rules = found["rules-maze_path_of_light"]
    assert rules.metadata["instruction"] == "How is Maze: Path of Light played?"
    assert rules.steps[0].action == "finished(content='Bring the light to the exit.')"
    kinds = collections.Counter(name.partition("-")[0] for name in found)
    assert kinds["rules"] == 15 and kinds["level"] == 120 and kinds["platform"] == 5 and kinds["tool"] == 7
    assert kinds["action"] == kinds["written"] and kinds["steps"] > 0


def test_solutions_of_held_out_sites_are_not_told() -> None:
    tasks = read_website_tasks(SYNTHESIZED)
    held_out = {task.site for task in tasks if not is_told(task)}
    told = [each for each in tutorials() if SITE in each.metadata]
    assert held_out and len(told) > 100
    assert not {each.metadata[SITE] for each in told} & held_out
    words = " ".join(each.metadata["instruction"] + each.steps[0].response for each in told)
    assert not any(task.instruction in words for task in tasks if task.site in held_out)


def test_the_steps_of_a_solution() -> None:
    calls = [
        "navigate(content='http://localhost/a')", "click(point='<point>62.1 140.3</point>')",
        "hotkey(key='ctrl a')", "type(content='A note\\n')", "scroll(direction='down')", "finished(content='Six')",
    ]  # fmt: skip
    task = WebsiteTask("one", "fossil", "Do it.", answer="Six", about={"solution": calls})
    assert steps_of(task) == [
        "Open http://localhost/a", "Click at 62 right, 140 down", "Press ctrl and a", 'Type "A note" and press Enter',
        "Scroll down", 'Answer "Six"',
    ]  # fmt: skip
