"""Merging on disk: the function in memory is the reference; lineages, memory, and folders that stay as they were."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import stat
import subprocess
import sys
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.merging import interpolate
from tars_jax.training import checkpoint
from tars_jax.training.checkpoint import common_ancestors, lineage, load_parameters, save_parameters
from tars_jax.training.merge_checkpoints import merge_checkpoints

ROOT = pathlib.Path(__file__).parents[2]


def agent(seed: int) -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(seed), 4)
    return {
        "vision": {"position": jax.random.normal(keys[0], (3, 4))},
        "decoder": {"experts": {"gate": jax.random.normal(keys[1], (2, 5, 3), jnp.bfloat16)}},
        "empty": {},
        "scale": jax.random.normal(keys[2], ()),
        "zeros": jnp.zeros(3),
    }


@pytest.fixture
def family(tmp_path: pathlib.Path) -> pathlib.Path:
    """A start, three agents trained from it, and a stranger."""
    save_parameters(tmp_path / "start", agent(0))
    for seed, name in enumerate(("a", "b", "c"), start=1):
        save_parameters(tmp_path / name, agent(seed), parent=tmp_path / "start")
    save_parameters(tmp_path / "stranger", agent(7))
    return tmp_path


@pytest.mark.slow
def test_a_merge_is_the_interpolation_and_loads_like_any_weights(family: pathlib.Path) -> None:
    done = []
    weights, groups = (0.5, 0.25, 0.25), {"experts": (0.0, 0.5, 0.5)}
    paths = [family / name for name in "abc"]
    merge_checkpoints(paths, family / "m", weights, groups, on_tensor=lambda *progress: done.append(progress))
    merged = load_parameters(family / "m", agent(0))
    chex.assert_trees_all_close(merged, interpolate([agent(1), agent(2), agent(3)], weights, groups), rtol=1e-6)
    assert merged["decoder"]["experts"]["gate"].dtype == jnp.bfloat16
    assert done == [(number, 4) for number in range(1, 5)]
    merge_checkpoints([family / "b", family / "a"], family / "m", (1, 0))
    chex.assert_trees_all_equal(load_parameters(family / "m", agent(0)), agent(2))


def test_lineages(family: pathlib.Path) -> None:
    start, a, b = (lineage(family / name) for name in ("start", "a", "b"))
    assert start.ancestors == () and a.ancestors == b.ancestors == (start.id,) and a.id != b.id
    save_parameters(family / "grandchild", agent(5), parent=family / "a")
    assert lineage(family / "grandchild").ancestors == (start.id, a.id)
    assert common_ancestors([lineage(family / "grandchild"), a]) == (start.id, a.id)
    assert common_ancestors([a, b, lineage(family / "grandchild")]) == (start.id,)
    assert common_ancestors([a, lineage(family / "stranger")]) == ()
    shutil.move(family / "start", family / "moved")
    assert lineage(family / "moved") == start
    with pytest.raises(InputError, match=r"nowhere/checkpoint.json: cannot be read as a checkpoint"):
        save_parameters(family / "new", agent(0), parent=family / "nowhere")
    assert not (family / "new").exists()


def test_a_merge_descends_from_what_its_agents_share(family: pathlib.Path) -> None:
    merge_checkpoints([family / "a", family / "b"], family / "m")
    assert lineage(family / "m").ancestors == (lineage(family / "start").id,)
    merge_checkpoints([family / "m", family / "c", family / "start"], family / "n")
    with pytest.raises(InputError, match="must have been trained from one start .* without a common ancestor"):
        merge_checkpoints([family / "n", family / "stranger"], family / "o")
    assert not (family / "o").exists()
    merge_checkpoints([family / "n", family / "stranger"], family / "o", unrelated=True)
    assert lineage(family / "o").ancestors == ()


def test_outputs_that_would_lose_something(family: pathlib.Path) -> None:
    paths = [family / "a", family / "b"]
    (family / "mine").mkdir()
    (family / "mine" / "thesis.tex").write_text("...")
    with pytest.raises(InputError, match="output must be a new folder.*mine, which is something else"):
        merge_checkpoints(paths, family / "mine")
    (family / "link").symlink_to(family / "a")
    for taken in ("link", "b/merged"):
        with pytest.raises(InputError, match=f"outside of the checkpoints; got .*{taken}"):
            merge_checkpoints(paths, family / taken)
    with pytest.raises(InputError, match="x/y, and .*thesis.tex is a file"):
        merge_checkpoints(paths, family / "mine" / "thesis.tex" / "x" / "y")
    assert (family / "mine" / "thesis.tex").exists()
    os.mkfifo(family / "pipe")  # nothing of its kind comes back from a copy: a device is another
    (family / "nowhere").symlink_to(family / "gone")
    (family / "loop").symlink_to("loop")
    for name in ("pipe", "nowhere", "loop"):
        with pytest.raises(InputError, match=f"{name}, which is something else"):
            merge_checkpoints(paths, family / name)
    assert stat.S_ISFIFO((family / "pipe").stat().st_mode)
    chex.assert_trees_all_equal(load_parameters(family / "a", agent(0)), agent(1))


@pytest.mark.parametrize("place", ["loop/merged", "n" * 250, "n" * 5000, "/proc/merged"])
def test_a_folder_that_cannot_be_made(family: pathlib.Path, place: str) -> None:
    (family / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="merged|nnn.* cannot be made: "):
        merge_checkpoints([family / "a", family / "b"], family / place)


def test_a_damaged_checkpoint_is_named_and_the_old_merge_stays(family: pathlib.Path) -> None:
    paths = [family / "a", family / "b"]
    merge_checkpoints(paths, family / "m")
    before = lineage(family / "m")
    data = [file for file in (family / "b" / "arrays").rglob("d/*") if file.is_file()]
    largest = max(data, key=lambda file: file.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match=f"{largest}: damaged or truncated"):
        merge_checkpoints(paths, family / "m")
    save_parameters(family / "b", {"w": jnp.ones(2)}, parent=family / "start")
    with pytest.raises(InputError, match=r"b: cannot be merged: decoder/experts/gate is missing"):
        merge_checkpoints(paths, family / "m")
    assert lineage(family / "m") == before
    assert not [path for path in family.iterdir() if path.name.startswith(".")]


def test_agents_of_two_models_and_of_no_numbers_are_named(family: pathlib.Path, tiny_model: ModelConfig) -> None:
    """Equal tensors may be read by another theta; an agent that diverged would take the others with it."""
    other = dataclasses.replace(tiny_model, rope_theta=5.0, experts_per_token=1)
    halved = dataclasses.replace(tiny_model, dtype="bfloat16")
    for name, seed, model in (("x", 1, tiny_model), ("y", 2, other), ("z", 3, halved)):
        save_parameters(family / name, agent(seed), parent=family / "start", model=model)
    with pytest.raises(
        InputError, match="y: the model must be that of .*x to be merged; got another experts_per_token, rope_theta"
    ):
        merge_checkpoints([family / "a", family / "x", family / "y"], family / "m", unrelated=True)
    merge_checkpoints([family / "x", family / "a", family / "z"], family / "m")

    save_parameters(family / "b", agent(2) | {"zeros": jnp.array([0, jnp.nan, 0])}, parent=family / "start")
    before = lineage(family / "m")
    with pytest.raises(InputError, match="b: zeros must be finite"):
        merge_checkpoints([family / "a", family / "b"], family / "m")
    assert lineage(family / "m") == before


def test_the_command(family: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    def merge(*arguments: str) -> int:
        return main(["merge", f"--config.run={family / 'run'}", *arguments], ROOT)

    paths = f"--config.checkpoints={family / 'a'},{family / 'b'}"
    assert merge(paths, "--config.weights=.25,.75", "--config.groups.vision=1,0") == 0
    merged = load_parameters(family / "run" / "merged", agent(0))
    expected = interpolate([agent(1), agent(2)], (0.25, 0.75), {"vision": (1, 0)})
    chex.assert_trees_all_close(merged, expected, rtol=1e-6)
    for argument, words in [
        ("--config.weights=.5,.6", "config.weights must be a number of 0 or more for each checkpoint"),
        (f"--config.checkpoints={family / 'a'}", "must be two or more folders"),
    ]:
        capsys.readouterr()
        assert merge(paths, argument) == 2
        said = capsys.readouterr().err
        assert words in said and len(said.splitlines()) == 1
    shutil.rmtree(family / "run")
    assert merge(paths, "--config.weights=.5,.25,.25") == 2
    assert "weights must be 2 weights, one for each checkpoint; got 3" in capsys.readouterr().err


ON_EIGHT_DEVICES = """
import pathlib, sys
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from tars_jax.training.checkpoint import load_parameters, save_parameters
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.tensors import StoredTensors
folder = pathlib.Path(sys.argv[1])
sharding = NamedSharding(jax.make_mesh((4, 2), ("x", "y")), PartitionSpec("x", "y"))
trees = [{"w": jax.device_put(jnp.arange(128.0).reshape(8, 16) * scale, sharding)} for scale in (1, 3)]
save_parameters(folder / "start", trees[0])
for name, tree in zip("ab", trees):
    save_parameters(folder / name, tree, parent=folder / "start")
