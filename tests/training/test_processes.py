"""Several processes as one run: what they tell each other, and that they compute and keep what one does.

The processes are this file, run as a script.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.sharding import make_mesh
from tars_jax.training import processes
from tars_jax.training.checkpoint import Checkpoints, load_parameters, save_parameters
from tars_jax.training.config import OptimizerConfig, PPOConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import map_rows
from tars_jax.training.ppo import make_policy_update, make_score_fn
from tars_jax.training.state import TrainState, abstract_parameters, fresh_parameters, init_train_state
from tars_jax.training.weight_sync import own_shape, to_local_devices
from tests.model.test_sharding import MODEL, batch, close

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, DEVICES = 2, 2  # of each
MESH = {"fsdp": 2, "expert": 2}


def test_one_process_needs_nobody() -> None:
    assert processes.count() == 1 and processes.is_main_process() and processes.gather({"a": 1}) == [{"a": 1}]
    assert processes.broadcast("x") == "x" and processes.run_on_main_process(lambda: 3) == 3
    array = jax.numpy.arange(3)
    assert to_local_devices({"a": array})["a"] is array and processes.all_gathered(array).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"JAX_PROCESS_ID": "0"}, "are set in part"),
        (
            {"JAX_COORDINATOR_ADDRESS": "localhost:1", "JAX_NUM_PROCESSES": "two", "JAX_PROCESS_ID": "0"},
            r"must be whole numbers; got \['two', '0'\]",
        ),
        (
            {"JAX_COORDINATOR_ADDRESS": "localhost:1", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "2"},
            "JAX_PROCESS_ID must be at most 1 of 2 processes; got 2",
        ),
        (
            {"JAX_COORDINATOR_ADDRESS": "localhost", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "0"},
            "JAX_COORDINATOR_ADDRESS must be HOST:PORT; got 'localhost'",
        ),
        (
            {"JAX_COORDINATOR_ADDRESS": "localhost:1", "JAX_NUM_PROCESSES": "0", "JAX_PROCESS_ID": "0"},
            "JAX_NUM_PROCESSES must be at least 1; got 0",
        ),
    ],
)
def test_processes_that_are_described_wrongly(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        processes.join(environment)


@pytest.mark.parametrize(
    ("shape", "devices", "expected"),
    [
        ({"data": 1, "fsdp": 64, "expert": 1, "tensor": 1}, 4, {"fsdp": 4}),
        ({"data": 8, "fsdp": 1, "expert": 1, "tensor": 1}, 4, {"data": 4}),
        ({"data": 1, "fsdp": 16, "expert": 2, "tensor": 2}, 8, {"fsdp": 2, "expert": 2, "tensor": 2}),
    ],
)
def test_the_mesh_of_a_process(shape: dict[str, int], devices: int, expected: dict[str, int]) -> None:
    assert {axis: size for axis, size in own_shape(shape, devices).items() if size > 1} == expected


def test_a_process_with_too_few_devices_is_refused() -> None:
    with pytest.raises(InputError, match="must divide the 4 devices .*; got 4 times 2"):
        own_shape({"data": 1, "fsdp": 2, "expert": 2, "tensor": 4}, 4)


@pytest.mark.multiprocess
def test_two_processes_compute_and_keep_what_one_does(tmp_path: Path) -> None:
    one = make_mesh({}, jax.devices()[:1])
    with jax.set_mesh(one):
        state, metrics, scores = updated(one)
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    environment = {
        **os.environ,
        "JAX_NUM_CPU_DEVICES": str(DEVICES),
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
        "JAX_COORDINATOR_ADDRESS": f"localhost:{port}",
        "JAX_NUM_PROCESSES": str(PROCESSES),
    }
    running = [
        subprocess.Popen(
            [sys.executable, __file__, str(tmp_path)],
            env={**environment, "JAX_PROCESS_ID": str(number)},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    try:
        for process in running:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said[-3000:]
    finally:
        for process in running:
            process.kill()
    template = abstract_parameters(MODEL, one)
    close(state.parameters, load_parameters(tmp_path / "exported", template), 1e-3)
    restored, extra = Checkpoints(tmp_path / "checkpoints").restore(2, state)
    close(state.optimizer[1][0].mu, restored.optimizer[1][0].mu, 1e-4)
    assert extra == {"said": ["one", "two"]}
    found = np.load(tmp_path / "found.npz")
    np.testing.assert_allclose(found["scores"], scores, atol=1e-4)
    np.testing.assert_allclose(found["loss"], metrics["policy_loss"], rtol=1e-3, atol=1e-6)
    for number in range(PROCESSES):
        close(state.parameters, tree_of(np.load(tmp_path / f"own-{number}.npz"), template), 1e-3)


def updated(mesh: jax.sharding.Mesh) -> tuple[TrainState, dict[str, float], np.ndarray]:
    """Two updates with numpy batches, as the learner gets them, and the scores of the rows under the new weights."""
    optimizer = make_optimizer(OptimizerConfig(1e-2, warmup=0))
    step = make_policy_update(MODEL, optimizer, PPOConfig(entropy_bonus=0.1, clip_high=5.0, clip_low=0.9))
    state = init_train_state(fresh_parameters(MODEL, jax.random.key(0), mesh), optimizer)
    with jax.transfer_guard_host_to_device("disallow"):  # as in the update loop
        for _ in range(2):
            state, metrics = step(state, batch())
        scores = map_rows(make_score_fn(MODEL), state.parameters, batch().rows, 4)
    return state, {name: float(value) for name, value in metrics.items()}, scores


def tree_of(arrays: Any, like: Any) -> Any:
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(like)]
    return jax.tree.unflatten(jax.tree.structure(like), [arrays[name] for name in names])


def talk() -> list[str]:
    """What the processes tell each other."""
    number = processes.number()
    assert processes.count() == PROCESSES and processes.is_main_process() == (number == 0)
    said = processes.gather(["one", "two"][number])
    assert said == ["one", "two"] and processes.broadcast(said[number]) == "one"
    assert processes.run_on_main_process(lambda: "done") == ("done" if number == 0 else None)
    try:
        processes.run_on_main_process(lambda: (_ for _ in ()).throw(InputError("refused")))
    except InputError as error:
        assert str(error) == "refused"
    else:
        raise AssertionError("a refusal of the leader is one of all")
    return said


def work(folder: Path, mesh: jax.sharding.Mesh, said: list[str]) -> None:
    """What they compute and keep together."""
    with jax.set_mesh(mesh):
        state, metrics, scores = updated(mesh)
        largest = max(jax.tree.leaves(state.parameters), key=lambda leaf: leaf.size)
        assert not largest.is_fully_addressable
        checkpoints = Checkpoints(folder / "checkpoints", keep=1)
        for step in (1, 2):
            checkpoints.save(step, state, {"said": said})
        assert checkpoints.steps() == [2] and checkpoints.latest() == 2
        restored, _ = checkpoints.restore(2, state)
        for before, after in zip(jax.tree.leaves(state), jax.tree.leaves(restored), strict=True):
            assert before.sharding == after.sharding
            for mine, again in zip(before.addressable_shards, after.addressable_shards, strict=True):
                np.testing.assert_array_equal(mine.data, again.data)
        save_parameters(folder / "exported", state.parameters, model=MODEL)
        own = to_local_devices(state.parameters)
        leaves = jax.tree_util.tree_leaves_with_path(own)
        assert all(leaf.is_fully_addressable for _, leaf in leaves)
        assert {device for _, leaf in leaves for device in leaf.devices()} == set(jax.local_devices())
        np.savez(
            folder / f"own-{processes.number()}.npz", **{jax.tree_util.keystr(path): leaf for path, leaf in leaves}
        )
        if processes.is_main_process():
            np.savez(folder / "found.npz", scores=scores, loss=metrics["policy_loss"])


def main(folder: Path) -> None:
    processes.join()
    said = talk()
    work(folder, make_mesh(MESH), said)
    processes.gather("all is written")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
