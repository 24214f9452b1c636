"""Rows of a spreadsheet (.xlsx, ECMA-376): the first sheet, of which the first row names the columns."""

from __future__ import annotations

import posixpath
import re
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tars_jax import InputError

_LARGEST = 1 << 28  # bytes of a part, unpacked
_COLUMN = re.compile(r"([A-Z]{1,3})[0-9]+")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # of a character that XML has not
_DAMAGED = (zipfile.BadZipFile, zlib.error, ElementTree.ParseError, OSError, EOFError, ValueError, NotImplementedError)


def read_sheet(file: Path) -> list[dict[str, str]]:
    """One mapping a row, from column names to texts as they are kept; cells without a value are left out, and so are
    rows without any.

    Raises InputError for a file that is no such spreadsheet or is cut off, and for one without a row of names.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            rows = list(_rows(archive))
    except FileNotFoundError as error:
        raise InputError(f"{file} does not exist") from error
    except (*_DAMAGED, KeyError, RuntimeError) as error:  # a part that it lacks; one that has a password
        raise InputError(f"{file} must be a whole spreadsheet (.xlsx); got {error or type(error).__name__}") from error
    names = {column: name.strip() for column, name in rows[0].items() if name.strip()} if rows else {}
    if not names:
        raise InputError(f"{file} must have a first row that names its columns; got a sheet without one")
    kept = ({names[column]: text for column, text in row.items() if column in names} for row in rows[1:])
    return [row for row in kept if any(text.strip() for text in row.values())]


def _rows(archive: zipfile.ZipFile) -> Iterator[dict[str, str]]:
    """Texts by the letters of their columns."""
    shared = [_text(each) for each in _part(archive, "xl/sharedStrings.xml", "si")] if _has_shared(archive) else []
    for row in _part(archive, _first_sheet(archive), "row"):
        cells: dict[str, str] = {}
        for number, cell in enumerate(each for each in row if _name(each) == "c"):
            found = _COLUMN.fullmatch(cell.get("r", ""))
            text = _value(cell, shared)
            if text is not None:
                cells[found[1] if found else _letters(number)] = text
        yield cells


def _value(cell: ElementTree.Element, shared: list[str]) -> str | None:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return next((_text(each) for each in cell if _name(each) == "is"), None)
    value = next((each.text for each in cell if _name(each) == "v"), None)
    if value is None or kind == "e":
        return None
    if kind != "s":
        return _plain(value)
    if not 0 <= int(value) < len(shared):
        raise ValueError(f"text number {value} of {len(shared)}")
    return shared[int(value)]


def _first_sheet(archive: zipfile.ZipFile) -> str:
    sheets = _part(archive, "xl/workbook.xml", "sheet")
    parts = _part(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    links = {each.get("Id"): each.get("Target", "") for each in parts}
    named = next((value for name, value in sheets[0].attrib.items() if name.endswith("}id")), None) if sheets else None
    target = links.get(named, "worksheets/sheet1.xml")
    return posixpath.normpath(target.lstrip("/") if target.startswith("/") else f"xl/{target}")


def _has_shared(archive: zipfile.ZipFile) -> bool:
    return "xl/sharedStrings.xml" in archive.namelist()


def _part(archive: zipfile.ZipFile, name: str, wanted: str) -> list[ElementTree.Element]:
    """The elements of that name in a part."""
    if archive.getinfo(name).file_size > _LARGEST:
        raise ValueError(f"{name} of more than {_LARGEST >> 20} MiB")
    content = archive.read(name)
    if b"<!DOCTYPE" in content[:4096]:  # nobody writes one but to have entities multiplied
        raise ValueError(f"{name} with a document type")
    return [each for each in ElementTree.fromstring(content).iter() if _name(each) == wanted]


def _text(node: ElementTree.Element) -> str:
    """Of all its runs; readings of Chinese and Japanese characters (rPh) are none."""
    runs = [node, *(each for each in node if _name(each) == "r")]
    return _plain("".join(each.text or "" for run in runs for each in run if _name(each) == "t"))


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _letters(number: int) -> str:
    """Of column `number`, from 0."""
    letters = ""
    while number >= 0:
        number, last = divmod(number, 26)
        letters, number = chr(ord("A") + last) + letters, number - 1
    return letters
