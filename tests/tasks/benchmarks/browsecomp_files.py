"""Files in the forms of BrowseComp and BrowseComp-ZH, with questions of ours."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import itertools
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

CANARY = "tars_jax:test canary 🐤"
QUESTIONS = [
    ("Which river does the village of Arrosa lie at?", "Nera", "Geography"),
    ("How many bridges has the river 😀 of Arrosa?", "7", "Other"),
    ("In which year was the mill built?", "1897", "History"),
]
QUESTIONS_ZH = [("阿罗萨位于哪条河？", "内拉河", "地理"), ("磨坊建于哪一年？", "1897", "历史")]


def encrypted(text: str, canary: str = CANARY) -> str:
    key = itertools.cycle(hashlib.sha256(canary.encode()).digest())
    return base64.b64encode(bytes(one ^ other for one, other in zip(text.encode(), key, strict=False))).decode()


def write_csv(file: Path, questions: Sequence[tuple[str, str, str]] = QUESTIONS, *, topics: bool = True) -> Path:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["problem", "answer", *(["problem_topic"] if topics else []), "canary"])
    for question, answer, topic in questions:
        writer.writerow([encrypted(question), encrypted(answer), *([topic] if topics else []), CANARY])
    file.write_bytes(text.getvalue().encode())
    return file


def write_xlsx(file: Path, rows: Sequence[Sequence[str]], *, shared: bool = False) -> Path:
    """`shared`: texts stand in a part of their own, as Excel writes them; else in the cells."""
    texts = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    cell = '<c r="{}" t="s"><v>{}</v></c>' if shared else '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'
    lines = (
        "".join(
            cell.format(f"{chr(65 + column)}{number}", texts.index(text) if shared else escape(text))
            for column, text in enumerate(row)
        )
        for number, row in enumerate(rows, 1)
    )
    name = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "xl/workbook.xml": f'<workbook {name} xmlns:r="{links}"><sheets>'
        '<sheet name="q" sheetId="1" r:id="rId7"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": "<Relationships "
        'xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId7" Type="{links}/worksheet" Target="worksheets/sheet3.xml"/></Relationships>',
        "xl/worksheets/sheet3.xml": f"<worksheet {name}><sheetData>"
        + "".join(f"<row>{line}</row>" for line in lines)
        + "</sheetData></worksheet>",
    }
    if shared:
        runs = "".join(f"<si><r><t>{escape(text)}</t></r></si>" for text in texts)
        parts["xl/sharedStrings.xml"] = f"<sst {name}>{runs}</sst>"
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in parts.items():
            archive.writestr(path, content)
    return file


def rows_zh(questions: Sequence[tuple[str, str, str]] = QUESTIONS_ZH) -> list[list[str]]:
    rows = [[encrypted(topic), encrypted(question), encrypted(answer), CANARY] for question, answer, topic in questions]
    return [["Topic", "Question", "Answer", "canary"], *rows]
