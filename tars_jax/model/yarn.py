"""YaRN: rotary frequencies scaled down, so that a model reads longer contexts than it was trained on.

Of the frequencies of M-RoPE, the fast ones stay, which tell neighbors apart; the slow ones, which would not come round
once within the trained length, are divided by the factor; between both there is a ramp. Attention grows a little
sharper. (Peng et al. 2023, arXiv 2309.00071; the numbers are those of transformers' `_compute_yarn_parameters`.)
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tars_jax import InputError


@dataclasses.dataclass(frozen=True)
class Yarn:
    """YaRN's settings: by how much a context is stretched, and which frequencies take part."""

    factor: float  # of the length
    trained_positions: int  # the length that the model was trained on
    attention_factor: float  # on queries and on keys
    beta_fast: float = 32.0  # turns within the trained length from which a frequency stays
    beta_slow: float = 1.0  # turns below which it is divided by the whole factor
    truncate: bool = True  # the ramp begins and ends at whole frequencies

    def __post_init__(self) -> None:
        if self.factor < 1:
            raise InputError(f"rope_scaling.factor must be 1 or more; got {self.factor}")
        for name in ("trained_positions", "attention_factor", "beta_fast", "beta_slow"):
            if not getattr(self, name) > 0:
                raise InputError(f"rope_scaling.{name} must be more than 0; got {getattr(self, name)}")

    def slowdown(self, head_dim: int, theta: float) -> np.ndarray:
        """Factors of the frequencies theta^(-2i / head_dim), float32 [head_dim / 2]."""

        def index(turns: float) -> float:
            """The index of the frequency that turns so often."""
            return head_dim * math.log(self.trained_positions / (turns * 2 * math.pi)) / (2 * math.log(theta))

        first, last = index(self.beta_fast), index(self.beta_slow)
        if self.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, head_dim - 1)
        width = last - first or 0.001  # a step where there is no room for a ramp
        ramp = np.clip((np.arange(head_dim // 2, dtype=np.float32) - first) / width, 0, 1)
        return (ramp / self.factor + (1 - ramp)).astype(np.float32)


def attention_factor(factor: float, mscale: float = 1.0, mscale_all_dim: float = 0.0) -> float:
    """Attention factor that the paper recommends for a stretch by `factor`; or the ratio of two, as some files have
    it."""
    return (0.1 * mscale * math.log(factor) + 1) / (0.1 * mscale_all_dim * math.log(factor) + 1)
