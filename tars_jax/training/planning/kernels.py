"""FLOPs of Pallas kernels, which the text of a program shows only as unknown custom calls.

Splash attention states no cost: its products are known, and its blocks that causality leaves. A grouped product of
megablox states the operations of its result, and computes more: whole blocks, padded where they do not divide, and
those in which one group ends and the next begins as often as groups meet there. The kernel itself, which the text
carries, says how large its blocks are and how many; of the blocks of rows, whose number depends on the routing, the
most that the kernel is made for are counted, as uneven routing visits nearly all of them.

Axes: N heads, T queries, M keys, H head dimension, Q and K blocks of queries and of keys.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _tpu_ext

from tars_jax.training.planning.hlo import Computation, Instruction, Shape

# Products of queries by keys in each kernel of splash attention.
ATTENTION_KERNELS: tuple[tuple[str, int], ...] = (
    (r"splash_m[hq]a_fwd", 2),
    (r"splash_m[hq]a_dkv", 4),
    (r"splash_m[hq]a_dq", 3),
)
FUSED_BACKWARD = 5  # of a dkv kernel that also gives the queries' gradient, one part for each block of keys
DYNAMIC = -(2**63)  # a bound of the grid that is known when the kernel runs


def is_kernel(instruction: Instruction) -> bool:
    return instruction.opcode == "custom-call" and 'custom_call_target="tpu_custom_call"' in instruction.attributes


def is_silent(instruction: Instruction) -> bool:
    """Whether a kernel's operations cannot be counted: it states no cost and is none that we know."""
    return not stated(instruction, "bytes_accessed") and _attention_products(instruction) is None


def stated(instruction: Instruction, name: str) -> float:
    """The kernel author's cost estimate: `flops`, `bytes_accessed`; 0 if there is none."""
    found = re.search(rf'"{name}":"(\d+)"', instruction.attributes)
    return float(found.group(1)) if found else 0.0


def kernel_flops(computation: Computation, instruction: Instruction) -> float:
    """FLOPs of one kernel call."""
    operands = computation.shapes(instruction)
    if (products := _attention_products(instruction)) is not None:
        return products * _attention_flops(operands)
    body = re.search(r'"body":"([^"]*)"', instruction.attributes)
    if body and re.match(r"t?gmm\b", instruction.name):
        visits = max(shape.size for shape in operands if shape.dtype == "s32")
        return grouped_flops(*grid(body.group(1)), visits)
    return stated(instruction, "flops")


def grid(body: str) -> tuple[list[int], list[int]]:
    """The bounds of a kernel's grid and the sizes of the blocks that one step of it reads and writes, from its code."""
    context = ir.Context()
    context.allow_unregistered_dialects = True
    _tpu_ext.register_dialect(context)
    text = str(ir.Module.parse(base64.b64decode(body), context=context))
    bounds, *_ = re.findall(r"iteration_bounds = array<i64: ([^>]*)>", text)
    blocks = re.findall(r"window_bounds = array<i64: ([^>]*)>", text)
    return _integers(bounds), [math.prod(_integers(block)) for block in blocks]


def grouped_flops(bounds: Sequence[int], blocks: Sequence[int], visits: int) -> float:
    """Each step of the grid multiplies [a, b] by [b, c]; its three blocks have a b, b c and a c numbers."""
    steps = math.prod(visits if bound == DYNAMIC else bound for bound in bounds)
    return 2.0 * steps * math.isqrt(math.prod(blocks))


def _attention_products(instruction: Instruction) -> int | None:
    products = next((number for pattern, number in ATTENTION_KERNELS if re.match(pattern, instruction.name)), None)
    fused = products == 4 and any(len(shape.dims) == 4 for shape in instruction.outputs)
    return FUSED_BACKWARD if fused else products


def _attention_flops(operands: Sequence[Shape]) -> float:
    """FLOPs of one product of all queries [N, T, H] by the keys [.., M, H] before them, in whole blocks.

    The first operand tells which of the blocks [1, Q, K] to visit.
    """
    queries, keys = [shape for shape in operands if "f" in shape.dtype and len(shape.dims) > 2][:2]
    _, rows, columns = operands[0].dims
    visited = sum(-(-(row + 1) * columns // rows) for row in range(rows))
    return 2 * queries.size * keys.dims[-2] * visited / (rows * columns)


def _integers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]
