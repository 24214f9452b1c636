"""Prints what a Beancount ledger says, as Beancount itself reads it, as JSON: fava_ledger.py FILE

How it is written (txn for *, 2025/1/1, white space, a comma in a number) is Beancount's to know. There is an object of
each transaction, of each other entry with all its fields, of each line that is no entry, such as an option, of what
Beancount passes over, such as a remark, and of what it complains of.
"""

import json
import sys
from typing import Any

from beancount.core.data import Posting, Transaction
from beancount.parser import lexer, parser


def plain(value: Any) -> Any:
    """As JSON; of metadata without where it stands in the file."""
    if isinstance(value, type):  # MISSING: an amount that is left to Beancount; or what kind a custom value is of
        return value.__name__
    if hasattr(value, "_fields"):
        return {name: plain(getattr(value, name)) for name in value._fields}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if name not in ("filename", "lineno")}
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | str) else str(value)


def amount(value: Any) -> str:
    return f"{value['number']} {value['currency']}" if isinstance(value, dict) else ""


def posting(each: Posting) -> str:
    said = plain(each)
    words = [said.pop("flag") or "", said.pop("account"), amount(said.pop("units"))]
    more = {name: value for name, value in said.items() if value}
    return " ".join(filter(None, [*words, json.dumps(more, sort_keys=True) if more else ""]))


def transaction(entry: Transaction) -> dict[str, str]:
    said = plain(entry)
    meta = [json.dumps(said["meta"], sort_keys=True)] if said["meta"] else []
    more = [*(f"#{tag}" for tag in said["tags"]), *(f"^{link}" for link in said["links"]), *meta]
    return {
        "date": said["date"], "flag": said["flag"], "payee": said["payee"] or "", "narration": said["narration"] or "",
        "more": " ".join(more), "postings": "\n".join(map(posting, entry.postings)),
    }  # fmt: skip


def lines(text: bytes) -> list[dict[str, str]]:
    """Lines that begin with no date, word by word; and lines that are passed over."""
    found: list[dict[str, str]] = []
    words: list[str] = []
    is_entry = False
    place = 0
    for kind, _, raw, _ in lexer.lex_iter_string(text):
        at = text.find(b"\n" if kind == "EOL" else raw, place)
        at = at if at >= 0 else len(text)
        if between := text[place:at].strip():
            found.append({"passed_over": between.decode(errors="replace")})
        place = at + (1 if kind == "EOL" else len(raw))
        if kind == "EOL":
            found += [{"line": " ".join(words)}] if words and not is_entry else []
            words = []
        else:
            is_entry = is_entry if words else kind in ("DATE", "INDENT")
            words.append(raw.decode(errors="replace"))
    rest = text[place:].strip()
    found += [{"line": " ".join(words)}] if words and not is_entry else []
    return found + ([{"passed_over": rest.decode(errors="replace")}] if rest else [])


with open(sys.argv[1], "rb") as file:
    text = file.read()
entries, errors, _ = parser.parse_string(text)
rows = [
    transaction(entry) if isinstance(entry, Transaction) else {"entry": type(entry).__name__.lower(), **plain(entry)}
    for entry in entries
]
print(json.dumps([*rows, *lines(text), *({"error": error.message} for error in errors)]))
