"""What the tests ask of the compiler holds for every jaxlib that is supported."""

import os
import subprocess
import sys

import pytest

from tests.xla_flags import ASK, UNOPTIMIZED, known_flags

pytestmark = pytest.mark.multiprocess


def test_a_flag_that_jaxlib_does_not_know_is_left_out() -> None:
    taken = "--xla_backend_optimization_level=0"
    assert known_flags([taken, "--xla_no_such_flag=true"]) == [taken]
    assert known_flags(["--xla_no_such_flag=true"]) == []


def test_what_is_left_ends_no_process() -> None:
    """The newer jaxlib lacks the third of the flags; either way all that are left are read together."""
    flags = known_flags(UNOPTIMIZED)
    assert flags[:2] == list(UNOPTIMIZED[:2])
    subprocess.run([sys.executable, "-c", ASK], env={**os.environ, "XLA_FLAGS": " ".join(flags)}, check=True)
