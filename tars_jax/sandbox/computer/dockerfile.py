"""Dockerfiles, as far as computers can carry them out: read whole before anything runs, or refused by a line."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from tars_jax import InputError

NAME = "Dockerfile"
LARGEST = 1 << 20  # bytes
CARRIED_OUT = ("ADD", "ARG", "COPY", "ENV", "RUN", "SHELL", "WORKDIR")
# What says how an image is started or shown, which a computer is not.
HARMLESS = ("CMD", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL")
SHELL = ("/bin/sh", "-c")
_HARMLESS_MOUNTS = ("cache", "tmpfs")  # of RUN: what they hold is not in the image anyway
_ROOTS = ("root", "0", "root:root", "0:0")
_INSTRUCTION = re.compile(r"([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)
_FLAG = re.compile(r"--([a-z-]+)(?:=(\S+))?(?:\s+|$)")
_HEREDOC = re.compile(r"<<(-?)([\"']?)([A-Za-z_][A-Za-z0-9_]*)\2")
_VARIABLE = re.compile(
    r"\\(\$)|\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^}]*))?\})", re.DOTALL
)


@dataclasses.dataclass(frozen=True)
class DockerInstruction:
    """`words`: of RUN, the argv that is run; of COPY and ADD, sources and the target; of ENV and ARG, NAME=VALUE."""

    line: int  # its first
    name: str
    words: tuple[str, ...]
    mode: int | None = None  # of COPY --chmod
    texts: tuple[tuple[str, str], ...] = ()  # of COPY from here-documents: name and content
    stdin: str = ""  # of RUN with a here-document and no command: the script


@dataclasses.dataclass(frozen=True)
class Dockerfile:
    where: str  # how messages name the file
    base: str  # the image, variables filled in
    base_line: int
    instructions: tuple[DockerInstruction, ...]  # of CARRIED_OUT, variables not filled in yet
    text: str

    def error(self, line: int, message: str) -> InputError:
        return InputError(f"{self.where}, line {line}: {message}")


def read_dockerfile(folder: Path) -> Dockerfile:
    """`folder`: the build context, with its Dockerfile. Raises InputError that names the file and the line."""
    path, where = folder / NAME, f"{folder.name}/{NAME}"
    try:
        # A file of somebody else's: a message would repeat its words.
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{where} must be a file of its folder; got a link that leads out of it")
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{where} must be a file that can be read; got {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where} must be text in UTF-8; got other bytes") from error
    if len(data) > LARGEST:
        raise InputError(f"{where} must have {LARGEST} bytes at most; got {len(data)}")
    return _Reader(where, text).read()


def fill(text: str, variables: Mapping[str, str]) -> str:
    """`$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` replaced; an unknown name is empty."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        name, how, other = found[2] or found[3], found[4], found[5] or ""
        known = variables.get(name)
        is_there = known is not None and (known != "" or how in ("-", "+"))
        if how in ("-", ":-"):
            return known or "" if is_there else fill(other, variables)
        if how in ("+", ":+"):
            return fill(other, variables) if is_there else ""
        return known or ""

    return _VARIABLE.sub(value, text)


