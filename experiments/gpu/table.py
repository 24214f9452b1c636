"""Measurements to rates and shares, as data and as a page.

Every share says of what: of the ceilings that the same run measured, and, as is usual for utilization, of the rate on
the device's data sheet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.gpu.entries import Entry

# Device kind -> dense bfloat16 FLOP/s and bytes/s: NVIDIA's data sheets of the H200, H100 and A100 (SXM).
DATA_SHEETS = {
    "NVIDIA H200": (989.4e12, 4.8e12),
    "NVIDIA H100 80GB HBM3": (989.4e12, 3.35e12),
    "NVIDIA A100-SXM4-80GB": (312e12, 2.04e12),
}
GOAL = 0.45  # utilization of the update
Row = Mapping[str, Any]


def derive(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows with rates, and with shares as far as the ceilings are among them.

    flops_per_second, bytes_per_second, tokens_per_second: of the median time. utilization: FLOPs over time and the data
    sheet's peak. of_matmul, of_copy: over the measured ceilings. bound: what takes longer at these ceilings, and
    of_bound: that time over the measured one. speedup: of decoding over the same model in bfloat16.
    """
    best = {row["kind"]: _rates(row) for row in rows if row["kind"] in ("matmul", "copy") and "error" not in row}
    matmul = best.get("matmul", {}).get("flops_per_second")
    copy = best.get("copy", {}).get("bytes_per_second")
    derived: list[dict[str, Any]] = []
    for row in rows:
        if "error" in row:
            derived.append(dict(row))
            continue
        found = {**row, **_rates(row)}
        sheet = DATA_SHEETS.get(row["device"]["kind"])
        if "flops" in row and sheet:
            found["utilization"] = found["flops_per_second"] / sheet[0]
        if "flops" in row and matmul:
            found["of_matmul"] = found["flops_per_second"] / matmul
        if "bytes" in row and copy:
            found["of_copy"] = found["bytes_per_second"] / copy
        if "flops" in row and "bytes" in row and matmul and copy:
            compute, memory = row["flops"] / matmul, row["bytes"] / copy
            found["bound"] = "arithmetic" if compute >= memory else "memory"
            found["of_bound"] = max(compute, memory) / row["seconds"]["median"]
        derived.append(found)
    decoded = [row for row in derived if row["kind"] == "decode"]
    plain = {(row["model"], row["layers"]): row for row in decoded if row.get("weights") == "bfloat16"}
    for row in decoded:
        first = plain.get((row["model"], row["layers"]), {})
        if "error" not in row and "tokens_per_second" in first:
            row["speedup"] = row["tokens_per_second"] / first["tokens_per_second"]
    return derived


def _rates(row: Row) -> dict[str, float]:
    seconds = row["seconds"]["median"]
    return {f"{name}_per_second": row[name] / seconds for name in ("flops", "bytes", "tokens") if name in row}


def as_markdown(rows: Sequence[Row], wanted: Sequence[Entry], minutes: float) -> str:
    """The page: every entry has its line, measured, failed or not begun."""
    found = {row["name"]: row for row in derive(rows)}
    device = next(iter(found.values()))["device"] if found else {}
    lines = ["# gpu_bench", ""]
    if device:
        packages = ", ".join(f"{name} {version}" for name, version in device["packages"].items())
        lines += [f"{device['kind']}, {device['memory_bytes'] / 2**30:.0f} GiB for JAX; {packages}.", ""]
    for kind, (title, columns) in PARTS.items():
        entries = [entry for entry in wanted if entry.kind == kind]
        if entries:
            header = [*columns, "remark"]
            lines += [f"## {title}", "", _line(header), _line(["---"] * len(header))]
            lines += [_entry_line(entry, found.get(entry.name), columns, minutes) for entry in entries] + [""]
    lines += [verdict(found), "", SMALL_PRINT]
    return "\n".join(lines)


