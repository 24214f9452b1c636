"""What is read of a Dockerfile, and what is refused, by its line."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import base_images
from tars_jax.sandbox.computer.build_context import context_digest, copied
from tars_jax.sandbox.computer.dockerfile import DockerInstruction, below, fill, read_dockerfile
from tars_jax.sandbox.computer.images import checked


def written(folder: Path, text: str) -> Path:
    folder = folder / "environment"
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(text)
    return folder


def test_instructions_are_joined_over_lines_and_keep_their_number(tmp_path: Path) -> None:
    text = """# syntax=docker/dockerfile:1
ARG TAG=12
FROM debian:${TAG} AS base
LABEL maintainer=somebody
ENV A=1 B="two words"
ENV OLD form of it
RUN echo one && \\
    # said in between
    echo two
RUN ["touch", "a file"]
RUN <<EOT bash
cat
EOT
COPY --chmod=755 --chown=1:1 a b /to/
COPY <<END /inline
text
END
CMD ["bash"]
"""
    read = read_dockerfile(written(tmp_path, text))
    assert (read.base, read.base_line) == ("debian:12", 3)
    assert [(each.line, each.name) for each in read.instructions] == [
        (5, "ENV"), (6, "ENV"), (7, "RUN"), (10, "RUN"), (11, "RUN"), (14, "COPY"), (15, "COPY"),
    ]  # fmt: skip
    environment, old, joined, words, document, copy, inline = read.instructions
    assert environment.words == ("A=1", "B=two words") and old.words == ("OLD=form of it",)
    assert joined.words[:2] == ("/bin/sh", "-c") and joined.words[2].split() == ["echo", "one", "&&", "echo", "two"]
    assert words.words == ("touch", "a file") and document.words[2].endswith("bash\ncat\nEOT\n")
    assert (copy.words, copy.mode) == (("a", "b", "/to/"), 0o755)
    assert (inline.words, inline.texts) == (("/inline",), (("END", "text\n"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RUN true\n", "line 1: the first instruction must be FROM; got RUN"),
        ("# nothing\n", "must have a FROM; got none"),
        ("FROM debian\nFROM debian\n", "line 2: there must be one FROM"),
        ("FROM debian\n\nUSER bob\n", "line 3: USER must be root, as a computer has one user; got 'bob'"),
        ("FROM debian\nENTRYPOINT x\n", "line 2: an instruction must be one of .*; got ENTRYPOINT"),
        ("FROM debian\nVOLUME /x\n", "line 2: an instruction must be one of .*; got VOLUME"),
        ("FROM debian\nCOPY --from=base a b\n", "line 2: COPY must have no option but .*; got --from"),
        ("FROM debian\nADD https://a.org/b /b\n", "line 2: ADD must be of files of the task; got 'https://a.org/b'"),
        ("FROM debian\nCOPY ../a /b\n", "line 2: COPY must be of files below the task's folder; got '../a'"),
        ("FROM debian\nADD a.tar.gz /b\n", "line 2: ADD must be of files that are no archives; got 'a.tar.gz'"),
        ("FROM debian\nRUN --mount=type=secret,id=a x\n", "line 2: --mount of RUN must be of type=cache or tmpfs"),
        ("FROM debian\nRUN --security=insecure x\n", "line 2: RUN must have no options but"),
        ("FROM debian\nCOPY 'a /b\n", "line 2: quotes must be closed"),
        ("FROM debian\nRUN <<EOT\nx\n", "line 2: a here-document must end with EOT; got the end of the file"),
        ("FROM debian\nENV A\n", None),
        ("# escape=`\nFROM debian\n", "line 1: escape must be a backslash; got `"),
        ("FROM debian\n&& x\n", "line 2: an instruction must begin with a word"),
        ("FROM ubuntu:24.04\n", "line 1: FROM must be debian or python, .*; got 'ubuntu:24.04'"),
        ("FROM debian:7\n", "line 1: FROM must be of this machine's versions, .*; got 'debian:7'"),
        ("FROM python:2.7-slim\n", "line 1: FROM must be of this machine's versions"),
        ("FROM debian\nCOPY missing /b\n", "line 2: COPY must name files that the task has; got 'missing'"),
        ("FROM debian\nCOPY outside /b\n", "line 2: COPY must not follow a link out of the folder; got 'outside'"),
    ],
)
def test_what_is_not_carried_out_is_refused_by_its_line(
    tmp_path: Path, text: str, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_images, "machine", lambda: ("12", "bookworm", "3.11.2"))
    folder = written(tmp_path, text)
    (folder / "outside").symlink_to("/etc/passwd")
    if message is None:
        checked(folder)
        return
    with pytest.raises(InputError, match=f"^environment/Dockerfile,? ?{message}"):
        checked(folder)


def test_the_file_itself_is_of_its_folder_and_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    folder = written(tmp_path, "\ufeffFROM debian\n")
    assert read_dockerfile(folder).base == "debian"
    (tmp_path / "secret").write_text("TOKEN\n")
    (folder / "Dockerfile").unlink()
    (folder / "Dockerfile").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="^environment/Dockerfile must be a file of its folder") as raised:
        read_dockerfile(folder)
    assert "TOKEN" not in str(raised.value)


def test_a_machine_stands_in_for_images_of_its_own_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_images, "machine", lambda: ("12", "bookworm", "3.11.2"))
    for image in ("debian", "debian:bookworm-slim", "docker.io/library/debian:12.5", "python:3.11-slim-bookworm",
                  "python:3", "debian:12@sha256:" + "0" * 64):  # fmt: skip
        assert base_images.why_not(image) == "", image
    for image in ("debian:trixie", "debian:13", "debian:123", "python:3.12", "python", "python:latest",
                  "python:3.11-alpine", "alpine", "evil/debian", "scratch"):  # fmt: skip
        assert base_images.why_not(image), image
    for image in ("debian:trixie", "python:3.13-slim-bookworm", "python", "ubuntu:24.04", "buildpack-deps:jammy"):
        assert base_images.why_not(image, near=True) == "", image
    for image in (
        "python:3.11-alpine",
        "debian:alpine",
        "alpine",
        "evil/debian",
        "node:20",
        "scratch",
        "python:3-windows",
    ):
        assert base_images.why_not(image, near=True), image


def test_variables_are_filled_in_as_a_build_does() -> None:
    known = {"A": "one", "EMPTY": ""}
    text = r"$A ${A}x $B ${B:-other $A} ${EMPTY:-e} ${EMPTY-e} ${A:+yes} ${B:+no} \$A"
    assert fill(text, known) == "one onex  other one e  yes  $A"
    assert below("/app", "x/../y") == "/app/y" and below("/app", "/z/") == "/z"


def test_what_is_copied_lies_where_the_target_says(tmp_path: Path) -> None:
    folder = written(tmp_path, "FROM debian\n")
    (folder / "box").mkdir()
    (folder / "box" / "run.sh").write_text("x")
    (folder / "box" / "run.sh").chmod(0o755)
    (folder / "box" / "link").symlink_to("run.sh")
    (folder / "box" / "skip.log").write_text("x")
    (folder / "a.txt").write_text("a")
    (folder / ".dockerignore").write_text("# a comment\n**/*.log\n")
    dockerfile = read_dockerfile(folder)

    def names(sources: list[str], target: str, into: bool) -> dict[str, int]:
        instruction = DockerInstruction(2, "COPY", (*sources, target))
        archive = copied(folder, instruction, sources, target, into, dockerfile)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return {member.name: member.mode for member in tar if not member.isdir()}

    assert names(["box"], "/app", False) == {"app/run.sh": 0o755, "app/link": 0o777}
    assert names(["a.txt"], "/b.txt", False) == {"b.txt": 0o644}
    assert names(["a.txt"], "/b", True) == {"b/a.txt": 0o644}
    assert names(["*.txt", "box/run.sh"], "/b", False) == {"b/a.txt": 0o644, "b/run.sh": 0o755}
    before = context_digest(folder)
    (folder / "a.txt").chmod(0o755)
    assert context_digest(folder) != before
