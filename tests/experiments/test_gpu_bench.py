"""The benchmark of a GPU, where there is none: shares by hand, workers that die or hang, and all of it at tiny size."""

import json
import pathlib
import sys
import types
from typing import Any

import pytest

from experiments import gpu_bench
from experiments.__main__ import ROOT
from experiments.gpu.entries import Entry, entries
from experiments.gpu.sizes import MODELS, shapes
from experiments.gpu.table import as_markdown, derive
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.training.planning.model_flops import packed_update_flops

H200 = {"kind": "NVIDIA H200", "memory_bytes": 139 << 30, "packages": {"jax": "0.11.2"}}


def config(*flags: str) -> Any:
    return load_config("gpu_bench", [f"--config.{flag}" for flag in flags], root=ROOT)


def row(entry: Entry, seconds: float, **more: Any) -> dict[str, Any]:
    taken = {"median": seconds, "low": seconds, "high": seconds, "repeats": 1}
    return {"name": entry.name, **vars(entry), "device": H200, "seconds": taken, **more}


def test_shares_by_hand() -> None:
    """Ceilings of 800 TFLOP/s and 4 TB/s; an update of 989.4 TFLOP in 2 s is at 50% of the data sheet."""
    update, layer = Entry("update", "dense", "cudnn", remat="full"), Entry("experts", "moe", experts="ragged")
    plain, int4 = (Entry("decode", "dense", weights=weights) for weights in ("bfloat16", "w4a8"))
    rows = [
        row(Entry("matmul"), 0.5, flops=400e12),
        row(Entry("copy"), 0.25, bytes=1e12),
        row(update, 2.0, flops=989.4e12, tokens=1000),
        row(layer, 2.0, flops=800e12, bytes=2e12),  # 1 s of arithmetic, half a second of memory
        row(plain, 1.0, flops=80e12, bytes=2e12, tokens=100, steps=10),  # 0.1 s and half a second
        row(int4, 0.5, flops=80e12, bytes=1e12, tokens=100, steps=10),
    ]
    found = {each["name"]: each for each in derive(rows)}
    assert found[update.name]["utilization"] == pytest.approx(0.5)
    assert found[update.name]["of_matmul"] == pytest.approx(989.4 / 1600)
    assert found[update.name]["tokens_per_second"] == 500
    assert (found[layer.name]["bound"], found[layer.name]["of_bound"]) == ("arithmetic", 0.5)
    assert (found[plain.name]["bound"], found[plain.name]["of_bound"]) == ("memory", 0.5)
    assert found[plain.name]["of_copy"] == 0.5
    assert found[int4.name]["speedup"] == 2

    page = as_markdown(rows, [update, int4, Entry("copy"), layer, plain, Entry("update", "moe")], 9)
    assert "| dense | cudnn |  | full | 2000 (2000 to 2000) | 500 | 494.7 | 50.0% | 61.8% |" in page
    assert "not begun within 9 minutes" in page
    assert "dense 50.0%; the goal of 45% is reached" in page


def test_without_ceilings_there_are_rates_and_no_shares() -> None:
    (found,) = derive([row(Entry("decode", "moe", weights="w4a8"), 1.0, flops=1.0, bytes=1.0, tokens=7, steps=1)])
    assert found["tokens_per_second"] == 7
    assert not {"of_matmul", "of_copy", "bound", "speedup"} & set(found)


@pytest.mark.slow
def test_models_have_one_to_three_billion_active_parameters() -> None:
    """As counted for utilization: 6 for each and token, of a sampled window that is too short for attention."""
    for model in MODELS["full"].values():
        assert 1e9 < packed_update_flops(model, [1], 1) / 6 < 3e9