stored = StoredTensors(folder / "a")
assert [stored.read("w", piece).shape for piece in stored.pieces("w")] == [(2, 8)] * 8
merge_checkpoints([folder / "a", folder / "b"], folder / "m")
merged = load_parameters(folder / "m", trees[0])["w"]
assert merged.sharding == sharding and (merged == jnp.arange(128.0).reshape(8, 16) * 2).all()
"""


@pytest.mark.multiprocess
def test_sharded_checkpoints_are_merged_shard_by_shard(tmp_path: pathlib.Path) -> None:
    devices = {"JAX_NUM_CPU_DEVICES": "8", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", ON_EIGHT_DEVICES, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **devices}, check=True, timeout=120)
    merged = load_parameters(tmp_path / "m", {"w": jnp.zeros((8, 16))})["w"]
    np.testing.assert_array_equal(merged, np.arange(128.0).reshape(8, 16) * 2)


TENSORS, MEGABYTES, PIECE = 6, 12, 2  # of a checkpoint, of each tensor, and of what one is stored in
PEAK = r"""
import pathlib, re, sys
from tars_jax.training.merge_checkpoints import merge_checkpoints

def peak():
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])

folder = pathlib.Path(sys.argv[1])
merge_checkpoints([folder / "small_a", folder / "small_b"], folder / "small_m")  # everything is loaded once
before = peak()
merge_checkpoints([folder / name for name in "abc"], folder / "m", (0.5, 0.25, 0.25))
print((peak() - before) / 1024)
"""


@pytest.mark.full
@pytest.mark.multiprocess
def test_memory_holds_pieces_and_never_a_tensor(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak of a process that merges 3 checkpoints of 6 tensors: 12 MB each in pieces of 2, 216 MB in all.

    Measured: 13 MB, where it was 50 when a tensor was one piece. No tensor is there twice.
    """
    monkeypatch.setattr(checkpoint, "PIECE_BYTES", PIECE << 20)
    noise = np.random.default_rng(0).standard_normal((TENSORS, MEGABYTES << 18), np.float32)
    save_parameters(tmp_path / "start", {"w": jnp.ones(3)})
    for number, name in enumerate("abc"):
        tree = {f"w{tensor}": noise[tensor] + number for tensor in range(TENSORS)}
        save_parameters(tmp_path / name, tree, parent=tmp_path / "start")
        save_parameters(tmp_path / f"small_{name}", {"w": jnp.ones(3)}, parent=tmp_path / "start")
    command = [sys.executable, "-c", PEAK, str(tmp_path)]
    # glibc keeps freed blocks below 32 MB for later, unless a threshold is set: what is live is to be measured.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=240)
    assert PIECE < float(done.stdout) < 2 * MEGABYTES
