"""Browsing that a nano policy can learn: four short pages, and what color an animal has.

The pages are the encyclopedia's own, served and judged as those of `browsing`; which animal has which color is the
seed's, so the answer stands nowhere but on the animal's page.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.environment import GUI, SDK, Observation, Task, Verification
from tars_jax.envs.browsing import BrowsingEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.browsing.article import Article
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import article_url
from tars_jax.tasks.browsing.question import BrowsingQuestion
from tars_jax.tasks.games.moves import Move

ANIMALS = ("Bee", "Fox", "Owl", "Yak")
COLORS = ("red", "blue", "green", "black")
REPEATED = 4  # times that a page says its color: a word alone is a few pixels


class SmallEncyclopedia(BrowsingEnvironment):
    """Two steps are enough: open the animal's page, say the color. By chance that is 1 in 4, once the page is open.

    Args:
      interface: as `browsing` has it: by a call, LinkReader opens the page.
      size: (width, height) of the page in pixels.
    """

    max_steps = 4

    def __init__(
        self, resources: EnvironmentResources, interface: str = GUI, size: Sequence[int] = (224, 160)
    ) -> None:  # fmt: skip
        color = {"id": "any", "text": "Owl?", "answers": list(COLORS), "source": "small"}
        super().__init__(resources, [color], interface=interface, size=size)

    @staticmethod
    def verification(task: Task) -> Verification:
        return Verification("judge", asked(task)[0].reference)

    async def reset(self, task: Task) -> Observation:
        question, colors = asked(task)
        links = " ".join(f"[[{animal}]]" for animal in ANIMALS)
        encyclopedia = Encyclopedia(
            Article(animal, "animal", (" ".join([color] * REPEATED), links)) for animal, color in colors.items()
        )
        return await self.begin(task, question, encyclopedia, f"small {' '.join(colors.values())}")

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        """Opens any page, or says any color, where it errs. Its thought is what it goes by."""
        if not state["target"]:
            color = state["answer"] if rng.random() < skill else rng.choice(COLORS)
            return Move(color, "finished", {"content": color})
        animal = state["target"] if rng.random() < skill else rng.choice(ANIMALS)
        path = article_url(animal)
        links = dict(state["links"]) if state["by"] == GUI else {}
        if path not in (links or state["named"]):  # a page does not lead to itself
            path = article_url(state["target"])
        if state["by"] == SDK:
            return Move(animal, "LinkReader", {"url": path})
        width, height = state["view"]
        x, y = links[path]
        return Move(animal, "click", {"point": (round(1000 * x / width), round(1000 * y / height))})


def asked(task: Task) -> tuple[BrowsingQuestion, dict[str, str]]:
    """The question of a seed, and the colors of all animals."""
    generator = random.Random(f"small {task.seed}")
    animal = generator.choice(ANIMALS)
    colors = {each: generator.choice(COLORS) for each in ANIMALS}
    return BrowsingQuestion(str(task.seed), f"{animal}?", (colors[animal],), "small", plan=(animal,)), colors
