"""BrowseComp's files: what they hold, and one sentence for each way in which they can be broken."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.browsecomp import BROWSECOMP, BROWSECOMP_ZH, decrypted
from tars_jax.tasks.benchmarks.browsecomp_response import Answered, asked, question_in, read_response, response_of
from tests.tasks.benchmarks.browsecomp_files import (
    CANARY,
    QUESTIONS,
    QUESTIONS_ZH,
    encrypted,
    rows_zh,
    write_csv,
    write_xlsx,
)


def test_known_answer_of_the_cipher() -> None:
    text = "EXGhhuUkBXSYDSCzk6Ju31oiUzDROgDoLcNFxrdp"
    assert decrypted(text, "BROWSECOMP:canary") == "What is the capital of France?"


@pytest.mark.parametrize("topics", [True, False])
def test_questions_of_a_csv(tmp_path: Path, topics: bool) -> None:
    tasks = BROWSECOMP.read(write_csv(tmp_path / "set.csv", topics=topics))
    assert [(question_in(task.instruction), task.reference) for task in tasks] == [each[:2] for each in QUESTIONS]
    assert [task.id for task in tasks] == ["browsecomp-0000", "browsecomp-0001", "browsecomp-0002"]
    assert [task.group for task in tasks] == ([each[2] for each in QUESTIONS] if topics else ["no topic"] * 3)
    assert all("Exact Answer:" in task.instruction and "Confidence:" in task.instruction for task in tasks)
    assert tasks[0].record["canary"] == CANARY


def test_a_mark_of_order_and_carriage_returns_are_no_part_of_it(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "set.csv")
    other = tmp_path / "other.csv"
    other.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\r\n", b"\n"))
    assert BROWSECOMP.read(other) == BROWSECOMP.read(plain)
    assert BROWSECOMP.read(plain) == BROWSECOMP.read(_alone(plain, tmp_path / "folder"))


def _alone(file: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("shared", [True, False])
def test_questions_of_a_spreadsheet(tmp_path: Path, shared: bool) -> None:
    tasks = BROWSECOMP_ZH.read(write_xlsx(tmp_path / "zh.xlsx", rows_zh(), shared=shared))
    assert [(question_in(task.instruction), task.reference, task.group) for task in tasks] == QUESTIONS_ZH


def test_questions_of_the_decrypted_json(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    file.write_text(
        json.dumps([{"Topic": "地理", "Question": "阿罗萨位于哪条河？", "Answer": "内拉河", "canary": "c"}])
    )
    (task,) = BROWSECOMP_ZH.read(file)
    assert (question_in(task.instruction), task.reference, task.group) == QUESTIONS_ZH[0]


def test_a_csv_that_is_none(tmp_path: Path) -> None:
    whole = write_csv(tmp_path / "set.csv").read_bytes()
    lines = whole.split(b"\r\n")
    broken = {
        b"": "columns problem, answer, canary; got an empty file",
        b"question,answer,canary\r\na,b,c\r\n": "got none named problem",
        whole[: whole.rindex(b",")]: "line 4 must have 4 columns; got 3",
        whole[: len(whole) - 40]: "",  # in the middle of the canary: another key
        b"\r\n".join([lines[0], b'"' + lines[1]]): "line",
        whole.replace(lines[2][:9], b"!" + lines[2][:9]): "row 3: problem must be base64",
        whole.replace(CANARY.encode(), b"another"): "row 2: problem must be base64 of a text encrypted with its canary",
        whole.replace(CANARY.encode(), b""): "row 2 must have a canary",
        b"\xff\xfe" + whole: "must be a CSV file in UTF-8",
        lines[0] + b"\r\n": "must hold questions; got none",
    }
    for content, said in broken.items():
        (file := tmp_path / "broken.csv").write_bytes(content)
        with pytest.raises(InputError, match="broken.csv") as error:
            BROWSECOMP.read(file)
        assert said in str(error.value), content[:80]
        assert "\n" not in str(error.value)
    for missing in (tmp_path / "none.csv", tmp_path):
        (tmp_path / "second.csv").write_bytes(whole)
        with pytest.raises(InputError, match="must be"):
            BROWSECOMP.read(missing)


def test_a_spreadsheet_that_is_none(tmp_path: Path) -> None:
    whole = write_xlsx(tmp_path / "zh.xlsx", rows_zh(), shared=True).read_bytes()
    for content in (b"", b"PK", whole[:300], whole[:-30], write_csv(tmp_path / "set.csv").read_bytes()):
        (file := tmp_path / "broken.xlsx").write_bytes(content)
        with pytest.raises(InputError, match=r"broken.xlsx must be a whole spreadsheet \(.xlsx\)"):
            BROWSECOMP_ZH.read(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    with pytest.raises(InputError, match="must be a whole spreadsheet"):
        BROWSECOMP_ZH.read(file)
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><workbook>&c;</workbook>'
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", bomb)
    with pytest.raises(InputError, match="with a document type"):
        BROWSECOMP_ZH.read(file)
    for rows, said in (
        ([], "must have a first row"),
        ([["Topic", "Question", "Answer", "canary"]], "must hold questions; got none"),
        ([["Topic", "Question", "Answer", "canary"], ["", "e", "", CANARY]], "row 2: Question must be base64"),
        ([["Topic", "Answer", "canary"], [encrypted("t"), encrypted("a"), CANARY]], "Question must not be empty"),
    ):
        with pytest.raises(InputError, match=said):
            BROWSECOMP_ZH.read(write_xlsx(file, rows))
    with pytest.raises(InputError, match="does not exist"):
        BROWSECOMP_ZH.read(tmp_path / "none.xlsx")


def test_some_questions_by_their_ids(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "set.csv")
    assert [each.id for each in BenchmarkTasks(BROWSECOMP, file, ["browsecomp-0001"]).tasks] == ["browsecomp-0001"]
    with pytest.raises(InputError, match="browsecomp-9"):
        BenchmarkTasks(BROWSECOMP, file, ["browsecomp-9"])


def test_a_response_is_taken_apart() -> None:
    assert read_response(response_of("Nera", 80, "Because.")) == Answered("Because.", "Nera", 80.0)
    marked = "**Explanation:** long\nin two lines\n\n**Exact Answer:** The *Nera*\n**Confidence:** ~95 % or so"
    assert read_response(marked) == Answered("long\nin two lines", "The *Nera*", 95.0)
    assert read_response("Exact Answer：内拉河\nConfidence：90％") == Answered("", "内拉河", 90.0)
    assert read_response("Exact Answer: a draft\nExact Answer: Nera\nConfidence: high") == Answered("", "Nera", None)
    assert read_response("It is the Nera.") == Answered("", None, None)
    assert read_response("Explanation: long\nExact Answer:\nConfidence: 5%") == Answered("long", "", 5.0)
    one_line = Answered("It was there.", "The Nera", 80.0)
    assert read_response("Explanation: It was there. Exact Answer: The Nera Confidence: 80%") == one_line
    assert read_response("Explanation: It was there.\nExact Answer: The Nera, **Confidence:** 80%.") == one_line
    assert read_response("Exact Answer: Confidence: a memoir").exact_answer == "Confidence: a memoir"
    for below in ("-5%", "- 5%", "−5 %", ".5%"):
        assert read_response(f"Exact Answer: Nera\nConfidence: {below}").confidence is None
    assert read_response("Confidence: 1000%").confidence is None
    assert question_in(asked("Why?\n\nReally?", "zh")) == "Why?\n\nReally?"
