"""A plan as a page to read and as JSON."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.training.planning.chips import GIB, Slice
from tars_jax.training.planning.model_flops import human
from tars_jax.training.planning.plan import ProgramPlan
from tars_jax.training.planning.roofline import Assumptions


@dataclasses.dataclass(frozen=True)
class PodPlan:
    """Everything that one run of pod_plan found."""

    command: str
    preset: str
    topology: str
    slice_: Slice
    total_parameters: int
    active_parameters: int
    vision_parameters: int
    meshes: Mapping[str, Mapping[str, int]]  # of training, of decoding
    setting: Mapping[str, Any]  # batch, cache, precision, in words for the page
    bytes_per_chip: Mapping[str, float]  # parameters, optimizer, cache, by owner
    programs: Sequence[ProgramPlan]
    assumptions: Assumptions

    @property
    def learner_bytes(self) -> float:
        """Both states on the same chips, with the larger one's temporaries of the updates planned; inf if refused."""
        known = [each.memory for each in self.programs if each.learns]
        resident = sum(size for name, size in self.bytes_per_chip.items() if not name.startswith("decode"))
        return resident + max((m.total - m.arguments if m else float("inf") for m in known), default=0.0)

    @property
    def fits(self) -> bool:
        return self.learner_bytes <= self.slice_.chip.hbm_bytes and not any(each.refused for each in self.programs)


def as_json(plan: PodPlan) -> dict[str, Any]:
    """Plain data; bytes, FLOPs and seconds without units of a thousand."""
    chip = dataclasses.asdict(plan.slice_.chip)
    return {
        "command": plan.command,
        "preset": plan.preset,
        "topology": plan.topology,
        "chips": len(plan.slice_.devices),
        "chip": chip,
        "parameters": {
            "total": plan.total_parameters,
            "active": plan.active_parameters,
            "vision": plan.vision_parameters,
        },
        "meshes": {name: dict(mesh) for name, mesh in plan.meshes.items()},
        "setting": dict(plan.setting),
        "assumptions": dataclasses.asdict(plan.assumptions),
        "bytes_per_chip": dict(plan.bytes_per_chip),
        "learner_bytes_per_chip": None if plan.learner_bytes == float("inf") else plan.learner_bytes,
        "fits": plan.fits,
        "programs": [dataclasses.asdict(each) for each in plan.programs],
    }


def as_markdown(plan: PodPlan) -> str:
    return "\n".join([*_head(plan), *_memory(plan), *_time(plan), *_collectives(plan), *_small_print(plan)]) + "\n"


PAGE = "# Plans for pods\n\nEach section was written by the command in it.\n"


def with_plan(page: str, plan: PodPlan) -> str:
    """A page of plans with this one, in the place of an earlier one of the same preset and topology or at the end."""
    first, *sections = re.split(r"^(?=## )", page or PAGE, flags=re.MULTILINE)
    own = re.sub(r"^#", "##", as_markdown(plan), flags=re.MULTILINE)
    title = own[: own.index(f"{plan.topology}:")] + f"{plan.topology}:"
    if not any(each.startswith(title) for each in sections):
        sections.append(own)
    sections = [own if each.startswith(title) else each for each in sections]
    return "\n".join(each.rstrip("\n") + "\n" for each in [first, *sections])


def verdict(plan: PodPlan) -> str:
    """One line: whether it fits, and how busy the policy update keeps the chips."""
    hbm = plan.slice_.chip.hbm_bytes
    if plan.fits:
        share = plan.learner_bytes / hbm
        words = f"fits: the learner takes {_size(plan.learner_bytes)} of {_size(hbm)} a chip ({share:.0%})"
    elif plan.learner_bytes < float("inf"):
        words = f"does not fit: the learner takes {_size(plan.learner_bytes)} of {_size(hbm)} a chip"
    else:
        words = "does not fit: " + "; ".join(f"{each.name}: {each.refused}" for each in plan.programs if each.refused)
    times = [
        f"{each.name} {each.roofline.serial:.3g} s, utilization {each.roofline.utilization:.0%}"
        for each in plan.programs
        if each.roofline and each.learns
    ]
    return "; ".join([words, *times])


def _head(plan: PodPlan) -> list[str]:
    lines = [
        f"# {plan.preset} on {plan.topology}: {len(plan.slice_.devices)} chips",
        "",
        "```",
        plan.command,
        "```",
        "",
        verdict(plan)[0].upper() + verdict(plan)[1:] + ".",
        "",
        f"Parameters: {human(plan.total_parameters)} in all, {human(plan.active_parameters)} active for a token, "
        f"{human(plan.vision_parameters)} in the vision encoder.",
        "",
    ]
    lines += [f"- mesh of {name}: {_mesh(mesh)}" for name, mesh in plan.meshes.items()]
    return [*lines, *(f"- {name}: {value}" for name, value in plan.setting.items()), ""]


