"""An answer of /v1/rl/sessions as JSON, both ways: what was sampled, to the last bit, and with which weights.

`routes` (`Sampled.routes`) goes as {"shape": [N, L, K], "int16": the little-endian numbers in base64}: as a list of
lists it would be larger than all the rest.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.sampling import Sampled

INT16 = np.dtype("<i2")


def answer_fields(sampled: Sampled, weights: str) -> dict[str, Any]:
    """The answer as JSON. `weights`: the word of those that the server has (`tars_jax.inference.server.weights`)."""
    fields: dict[str, Any] = {
        "tokens": sampled.tokens,
        "log_probs": sampled.log_probs,
        "versions": sampled.versions,
        "finish": sampled.finish,
        "weights": weights,
    }
    if sampled.routes is not None:
        numbers = base64.b64encode(sampled.routes.astype(INT16).tobytes()).decode()
        fields["routes"] = {"shape": sampled.routes.shape, "int16": numbers}
    return fields


def read_answer(fields: Mapping[str, Any]) -> Sampled:
    """The inverse of `answer_fields`. Raises PolicyUnavailable for what is no answer in this form."""
    try:
        tokens, log_probs, versions = (tuple(fields[name]) for name in ("tokens", "log_probs", "versions"))
        if not len(tokens) == len(log_probs) == len(versions):
            raise ValueError(f"{len(tokens)} tokens, {len(log_probs)} log_probs, {len(versions)} versions")
        return Sampled(tokens, log_probs, versions, finish=fields["finish"], routes=_routes(fields.get("routes")))
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyUnavailable(f"the server's answer is none ({error}): {str(fields)[:200]}") from error


def _routes(found: Any) -> np.ndarray | None:
    if found is None:
        return None
    numbers = np.frombuffer(base64.b64decode(found["int16"], validate=True), INT16)
    return numbers.reshape(found["shape"]).astype(np.int16)