def test_what_matters_comes_first_and_nothing_twice() -> None:
    flags = ("update.attention=cudnn,auto", "update.experts=auto,ragged", "update.remat=full,none")
    found = entries(config(*flags).to_dict())
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    assert [each.kind for each in found[:2]] == ["matmul", "copy"]
    assert names.index("update moe cudnn auto full") < names.index("decode dense bfloat16 stacked")
    assert "update moe auto ragged full" in names and "update moe cudnn auto none" in names
    assert "update moe auto ragged none" not in names


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("decode.cache_length=100", r"config\.decode\.cache_length must be at least 1088, .*; got 100"),
        ("batch.windows=5000", r"config\.batch\.windows must be at most 1024, .*; got 5000"),
        ("batch.images_per_row=4", r"config\.batch\.images_per_row must be at most .*; got 4"),
    ],
)
def test_impossible_shapes(flag: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        shapes(config(flag).to_dict())


DIES = """
import json, os, sys, time
request = json.load(sys.stdin)
for entry in request["entries"]:
    name = "matmul" if entry["kind"] == "matmul" else entry["kind"]
    if name == "matmul":
        os.kill(os.getpid(), 11)
    if name == "copy":
        time.sleep(60)
    row = {"name": name, "kind": name, "device": {"kind": "toy", "memory_bytes": 0, "packages": {}}}
    seconds = {"median": 1, "low": 1, "high": 1, "repeats": 1}
    with open(request["rows"], "a") as file:
        file.write(json.dumps({**row, "seconds": seconds, "flops": 1, "tokens": 1, "steps": 1}) + "\\n")
"""


@pytest.mark.multiprocess
def test_a_worker_that_dies_or_hangs_costs_one_row(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a run directory is said from where the user stands
    run = types.SimpleNamespace(path=pathlib.Path())
    monkeypatch.setattr(gpu_bench, "WORKER", (sys.executable, "-c", DIES))
    wanted = [Entry("matmul"), Entry("copy"), Entry("update")]
    monkeypatch.setattr(gpu_bench, "entries", lambda _: wanted)
    gpu_bench.run(config("size=tiny", "entry_minutes=.05"), run)  # type: ignore[arg-type]
    result = json.loads((tmp_path / "result.json").read_text())
    errors = {each["name"]: each.get("error", "") for each in result["rows"]}
    assert "exit code -11" in errors["matmul"] and "took longer than 0.05 minutes" in errors["copy"]
    assert errors["update"] == "" and result["not_begun"] == []

    (tmp_path / "rows.jsonl").write_text("")
    gpu_bench.run(config("size=tiny", "minutes=1e-9"), run)  # type: ignore[arg-type]
    result = json.loads((tmp_path / "result.json").read_text())
    assert result == {"rows": [], "not_begun": ["matmul", "copy", "update"]}


@pytest.mark.full
@pytest.mark.multiprocess
def test_every_entry_is_measured_at_tiny_size(tmp_path: pathlib.Path) -> None:
    """In a worker, on whatever is here; what needs a GPU says so. Utilization is by the stated formula."""
    flags = ("size=tiny", "models=moe", "warmups=1", "repeats=2", "update.attention=cudnn,auto", "update.remat=none")
    more = ("update.experts=ragged", "update.head_chunk=32", "layer.attention=dense", "layer.experts=auto")
    patient = ("minutes=60", "entry_minutes=60")  # the machine may be busy
    small = config(*flags, *more, *patient, "decode.weights=bfloat16", "decode.layers=apart")
    gpu_bench.run(small, types.SimpleNamespace(path=tmp_path))  # type: ignore[arg-type]
    result = json.loads((tmp_path / "result.json").read_text())
    wanted = entries(small.to_dict())
    rows = {each["name"]: each for each in result["rows"]}
    assert set(rows) == {each.name for each in wanted} and result["not_begun"] == []
    failed = {name for name, each in rows.items() if "error" in each}
    assert failed in (set(), {"update moe cudnn ragged none"})  # with a GPU, and without

    page = (tmp_path / "gpu_bench.md").read_text()
    assert sum(line.startswith("| ") for line in page.splitlines()) == len(wanted) + 2 * 6  # six tables
    size, update = shapes(small.to_dict()), rows["update moe auto ragged none"]
    windows = [15, 31, 46] * size.rows  # of 96 tokens, 93 in parts of 1 to 2 to 3
    sampled = (3 + 7 + 11) * size.rows
    flops = packed_update_flops(MODELS["tiny"]["moe"], windows, sampled)
    assert (update["flops"], update["tokens"], update["sampled"]) == (flops, sum(windows), sampled)
    assert update["flops_per_second"] == pytest.approx(flops / update["seconds"]["median"])
    ceiling = 2 * size.matmul**3 / rows["matmul"]["seconds"]["median"]
    assert update["of_matmul"] == pytest.approx(update["flops_per_second"] / ceiling)
    assert rows["experts moe auto"]["difference"] < 0.05 and rows["attention dense dense"]["difference"] < 0.05
    assert rows["decode moe bfloat16 unstacked"]["tokens"] == size.slots * size.chunk
