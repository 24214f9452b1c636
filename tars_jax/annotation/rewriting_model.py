"""A helper behind an OpenAI-compatible endpoint, which says in other words what stands between marks.

Text that people and pages wrote goes between the marks of judges (`judges/marks.py`), which it cannot write itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tars_jax.inference.policy_client import Declined
from tars_jax.judges import JudgeUnavailable
from tars_jax.judges.endpoint import EndpointModel


def model_name(model: EndpointModel) -> str:
    """Name of the model as it stands in the data that it wrote."""
    return model.model or model.address


def ask_models(models: Sequence[EndpointModel], asked: str, system: str) -> list[str]:
    """Answers, one of each model, asked at once; all empty where one declines. Raises JudgeUnavailable where one is
    away."""

    async def every() -> list[str]:
        return list(await asyncio.gather(*(model.ask(asked, system=system) for model in models)))

    try:
        return [each.strip() for each in asyncio.run(every())]
    except JudgeUnavailable as failure:
        if isinstance(failure.__cause__, Declined):
            return [""] * len(models)
        raise
