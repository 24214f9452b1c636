"""Where the episodes of a cycle go (UI-TARS-2, 2.3; facts: a binary verdict V(s)):

    D_SFT(t+1) = D_SFT(t) + {s: V(s) = 1}
    D_CT(t+1)  = D_CT(t)  + {s: V(s) = 0}

Each episode is routed once, with its cycle's batch; a killed cycle that routes again finds it done. What nobody judged,
what judges disagree on, and what is of a held-out task goes nowhere, and is counted.
"""

from __future__ import annotations

import dataclasses

from tars_jax.data.store import Store
from tars_jax.trajectory import Outcome

SFT, CT = "sft", "ct"
ROUTES = ("verdict", "everything")


@dataclasses.dataclass(frozen=True)
class Routed:
    """Episodes of one cycle."""

    sft: int  # new ones of the set
    ct: int
    solved: int  # V = 1
    failed: int  # V = 0
    unjudged: int  # nobody has spoken, or those who decide disagree
    contradictory: int  # speakers disagree, whether or not one of them decides
    held_out: int  # of a task that no training set may hold


def route(store: Store, cycle: int, by: str = "verdict") -> Routed:
    """Assigns the training episodes of `cycle` to the sets "sft" and "ct".

    `by`: "verdict", the equations; "everything", the control without routing: each episode goes into both sets,
    whatever its verdict.
    """
    there = f"cycle={cycle} and purpose=training and outcome!={Outcome.FAILED.value}"
    free = f"{there} and held_out=0"
    judged = {SFT: f"{free} and verdict=1", CT: f"{free} and verdict=0"}
    if by == "everything":
        judged = dict.fromkeys(judged, free)
    new = {name: len(store.assign(name, batch_of(cycle), store.ids(where))) for name, where in judged.items()}
    return Routed(
        sft=new[SFT],
        ct=new[CT],
        solved=store.count(f"{free} and verdict=1"),
        failed=store.count(f"{free} and verdict=0"),
        unjudged=store.count(f"{free} and verdict=none"),
        contradictory=store.count(f"{free} and contradictory=1"),
        held_out=store.count(f"{there} and held_out=1"),
    )


def batch_of(cycle: int) -> str:
    return f"cycle-{cycle:04d}"


def changed(store: Store) -> list[str]:
    """Episodes whose verdict became another one after they were routed: what was routed stays, and is reported."""
    return [*store.ids(f"set={SFT} and verdict=0"), *store.ids(f"set={CT} and verdict=1")]
