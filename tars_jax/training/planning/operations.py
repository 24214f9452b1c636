"""Floating-point operations and memory traffic of a compiled program, for one chip, all loops included.

`compiled.cost_analysis()` counts the body of a loop once and knows nothing of Pallas kernels, so it cannot be used for
a model whose layers are scanned. Here every matrix product counts as often as it runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from tars_jax.training.planning.collectives import is_collective
from tars_jax.training.planning.hlo import FAST_MEMORY, Computation, Instruction, Program, Shape
from tars_jax.training.planning.kernels import is_kernel, is_silent, kernel_flops, stated

# Instructions that move nothing by themselves.
_FREE = frozenset(
    [
        *(
            "parameter",
            "constant",
            "tuple",
            "get-tuple-element",
            "bitcast",
            "while",
            "conditional",
            "call",
            "copy-done",
        ),
        *("after-all", "partition-id", "replica-id", "iota", "opt-barrier", "async-done", "async-update"),
    ]
)
_SLICES = ("dynamic-slice", "slice", "gather")


def count_flops(program: Program) -> float:
    """FLOPs of all matrix products: two for each multiplication and addition."""
    return sum(runs * _flops(computation, instruction) for computation, instruction, runs in program.instructions())


def silent_kernels(program: Program) -> tuple[str, ...]:
    """Pallas kernels whose operations cannot be counted: they state no cost and are none that we know."""
    return tuple(
        sorted(
            instruction.name
            for _, instruction, _ in program.instructions()
            if is_kernel(instruction)
            and any("f" in shape.dtype for shape in instruction.outputs)
            and is_silent(instruction)
        )
    )


def count_traffic(program: Program) -> float:
    """Bytes that cross between HBM and the chip: what instructions outside of fusions read and write there.

    An upper bound, as if every instruction read its operands anew; of an array that is only sliced or updated, the
    slice or what is new counts, and of a kernel what it says itself, if that is more.
    """
    return sum(
        runs * _traffic(program.computations, computation, instruction)
        for computation, instruction, runs in program.instructions()
        if computation.name not in program.fused
    )


def count_seconds(program: Program, flops_per_second: float, bytes_per_second: float) -> float:
    """One instruction after the other, each as long as the longer of its operations and its traffic; no collectives."""
    within: dict[str, float] = {}  # operations of one round of a fused computation, callees first
    for name, computation in program.computations.items():
        if name in program.fused:
            within[name] = sum(
                _flops(computation, each) + sum(within.get(callee, 0.0) for _, callee in each.called)
                for each in computation.instructions.values()
            )
    total = 0.0
    for computation, instruction, runs in program.instructions():
        if computation.name in program.fused or is_collective(computation, instruction):
            continue
        flops = _flops(computation, instruction)
        if instruction.opcode == "fusion":
            flops += sum(within[callee] for _, callee in instruction.called)
        traffic = _traffic(program.computations, computation, instruction)
        total += runs * max(flops / flops_per_second, traffic / bytes_per_second)
    return total


def _flops(computation: Computation, instruction: Instruction) -> float:
    if instruction.opcode == "convolution":
        return convolution_flops(instruction, *computation.shapes(instruction)[:2])
    if instruction.opcode == "dot":
        left = computation.shapes(instruction)[0]
        found = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", instruction.attributes)
        contracted = [int(dim) for dim in found.group(1).split(",") if dim] if found else []
        return 2 * instruction.outputs[0].size * math.prod(left.dims[dim] for dim in contracted)
    return kernel_flops(computation, instruction) if is_kernel(instruction) else 0.0


def convolution_flops(instruction: Instruction, left: Shape, right: Shape) -> float:
    """The TPU compiler writes every matrix product as a convolution, a batch of them as a dilated one.

    Only positions of the window that meet an element of the input count, which leaves the batch's own products.
    """
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", instruction.attributes)
    assert labels is not None, instruction.name
    left_of = dict(zip(labels.group(1), left.dims, strict=True))
    right_of = dict(zip(labels.group(2), right.dims, strict=True))
    output_of = dict(zip(labels.group(3), instruction.outputs[0].dims, strict=True))
    window = _window(instruction.attributes)
    groups = _integer(instruction.attributes, "batch_group_count")
    positions = 1
    for number, dim in enumerate(sorted(label for label in right_of if label.isdigit())):
        options = {name: values[number] for name, values in window.items() if number < len(values)}
        positions *= _positions(left_of[dim], right_of[dim], output_of[dim], options)
    return 2 * positions * right_of["i"] * right_of["o"] * left_of["b"] / groups


def _positions(size: int, kernel: int, outputs: int, options: Mapping[str, str]) -> int:
    """Pairs of a window's element and an output that read an element of the input, along one dimension."""
    stride, dilate = int(options.get("stride", 1)), int(options.get("lhs_dilate", 1))
    right_dilate, low = int(options.get("rhs_dilate", 1)), int(options.get("pad", "0_0").split("_")[0])
    if kernel == 1 and dilate == 1 and low == 0:
        return outputs
    at = np.arange(kernel)[:, None] * right_dilate + np.arange(outputs)[None] * stride - low
    return int(((at % dilate == 0) & (at >= 0) & (at < (size - 1) * dilate + 1)).sum())