def verdict(found: Mapping[str, Row]) -> str:
    """One sentence: the best utilization of the update, against the goal."""
    best: dict[str, Row] = {}
    for row in found.values():
        if row["kind"] == "update" and "utilization" in row:
            best[row["model"]] = max(best.get(row["model"], row), row, key=lambda each: each["utilization"])
    if not best:
        return "No utilization: no update was measured on a device whose data sheet is known."
    parts = [f"{name} {row['utilization']:.1%}" for name, row in best.items()]
    word = "reached" if all(row["utilization"] >= GOAL for row in best.values()) else "missed"
    return f"Best utilization of the update: {', '.join(parts)}; the goal of {GOAL:.0%} is {word}."


def _entry_line(entry: Entry, row: Row | None, columns: Mapping[str, Any], minutes: float) -> str:
    if row is None:
        row = {"name": entry.name, **vars(entry), "error": f"not begun within {minutes:g} minutes"}
    cells = []
    for show in columns.values():
        try:
            cells.append(show(row))
        except KeyError:
            cells.append("")
    return _line([*cells, row.get("error", row.get("resolved", ""))])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _milliseconds(row: Row) -> str:
    low, median, high = (row["seconds"][name] * 1e3 for name in ("low", "median", "high"))
    return f"{median:.4g} ({low:.4g} to {high:.4g})"


COLUMNS = {
    "model": lambda row: row["model"],
    "attention": lambda row: row["attention"],
    "experts": lambda row: row["experts"],
    "remat": lambda row: row["remat"],
    "weights": lambda row: row["weights"],
    "layers": lambda row: row["layers"],
    "ms (quartiles)": _milliseconds,
    "tokens/s": lambda row: f"{row['tokens_per_second']:.0f}",
    "ms a step": lambda row: f"{row['seconds']['median'] / row['steps'] * 1e3:.3g}",
    "TFLOP/s": lambda row: f"{row['flops_per_second'] / 1e12:.4g}",
    "GB/s": lambda row: f"{row['bytes_per_second'] / 1e9:.4g}",
    "utilization": lambda row: f"{row['utilization']:.1%}",
    "of the measured matmul": lambda row: f"{row['of_matmul']:.1%}",
    "of the measured copy": lambda row: f"{row['of_copy']:.1%}",
    "bound by": lambda row: row["bound"],
    "of that bound": lambda row: f"{row['of_bound']:.1%}",
    "against bfloat16": lambda row: f"{row['speedup']:.2f}",
    "off float32 by": lambda row: f"{row['difference']:.2g}",
    "temporaries GiB": lambda row: f"{row['temporary_bytes'] / 2**30:.1f}",
    "compiled in s": lambda row: f"{row['compile_seconds']:.0f}",
}


def _columns(*names: str) -> dict[str, Any]:
    return {name: COLUMNS[name] for name in names}


RATE, TIME = ("TFLOP/s", "utilization", "of the measured matmul"), "ms (quartiles)"
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "matmul": ("Ceiling: a square product in bfloat16", _columns(TIME, "TFLOP/s", "utilization")),
    "copy": ("Ceiling: memory, read and written", _columns(TIME, "GB/s")),
    "update": (
        "The PPO update of a minibatch",
        _columns("model", "attention", "experts", "remat", TIME, "tokens/s", *RATE, "temporaries GiB", "compiled in s"),
    ),
    "experts": (
        "The experts of one layer, forward and backward",
        _columns("experts", TIME, *RATE, "bound by", "of that bound", "off float32 by"),
    ),
    "attention": (
        "The attention of one layer, forward and backward",
        _columns("attention", TIME, *RATE, "off float32 by"),
    ),
    "decode": (
        "Decoding with the engine's slot functions",
        _columns(
            "model", "weights", "layers", TIME, "tokens/s", "ms a step", "GB/s", "of the measured copy", "bound by",
            "of that bound", "against bfloat16",
        ),
    ),
}  # fmt: skip
SMALL_PRINT = """Times are medians after warm-up. FLOPs are those of the formula in
`tars_jax.training.planning.model_flops.packed_update_flops` (6 for each active matrix entry and token, the head for
sampled tokens only, causal attention within windows; nothing for recomputation or padding), bytes those of
`model_bytes`. Utilization is of the data sheet's dense bfloat16 rate."""
