"""Functions of a site: its forms and buttons, sorted into categories, the trivial left out."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from tars_jax.data.website_synthesis.driver import can_choose
from tars_jax.data.website_synthesis.exploration import Explored, kind_of
from tars_jax.data.website_synthesis.moves import PageMove, move_to
from tars_jax.data.website_synthesis.view import DRAWN, Control, View, row_of

MOST_SUBMITS = 3  # of one form
CATEGORIES = ("create", "edit", "delete", "configure", "information")
MOST_LIKE_IT = 5  # functions that differ in the object alone
_WORDS = {  # in the order in which they are looked for
    "delete": r"delete|remove|trash|purge|erase|destroy|drop",
    "configure": r"settings?|preferences?|configur\w*|options|setup|administrat\w*|admin|profile",
    "create": r"new|add|create|submit|post|register|compose|publish|append|import|insert|send|enter|attach",
    "edit": r"edit|update|save|change|rename|apply|modify|move|assign|close|reopen|set",
}
CATEGORY_WORDS = {name: re.compile(rf"\b({words})\b", re.IGNORECASE) for name, words in _WORDS.items()}
HEADING_PARTS = re.compile(r"\s*(?::| [|–—-])\s+")
VAGUE = re.compile(r"\b(submit|post|send|enter|register)\b", re.IGNORECASE)  # of what is there, or of something new
KEEPS = re.compile(r"\bsave\b", re.IGNORECASE)  # what is there, or what the address says is new
DECIDES = re.compile("|".join(CATEGORY_WORDS[name].pattern for name in ("delete", "configure")), re.IGNORECASE)
ACCOUNT = re.compile(r"\b(log|sign)[ -]?(in|on|out|off|up)\b|password|captcha|anonymous", re.IGNORECASE)
QUERIES = re.compile(r"\b(search|query|filter|report)\b", re.IGNORECASE)  # of a page: what is sent there asks
SENDS = re.compile(r"\b(save|create|add|delete|rename|submit)\b", re.IGNORECASE)
ENDS = re.compile(r"\b(save|confirm|done|submit|ok|publish|send|apply changes)\b", re.IGNORECASE)
MUST = re.compile(r"\b(?<!not )(not null|required|mandatory)\b", re.IGNORECASE)  # of a hint
LOOKS = re.compile(
    r"\b(search|find|filter|go|preview|export|cancel|reset|refresh|sort|show|hide|view|close|diff|compare|download|print|"
    r"theme|dark|light|help|clear|copy|next|previous|prev|expand|collapse|zoom|back|jump|menu|toggle)\b",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True)
class Field:
    """Something of a function that can be filled in."""

    move: PageMove  # without a value
    kind: str
    label: str
    options: tuple[str, ...] = ()
    value: str = ""  # that is there
    checked: bool = False
    required: bool = False
    low: str = ""
    high: str = ""
    longest: int = -1
    early: bool = False  # it is filled in before the last move of its function's trail
    hint: str = ""  # what the page says of it beside its name


@dataclasses.dataclass(frozen=True)
class SiteFunction:
    """A function of a site: one form or button of one page."""

    category: str
    trail: tuple[PageMove, ...]  # from the start to its page
    places: tuple[str, ...]  # what the page can be called by: its links on the trail, its heading
    button: str
    fields: tuple[Field, ...]
    submit: PageMove
    page: str  # kind of its page's address
    action: str  # path that its form goes to
    object: str | None = None  # the row of a list that its page was reached from; empty: nothing tells it from others
    row: str = ""  # the row of a list that its button stands in, or the one that brought it up
    opener: str = ""  # the button that brought its form up

    @property
    def key(self) -> tuple[str, ...]:
        """A key that is the same for one function reached in two ways."""
        return (self.action, self.button, self.row, *(each.move.name or each.label for each in self.fields))

    @property
    def shape(self) -> tuple[str, ...]:
        """A key that is the same for functions that differ in the object alone."""
        return (self.program, self.button, *(each.move.name or each.label for each in self.fields))

    @property
    def program(self) -> str:
        """Address that its form is sent to, without what tells one object from another."""
        return kind_of(f"//h{self.action}")

    @property
    def family(self) -> tuple[str, str]:
        """A key of the button and its program, whatever its fields."""
        return self.program, self.button


def functions_of(pages: Sequence[Explored]) -> tuple[list[SiteFunction], Counter[str]]:
    """The functions of the explored pages, and how many candidates were left out for which reason."""
    dropped: Counter[str] = Counter()
    found: dict[tuple[str, ...], SiteFunction] = {}
    shapes: Counter[tuple[str, ...]] = Counter()
    owners: dict[str, set[str]] = {}  # of headings and their parts: the pages that say them
    for page in pages:
        for heading in (*page.view.headings, page.view.title):
            for part in (heading, *HEADING_PARTS.split(heading)):
                owners.setdefault(part, set()).add(page.view.path)
    common = {part for part, paths in owners.items() if len(paths) > max(3, len(pages) / 3)}
    shared = {part for part, paths in owners.items() if len(paths) > 1}
    openers = {
        (kind_of(page.view.url), page.trail[-1].label)
        for page in pages
        if page.fresh and not all(each.is_pressed or each.read_only for each in page.fresh)
    }
    for page in sorted(pages, key=lambda each: len(each.trail)):
        for submit, fields in _groups(page):
            reason = trivial(page.view, submit, fields)
            if not reason and (kind_of(page.view.url), submit.label) in openers and submit.form < 0:
                reason = "it only brings up a form"
            if reason:
                dropped[reason] += 1
                continue
            function = _function(page, submit, fields, common, shared)
            if function.key in found:
                dropped["the same function from another page"] += 1
            elif shapes[function.shape] >= MOST_LIKE_IT:
                dropped["further objects of the same function"] += 1
            else:
                found[function.key] = function
                shapes[function.shape] += 1
    return sorted(map(_told_apart(found.values()), found.values()), key=_promise), dropped


def _told_apart(functions: Collection[SiteFunction]) -> Callable[[SiteFunction], SiteFunction]:
    """Gives functions that are alike on several pages the name of their page that no other of them has."""
    owners = Counter((each.button, place.lower()) for each in functions for place in each.places)
    alike = Counter(each.button for each in functions)

    def told(function: SiteFunction) -> SiteFunction:
        own = [each for each in function.places if owners[function.button, each.lower()] == 1]
        if function.object is not None or alike[function.button] < 2 or not own:
            return function
        return dataclasses.replace(function, object=own[-1])

    return told


def _promise(function: SiteFunction) -> tuple[bool, bool, int]:
    """First what says what it does and has fields, near the start."""
    says = any(pattern.search(function.button) for pattern in CATEGORY_WORDS.values())
    return not says, not function.fields, len(function.trail)


def trivial(view: View, submit: Control, fields: Sequence[Control]) -> str:
    """The reason why a form or button makes no task; empty: it makes one."""
    said = f"{submit.label} {submit.name}"
    if any(each.kind == "password" for each in fields) or ACCOUNT.search(said):
        return "it logs in or out"
    if not submit.label:
        return "a button that says nothing"
    if submit.form >= 0 and view.forms[submit.form].method == "get" and not _by_script(submit, fields):
        return "it only looks things up"
    if QUERIES.search(f"{view.heading} {view.path.partition('?')[0]}") and not SENDS.search(said):
        return "it only looks things up"
    if LOOKS.search(said) and not (fields and CATEGORY_WORDS["edit"].search(said)):
        return "it changes only what is shown"
    if submit.around == "frame" and fields and all(each.kind in ("text", "search") for each in fields):
        return "it only looks things up"
    drawn = [each for each in fields if each.kind in DRAWN]
    if any(each.required and not each.value for each in drawn) or (drawn and drawn == list(fields)):
        return "it needs a file or another field that cannot be typed"
    if any(each.required and not each.label and not each.value and each.kind != "radio" for each in fields):
        return "a field that it needs has no name on the page"
    if submit.hit is False:
        return "it is covered"
    if submit.disabled and not any(each.is_typed or each.kind == "select" for each in fields):
        return "it cannot be pressed"
    if not fields and not any(pattern.search(said) for pattern in CATEGORY_WORDS.values()):
        return "a button whose effect its words do not tell"
    return ""


def _by_script(submit: Control, fields: Sequence[Control]) -> bool:
    """Whether a form is sent by a script: an address could not hold fields that have no names."""
    says = any(CATEGORY_WORDS[name].search(submit.label) for name in ("create", "edit"))
    return says and any(each.is_typed and not each.name for each in fields)


def category_of(view: View, submit: Control, fields: Sequence[Control], action: str, opener: str = "") -> str:
    """The category of a function by the words of its button, then of the page and the address, then by whether
    something is there already.

    What was brought up to be made new and is only saved is created.
    """
    if CATEGORY_WORDS["create"].search(opener) and not VAGUE.search(opener) and not DECIDES.search(submit.label):
        return "create"
    prefilled = any(each.is_typed and each.value for each in fields)
    address = re.sub(r"[^a-zA-Z]", " ", action)
    for said in (submit.label, f"{view.heading} {address}"):
        for name, pattern in CATEGORY_WORDS.items():
            if pattern.search(said):
                if name == "edit" and KEEPS.search(said) and not prefilled and CATEGORY_WORDS["create"].search(address):
                    return "create"
                is_vague = name == "create" and VAGUE.search(said) is not None
                return "edit" if is_vague and prefilled else name
    return "edit" if prefilled else "create"


def _groups(page: Explored) -> Iterable[tuple[Control, list[Control]]]:
    """Buttons with the fields that go with them."""
    view = page.view
    offered = view.controls if page.fresh is None else page.fresh
    fields = [each for each in view.controls if not each.is_pressed]
    buttons = [each for each in view.controls if each.kind == "button" and each.type != "reset"]
    for form in sorted({each.form for each in offered if each.form >= 0}):
        inside = [each for each in buttons if each.form == form]
        submits = [each for each in inside if each.type in ("submit", "image")] or inside
        for submit in submits[:MOST_SUBMITS]:
            yield submit, [each for each in fields if each.form == form]
    buttons = [each for each in buttons if each in offered]
    formless = [each for each in fields if _is_formless(each)]
    if page.fresh is not None:
        formless = [each for each in formless if each in page.fresh]
    ends = [each for each in buttons if each.form < 0 and ENDS.search(each.label)]
    if page.fresh is not None and formless and ends:  # the rest are an editor's tools
        buttons = [each for each in buttons if each in ends]
    for control in buttons:
        if control.form < 0 and (page.fresh is not None or control.around == "content"):
            says = any(pattern.search(control.label) for pattern in CATEGORY_WORDS.values())
            yield control, formless if says or page.fresh is not None else []


def _function(
    page: Explored, submit: Control, fields: Sequence[Control], common: Collection[str], shared: Collection[str]
) -> SiteFunction:
    view = page.view
    press = move_to(view, submit)
    opened_by = page.trail[-1] if page.fresh is not None and page.before is None else None
    anywhere = next((each for each in view.controls if opened_by and each.label == opened_by.label), None)
    is_anywhere = anywhere is not None and anywhere.around == "frame"  # the same form, whatever page is behind it
    action = "/" + press.form if press.form else f"/{anywhere.label}" if anywhere and is_anywhere else view.path
    named = (*_early_fields(page), *_fields(view, fields))
    parts = [_own_part(each, common) for each in (*view.headings, view.title)]
    heading = next(filter(None, parts), "")
    followed = list(zip(page.names, _followed(page), strict=False))
    opened = [name for name, move in followed if move.kind == "press" and name != move.label]
    opened += [page.entry] if page.entry else []
    row = ("" if fields else row_of(view, submit)) or (opened[-1] if opened else "")
    names = [*(name for name, move in followed if move.kind == "follow" or name != move.label), heading, row]
    if page.fresh is not None and page.before is None and CATEGORY_WORDS["create"].search(page.trail[-1].label):
        names.append(page.trail[-1].label)  # what says that something new is meant
    names = names[-1:] if is_anywhere and page.trail[-1].label in names else names
    places = tuple(dict.fromkeys(each for each in names if re.search(r"\w\w", each) and each not in common))
    rows = [name for name, move in followed if name != move.label]
    opener = page.trail[-1].label if page.fresh is not None and page.entry != page.trail[-1].label else ""
    category = category_of(view, submit, fields, action, opener)
    told = row or _object(rows, heading, shared)
    if told is None and category == "delete" and all(each in shared for each in places):
        told = ""
    return SiteFunction(
        category, page.trail, places, submit.label, named, press, kind_of(view.url), action, told, row, opener
    )  # fmt: skip


def _fields(view: View, controls: Sequence[Control], *, early: bool = False) -> tuple[Field, ...]:
    """Controls that can be filled in, or chosen of several, and are called by one name alone, as fields."""
    labels = Counter(each.label for each in controls)
    return tuple(
        Field(
            move_to(view, each), each.kind, each.label, tuple(filter(None, _options(each))), each.value, each.checked,
            each.required or MUST.search(each.hint) is not None, each.low, each.high, each.longest, early, each.hint,
        )
        for each in controls
        if each.kind not in DRAWN and not each.read_only and labels[each.label] == 1 and 0 < len(each.label) <= 60
        and not (each.kind == "radio" and each.checked) and each.hit is not False
    )  # fmt: skip


def _early_fields(page: Explored) -> tuple[Field, ...]:
    """Fields that stood on the page before its last button asked for more: they must be filled in before that is
    pressed."""
    if page.before is None:
        return ()
    return _fields(page.before, [each for each in page.before.controls if _is_formless(each)], early=True)


def _is_formless(control: Control) -> bool:
    return not (control.is_pressed or control.read_only or control.form >= 0) and control.around == "content"


def _object(rows: Sequence[str], heading: str, shared: Collection[str]) -> str | None:
    """The row that tells the object, or the page's own heading where no row does; see SiteFunction."""
    if not rows or rows[-1]:
        return rows[-1] if rows else None
    return heading if heading not in shared else ""


def _followed(page: Explored) -> list[PageMove]:
    """The last links and buttons of the trail, one for each name."""
    links = [move for move in page.trail if move.kind in ("follow", "press")]
    return links[len(links) - len(page.names) :]


def _own_part(heading: str, common: Collection[str]) -> str:
    """A heading without what all pages say, such as the site's name before a colon."""
    return "" if heading in common else ": ".join(each for each in HEADING_PARTS.split(heading) if each not in common)


def _options(control: Control) -> tuple[str, ...]:
    """Options that can be chosen by their names."""
    return tuple(each for each in control.options if each != control.value and can_choose(control.options, each))
