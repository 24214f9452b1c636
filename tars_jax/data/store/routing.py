"""Routing: the training set that each episode goes to (UI-TARS-2, 2.3; facts: a binary verdict V(s)):

    D_SFT(t+1) = D_SFT(t) + {s: V(s) = 1}
    D_CT(t+1)  = D_CT(t)  + {s: V(s) = 0}

Each cycle routes once, as one batch: all episodes that are in the store by then, by their current verdict. Episodes
that policies played for RL and for the value model since the previous cycle are routed like generated ones, and an
episode that somebody has judged in the meantime moves to the other set, or out of both. A killed cycle that is resumed
does not route twice. Episodes without a verdict, with disputed verdicts or of held-out tasks go nowhere, and are
counted.
"""

from __future__ import annotations

import dataclasses

from tars_jax.data.store import Store
from tars_jax.trajectory import Outcome

SFT, CT = "sft", "ct"
ROUTES = ("verdict", "everything")
VALUE, RL = "value_episodes", "ppo"
RECYCLED = (VALUE, RL)  # stages whose episodes were played to train on at once, after their cycle had routed


@dataclasses.dataclass(frozen=True)
class Routed:
    """Counts of one cycle's routing: new episodes of the sets, and the verdicts on generated ones."""

    sft: int  # new ones of the set
    ct: int
    moved: int  # left a set, as another verdict counts now
    recycled: int  # of the new ones, those that RL and value pretraining have played
    solved: int  # V = 1, of the generated ones
    failed: int  # V = 0
    unjudged: int  # nobody has spoken, or those who decide disagree
    contradictory: int  # speakers disagree, whether or not one of them decides
    held_out: int  # of a task that no training set may hold


def route(store: Store, cycle: int, by: str = "verdict") -> Routed:
    """Assigns all training episodes up to `cycle` to the sets "sft" and "ct".

    `by`: "verdict", the equations; "everything", the control without routing: each episode goes into both sets,
    whatever its verdict.
    """
    training = f"purpose=training and outcome!={Outcome.FAILED.value}"
    free = f"{training} and cycle<={cycle} and held_out=0"
    judged = {SFT: f"{free} and verdict=1", CT: f"{free} and verdict=0"}
    if by == "everything":
        judged = dict.fromkeys(judged, free)
    batch = batch_of(cycle)
    store.reassign(batch, {name: store.ids(where) for name, where in judged.items()})
    return Routed(
        sft=len(store.members(SFT, batch)),
        ct=len(store.members(CT, batch)),
        moved=len(store.left(batch)),
        recycled=sum(store.count(f"batch={batch} and stage={stage}") for stage in RECYCLED),
        **_verdicts(store, f"{training} and cycle={cycle}"),
    )


def _verdicts(store: Store, where: str) -> dict[str, int]:
    """On what was generated, which is neither RL's nor the value model's. What people have decided is no success or
    failure of the model's: those are its own."""
    generated = " and ".join([where, *(f"stage!={stage}" for stage in RECYCLED)])
    free = f"{generated} and held_out=0"
    own = f"{free} and source!=annotation"
    return {
        "solved": store.count(f"{own} and verdict=1"),
        "failed": store.count(f"{own} and verdict=0"),
        "unjudged": store.count(f"{free} and verdict=none"),
        "contradictory": store.count(f"{free} and contradictory=1"),
        "held_out": store.count(f"{generated} and held_out=1"),
    }


def batch_of(cycle: int) -> str:
    return f"cycle-{cycle:04d}"


def changed(store: Store) -> list[str]:
    """Episodes whose verdict became another one after they were routed: the next cycle moves them."""
    return [
        *store.ids(f"set={SFT} and verdict=0"), *store.ids(f"set={SFT} and verdict=none"),
        *store.ids(f"set={CT} and verdict=1"), *store.ids(f"set={CT} and verdict=none"),
    ]  # fmt: skip
