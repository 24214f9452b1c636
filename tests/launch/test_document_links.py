"""Documents lead somewhere: links and anchors, the index, READMEs that name every file of their room, drawings."""

import ast
import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tars_jax.pipelines.checkout import ROOT

DOCS = ROOT / "docs"
ROOMS = sorted((ROOT / "tars_jax").rglob("README.md"))
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "launch/windows_guest.md", "tests/benchmarks/README.md")
    ),
    *sorted(DOCS.rglob("*.md")),
    *ROOMS,
]
OTHERS = {"Chromium", "Ray", "HTTP"}  # in drawings: programs of others, and protocols


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[tuple[str, str]]:
    """(path, anchor) of each that stays here."""
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8")):
        if ":" not in path:
            yield path, anchor


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = page.parent / path if path else page
        assert target.exists(), f"{named(page)} links {path}"
        assert not anchor or anchor in anchors(target), f"{named(page)} links {path}#{anchor}"


def test_the_index_has_every_page_once() -> None:
    listed = [path for path, _ in links(DOCS / "README.md") if not path.startswith("..")]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("readme", ROOMS, ids=named)
def test_a_room_names_all_of_its_files(readme: Path) -> None:
    text = readme.read_text("utf-8")
    patterns = re.findall(r"[\w*]*\*[\w*]*\.py", text)
    files = {file.name for file in readme.parent.glob("*.py")} - {"__init__.py", "__main__.py"}
    folders = {init.parent.name for init in readme.parent.glob("*/__init__.py")}
    missing = {name for name in files if name not in text and not any(fnmatch.fnmatch(name, each) for each in patterns)}
    assert missing | {name for name in folders if f"{name}/" not in text} == set()


def test_the_list_of_benchmarks_is_whole() -> None:
    folder = ROOT / "tests" / "benchmarks"
    listed = re.findall(r"^\| `(\w+\.py)\b", (folder / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in folder.glob("*.py") if "__main__" in file.read_text("utf-8"))


def drawings() -> str:
    text = (DOCS / "how_it_fits_together.md").read_text("utf-8")
    return "\n".join(re.findall(r"```\n(.*?)```", text, flags=re.DOTALL))


def test_drawings_are_of_what_there_is() -> None:
    """Capitalized words are classes, those with an underscore functions or modules; files and folders are there."""
    sources = [file for file in (ROOT / "tars_jax").rglob("*.py") if "__pycache__" not in file.parts]
    defined = {file.stem for file in sources}
    for file in sources:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                defined.add(node.name)
    text = drawings()
    files = {file.name for file in sources}
    folders = {folder.name for folder in (ROOT / "tars_jax").rglob("*") if folder.is_dir()}
    names = {word for word in re.findall(r"\b\w+\b(?!\.py)", text) if "_" in word or re.match(r"[A-Z][A-Za-z]", word)}
    names |= set(re.findall(r"\b[a-z]+\.(\w+)\b", text)) - {"py"}  # learner.pack
    names -= OTHERS
    assert names and names - defined == set()
    assert set(re.findall(r"\b\w+\.py\b", text)) - files == set()
    assert set(re.findall(r"\b(\w+)/", text)) - folders == set()
