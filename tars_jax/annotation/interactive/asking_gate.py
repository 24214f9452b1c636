"""The gate that asks for a person or lets the policy go on by itself: uncertainty, low value, `call_user`, a budget.

A person at every step is too dear (HG-DAgger, ThriftyDAgger); one who is fetched and sent away at every other step, too
(LazyDAgger). So the gate has two thresholds: it asks above `uncertainty`, and lets go after `calm_steps` steps in a row
below `calm_share` of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from tars_jax.annotation.interactive.core import Asking, Candidate
from tars_jax.rules import at_least, between, check_fields, field, one_of

EVERY_STEP, GATED, ON_CALL = "every_step", "gated", "on_call"
MODES = (EVERY_STEP, GATED, ON_CALL)


@dataclasses.dataclass(frozen=True)
class AskingGate:
    """Conditions under which a person decides instead of the policy.

    Raises InputError for thresholds that mean nothing.
    """

    mode: str = field(
        EVERY_STEP,
        "when a person decides: every_step; gated: where the policy is uncertain; on_call: where the policy "
        "calls the user",
        one_of(*MODES),
    )
    uncertainty: float = field(
        0.5,
        "uncertainty above which a gated policy asks: entropy over distinct actions, 0 (one action) to 1 "
        "(all equally likely)",
        between(0, 1),
    )
    margin: float = field(
        0.0,
        "a gated policy also asks where its two likeliest actions are closer than this in probability; 0: never",
        between(0, 1),
    )
    value: float | None = field(
        None, "a gated policy also asks where the value model expects a return below this; auto: never"
    )
    calm_share: float = field(
        0.6, "a step is calm where the uncertainty is below this share of `uncertainty`", between(0, 1)
    )
    calm_steps: int = field(1, "calm steps in a row after which the policy goes on by itself", at_least(1))

    def __post_init__(self) -> None:
        check_fields(self, "gate")


def action_shares(candidates: Sequence[Candidate]) -> list[float]:
    """Probabilities of the distinct actions, the likeliest first: answers that do the same share theirs.

    How a long thought is worded is no doubt about what to do. Answers that cannot be read are one action.
    """
    shares: dict[str, list[float]] = {}
    for candidate in candidates:
        shares.setdefault(candidate.action if candidate.valid else "", []).append(candidate.probability)
    return sorted(map(math.fsum, shares.values()), reverse=True)


def uncertainty(candidates: Sequence[Candidate]) -> float:
    """Entropy of the distinct actions' probabilities, as a share of the largest for so many; 0 for one or none."""
    shares = action_shares(candidates)
    if len(shares) < 2:
        return 0.0
    entropy = -math.fsum(share * math.log(share) for share in shares if share > 0)
    return min(1.0, max(0.0, entropy / math.log(len(shares))))


def margin(candidates: Sequence[Candidate]) -> float:
    """Between the two likeliest actions, 0 to 1."""
    shares = action_shares(candidates)
    return min(1.0, shares[0] - shares[1]) if len(shares) > 1 else 1.0


def calls_user(candidate: Candidate | None) -> bool:
    return candidate is not None and candidate.action.startswith("call_user(")


def asking(
    gate: AskingGate,
    candidates: Sequence[Candidate],
    *,
    was_asked: bool,
    calm: int,
    value: float | None = None,
    minutes_left: float | None = None,
) -> Asking:
    """Whether a person is to decide this step.

    Args:
      candidates: the policy's own draw first.
      was_asked: a person decided the step before.
      calm: calm steps in a row so far.
      value: the return that a value model expects from here; None: there is none.
      minutes_left: of the person's budget; None: there is no budget.
    """
    if calls_user(candidates[0] if candidates else None):
        return Asking(True, 0, "the policy calls for the user")
    if minutes_left is not None and minutes_left <= 0:
        return Asking(False, calm)
    if gate.mode == EVERY_STEP:
        return Asking(True)
    if gate.mode == ON_CALL:
        return Asking(False, calm + 1)
    doubt, near = uncertainty(candidates), margin(candidates)
    if doubt > gate.uncertainty:
        return Asking(True, 0, f"the policy is uncertain ({doubt:.2f}, above {gate.uncertainty:g})")
    if near < gate.margin:
        return Asking(True, 0, f"two actions are nearly as likely (margin {near:.2f}, below {gate.margin:g})")
    if gate.value is not None and value is not None and value < gate.value:
        return Asking(True, 0, f"little is expected from here (value {value:.2f}, below {gate.value:g})")
    calm = calm + 1 if doubt <= gate.calm_share * gate.uncertainty else 0
    if was_asked and calm < gate.calm_steps:
        return Asking(True, calm, "the policy is not calm yet")
    return Asking(False, calm)
