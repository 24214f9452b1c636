"""Engines with a part put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tars_jax.inference import device
from tars_jax.inference.slots import SlotFunctions


@pytest.fixture
def replace_functions(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[SlotFunctions], SlotFunctions]], None]:
    """Takes a function by which the next engines get other functions than those of `make_slot_functions`."""

    def replace(change: Callable[[SlotFunctions], SlotFunctions]) -> None:
        make = device.make_slot_functions

        def changed(*arguments: Any, **options: Any) -> SlotFunctions:
            return change(make(*arguments, **options))

        monkeypatch.setattr(device, "make_slot_functions", changed)

    return replace
