"""Config of a data set's curation. Made without jax."""

from __future__ import annotations

import dataclasses

from tars_jax.rules import at_least, between, field


@dataclasses.dataclass(frozen=True)
class Similarity:
    """Similarities from which on two trajectories are near-duplicates."""

    asked: float = field(0.8, "Jaccard similarity from which on two instructions ask for the same", between(0.01, 1))
    done: float = field(0.9, "share of common calls from which on two episodes did the same", between(0, 1))


@dataclasses.dataclass(frozen=True)
class CurationConfig:
    """The filters that are applied to recorded trajectories."""

    similar: Similarity = dataclasses.field(default_factory=Similarity)
    reviews_needed: bool = field(False, "whether trajectories that two people have not reviewed are left out")
    variants: int = field(0, "most rephrasings of each instruction", at_least(0))
    seed: int = 0
