"""What files of a level are called and what they say."""

from __future__ import annotations

import random
from collections.abc import Sequence

COLORS = ("red", "green", "blue", "amber", "violet", "white", "black", "silver")
FOLDERS = ("box", "desk", "shelf", "chest", "attic")
FRUITS = ("apple", "plum", "fig", "lemon", "grape", "melon", "cherry", "olive", "mango", "quince")
NAMES = ("Ada Byron", "Bob Moss", "Çem Öz", "Dora Lund", "Eve Stone", "Finn Holt")


def pick(rng: random.Random, words: Sequence[str], count: int) -> list[str]:
    """Different ones, in any order."""
    return rng.sample(list(words), count)


def sentence(rng: random.Random, words: Sequence[str], length: int) -> str:
    return " ".join(rng.choice(words) for _ in range(length))
