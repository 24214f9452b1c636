"""Models that are small enough for every test, and a compiler that does not take longer than they."""

import contextlib
import dataclasses
import glob
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# The TPU compiler is installed for its own tests; asked for a TPU that is not there, it complains on stderr.
if not any(map(glob.glob, ("/dev/accel*", "/dev/vfio/[0-9]*", "/dev/nvidia[0-9]*", "/dev/dxg", "/dev/kfd"))):
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false",
)

import jax
import pytest

from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.presets import preset


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the marked `full`, too, and every task of MiniWoB++")
    parser.addoption("--chaos-seeds", type=int, default=1, help="histories of kills that test_chaos.py goes through")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `full` is long, or the same again for another size or kind: it waits for --all."""
    if not config.getoption("--all"):
        waiting = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=waiting)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


@pytest.fixture(scope="session")
def tiny_model() -> ModelConfig:
    """nano with every number reduced; 32 tokens, 5 is the image token, 8x8 pixels a decoder token."""
    return dataclasses.replace(
        preset("nano", vocabulary=32),
        width=16,
        depth=2,
        query_heads=2,
        kv_heads=1,
        head_dim=8,
        rope_sections=(2, 1, 1),
        experts=4,
        experts_per_token=2,
        expert_width=16,
        vision=VisionConfig(patch=4, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16),
    )


@pytest.fixture(scope="session")
def tiny_parameters(tiny_model: ModelConfig) -> Parameters:
    """Random, with a vocabulary head and routers strong enough that nothing is near uniform."""
    parameters = jax.jit(lambda key: init_parameters(tiny_model, key))(jax.random.key(0))
    parameters["vocabulary_head"]["kernel"] *= 3
    parameters["decoder"]["layers"]["experts"]["router"] *= 3
    return parameters


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled programs: processes of any test, in any worker of this session, find those of others."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "compiled"


@pytest.fixture(scope="session")
def on_eight_devices() -> Callable[[str], list[str]]:
    """Runs a file as a script in a process with eight devices, which takes one of its own; returns what it printed."""

    def run(file: str) -> list[str]:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
        root = Path(__file__).parents[1]
        environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, file], env=environment, cwd=root, capture_output=True, text=True, timeout=500
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    return run


@pytest.fixture(scope="session")
def descendants() -> Callable[[int], dict[int, bytes]]:
    """Command lines of the living processes below a process."""

    def find(root: int) -> dict[int, bytes]:
        parents, commands = {}, {}
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):  # no process, or it has ended meanwhile
                state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
                if state != "Z":
                    parents[int(folder.name)] = int(parent)
                    commands[int(folder.name)] = (folder / "cmdline").read_bytes()
        found = {root}
        while below := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= below
        return {pid: commands[pid] for pid in found - {root}}

    return find


@pytest.fixture(scope="session")
def kill_browsers(descendants: Callable[[int], dict[int, bytes]]) -> Callable[[int], list[int]]:
    """Kills the main processes of all browsers below a process and says which."""

    def kill(root: int) -> list[int]:
        browsers = [
            pid for pid, line in descendants(root).items() if b"--user-data-dir" in line and b"--type=" not in line
        ]
        for pid in browsers:
            with contextlib.suppress(ProcessLookupError):  # a script around a browser ends with it
                os.kill(pid, signal.SIGKILL)
        return browsers

    return kill
