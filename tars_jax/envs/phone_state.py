"""State stored on a phone, read by its own shell, as a verifier of a device must: settings, and rows of providers."""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Sequence

from tars_jax.sandbox.phone import Phone
from tars_jax.tasks.phone import catalog

NOTES = "content://notes/notes"  # of the stand-in's app
CONTACTS = "content://com.android.contacts/data/phones"
CALLS = "content://call_log/calls"
COLUMNS = {NOTES: ("title", "body"), CONTACTS: ("display_name", "data1"), CALLS: ("number",)}
_ROW = re.compile(r"^Row: \d+ ", re.MULTILINE)
_EMPTY = "No result found."


@dataclasses.dataclass(frozen=True)
class StoredOnPhone:
    state: catalog.PhoneState
    missing: tuple[str, ...]  # providers that the phone has not, or that do not answer


async def read_stored(
    phone: Phone, providers: Sequence[str] = tuple(COLUMNS), answer: str | None = None
) -> StoredOnPhone:
    """One call of the phone's shell. Raises SandboxFailure."""
    mark = secrets.token_hex(8)
    commands = ["settings list global", "settings list system"]
    commands += [f"content query --uri {uri} --projection {':'.join(COLUMNS[uri])}" for uri in providers]
    said = (await phone.line(f"; echo {mark}; ".join(commands))).text.split(f"{mark}\n")
    said += [""] * (len(commands) - len(said))
    tables = {name: _table(text) for name, text in zip(("global", "system"), said, strict=False)}
    rows = {uri: _rows(text, COLUMNS[uri]) for uri, text in zip(providers, said[2:], strict=True)}
    settings = {
        f"{table} {name}": tables[table].get(name, "null") for table, name, *_ in catalog.SWITCHES.values()
    }  # fmt: skip
    settings["system language"] = tables["system"].get("language", "null")
    state = catalog.PhoneState(
        settings,
        tuple((title, text) for title, text in rows.get(NOTES) or ()),
        tuple(sorted((name, _number(number)) for name, number in rows.get(CONTACTS) or ())),
        tuple(_number(number) for (number,) in rows.get(CALLS) or ()),
        answer,
        tuple(catalog.SWITCHES) if NOTES in providers else catalog.DEVICE_SWITCHES,
    )
    return StoredOnPhone(state, tuple(uri for uri in providers if rows[uri] is None))


def _table(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _rows(text: str, columns: Sequence[str]) -> list[tuple[str, ...]] | None:
    """None for what is no answer of a provider. A value may have commas and lines."""
    if text.strip() == _EMPTY:
        return []
    if not _ROW.match(text):
        return None
    values = re.compile(", ".join(f"{column}=(.*?)" for column in columns) + r"\n?\Z", re.DOTALL)
    found = [values.match(row) for row in _ROW.split(text)[1:]]
    return [tuple(match.groups()) for match in found if match is not None]


def _number(text: str) -> str:
    """As it is called, whatever an app puts between its digits."""
    return re.sub(r"[^\d+*#]", "", text)
