"""Whether tests find faults: one-line mutations of the product, drawn over its rooms by a seed.

    python tests/benchmarks/mutations.py --output=found.json                                # which are found at all
    python tests/benchmarks/mutations.py --tests=BEFORE --less=AFTER --output=cut.json      # whether a cut loses one

A mutation is another operator, a condition that is turned around, or another number, in one expression of one line. It
is made in a copy of `--product`, beside the tests of `--tests`; the tests of its room run until one fails, those first
that name its module. It is found where one fails, or none ends in time. With `--less` only those tests run that the
other commit has no more; a mutation that they find is tried on what the other commit has, and the exit code is 1 where
that does not find it. What no cut test finds is found as it was before. What is known already stands in `--output`: a
killed run goes on.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = {  # of rooms whose tests do not lie in the folder of their name
    "pipelines": ("tests/pipelines", "tests/experiments", "tests/launch"),
    "trajectory": ("tests/test_trajectory.py", "tests/data"),
    "web": ("tests/web", "tests/inference/server", "tests/sandbox/service"),
    "files": ("tests/test_trajectory.py", "tests/environments", "tests/training", "tests/data"),
}
CACHE_ALL = (("PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"), ("PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"))
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mutation:
    """`line` of `file` with `new` in place of its characters `start` to `end` (in bytes, as `ast` counts them)."""

    room: str
    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        lines = text.split("\n")
        raw = lines[self.line - 1].encode()
        lines[self.line - 1] = (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()
        return "\n".join(lines)


def mutated(node: ast.AST) -> ast.AST | None:
    """The node with another operator or number; None where there is none."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in OPPOSITE:
            return ast.Compare(node.left, [OPPOSITE[type(operator)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp():
            return ast.BoolOp(OPPOSITE[type(node.op)](), node.values)  # type: ignore[arg-type]
        case ast.BinOp(op=operator) if type(operator) in OPPOSITE:
            return ast.BinOp(node.left, OPPOSITE[type(operator)](), node.right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value)):
            return ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            return ast.Constant(2 * value + 1)
    return None


def expressions(tree: ast.AST) -> Iterator[ast.AST]:
    """Those that run: no annotations, and no parts of formatted strings, whose places Python 3.11 does not tell."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield node
                yield from expressions(node)


def mutations(root: Path, file: Path) -> list[Mutation]:
    text = file.read_text("utf-8")
    inside = file.relative_to(root / "tars_jax")
    found = []
    for node in expressions(ast.parse(text)):
        if (changed := mutated(node)) is None or not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
            continue
        assert node.end_col_offset is not None
        old = text.split("\n")[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()
        new = f"({ast.unparse(ast.fix_missing_locations(changed))})"
        room = inside.parts[0] if len(inside.parts) > 1 else "files"
        place = (str(file.relative_to(root)), node.lineno, node.col_offset, node.end_col_offset)
        found.append(Mutation(room, *place, old, new))
    return found


def drawn(root: Path, count: int, seed: int) -> list[Mutation]:
    """As many of each room, as far as they go."""
    rooms: dict[str, list[Mutation]] = {}
    for file in sorted((root / "tars_jax").rglob("*.py")):
        for mutation in mutations(root, file):
            rooms.setdefault(mutation.room, []).append(mutation)
    rng = random.Random(seed)
    names = sorted(rooms)
    shares = [count // len(names) + (place < count % len(names)) for place in range(len(names))]
    return [each for name, share in zip(names, shares, strict=True) for each in rng.sample(rooms[name], share)]


def tree(commit: str, folder: Path) -> Path:
    """The files of a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    return folder


def places(room: str) -> tuple[str, ...]:
    return TESTS.get(room, (f"tests/{room}",))


def test_files(root: Path, mutation: Mutation) -> list[str]:
    """Of the mutation's room, those first that name its module."""
    files = [
        found
        for place in places(mutation.room)
        for found in (sorted((root / place).rglob("test_*.py")) if (root / place).is_dir() else [root / place])
    ]
    module = mutation.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")

    def distance(file: Path) -> int:
        text = file.read_text("utf-8")
        return 0 if module in text else 1 if package in text and name in text else 2

    return [str(file.relative_to(root)) for file in sorted(files, key=distance)]


def pytest_in(root: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip


def collected(root: Path, room: str) -> list[str]:
    """The tests of a room, by their ids."""
    with pytest_in(root, "--collect-only", *(each for each in places(room) if (root / each).exists())) as process:
        said, _ = process.communicate()
    return [line for line in said.splitlines() if line.startswith("tests/") and "::" in line]


def found_by(root: Path, mutation: Mutation, tests: list[str], limit: float) -> str:
    """The first of the tests that fails on the mutated copy, which is left as it was; empty: none does."""
    file = root / mutation.file
    whole = file.read_text("utf-8")
    file.write_text(mutation.applied(whole), "utf-8")
    with pytest_in(root, "-x", "--tb=no", *tests) as process:
        try:
            said, _ = process.communicate(timeout=limit)
            failed = [line.split(" ", 1)[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
            return failed[0].partition(" - ")[0] if failed else "" if process.returncode == 0 else "an error"
        except subprocess.TimeoutExpired:
            return "no end in time"
        finally:
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
            file.write_text(whole, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--product", default="HEAD", help="the commit that is mutated")
    parser.add_argument("--tests", default="HEAD", help="the commit whose tests run")
    parser.add_argument("--less", default="", help="a commit that has fewer tests")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=1500, help="seconds for one mutation")
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    known = json.loads(options.output.read_text("utf-8")) if options.output.exists() else []
    with tempfile.TemporaryDirectory(prefix="tars_jax-mutations-") as folder:
        for name, value in (("COMPILATION_CACHE_DIR", f"{folder}/compiled"), *CACHE_ALL):
            os.environ.setdefault(f"JAX_{name}", value)

        def copy(tests: str, name: str) -> Path:
            made = tree(options.product, Path(folder, name))
            shutil.rmtree(made / "tests")
            shutil.copytree(tree(tests, Path(folder, f"tests-{name}")) / "tests", made / "tests")
            shutil.copy(Path(folder, f"tests-{name}", "pyproject.toml"), made)
            (made / ".cache").symlink_to(ROOT / ".cache")  # what launch scripts have fetched for tests
            return made

        copies = [
            (copy(options.tests, str(number)), copy(options.less, f"less-{number}") if options.less else None)
            for number in range(options.at_once)
        ]
        first, less = copies[0]
        left = [each for each in drawn(first, options.count, options.seed) if not _is_among(each, known)]
        cut = {}
        if less:
            for room in sorted({each.room for each in left}):
                kept = set(collected(less, room))
                cut[room] = [each for each in collected(first, room) if each not in kept]
                print(f"{room}: {len(cut[room])} tests are no more", flush=True)

        def attempt(mutation: Mutation) -> dict[str, Any]:
            whole, fewer = copies.pop()
            start, still = time.monotonic(), ""
            if fewer is None:
                by = found_by(whole, mutation, test_files(whole, mutation), options.limit)
            else:
                by = found_by(whole, mutation, cut[mutation.room], options.limit) if cut[mutation.room] else ""
                still = found_by(fewer, mutation, test_files(fewer, mutation), options.limit) if by else ""
            copies.append((whole, fewer))
            seconds = round(time.monotonic() - start, 1)
            return {**dataclasses.asdict(mutation), "found_by": by, "still_by": still, "seconds": seconds}

        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            for result in pool.map(attempt, left):
                known.append(result)
                options.output.write_text(json.dumps(known, indent=1), "utf-8")
                place = f"{result['file']}:{result['line']}: {result['old']} -> {result['new']}"
                said = result["found_by"] + (
                    f", still {result['still_by'] or 'LOST'}" if less and result["found_by"] else ""
                )
                print(f"{result['seconds']:7.1f} s  {said or 'not found'}  {place}", flush=True)
    found = [each for each in known if each["found_by"]]
    lost = [each for each in found if options.less and not each["still_by"]]
    print(
        f"{len(found)} of {len(known)} found" + (f" by what was cut, {len(lost)} of them lost" if options.less else "")
    )
    return int(bool(lost))


def _is_among(mutation: Mutation, known: list[dict[str, Any]]) -> bool:
    return any(all(each[name] == value for name, value in dataclasses.asdict(mutation).items()) for each in known)


if __name__ == "__main__":
    raise SystemExit(main())
