"""Location of the experiments: the checkout that this package stands in, or, installed, their copy in the wheel.

A wheel holds `experiments/`, `configs/` and the lock below `tars_jax/checkout/` (setup.py puts them there), as two
packages of such names must not lie among everybody else's.
"""

from __future__ import annotations

import pathlib
import sys

from tars_jax.launcher import INSTALLED, SHIPPED

ROOT = SHIPPED if INSTALLED else SHIPPED.parents[1]


def make_importable(root: pathlib.Path) -> None:
    """Lets experiments import what lies beside them, and configs each other."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
