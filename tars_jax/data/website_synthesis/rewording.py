"""Instructions that were composed before, said as they are said now. A check, a solution and a site stay as they are.

An instruction is read by the grammar of `phrases.py` and of the one before it, which asked for pages by their headings
('Edit the page of "Edit Ticket" under "Lamp"'). What cannot be read that way stays as it is, so that who is asked twice
changes nothing. Three things are known of several tasks together: a place that makes no difference to what comes out
is not told; where all that say a place say the same one, the others say it, too; and a heading that stands on several
pages is no name of one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tars_jax.data.website_synthesis.phrases import IN_PLACE, MARKED, Phrase, Value, phrase
from tars_jax.data.website_synthesis.questions import asked_for
from tars_jax.data.website_synthesis.task import task_id
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.task import WebsiteTask

DIFFERENT = 3  # places that a form is found at, after which they tell nothing
_SENTENCES = re.compile(r'(?<=")\. (?=[A-Z])')
_OPENING = re.compile(r"^(First, |Then |Finally, |After that, |At last, |Next, |Lastly, )")
_WHERE = r'"[^"]*"(?: (?:under|for|in|of) "[^"]*")*'
_FORMS = {
    "create": re.compile(
        rf'(?P<verb>Create|Add|Make) (?:an?|the) (?P<noun>[^"]+?)(?: (?:at|to|in) (?P<where>{_WHERE}))?'
        r'(?: for "(?P<same>[^"]*)")?(?: with (?P<values>.*))?, by "(?P<button>[^"]*)"'
    ),
    "edit": re.compile(
        rf"(?P<verb>Change|Edit|Update) the page of (?P<where>{_WHERE}) so that it has (?P<values>.*), "
        r'and press "(?P<button>[^"]*)"'
    ),
    "delete": re.compile(
        rf"(?P<verb>Delete|Remove|Get rid of) (?P<where>{_WHERE})"
        r'(?: \("(?P<same>[^"]*)"\)(?P<more>(?: in "[^"]*")*))? with the button "(?P<button>[^"]*)"'
    ),
}
_VALUES = re.compile(
    r'(?:, | and |^)(?P<label>[^"]*?)\s*"(?P<text>[^"]*)"'
    rf"(?: (?P<more>{re.escape(IN_PLACE)}|{'|'.join(sorted(MARKED, key=len, reverse=True))}))?"
)
_QUESTION = re.compile(
    r'What does the column "(?P<column>[^"]*)" say in the row of "(?P<row>[^"]*)" on the page "(?P<page>[^"]*)"\? '
    r"Answer with that text alone\."
)
_LINKS = re.compile(r'(under|for|in|of)? ?"([^"]*)"')
_KIND = re.compile(r"^(?:delete|remove|save|submit|register|create|add|insert|rename)\s+(.+)$", re.IGNORECASE)
_NO_KIND = ("entry", "new entry", "changes")


@dataclasses.dataclass(frozen=True)
class InstructionPart:
    """A part of an instruction: the words that it begins with, and what it asks for."""

    opening: str
    phrase: Phrase


def reword(tasks: Sequence[WebsiteTask]) -> list[WebsiteTask]:
    """Rewords tasks, in their order, each with the id that its words have."""
    told = {task.id: told_in(task.instruction) for task in tasks if task.answer is None}
    known = [(task, parts[0].phrase) for task in tasks if (parts := told.get(task.id)) and len(parts) == 1]
    places = _places(known)
    shared = _shared(tasks)
    found = []
    for task in tasks:
        if question := _QUESTION.fullmatch(task.instruction):
            is_of_site = (task.site, question["page"]) in shared
            said = asked_for(question["column"], question["row"], question["page"], of_site=is_of_site)
            found.append(_with_words(task, said))
            continue
        parts = told.get(task.id)
        said = _said(
            [dataclasses.replace(each, phrase=_placed(task.site, each.phrase, places)) for each in parts or ()]
        )
        found.append(_with_words(task, said))
    return found


def _with_words(task: WebsiteTask, said: str) -> WebsiteTask:
    same = said in ("", task.instruction)
    return task if same else dataclasses.replace(task, id=task_id(task.site, said), instruction=said)


def _shared(tasks: Sequence[WebsiteTask]) -> set[tuple[str, str]]:
    """Sites and headings that several of their pages have: other links lead there, or the site is called that."""
    ways: dict[tuple[str, str], set[object]] = {}
    names = set()
    for task in tasks:
        if question := _QUESTION.fullmatch(task.instruction):
            key = (task.site, question["page"])
            clicks = [each for each in task.about.get("solution", ()) if each.startswith("click")]
            ways.setdefault(key, set()).add(tuple(clicks[:1]))
            site = load_website(task.site)
            if key[1] in site.content_for(task.seed).values() or (
                site.title and _letters(site.title) in _letters(key[1])
            ):
                names.add(key)
    return {key for key, found in ways.items() if len(found) > 1 or key in names}


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def told_in(instruction: str) -> list[InstructionPart] | None:
    """Parts of an instruction, each with what it asks for; None: it is not of this grammar."""
    parts = []
    for sentence in _SENTENCES.split(instruction.removesuffix(".")):
        opening = match[0] if (match := _OPENING.match(sentence)) else ""
        rest = sentence[len(opening) :]
        read = next(_read(rest[:1].upper() + rest[1:]), None)
        if read is None:
            return None
        parts.append(InstructionPart(opening, read))
    return parts


def _read(sentence: str) -> Iterator[Phrase]:
    for category, form in _FORMS.items():
        if (match := form.fullmatch(sentence)) is None:
            continue
        found = match.groupdict()
        linked = _LINKS.findall((found["where"] or "") + (found.get("more") or ""))
        values = list(_values(found.get("values") or ""))
        if "".join(map(str, values)).count('"') < (found.get("values") or "").count('"'):
            return
        same = next((name for link, name in linked if link == "for"), "") or found.get("same") or ""
        places = [name for link, name in linked if link != "for"]
        noun = found.get("noun") or _kind(found["button"])
        if category == "create" and noun == "entry":
            noun = ""
        if category == "create" and same and same not in places:  # a name that the first words lacked
            places, same = [*places, same], ""
        yield phrase(category, found["verb"], noun, places, values, found["button"], same)


def _values(said: str) -> Iterator[Value]:
    for match in _VALUES.finditer(said):
        label, text, more = match["label"].strip(), match["text"], match["more"] or ""
        yield Value(text, "", more) if more in MARKED else Value(label, text, "", more == IN_PLACE)


def _kind(button: str) -> str:
    """Kind of thing that a button is about, in its own words: "Save report" about a report."""
    match = _KIND.match(button)
    return "" if match is None or match[1].lower() in _NO_KIND else match[1].lower()


def _said(parts: Sequence[InstructionPart]) -> str:
    said = []
    for part in parts:
        text = str(part.phrase)
        said.append(part.opening + (text[0].lower() + text[1:] if part.opening else text))
    return " ".join(said)


def _places(known: Iterable[tuple[WebsiteTask, Phrase]]) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
    """By site, noun and button of what is made: the place that is to be told."""
    groups: dict[tuple[str, str, str], list[tuple[WebsiteTask, Phrase]]] = {}
    for task, each in known:
        if each.category == "create" and each.values:
            groups.setdefault((task.site, each.noun, each.button), []).append((task, each))
    found = {}
    for key, group in groups.items():
        names = {each.names for _, each in group if each.names}
        if _all_alike(group) and len(names) == 1 and any(not each.names for _, each in group):
            found[key] = names.pop()
        elif _all_alike(group) and len(names) >= DIFFERENT:
            found[key] = ()
    return found


def _all_alike(group: Sequence[tuple[WebsiteTask, Phrase]]) -> bool:
    """Whether what comes out is the same but for what is put in."""
    seen: dict[tuple[str, str], str] = {}
    for task, each in group:
        given = {value.text for value in each.values}
        for change in task.effect.changes:
            for name, value in change.is_.items():
                if value not in given and seen.setdefault((change.read, name), value) != value:
                    return False
    return len({tuple(change.read for change in task.effect.changes) for task, _ in group}) == 1


def _placed(site: str, each: Phrase, places: Mapping[tuple[str, str, str], tuple[str, ...]]) -> Phrase:
    names = places.get((site, each.noun, each.button)) if each.category == "create" and each.values else None
    return each if names is None else dataclasses.replace(each, names=names)
