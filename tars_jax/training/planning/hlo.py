"""The text of a compiled program (optimized HLO of one chip) as data: computations, their instructions, and how often
each computation runs.

Shapes in the text are those of one chip's share. A computation is run by its callers; the body of a loop as often as
the loop's condition says, if that is a comparison with one constant, which is what a scan compiles to.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

FAST_MEMORY = 1  # the memory space of a chip's on-chip memory; HBM is 0

_BITS = {"pred": 8, "s4": 4, "u4": 4, "token": 0, "opaque": 0}
_SHAPE = re.compile(r"\b([a-z]\w*)\[([\d,<= ]*)\](\{[^}]*\})?")
_BRACKET = re.compile(r"[()]")
_HEADER = re.compile(r"^(ENTRY )?%([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(r"\b(calls|body|condition|to_apply|branch_computations|called_computations)=(\{[^}]*\}|%[\w.\-]+)")


@dataclasses.dataclass(frozen=True)
class Shape:
    """Shape and dtype of one array."""

    dtype: str
    dims: tuple[int, ...]
    memory: int = 0

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    @property
    def bytes(self) -> float:
        found = re.search(r"\d+", self.dtype)
        bits = _BITS.get(self.dtype, int(found.group()) if found else 8)
        return self.size * bits / 8


@dataclasses.dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    outputs: tuple[Shape, ...]  # one, or the elements of a tuple, flattened
    operands: tuple[str, ...]  # names within the computation
    argument: str  # what stands in the brackets: the value of a constant, the number of a parameter
    attributes: str  # everything after the operands
    called: tuple[tuple[str, str], ...]  # (attribute, computation)
    root: bool


@dataclasses.dataclass(frozen=True)
class Computation:
    name: str
    instructions: dict[str, Instruction]

    def shapes(self, instruction: Instruction) -> tuple[Shape, ...]:
        """Shapes of all operands of an instruction."""
        return tuple(shape for name in instruction.operands for shape in self.instructions[name].outputs)

    @property
    def root(self) -> Instruction:
        return next(each for each in self.instructions.values() if each.root)


@dataclasses.dataclass(frozen=True)
class Program:
    """The computations of a module, callees before their callers, and how often each runs."""

    computations: dict[str, Computation]
    runs: dict[str, int]
    fused: frozenset[str]  # computations within a fusion: their values never leave the chip's registers
    unknown_loops: int  # loops whose length the text does not say

    def instructions(self) -> Iterator[tuple[Computation, Instruction, int]]:
        """Every instruction that runs, with its computation and how often."""
        for computation in self.computations.values():
            if runs := self.runs.get(computation.name, 0):
                for instruction in computation.instructions.values():
                    yield computation, instruction, runs


def parse(text: str, rounds: int = 1) -> Program:
    """`compiled.as_text()` as a program; a loop whose length the text does not say is counted as so many rounds."""
    computations: dict[str, Computation] = {}
    current: dict[str, Instruction] = {}
    entry = ""
    for line in text.splitlines():
        if header := _HEADER.match(line):
            current = {}
            computations[header.group(2)] = Computation(header.group(2), current)
            entry = header.group(2) if header.group(1) else entry
        elif found := _INSTRUCTION.match(line):
            instruction = _instruction(found.group(2), line[found.end() :], root=bool(found.group(1)))
            current[instruction.name] = instruction
    return _with_runs(computations, entry, rounds)


def shapes_in(text: str) -> tuple[Shape, ...]:
    """All shapes that a type names."""
    return tuple(
        Shape(dtype, tuple(int(dim.strip("<= ")) for dim in dims.split(",") if dim), _memory(layout))
        for dtype, dims, layout in _SHAPE.findall(text)
    )


def _memory(layout: str) -> int:
    found = re.search(r"S\((\d+)\)", layout)
    return int(found.group(1)) if found else 0


def _instruction(name: str, rest: str, *, root: bool) -> Instruction:
    type_end = _closing(rest, 0) if rest.startswith("(") else rest.index(" ")
    found = _OPCODE.match(rest, type_end)
    assert found is not None, rest[:200]
    end = _closing(rest, found.end() - 1)
    argument, attributes = rest[found.end() : end - 1], rest[end:]
    opcode = found.group(1)
    operands = () if opcode in ("constant", "parameter") else tuple(_NAME.findall(argument))
    called = tuple(
        (attribute, computation)
        for attribute, names in _CALLED.findall(attributes)
        for computation in _NAME.findall(names)
    )
    return Instruction(name, opcode, shapes_in(rest[:type_end]), operands, argument, attributes, called, root)


def _closing(text: str, start: int) -> int:
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found.group() == "(" else -1
        if depth == 0:
            return found.end()
    raise ValueError(f"unbalanced brackets in {text[:200]}")


def _with_runs(computations: dict[str, Computation], entry: str, otherwise: int) -> Program:
    runs, fused, unknown = {entry: 1}, set(), 0
    for name in reversed(computations):  # callers first
        for instruction in computations[name].instructions.values():
            rounds: int | None = 1
            if instruction.opcode == "while":
                condition = next(each for attribute, each in instruction.called if attribute == "condition")
                rounds = _rounds(computations, condition)
                unknown += rounds is None and name in runs
            for attribute, callee in instruction.called:
                if attribute in ("condition", "to_apply"):
                    continue
                if name in runs:
                    runs[callee] = runs.get(callee, 0) + runs[name] * (otherwise if rounds is None else rounds)
                if instruction.opcode == "fusion" or name in fused:
                    fused.add(callee)
    return Program(computations, runs, frozenset(fused), unknown)


def _rounds(computations: dict[str, Computation], condition: str) -> int | None:
    """The one constant that a loop's counter, from 0 by 1, is compared with; None if it is not that simple."""
    constants, compares = set(), 0
    names = [condition]
    for name in names:
        for instruction in computations[name].instructions.values():
            names += [callee for attribute, callee in instruction.called if attribute == "calls"]
            compares += instruction.opcode == "compare"
            if instruction.opcode == "constant" and re.fullmatch(r"\d+", instruction.argument):
                constants.add(int(instruction.argument))
    return constants.pop() if len(constants) == 1 and compares == 1 else None
