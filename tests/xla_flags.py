"""Flags of the compiler, of which each version of jaxlib knows others."""

import os
import subprocess
import sys
from collections.abc import Sequence

# A test compiles a program to run it a few times: what the compiler leaves out of its work here is a third of it.
UNOPTIMIZED = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",  # one part, as the other workers have the cores
)
ASK = "from jaxlib.xla_client import CompileOptions; CompileOptions()"  # reads XLA_FLAGS, 0.3 s


def known_flags(flags: Sequence[str]) -> list[str]:
    """Those of `flags` that the installed jaxlib takes.

    A flag that it does not know ends the process that reads it, so other processes try: one all of them, and where
    that ends, one each. The names of flags that were taken out still stand in the library: to search it says nothing.
    """
    if _are_taken(_try(flags)):
        return list(flags)
    trials = [_try([flag]) for flag in flags]
    return [flag for flag, trial in zip(flags, trials, strict=True) if _are_taken(trial)]


def _try(flags: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "XLA_FLAGS": " ".join(flags)}
    return subprocess.Popen([sys.executable, "-c", ASK], env=environment, stderr=subprocess.DEVNULL)


def _are_taken(trial: subprocess.Popen[bytes]) -> bool:
    return trial.wait() == 0
