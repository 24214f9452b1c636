"""The list of what is measured."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any


@dataclasses.dataclass(frozen=True)
class Entry:
    """One measurement; what does not concern its kind is empty."""

    kind: str  # one of PARTS in configs/gpu_bench.py
    model: str = ""  # dense or moe
    attention: str = ""  # backends, as in tars_jax.model.execution
    experts: str = ""
    remat: str = ""
    weights: str = ""  # bfloat16 or w4a8
    layers: str = ""  # unstacked or stacked, as in tars_jax.inference.config

    @property
    def name(self) -> str:
        return " ".join(value for value in dataclasses.astuple(self) if value)


def entries(config: Any) -> list[Entry]:
    """What matters most comes first: a lent device may be given back early."""
    update, models = config["update"], config["models"]
    updates: list[list[Entry]] = []
    for model in models:
        backends = list(itertools.product(update["attention"], update["experts"] if model == "moe" else ("",)))
        first, *others = [
            Entry("update", model, attention, experts, update["remat"][0]) for attention, experts in backends
        ] + [Entry("update", model, *backends[0], remat) for remat in update["remat"][1:]]
        updates += [[first, *others]]
    found = [
        Entry("matmul"),
        Entry("copy"),
        *(Entry("attention", "dense", attention=backend) for backend in config["layer"]["attention"]),
        *(Entry("experts", "moe", experts=backend) for backend in config["layer"]["experts"]),
        *(each[0] for each in updates),
        *(
            Entry("decode", model, weights=weights, layers=layers)
            for layers in config["decode"]["layers"]
            for model in models
            for weights in config["decode"]["weights"]
        ),
        *(entry for each in updates for entry in each[1:]),
    ]
    return [entry for entry in found if entry.kind in config["parts"]]