def _memory(plan: PodPlan) -> list[str]:
    rows = [(name, _size(size)) for name, size in plan.bytes_per_chip.items()]
    rows += [
        ("learner in all (both states, the larger temporaries of the updates planned here)", _size(plan.learner_bytes))
    ]
    rows += [("HBM of a chip", _size(plan.slice_.chip.hbm_bytes))]
    lines = ["## Memory", "", *_table(("on one chip", "bytes"), rows), ""]
    compiled = [
        (
            each.name,
            *(_size(size) for size in (each.memory.arguments, each.memory.temporaries, each.memory.outputs)),
            _size(each.memory.total),
            _size(each.memory.host),
        )
        for each in plan.programs
        if each.memory
    ]
    columns = ("arguments", "temporaries (activations, gradients)", "outputs", "in all", "on its host")
    header = ("program, on one chip", *columns)
    return [*lines, *_table(header, compiled), ""] if compiled else lines


def _time(plan: PodPlan) -> list[str]:
    rows = []
    for each in plan.programs:
        if each.roofline is None:
            rows.append((each.name, *[""] * 9, each.refused))
            continue
        roof, chips = each.roofline, len(plan.slice_.devices)
        rows.append(
            (
                each.name,
                f"{roof.compute:.3g}",
                f"{roof.memory:.3g}",
                f"{roof.busy:.3g}",
                f"{roof.wires:.3g}",
                f"{roof.overlapped:.3g} to {roof.serial:.3g}",
                human(each.tokens / roof.serial),
                human(each.useful_flops / chips),
                human(each.flops),
                f"{roof.utilization:.1%} to {roof.utilization_overlapped:.1%}",
                "; ".join(each.notes),
            )
        )
    header = (
        "program",
        "compute s",
        "HBM s",
        "busy s",
        "wires s",
        "step s",
        "tokens/s",
        "useful FLOP/chip",
        "executed FLOP/chip",
    )
    return ["## Time (a roofline, not a measurement)", "", *_table((*header, "utilization", "notes"), rows), ""]


def _host_rate(plan: PodPlan) -> str:
    """The most that a chip and its host exchange, if each half of a step is one direction."""
    updates = ((each.memory, each.roofline) for each in plan.programs)
    rates = [2 * memory.host / roof.serial for memory, roof in updates if memory and roof and roof.serial]
    return f"{max(rates, default=0.0) / 1e9:.1f} GB/s a chip"


def _collectives(plan: PodPlan) -> list[str]:
    lines = []
    for each in plan.programs:
        rows = [
            (
                found.kind,
                " ".join(found.axes),
                str(found.chips),
                str(found.count),
                _size(found.payload),
                f"{found.seconds:.3g}",
            )
            for found in each.collectives
        ]
        if rows:
            header = ("kind", "over", "chips", "count", "payload", "seconds")
            lines += [f"## Collectives of the {each.name}", "", *_table(header, rows), ""]
    return lines


def _small_print(plan: PodPlan) -> list[str]:
    chip = plan.slice_.chip
    return [
        "## Assumptions",
        "",
        f"- A {chip.name}: {chip.peak_flops / 1e12:.0f} TFLOP/s in bf16, {_size(chip.hbm_bytes)} of HBM at "
        f"{chip.hbm_bandwidth / 1e9:.0f} GB/s, {chip.link_bandwidth / 1e9:.0f} GB/s a link in one direction "
        "(docs.cloud.google.com/tpu/docs, table of each chip).",
        f"- Matrix products reach {plan.assumptions.matmul_efficiency:.0%} of the peak. Assumed, not measured.",
        "- Executed FLOPs are those of the program: whole blocks of the kernels, layers computed again, all tokens of "
        "a window through the vocabulary head.",
        "- Memory traffic is an upper bound: every instruction outside of fusions reads its operands anew.",
        "- Collectives take the bandwidth of their wires and no latency. A side of the slice is a ring where it is a "
        f"multiple of {chip.ring_multiple}.",
        "- What a host keeps for a chip goes there in one half of a step and comes back in the other. No time "
        f"is counted for it, as if it hid behind products; that takes {_host_rate(plan)} in each direction. Nor is it "
        "checked that a host has so much memory, beyond what the compiler takes it to have.",
        "- The shortest step is the longest of compute, HBM and wires, as if each hid behind the others: the roofline. "
        "The longest is busy plus wires, as if nothing did: busy is every instruction in turn, each the longer of its "
        "own compute and HBM traffic. Its utilization, the lower one, is the one to plan with.",
        "- Useful FLOPs are those of a forward and a backward pass: no recomputation, no padding, causal attention.",
        "",
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _mesh(mesh: Mapping[str, int]) -> str:
    return ", ".join(f"{axis} {size}" for axis, size in mesh.items())


def _size(size: float) -> str:
    """Formats bytes for people."""
    if size == float("inf"):
        return "unknown"
    return f"{size / GIB:.2f} GiB" if size >= GIB / 100 else f"{size / 2**20:.2f} MiB"