class _Reader:
    def __init__(self, where: str, text: str) -> None:
        self._where, self._text = where, text
        self._lines = text.split("\n")
        self._at = 0
        self._base, self._base_line = "", 0
        self._arguments: dict[str, str] = {}  # of ARG before FROM
        self._shell: tuple[str, ...] = SHELL

    def _error(self, line: int, message: str) -> InputError:
        return InputError(f"{self._where}, line {line}: {message}")

    def read(self) -> Dockerfile:
        self._check_directives()
        found = []
        for line, text in self._logical_lines():
            name, rest = self._split(line, text)
            if name == "FROM":
                self._read_from(line, rest)
            elif not self._base:
                if name != "ARG":
                    raise self._error(line, f"the first instruction must be FROM; got {name}")
                for word in rest.split():
                    key, _, value = word.partition("=")
                    self._arguments[key] = fill(value.strip("\"'"), self._arguments)
            elif (instruction := self._instruction(line, name, rest)) is not None:
                found.append(instruction)
        if not self._base:
            raise InputError(f"{self._where} must have a FROM; got none")
        return Dockerfile(self._where, self._base, self._base_line, tuple(found), self._text)

    def _check_directives(self) -> None:
        for number, line in enumerate(self._lines, 1):
            directive = re.fullmatch(r"\s*#\s*(\w+)\s*=\s*(\S+)\s*", line)
            if directive is None:
                return
            if directive[1].lower() == "escape" and directive[2] != "\\":
                raise self._error(number, f"escape must be a backslash; got {directive[2]}")

    def _logical_lines(self) -> Iterator[tuple[int, str]]:
        """Instructions with their continuation lines joined, and the number of the first."""
        while self._at < len(self._lines):
            begin, text = self._at + 1, self._lines[self._at]
            self._at += 1
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            while (stripped := text.rstrip()).endswith("\\") and self._at < len(self._lines):
                text = stripped[:-1]
                while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith("#"):
                    self._at += 1
                if self._at < len(self._lines):
                    text += self._lines[self._at]
                    self._at += 1
            yield begin, text.strip()

    def _split(self, line: int, text: str) -> tuple[str, str]:
        matched = _INSTRUCTION.fullmatch(text)
        if matched is None:
            raise self._error(line, f"an instruction must begin with a word, as RUN; got {text[:40]!r}")
        return matched[1].upper(), (matched[2] or "").strip()

    def _read_from(self, line: int, rest: str) -> None:
        if self._base:
            raise self._error(line, "there must be one FROM, as stages are not carried out here; got another")
        flags, rest = self._flags(line, rest)
        words = rest.split()
        if flags.keys() - {"platform"} or len(words) not in (1, 3) or (len(words) == 3 and words[1].lower() != "as"):
            raise self._error(line, f"FROM must be an image, or an image AS a name; got {rest[:60]!r}")
        self._base, self._base_line = fill(words[0], self._arguments), line

    def _flags(self, line: int, rest: str) -> tuple[dict[str, str], str]:
        flags: dict[str, str] = {}
        while found := _FLAG.match(rest):
            flags[found[1]] = found[2] or ""
            rest = rest[found.end() :]
        return flags, rest

    def _documents(self, line: int, rest: str) -> list[tuple[str, str]]:
        """Names and contents of the here-documents that an instruction begins."""
        documents = []
        for tabs, _, word in _HEREDOC.findall(rest):
            content = []
            while True:
                if self._at >= len(self._lines):
                    raise self._error(line, f"a here-document must end with {word}; got the end of the file")
                text = self._lines[self._at]
                self._at += 1
                text = text.lstrip("\t") if tabs else text
                if text == word:
                    break
                content.append(text)
            documents.append((word, "".join(f"{each}\n" for each in content)))
        return documents

    def _instruction(self, line: int, name: str, rest: str) -> DockerInstruction | None:
        if name in HARMLESS:
            return None
        if name == "USER":
            if rest not in _ROOTS:
                raise self._error(line, f"USER must be root, as a computer has one user; got {rest!r}")
            return None
        if name not in CARRIED_OUT:
            known = ", ".join(sorted(("FROM", "USER", *CARRIED_OUT, *HARMLESS)))
            raise self._error(line, f"an instruction must be one of {known}; got {name}")
        if not rest:
            raise self._error(line, f"{name} must say what; got nothing")
        if name == "RUN":
            return self._run(line, rest)
        if name == "SHELL":
            words = self._exec_form(rest)
            if not words:
                raise self._error(line, f'SHELL must be as ["/bin/bash", "-c"]; got {rest[:60]!r}')
            self._shell = words
            return None
        if name in ("COPY", "ADD"):
            return self._copy(line, name, rest)
        if name == "WORKDIR":
            return DockerInstruction(line, name, (rest.strip("\"'"),))
        return DockerInstruction(line, name, self._assignments(line, name, rest))

    def _run(self, line: int, rest: str) -> DockerInstruction:
        flags, rest = self._flags(line, rest)
        kinds = [part for value in flags.values() for part in value.split(",") if part.startswith("type=")]
        if flags.keys() - {"mount", "network"} or flags.get("network", "default") not in ("default", "none"):
            raise self._error(line, f"RUN must have no options but --mount and --network; got {sorted(flags)}")
        if "mount" in flags and any(kind.removeprefix("type=") not in _HARMLESS_MOUNTS for kind in kinds or ["bind"]):
            raise self._error(line, f"--mount of RUN must be of type=cache or tmpfs; got {flags['mount']!r}")
        if words := self._exec_form(rest):
            return DockerInstruction(line, "RUN", words)
        if alone := re.fullmatch(_HEREDOC, rest):
            script = self._documents(line, alone[0])[0][1]
            shell = tuple(script.partition("\n")[0][2:].split()) if script.startswith("#!") else self._shell[:1]
            return DockerInstruction(line, "RUN", shell, stdin=script)
        if documents := self._documents(line, rest):
            rest += "\n" + "".join(f"{content}{word}\n" for word, content in documents)
        return DockerInstruction(line, "RUN", (*self._shell, rest))

    @staticmethod
    def _exec_form(rest: str) -> tuple[str, ...]:
        if not rest.startswith("["):
            return ()
        try:
            words = json.loads(rest)
        except ValueError:
            return ()
        return tuple(words) if all(isinstance(word, str) for word in words) else ()

    def _copy(self, line: int, name: str, rest: str) -> DockerInstruction:
        flags, rest = self._flags(line, rest)
        if unknown := sorted(flags.keys() - {"chown", "chmod", "link"}):
            raise self._error(line, f"{name} must have no option but --chown, --chmod and --link; got --{unknown[0]}")
        mode = flags.get("chmod")
        if mode is not None and not re.fullmatch("[0-7]{3,4}", mode):
            raise self._error(line, f"--chmod must be octal, as 755; got {mode!r}")
        documents = self._documents(line, rest)
        words = list(self._exec_form(rest) or self._words(line, rest))
        sources = [word for word in words[:-1] if not _HEREDOC.fullmatch(word)]
        if len(words) < 2:
            raise self._error(line, f"{name} must name sources and a target; got {rest[:60]!r}")
        for source in sources:
            if "://" in source or source.startswith("git@"):
                raise self._error(line, f"{name} must be of files of the task; got {source!r}")
            if ".." in source.split("/"):
                raise self._error(line, f"{name} must be of files below the task's folder; got {source!r}")
            if name == "ADD" and re.search(r"\.(tar|tgz|tbz2?|txz|tar\.\w+)$", source):
                raise self._error(line, f"ADD must be of files that are no archives; got {source!r}")
        return DockerInstruction(
            line, "COPY", (*sources, words[-1]), None if mode is None else int(mode, 8), tuple(documents)
        )

    def _words(self, line: int, rest: str) -> list[str]:
        try:
            return shlex.split(rest)
        except ValueError as error:
            raise self._error(line, f"quotes must be closed; got {rest[:60]!r}") from error

    def _assignments(self, line: int, name: str, rest: str) -> tuple[str, ...]:
        words = self._words(line, rest)
        if name == "ENV" and "=" not in words[0]:  # the older form: one name, and the rest of the line
            key, _, value = rest.partition(" ")
            return (f"{key}={value.strip()}",)
        if bad := [word for word in words if name == "ENV" and "=" not in word]:
            raise self._error(line, f"ENV must be NAME=VALUE; got {bad[0]!r}")
        return tuple(words)


def below(workdir: str, path: str) -> str:
    """An absolute path, of one that may be relative to the working folder."""
    return posixpath.normpath(posixpath.join("/", workdir, path))