def _window(attributes: str) -> dict[str, list[str]]:
    found = re.search(r"window=\{([^}]*)\}", attributes)
    fields = (field.split("=") for field in found.group(1).split()) if found else ()
    return {name: values.split("x") for name, values in fields}


def _integer(attributes: str, name: str) -> int:
    found = re.search(rf"\b{name}=(\d+)", attributes)
    return int(found.group(1)) if found else 1


def _traffic(computations: Mapping[str, Computation], computation: Computation, instruction: Instruction) -> float:
    if instruction.opcode in _FREE or instruction.opcode.endswith("-done"):
        return 0.0
    if instruction.opcode == "copy-start":
        return sum(_bytes(shape) for shape in instruction.outputs[:2])
    if instruction.opcode != "fusion":
        moved = _read(computation, instruction) + _written(computation, instruction)
        return max(moved, stated(instruction, "bytes_accessed")) if is_kernel(instruction) else moved
    inner = computations[dict(instruction.called)["calls"]]
    roots = [inner.instructions[name] for name in inner.root.operands] if inner.root.opcode == "tuple" else [inner.root]
    total = sum(
        _written(inner, root) if outer.memory == 0 else 0.0
        for root, outer in zip(roots, instruction.outputs, strict=False)  # a root may itself be a tuple, of a kernel
    )
    parameters = {int(each.argument): each for each in inner.instructions.values() if each.opcode == "parameter"}
    for number, name in enumerate(instruction.operands):
        outer = computation.instructions[name].outputs
        sliced = _sliced(computations, inner, parameters[number].name) if len(outer) == 1 else None
        if sliced is None:
            total += sum(map(_bytes, outer))
        else:
            total += 0.0 if outer[0].memory == FAST_MEMORY else sliced
    return total


def _sliced(computations: Mapping[str, Computation], computation: Computation, name: str) -> float | None:
    """Bytes of an array that a fusion reads, where all it does is to take slices, or to put something into it.

    Fusions within the fusion and other names for the array are followed. None where all of it may be read.
    """
    users = [each for each in computation.instructions.values() if name in each.operands]
    found: list[float | None] = []
    for user in users:
        if user.opcode == "fusion":
            inner = computations[dict(user.called)["calls"]]
            parameters = {
                int(each.argument): each for each in inner.instructions.values() if each.opcode == "parameter"
            }
            places = (place for place, operand in enumerate(user.operands) if operand == name)
            found += [_sliced(computations, inner, parameters[place].name) for place in places]
        elif user.opcode == "bitcast":
            found.append(_sliced(computations, computation, user.name))
        elif user.operands[0] != name or name in user.operands[1:]:
            return None
        elif _new_in_place(user) is not None:
            found.append(0.0)
        else:
            found.append(sum(shape.bytes for shape in user.outputs) if user.opcode in _SLICES else None)
    known = [each for each in found if each is not None]
    return sum(known) if users and len(known) == len(found) else None


def _read(computation: Computation, instruction: Instruction) -> float:
    if instruction.opcode in _SLICES:
        source = computation.instructions[instruction.operands[0]].outputs[0]
        return 0.0 if source.memory == FAST_MEMORY else sum(shape.bytes for shape in instruction.outputs)
    if (new := _new_in_place(instruction)) is not None:
        return sum(map(_bytes, computation.instructions[new].outputs))
    return sum(map(_bytes, computation.shapes(instruction)))


def _new_in_place(instruction: Instruction) -> str | None:
    """The operand that an update of its first operand brings; None for what updates nothing in place."""
    if instruction.opcode == "dynamic-update-slice":
        return instruction.operands[1]
    return instruction.operands[2] if instruction.opcode == "scatter" and len(instruction.operands) == 3 else None


def _written(computation: Computation, instruction: Instruction) -> float:
    """Bytes that an instruction, or the root of a fusion, writes into HBM; an update in place writes only what is
    new."""
    if instruction.opcode == "bitcast" and instruction.operands[0] in computation.instructions:
        source = computation.instructions[instruction.operands[0]]
        if _new_in_place(source) is not None:
            return _written(computation, source)
    if (new := _new_in_place(instruction)) is not None:
        if instruction.outputs[0].memory == FAST_MEMORY:
            return 0.0
        return sum(shape.bytes for shape in computation.instructions[new].outputs)
    return sum(map(_bytes, instruction.outputs))


def _bytes(shape: Shape) -> float:
    return 0.0 if shape.memory != 0 else shape.bytes
