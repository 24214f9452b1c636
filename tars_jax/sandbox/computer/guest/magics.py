"""IPython's syntax besides Python, for kernel.py: !commands, and the magics that are carried out here.

Any other magic is refused by its name. In what stands behind ! or a magic of a line, {expression} and $name are put in
where they have a value, as IPython does.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
import time
from typing import Any

NAME = "_tars_magics"  # of this module, for rewritten cells
LINES = ("cd", "pwd", "env", "set_env", "matplotlib", "pip", "time")
CELLS = ("writefile", "file", "bash", "sh", "time")
_COMMAND = re.compile(r"(\s*)((?:[\w.\[\], ]+=)?)\s*([!%])(.*)")
_CELL = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)(?:\n(.*))?", re.DOTALL)


class UsageError(Exception):
    """A magic that is none here, or that cannot be meant so."""


def parsed(code: str, name: str) -> ast.Module:
    """The cell as Python. Raises SyntaxError, UsageError."""
    sys.modules[NAME] = sys.modules[__name__]
    if cell := _CELL.fullmatch(code):
        if cell[1] not in CELLS:
            raise _refused("%%", cell[1], CELLS)
        return ast.parse(f"__import__({NAME!r}).cell({cell[1]!r}, {cell[2].strip()!r}, {cell[3] or ''!r})", name)
    lines = code.split("\n")
    while True:  # only lines that are no Python: one in the middle of a text stays as it is
        try:
            return ast.parse("\n".join(lines), name)
        except SyntaxError as error:
            place = (error.lineno or 0) - 1
            found = _COMMAND.fullmatch(lines[place]) if 0 <= place < len(lines) else None
            if found is None:
                raise
            lines[place] = _call(*found.groups())


def _call(space: str, assigned: str, sign: str, rest: str) -> str:
    if sign == "!":
        return f"{space}{assigned}__import__({NAME!r}).{'lines' if assigned else 'system'}({rest!r})"
    magic, _, arguments = rest.strip().partition(" ")
    if magic not in LINES:
        raise _refused("%", magic, LINES)
    return f"{space}{assigned}__import__({NAME!r}).line({magic!r}, {arguments.strip()!r})"


def _refused(sign: str, magic: str, known: tuple[str, ...]) -> UsageError:
    return UsageError(
        f"{sign}{magic} must be one of {', '.join(sign + each for each in known)}, which this kernel carries out; "
        "python3 -m pip install ipykernel brings the others"
    )


def _variables() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


def _filled(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[2] is not None:
            return str(_variables().get(match[2], match[0]))
        try:
            return str(eval(match[1], _variables()))
        except Exception:  # as of awk '{print}'
            return match[0]

    return re.sub(r"\{([^{}\n]+)\}|\$([A-Za-z_]\w*)", value, text)


def system(command: str) -> int | None:
    """Runs a command and returns its exit status, unless that is 0."""
    return subprocess.call(_filled(command), shell=True) or None


def lines(command: str) -> list[str]:
    """Lines that a command writes."""
    return subprocess.run(_filled(command), shell=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def line(magic: str, arguments: str) -> Any:
    if magic == "time":
        return _timed(arguments)
    arguments = _filled(arguments)
    if magic == "cd":
        os.chdir(os.path.expanduser(arguments.strip("'\"") or "~"))
        print(os.getcwd())
    elif magic == "pwd":
        return os.getcwd()
    elif magic == "pip":
        return subprocess.call([sys.executable, "-m", "pip", *shlex.split(arguments)]) or None
    elif magic in ("env", "set_env"):
        return _environment(arguments, magic)
    return None  # matplotlib: figures are shown where they are made


def _environment(arguments: str, magic: str) -> Any:
    given = re.fullmatch(r"(\w+)(?:\s*=\s*|\s+)(.*)", arguments)
    if given is not None:
        os.environ[given[1]] = given[2]
        print(f"env: {given[1]}={given[2]}")
        return None
    if magic == "set_env":
        raise UsageError(f"%set_env must have a name and a value; got {arguments!r}")
    if arguments and arguments not in os.environ:
        raise UsageError(f"%env must name a variable that there is; got {arguments!r}")
    return os.environ[arguments] if arguments else dict(os.environ)


def cell(magic: str, arguments: str, body: str) -> Any:
    if magic == "time":
        return _timed(body)
    if magic in ("bash", "sh"):
        subprocess.run([magic, *shlex.split(arguments)], input=body.encode(), check=True)
        return None
    words = shlex.split(arguments)
    append = bool({"-a", "--append"} & set(words))
    paths = [word for word in words if word not in ("-a", "--append")]
    if len(paths) != 1:
        raise UsageError(f"%%{magic} must name one file; got {arguments!r}")
    path = os.path.expanduser(paths[0])
    print(f"{'Appending to' if append else 'Overwriting' if os.path.exists(path) else 'Writing'} {path}")
    with open(path, "a" if append else "w", encoding="utf-8", newline="") as file:
        file.write(body if body.endswith("\n") else f"{body}\n")  # as IPython, where a cell ends with its last line
    return None


def _timed(code: str) -> Any:
    tree = ast.parse(code, "<timed>")
    last = None
    if tree.body and isinstance(end := tree.body[-1], ast.Expr):
        last = ast.Expression(end.value)
        tree.body.pop()
    begun = time.perf_counter()
    try:
        exec(compile(tree, "<timed>", "exec"), _variables())
        return eval(compile(last, "<timed>", "eval"), _variables()) if last is not None else None
    finally:
        print(f"Wall time: {time.perf_counter() - begun:.3g} s")
