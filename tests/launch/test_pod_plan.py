"""The plan of a pod: what cannot be planned, and a small slice for which everything is compiled for real."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import jax
import pytest

from experiments.__main__ import ROOT
from experiments.pod_plan import command, filled, fitted, mesh_on, run
from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.sharding import MESH_AXES, make_mesh
from tars_jax.pipelines.config import flatten, load_config
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.planning import chips
from tars_jax.training.planning.programs import BatchShape, lower_value_update
from tars_jax.training.planning.report import PodPlan, with_plan
from tars_jax.training.planning.roofline import Assumptions
from tars_jax.training.run_directory import RunDirectory

SMALL = {
    "preset": "nano",
    "depth": 1,
    "topology": "v5e:2x2",
    "batch.row_length": 128,
    "batch.images_per_row": 1,
    "programs": "policy update,decode step,prefill",  # the value update is the policy's with a smaller head
}
PLACES = ("run", "compiled", "page")


def test_the_missing_compiler_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chips, "compiler_installed", lambda: False)
    config = load_config("pod_plan", [f"--config.run={tmp_path / 'run'}"], root=ROOT)
    with (
        RunDirectory.create(config.run, config.to_dict(), "pod_plan") as run_directory,
        pytest.raises(InputError, match=r"the TPU compiler \(libtpu\).*not installed.*tars_jax\[pod\]"),
    ):
        run(config, run_directory)
    assert not (tmp_path / "run" / "plan.json").exists()


def test_an_axis_takes_what_the_others_leave() -> None:
    assert filled({"data": 1, "fsdp": 0, "expert": 4, "tensor": 2}, 32, "mesh") == {
        "data": 1,
        "fsdp": 4,
        "expert": 4,
        "tensor": 2,
    }


def test_what_is_not_given_follows_the_slice_and_the_model() -> None:
    def planned(chips: int, *flags: str) -> dict[str, object]:
        found = flatten(fitted(load_config("pod_plan", list(flags), root=ROOT), chips))
        meshes = ({axis: found[f"{mesh}.{axis}"] for axis in MESH_AXES} for mesh in ("mesh", "decode.mesh"))
        shapes = (tuple(filled(mesh, chips, "mesh").values()) for mesh in meshes)
        return {**found, "training": next(shapes), "decoding": next(shapes)}

    large = planned(512)  # ui-tars-2 on v5p:8x8x8, as docs/pod_plans.md has it
    assert (large["training"], large["decoding"]) == ((1, 8, 64, 1), (8, 1, 8, 8))
    assert (large["batch.row_length"], large["decode.cache_length"], large["batch.image_width"]) == (
        32_768,
        32_768,
        1280,
    )
    assert (large["execution.attention"], large["execution.experts"]) == ("splash", "megablox")
    small = planned(4, "--config.preset=nano")
    assert (small["training"], small["decoding"]) == ((1, 4, 1, 1), (4, 1, 1, 1))
    assert (small["batch.row_length"], small["decode.cache_length"], small["batch.image_width"]) == (1024, 1024, 96)
    assert (small["execution.attention"], small["execution.experts"]) == ("dense", "ragged")
    given = planned(4, "--config.preset=nano", "--config.mesh.fsdp=2", "--config.decode.mesh.tensor=2")
    assert (given["training"], given["decoding"]) == ((1, 2, 2, 1), (2, 1, 1, 2))


@pytest.mark.parametrize("sizes", [(0, 0, 1, 1), (1, 0, 3, 1), (-1, 1, 1, 1)])
def test_axes_that_do_not_fit(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(InputError, match=r"config\.mesh must be sizes whose product is 32"):
        filled(dict(zip(("data", "fsdp", "expert", "tensor"), sizes, strict=True)), 32, "mesh")


@pytest.mark.full
@pytest.mark.multiprocess
@pytest.mark.skipif(not chips.compiler_installed(), reason="libtpu is not installed: pip install 'jax[tpu]==0.10.2'")
def test_a_small_slice_is_compiled(tmp_path: pathlib.Path) -> None:
    """In a process of its own: libtpu takes a lock and prints on its own."""
    flags = [f"--config.{field}={value}" for field, value in SMALL.items()]
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "pod_plan", *flags, *(f"--config.{n}={tmp_path / n}" for n in PLACES)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["chips"] == 4 and plan["fits"]
    sizes = plan["bytes_per_chip"]
    assert sizes["policy optimizer"] == pytest.approx(2 * sizes["policy parameters"], rel=0.01)  # AdamW's two moments
    policy, decode, prefill = plan["programs"]
    assert policy["memory"]["arguments"] > sizes["policy parameters"] + sizes["policy optimizer"]
    assert decode["memory"]["arguments"] > sizes["decode cache"]
    assert policy["memory"]["host"] > 0 == decode["memory"]["host"]
    for program in (policy, decode, prefill):
        assert program["flops"] > program["useful_flops"] / 4 / 2
        assert 0 < program["roofline"]["utilization"] < 1
    assert min(policy["useful_flops"], prefill["useful_flops"]) > decode["useful_flops"]
    kinds = {each["kind"] for each in policy["collectives"] if "fsdp" in each["axes"]}
    assert "all-gather" in kinds and kinds & {"reduce-scatter", "all-reduce"}
    page = (tmp_path / "run" / "plan.md").read_text()
    assert page.startswith("# nano on v5e:2x2: 4 chips") and "Fits" in page and "| all-gather | fsdp |" in page
    assert "./launch/local.sh pod_plan --config.preset=nano --config.topology=v5e:2x2 --config." in page
    assert "\n## nano on v5e:2x2: 4 chips\n" in (tmp_path / "page").read_text()
    assert len(list((tmp_path / "compiled").iterdir())) == 3


@pytest.mark.slow
def test_the_value_update_of_a_plan(tiny_model: ModelConfig) -> None:
    """For shapes alone: a value for each token, and no vocabulary in the outputs or the state."""
    mesh = make_mesh({}, jax.devices()[:1])
    optimizer = make_optimizer(OptimizerConfig(1e-3))
    with jax.set_mesh(mesh):
        lowered = lower_value_update(tiny_model, optimizer, BatchShape(2, 24, 1, (16, 16)), mesh)
    state, metrics = lowered.out_info
    assert set(metrics) == {"value_loss", "explained_variance", "value_gradient_norm"}
    assert state.parameters["scalar_head"]["kernel"].shape == (tiny_model.width, 1)
    assert "vocabulary_head" not in state.parameters


def test_a_page_holds_the_last_plan_of_each_slice() -> None:
    def plan(topology: str, command: str) -> PodPlan:
        chip, sides = chips.parse_topology(topology)
        slice_ = chips.Slice(chip, sides, tuple(range(4)))
        return PodPlan(
            command, "nano", topology, slice_, 9, 5, 1, {}, {}, {"value parameters": 36.0}, (), Assumptions()
        )

    page = with_plan("", plan("v5e:2x2", "first"))
    page = with_plan(page, plan("v6e:2x2", "second"))
    again = with_plan(page, plan("v5e:2x2", "third"))
    assert page.index("# Plans for pods") < page.index("## nano on v5e:2x2: 4 chips") < page.index("## nano on v6e:2x2")
    assert again == page.replace("first", "third")


def test_the_command_that_a_plan_names_gives_its_config() -> None:
    flags = ["--config.preset=nano", "--config.mesh.fsdp=4", "--config.programs=value update,decode step"]
    config = load_config("pod_plan", [*flags, "--config.run=somewhere"], root=ROOT)
    _, _, *again = shlex.split(command(config))
    assert again == ["--config.preset=nano", "--config.topology=v5p:8x8x8", *flags[1:]]
    assert load_config("pod_plan", again, root=ROOT).to_dict() == {**config.to_dict(), "run": ""}


def test_a_mesh_that_the_grid_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr("experiments.pod_plan.make_mesh", refuse)
    slice_ = chips.Slice(chips.CHIPS["v5p"], (4, 4, 4), tuple(range(64)))
    with pytest.raises(InputError, match=r"config\.mesh must be products of sides.* 4x4x4"):
        mesh_on(slice_, {"data": 1, "fsdp": 8, "expert": 8, "tensor": 1}, "mesh")
