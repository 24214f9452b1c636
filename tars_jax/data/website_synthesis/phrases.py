"""Phrases: what one part of an instruction asks for, as a verb, a thing, its names, values and a button.

A page's heading says what is done there and to what: "Edit Ticket" is about a ticket, "Garden Project: edit" about the
page of that name, "Create New Report Format" about a report format that is not there yet. A person is asked for the
thing, not for the page: 'Edit the page "Garden Project"', and not 'the page of "Garden Project: edit"'.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

VERBS = {
    "create": ("Create", "Add", "Make"),
    "edit": ("Change", "Edit", "Update"),
    "configure": ("Change the settings", "Adjust the settings", "Update the settings"),
    "delete": ("Delete", "Remove", "Get rid of"),
}
IN_PLACE = "(in place of all that is there)"
MARKED = ("chosen", "ticked", "not ticked")
_DOING = r"(?:new|add|adding|create|creating|edit|editing|change|changing|rename|renaming|update|updating|enter|modify)"
_ONE = r"(?:a|an|the|this|your)"
_BEGINS = re.compile(rf"^\W*(?:(?:{_DOING}|{_ONE})\s+)*{_DOING}\s+(?:{_ONE}\s+)?", re.IGNORECASE)
_ENDS = re.compile(rf"[:\s]+{_DOING}$", re.IGNORECASE)
_ALONE = re.compile(rf"^(?:{_DOING}|copy)$", re.IGNORECASE)
_NEW = re.compile(r"\b(new|add|create)\b", re.IGNORECASE)
_KEY = re.compile(r"\s*\(\w\)$")  # that a link may be pressed by
_PROPER = re.compile(r"\d|[a-z][A-Z]")  # of one thing, and not of a kind
_VALUE = re.compile(r"@|^[\d.,:/-]+$")  # an address, a date or an amount: something of the thing, and not its name
_ASKS = re.compile(r"^(?:(?:[Ee]nter|[Tt]ype|[Cc]hoose|[Ss]elect)\s+)?(?:a|an|the|your)\s+(.+?)(?:\s+of\s+the\s+\w+)?$")
_LINK = re.compile(r"\s*\((?:view|edit|remove)\)$")  # that stands in the same cell as a name
_HINT = re.compile(r"^you\s", re.IGNORECASE)
_QUOTES = re.compile(r"'[^']+'")


@dataclasses.dataclass(frozen=True)
class Heading:
    """Meaning of a page's name: a kind of thing, the name of one, and whether it is to be made there."""

    noun: str = ""
    name: str = ""
    is_new: bool = False
    is_plain: bool = False  # it is a name and nothing else


def read_heading(said: str) -> Heading:
    said = _LINK.sub("", said)
    plain = _KEY.sub("", said).strip()
    is_new = _NEW.search(plain) is not None
    if _ALONE.match(plain):
        return Heading(is_new=is_new)
    rest = _ENDS.sub("", _BEGINS.sub("", plain)).strip()
    if rest == plain or not rest:
        return Heading(name=said, is_plain=True)
    noun, colon, name = rest.partition(": ")
    if colon:
        return Heading(_lowered(noun), name)
    if re.search(rf":\s+{_DOING}$", plain, re.IGNORECASE):
        return Heading("page", rest)
    return Heading(name=rest) if _PROPER.search(rest) else Heading(_lowered(rest), is_new=is_new)


@dataclasses.dataclass(frozen=True)
class Value:
    """Value that is put into a field. `mark`: one of MARKED, of something that is chosen or ticked; empty: a text."""

    label: str
    text: str = ""
    mark: str = ""
    takes_the_place: bool = False  # of a text that the field holds

    def __str__(self) -> str:
        if self.mark:
            return f'"{self.label}" {self.mark}'
        said = f'{field_name(self.label)} "{self.text}"'
        return f"{said} {IN_PLACE}" if self.takes_the_place else said


@dataclasses.dataclass(frozen=True)
class Phrase:
    """One sentence or two. `verb`: one of VERBS for its category; `names`: of the thing, first its own."""

    category: str
    verb: str
    noun: str
    names: tuple[str, ...]
    values: tuple[Value, ...]
    button: str
    same: str = ""  # another name of the thing itself

    def __str__(self) -> str:
        values = join_words([str(each) for each in self.values])
        match self.category:
            case "delete":
                return f'{self.verb} {self._thing()}{f" ({values})" if values else ""} with the button "{self.button}".'
            case "create" if values or not self.names:
                noun = with_article(self.noun or "entry")
                where = "".join(f' {"to" if self.verb == "Add" else "in"} "{each}"' for each in self.names[:1])
                where += self._more(self.names[1:])
                return f'{self.verb} {noun}{where}{f" with {values}" if values else ""}, by "{self.button}".'
            case "create":
                where = f'in the row of "{self.names[0]}"{self._more(self.names[1:])}'
                return f'{self.verb} the {self.noun or "entry"} {where}, by "{self.button}".'
            case "configure":
                of = f" of {self._thing()}" if self.names or self.noun else ""
                return f'{self.verb}{of}: {f"{values}. Then " if values else ""}press "{self.button}".'
        if not values:
            return f'Go to {self._thing()} and press "{self.button}".'
        return f'{self.verb} {self._thing()} so that it has {values}, and press "{self.button}".'

    def _thing(self) -> str:
        if not self.names:
            return f"the {self.noun or 'page'}"
        first, *others = self.names
        noun = "" if not self.noun else f"the {self.noun} of " if _VALUE.search(first) else f"the {self.noun} "
        return f'{noun}"{first}"{self._more(others)}'

    def _more(self, others: Sequence[str]) -> str:
        same = f' ("{self.same}")' if self.same else ""
        return same + "".join(f' in "{each}"' for each in others)


def phrase(
    category: str, verb: str, noun: str, places: Sequence[str], values: Sequence[Value], button: str, same: str = ""
) -> Phrase:
    """Phrase that says what is to be done at a place.

    Args:
      noun: what the button is about; empty: it does not say.
      places: what the page is called, the nearest first; same: another name of the thing.
    """
    headings = [read_heading(each) for each in places]
    if category == "edit" and headings and headings[0].is_new and not headings[0].name:
        category, verb = "create", VERBS["create"][VERBS["edit"].index(verb)]  # its button only says that it is kept
    told = next((each.noun for each in headings if each.noun), "")
    noun = noun if category in ("create", "delete") and noun else told or noun
    if not noun and category == "create" and any(_HINT.match(each.label) for each in values):
        noun = "comment"  # a text that is added to what is there
    names = list(dict.fromkeys(each.name for each in headings if each.name))
    is_alike = category == "edit" and not headings[0].is_plain if headings else False
    if len(names) > 1 and not same and (is_alike or (category == "delete" and all(each.is_plain for each in headings))):
        same = names.pop(1)  # the page's own name and the row's, or two cells of a row
    return Phrase(category, verb, noun, tuple(names), tuple(values), button, same)


def field_name(label: str) -> str:
    """Name of a field in an instruction: its label, without what that asks for or quotes."""
    if _HINT.match(label):
        return "text"
    return "title" if _QUOTES.search(label) else _ASKS.sub(r"\1", label)


def join_words(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}" if said else ""


def with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}" if noun else ""


def _lowered(noun: str) -> str:
    return noun.lower() if noun.istitle() or noun.isupper() or noun[:1].isupper() else noun
