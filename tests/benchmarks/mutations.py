"""Whether tests find faults: one-line mutations of the product, drawn over its rooms by a seed.

    python tests/benchmarks/mutations.py --output=before.json
    python tests/benchmarks/mutations.py --tests=COMMIT --output=after.json --before=before.json

A mutation is another operator, a condition that is turned around, or another number, in one expression of one line. It
is made in a copy of `--product`, beside the tests of `--tests`; the tests of its room run until one fails, those first
that name its module. It is found where one fails, or none ends in time. With `--before` only what was found then is
tried, and the exit code is 1 where one is missed now. What is known already stands in `--output`: a killed run goes on.
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


def test_files(root: Path, mutation: Mutation, first: str) -> list[str]:
    """Of the mutation's room: `first`, then those that name its module, then the rest."""
    places = TESTS.get(mutation.room, (f"tests/{mutation.room}",))
    files = [
        found
        for place in places
        for found in (sorted((root / place).rglob("test_*.py")) if (root / place).is_dir() else [root / place])
    ]
    module = mutation.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")

    def distance(file: Path) -> int:
        text = file.read_text("utf-8")
        relative = str(file.relative_to(root))
        return 0 if relative == first else 1 if module in text else 2 if package in text and name in text else 3

    return [str(file.relative_to(root)) for file in sorted(files, key=distance)]


def tried(root: Path, mutation: Mutation, first: str, limit: float) -> dict[str, Any]:
    """Runs the room's tests on the mutated copy, which is left as it was."""
    file = root / mutation.file
    whole = file.read_text("utf-8")
    file.write_text(mutation.applied(whole), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu"}
    start, by = time.monotonic(), ""
    with subprocess.Popen(
        [*command, *test_files(root, mutation, first)],
        cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=limit)
            failed = [line.split()[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
            by = failed[0] if failed else "" if process.returncode == 0 else "an error"
        except subprocess.TimeoutExpired:
            by = "no end in time"
        finally:
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
    file.write_text(whole, "utf-8")
    return {**dataclasses.asdict(mutation), "found_by": by, "seconds": round(time.monotonic() - start, 1)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--product", default="HEAD", help="the commit that is mutated")
    parser.add_argument("--tests", default="HEAD", help="the commit whose tests run")
    parser.add_argument("--before", type=Path, help="results of an earlier run: what it found is tried")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=1500, help="seconds for one mutation")
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    earlier = {}
    if options.before:
        results = json.loads(options.before.read_text("utf-8"))
        earlier = {(each["file"], each["line"], each["start"], each["new"]): each["found_by"] for each in results}
    known = json.loads(options.output.read_text("utf-8")) if options.output.exists() else []
    with tempfile.TemporaryDirectory(prefix="tars_jax-mutations-") as folder:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{folder}/compiled")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
        copies = []
        for number in range(options.at_once):
            copies.append(tree(options.product, Path(folder, str(number))))
            shutil.rmtree(copies[-1] / "tests")
            shutil.copytree(tree(options.tests, Path(folder, f"tests{number}")) / "tests", copies[-1] / "tests")
        left = [each for each in drawn(copies[0], options.count, options.seed) if not _is_among(each, known)]
        if options.before:
            left = [each for each in left if earlier.get((each.file, each.line, each.start, each.new))]
        free = list(copies)

        def attempt(mutation: Mutation) -> dict[str, Any]:
            copy = free.pop()
            try:
                first = earlier.get((mutation.file, mutation.line, mutation.start, mutation.new), "").partition("::")[0]
                return tried(copy, mutation, first, options.limit)
            finally:
                free.append(copy)

        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            for result in pool.map(attempt, left):
                known.append(result)
                options.output.write_text(json.dumps(known, indent=1), "utf-8")
                place = f"{result['file']}:{result['line']}: {result['old']} -> {result['new']}"
                print(f"{result['seconds']:7.1f} s  {result['found_by'] or 'MISSED'}  {place}", flush=True)
    found = sum(bool(each["found_by"]) for each in known)
    print(f"{found} of {len(known)} found")
    return int(bool(options.before) and found < len(known))


def _is_among(mutation: Mutation, known: list[dict[str, Any]]) -> bool:
    return any(all(each[name] == value for name, value in dataclasses.asdict(mutation).items()) for each in known)


if __name__ == "__main__":
    raise SystemExit(main())
