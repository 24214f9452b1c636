"""Models that are small enough for every test, and a compiler that does not take longer than they."""

import atexit
import collections
import contextlib
import dataclasses
import gc
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.xla_flags import UNOPTIMIZED, known_flags

# The TPU compiler is installed for its own tests; asked for a TPU that is not there, it complains on stderr.
if not any(map(glob.glob, ("/dev/accel*", "/dev/vfio/[0-9]*", "/dev/nvidia[0-9]*", "/dev/dxg", "/dev/kfd"))):
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "XLA_FLAGS" not in os.environ:  # the workers of pytest-xdist have them from the process that starts them
    os.environ["XLA_FLAGS"] = " ".join(known_flags(UNOPTIMIZED))
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # what one worker compiles, or a command of a test, the others read
    compiled = tempfile.mkdtemp(prefix="tars_jax-compiled-")
    atexit.register(shutil.rmtree, compiled, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = compiled
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own 15 gives its processes what the other workers leave

import hypothesis
import jax
import pytest

from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.presets import preset

WAITING = ("envs", "sandbox", "tasks", "web")  # folders of tests whose processes are others', most of the time

gc.disable()  # until all is collected: nothing of what modules and tests are made of goes away
hypothesis.settings.register_profile("any machine", deadline=None)  # an example takes what a busy one gives it
hypothesis.settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the marked `full`, too, and every task of MiniWoB++")
    parser.addoption("--once-each", action="store_true", help="each test with the first of its parameters alone")
    parser.addoption("--chaos-seeds", type=int, default=1, help="histories of kills that test_chaos.py goes through")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(metafunc.config.getoption("--chaos-seeds")))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector, a tenth of the time, does not look through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `full` is long, or the same again for another size or kind: it waits for --all."""
    if not config.getoption("--all"):
        leave_out(config, items, [item for item in items if item.get_closest_marker("full")])
        leave_out(config, items, further(items))
    if config.getoption("--once-each"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        leave_out(config, items, [item for item in items if first[item.nodeid.partition("[")[0]] is not item])
    if hasattr(config, "workerinput"):
        items[:] = mixed(items)


def further(items: list[pytest.Item]) -> list[pytest.Item]:
    """What is marked `first(n)`, beyond the first n of its parameters."""
    seen: collections.Counter[str] = collections.Counter()
    found = []
    for item in items:
        if mark := item.get_closest_marker("first"):
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            found += [item] if seen[name] > mark.args[0] else []
    return found


def leave_out(config: pytest.Config, items: list[pytest.Item], waiting: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=waiting)
    out = set(waiting)
    items[:] = [item for item in items if item not in out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the time went: the files that took longest, in seconds of their workers."""
    took: dict[str, float] = collections.defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.partition("::")[0]] += report.duration
    if terminalreporter.config.getoption("durations") and sum(took.values()) > 60:
        terminalreporter.section(f"slowest files of {sum(took.values()):.0f} s in all")
        for name, seconds in sorted(took.items(), key=lambda each: -each[1])[:40]:
            terminalreporter.line(f"{seconds:7.1f}s {name}")


def mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """For workers side by side: files whose tests wait for browsers and services between those that compute."""
    waits: dict[Path, list[pytest.Item]] = {}
    computes: dict[Path, list[pytest.Item]] = {}
    for item in items:
        room = item.path.relative_to(Path(__file__).parent).parts[0]
        (waits if room in WAITING else computes).setdefault(item.path, []).append(item)
    placed = [
        ((number + 0.5) / len(files), tests)
        for files in (waits, computes)
        for number, tests in enumerate(reversed(files.values()))  # the longest are those of training and tasks
    ]
    return [item for _, tests in sorted(placed, key=lambda each: each[0]) for item in tests]


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
def on_eight_devices() -> Callable[..., list[str]]:
    """Runs a file as a script in a process with eight devices, which takes one of its own; returns what it printed."""

    def run(file: str, *arguments: str) -> list[str]:
        root = Path(__file__).parents[1]
        environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "8", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, file, *arguments], env=environment, cwd=root, capture_output=True, text=True, timeout=850
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
