"""Flywheels beside their controls: what is read of a run, means over seeds with intervals worked out by hand."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.evaluation.flywheel_comparison import (
    SHARE,
    SUCCESS,
    FlywheelRun,
    by_control,
    by_name,
    gains,
    over_seeds,
    rises,
    table,
)


def result(control: str, seed: int, *solved: int) -> dict[str, Any]:
    """A cold start, and a cycle for each of `solved`, of 10 episodes; held-out success is always 1 of 4 after RL."""
    cycles = [
        {"number": number, "routed": {"solved": count, "failed": 10 - count}, "scores": {"sft": [4, 4], "rl": [1, 4]}}
        for number, count in enumerate((7, *solved))
    ]
    return {"control": control, "seed": seed, "cycles": cycles}


def runs() -> list[FlywheelRun]:
    told = [result("no_routing", 1, 3, 3), result("none", 0, 4, 8), result("none", 1, 5, 7), result("none", 2, 3, 9)]
    return [FlywheelRun.of(each, Path("result.json")) for each in told]


def test_students_interval_over_seeds() -> None:
    mean, low, high = over_seeds([0.5, 0.6, 0.7])  # t of 2 degrees of freedom is 4.302653; 4.302653 * .1 / sqrt(3)
    assert (mean, low, high) == pytest.approx((0.6, 0.6 - 0.248414, 0.6 + 0.248414), abs=1e-6)
    mean, low, high = over_seeds([0.3])
    assert mean == 0.3 and math.isnan(low) and math.isnan(high)


def test_rises_and_gains_are_by_seed() -> None:
    groups = by_control(runs())
    assert list(groups) == ["none", "no_routing"]  # the flywheel first
    run = groups["none"][0]
    assert run.counts == {SHARE: {1: (4, 10), 2: (8, 10)}, SUCCESS: {0: (1, 4), 1: (1, 4), 2: (1, 4)}}
    risen = rises(groups, SHARE)
    assert risen["none"].value == pytest.approx((0.4 + 0.2 + 0.6) / 3) and risen["no_routing"].value == 0
    assert gains(groups, SHARE)["no_routing"].value == pytest.approx(0.7 - 0.3)  # of seed 1, which both have
    assert list(gains(groups, SHARE)) == ["no_routing"]


def test_of_one_cycle_no_rise_is_told() -> None:
    told = {**result("none", 0, 4, 8), "cycles": result("none", 0, 4, 8)["cycles"][:2]}  # the cold start and one
    groups = by_control([FlywheelRun.of(told, Path("result.json"))])
    assert rises(groups, SHARE) == {} and rises(groups, SUCCESS)["none"].value == 0
    assert re.search(r"\| 40\.0 \[17, 69\] \| +\| +\|$", table(groups), re.MULTILINE)


def test_a_table_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for seed, solved in enumerate(((4, 8), (5, 7))):
        folder = tmp_path / f"läufe {seed}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(result("none", seed, *solved)))
        names.append(str(folder))
    command = ["compare_flywheels", f"--config.runs={','.join(names)}", f"--config.run={tmp_path / 'run'}"]
    assert main([*command, f"--config.output={tmp_path / 'found.svg'}"]) == 0
    said = (tmp_path / "found.md").read_text("utf-8")
    assert said.strip() in capsys.readouterr().out and (tmp_path / "found.svg").read_text().startswith("<?xml")
    row = next(line for line in said.splitlines() if "the flywheel" in line)
    # 45% and 75% of cycles 1 and 2; t of 1 degree of freedom is 12.706, and the sd of both is 5 sqrt(2) points.
    assert "45.0 [-19, 109]" in row and "75.0 [11, 139]" in row and "+30.0 [-97, 157]" in row


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be of a finished flywheel"):
        FlywheelRun.of({"control": "none", "seed": 0}, Path("result.json"))
    again = [FlywheelRun.of(result("none", 0, 1, 2), Path("r"))] * 2
    with pytest.raises(InputError, match=r"control none must have seeds that differ; got \[0, 0\]"):
        by_control(again)
    with pytest.raises(InputError, match="must have the same cycles"):
        by_control([*again[:1], FlywheelRun.of(result("none", 1, 1), Path("r"))])
    assert main(["compare_flywheels", f"--config.runs={tmp_path},", f"--config.run={tmp_path / 'run'}"]) == 2


def test_settings_of_any_name_are_compared_with_the_first() -> None:
    told = [result("none", 0, 4, 8), result("none", 0, 4, 5), result("none", 1, 4, 9)]
    groups = by_name([FlywheelRun.of(each, Path("r")) for each in told], ("annotated", "none", "annotated"))
    assert {name: len(group) for name, group in groups.items()} == {"annotated": 2, "none": 1}
    assert gains(groups, SHARE)["none"].value == pytest.approx(0.8 - 0.5)  # of seed 0, which both have
    assert "annotated ahead by" in table(groups) and "the flywheel" in table(groups)
    with pytest.raises(InputError, match="seeds that differ"):
        by_name([FlywheelRun.of(each, Path("r")) for each in told], ("annotated", "annotated", "none"))
