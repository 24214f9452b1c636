"""The verbs of instructions and of controls: what each is said to have done, and what words of a page go with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tars_jax.judges.answers.words import vocabulary

ARTICLES = vocabulary("a an the your my new")
BETWEEN = ARTICLES | vocabulary("was were is are has have been now just successfully named called titled")
MESSAGES = vocabulary("message mail email text")
NAMED = vocabulary("named called titled")
KINDS = vocabulary("page file folder note ticket issue repository room item task")

MADE, REMOVED, PUT = ("created", "added", "made"), ("deleted", "removed", "erased"), ("added", "put", "placed")
BOUGHT, SENT, CLOSED = ("bought", "ordered", "purchased"), ("sent",), ("closed",)
ON = ("on", "enabled", "activated", "active", "turned on", "switched on")
OFF = ("off", "disabled", "deactivated", "inactive", "turned off", "switched off")
DONE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("create", "make"), MADE),
    **dict.fromkeys(("add", "put"), PUT),
    **dict.fromkeys(("delete", "remove", "erase"), REMOVED),
    **dict.fromkeys(("buy", "order", "purchase"), BOUGHT),
    **dict.fromkeys(("book", "reserve"), ("booked", "reserved")),
    **dict.fromkeys(("enable", "activate"), ON),
    **dict.fromkeys(("disable", "deactivate"), OFF),
    "send": SENT, "close": CLOSED, "reopen": ("reopened", "opened again", "open"), "open": ("open", "opened"),
    "assign": ("assigned",), "rename": ("renamed",), "move": ("moved",), "publish": ("published",),
    "archive": ("archived",), "cancel": ("cancelled", "canceled"), "star": ("starred",), "submit": ("submitted",),
    "save": ("saved",), "update": ("updated",), "upload": ("uploaded",), "share": ("shared",),
}  # fmt: skip
CHANGED = ("set", "changed", "switched")
CHANGES = frozenset(words for each in DONE.values() for words in each) | frozenset((*CHANGED, "confirmed", "placed"))
GONE = frozenset((*REMOVED, "cancelled", "canceled", "rolled back", "reverted", "discarded", "undone", "withdrawn"))
AGAINST: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (ON, frozenset(OFF)),
    (OFF, frozenset(ON)),
    (CLOSED, frozenset(("open", "reopened", "opened again"))),
    (DONE["open"], frozenset(CLOSED)),
)
# What forms call their fields, and what they do.
NAMES, TEXTS = vocabulary("name title"), vocabulary("text message subject body")
MAKING = vocabulary("new add create make enter edit compose write change set")
STATES = vocabulary("is are")
# What controls are called that send whatever a form holds, and words that say nothing of what.
SENDS = vocabulary("confirm ok okay yes apply done finish continue proceed save submit send post place")
NEUTRAL = ARTICLES | vocabulary("to in into on for of and it now changes settings form this")
LEAVES = vocabulary("close cancel dismiss open hide exit quit back")
ELSEWHERE = vocabulary(
    "ok okay close dismiss hide back home inbox cart files folders pages notes calendar mail menu details view show "
    "next previous overview list profile dashboard go contacts issues tickets orders projects"
)
KEPT = frozenset((*MADE, *PUT, "renamed", "saved", "updated", "assigned", "moved", "submitted"))
SEARCHES = vocabulary("search find filter help about more refresh reload log login sign")
SWITCHES = vocabulary("turn switch toggle")
DEEDS = (
    frozenset(DONE)
    | SWITCHES
    | vocabulary("undo discard revert reset restore clear empty withdraw set change mark logout signout")
)
PAGES_OWN = (
    frozenset(word for words in CHANGES for word in words.split())
    | frozenset(DONE)
    | KINDS
    | MESSAGES
    | NAMES
    | TEXTS
    | MAKING
    | SENDS
    | BETWEEN
)
DENYING_NAMES = vocabulary("nobody none nothing no never not error nowhere")
DENIES = vocabulary("not cannot never no nothing unable failed")
ERRORS = vocabulary("error failed failure unable cannot")
_STATES = vocabulary("on off open active inactive")  # of what nobody needs to have changed
CHANGE_WORDS = frozenset((*(word for word in CHANGES if " " not in word), "turned", *CHANGED)) - _STATES


def is_error(tokens: Sequence[str]) -> bool:
    """Whether it begins with an error."""
    return tokens[0].casefold() in ERRORS and (len(tokens) == 1 or tokens[1] in (":", "to"))


def tells_a_change(tokens: Sequence[str]) -> bool:
    """Whether it says, in whatever words, that something was changed; a denial changes nothing."""
    folded = [token.casefold() for token in tokens]
    return not CHANGE_WORDS.isdisjoint(folded) and DENIES.isdisjoint(folded)


def tells_a_deed(label: Sequence[str]) -> bool:
    """Whether a control of this name changes something, by a verb of its own."""
    words = words_in(label)
    return not (DEEDS - LEAVES).isdisjoint(words) or ("out" in words and not SEARCHES.isdisjoint(words))


def words_in(label: Iterable[str]) -> set[str]:
    """Words of a label without their case, names with signs in them whole ("cv.pdf"), but no signs alone."""
    return {token.casefold() for token in label if any(map(str.isalnum, token))}


def leads_on(label: Sequence[str]) -> bool:
    """Whether a control of this name is known to open another page, or a form, or to close one."""
    return words_in(label) <= ELSEWHERE | NEUTRAL | LEAVES | KINDS | MESSAGES | MAKING | SEARCHES
