"""The embedded author: four mechanics that none of our games has, with rules and looks drawn from a seed."""

from __future__ import annotations

import colorsys
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tars_jax.data.game_synthesis.source import SCRIPTS, GameSource

FOLDER = Path(__file__).with_name("templates")

Rules = tuple[dict[str, Any], str, str, str]  # parameters, title's second word, instruction, hint


class TemplateAuthor:
    """Writes game `number`, a function of the seed and the number; the mechanics take turns."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def write(self, number: int, complaints: Sequence[str] = ()) -> GameSource:
        """Writes a game, the same whatever the complaints: a template has nothing else to offer."""
        mechanic = list(MECHANICS)[number % len(MECHANICS)]
        rng = random.Random(f"{self._seed}:{number}")
        draw, steps = MECHANICS[mechanic]
        parameters, variant, instruction, hint = draw(rng)
        name = f"{mechanic}_{variant}_{number}".replace(" ", "_")
        parameters |= {"name": name, "title": [mechanic.capitalize(), variant], "hint": hint}
        constants = f"const PARAMETERS = {json.dumps(parameters)};\nconst THEME = {json.dumps(theme(rng))};\n"
        return GameSource(
            metadata={
                "name": name,
                "title": f"{mechanic.capitalize()}: {variant}",
                "instruction": instruction,
                "settle_ms": 120,
                "levels": [
                    {"summary": f"level {level}", "max_steps": budget} for level, budget in enumerate(steps, start=1)
                ],
            },
            scripts={
                "parameters.js": f'"use strict";\n\n{constants}',
                "scene.js": (FOLDER / "scene.js").read_text(encoding="utf-8"),
                **{script: (FOLDER / mechanic / script).read_text(encoding="utf-8") for script in SCRIPTS},
            },
        )


def theme(rng: random.Random) -> dict[str, Any]:
    """Colours that go together: a dark ground of one hue, five well-separated bright ones, an accent across."""
    hue = rng.random()

    def colour(turn: float, lightness: float, saturation: float) -> str:
        channels = colorsys.hls_to_rgb((hue + turn) % 1, lightness, saturation)
        return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)

    return {
        "top": colour(0, 0.24, 0.42),
        "bottom": colour(0, 0.1, 0.46),
        "dim": colour(0, 0.3, 0.3),
        "bright": colour(0.1, 0.74, 0.85),
        "accent": colour(0.5, 0.72, 0.9),
        "ink": "#ffffff",
        "colors": [colour(turn / 5, (0.46, 0.64)[turn % 2], 0.72) for turn in range(5)],
    }


def _toggle(rng: random.Random) -> Rules:
    patterns = {
        "plus": [[1, 0], [-1, 0], [0, 1], [0, -1]],
        "cross": [[1, 1], [-1, -1], [1, -1], [-1, 1]],
        "bar": [[1, 0], [-1, 0]],
        "pillar": [[0, 1], [0, -1]],
        "knight": [[1, 2], [2, 1], [-1, 2], [-2, 1], [1, -2], [2, -1], [-1, -2], [-2, -1]],
    }
    variant = rng.choice(list(patterns))
    said = {
        "plus": "the four beside it",
        "cross": "its diagonal neighbours",
        "bar": "those to its left and right",
        "pillar": "those above and below",
        "knight": "those a knight's move away",
    }[variant]
    sentence = f"Turn every light dark. A click turns a light and {said}."
    return {"pattern": patterns[variant]}, variant, sentence, sentence


def _flood(rng: random.Random) -> Rules:
    corners = {"upper left": [0, 0], "upper right": [1, 0], "lower left": [0, 1], "lower right": [1, 1]}
    variant = rng.choice(list(corners))
    sentence = f"Make the board one colour. The field of the {variant} corner takes the colour that you click."
    return {"corner": corners[variant]}, variant, sentence, sentence


def _ordered(rng: random.Random) -> Rules:
    variant = rng.choice(("rising", "falling", "odd first"))
    said = {
        "rising": "from 1 up",
        "falling": "from the highest down",
        "odd first": "odd ones first, each from low to high",
    }
    sentence = f"Click the numbers in order, {said[variant]}. Four wrong clicks lose."
    return {"order": variant}, variant, sentence, sentence


def _ice(rng: random.Random) -> Rules:
    rocks = rng.choice((0, 4, 8))
    variant = {0: "lake", 4: "river", 8: "cave"}[rocks]
    sentence = "Slide the piece onto the ring. It stops only where something is in its way. Use the arrow keys."
    return {"rocks": rocks}, variant, sentence, sentence


# mechanic -> how its rules are drawn, and the step budgets of its levels
MECHANICS: dict[str, tuple[Callable[[random.Random], Rules], tuple[int, ...]]] = {
    "toggle": (_toggle, (6, 8, 10, 10, 12, 16, 16, 22)),
    "flood": (_flood, (10, 12, 14, 18, 22, 28, 34, 40)),
    "ordered": (_ordered, (7, 9, 11, 13, 16, 19, 23, 28)),
    "ice": (_ice, (6, 8, 10, 12, 14, 16, 20, 24)),
}
