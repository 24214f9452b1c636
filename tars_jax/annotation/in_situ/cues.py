"""Words by which people say what a sentence is: an announcement, a comment, a correction, talk of other things.

English, and counted, not understood: what is doubtful is for the page where a person looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Collection


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = r"(?:(?:oh|okay|ok|well|so|um|uh|ah|hm+|hmm+|right|yeah|and|but) )*"
_CORRECTION = re.compile(
    _FILLERS + r"(?:(?:"
    r"no+\b(?: no+\b)*(?: (?:wait|actually|sorry|hang on|hold on)\b)?(?: (?:that is|that's|it is|it's|that was)\b)?"
    r"(?: (?:not (?:that|this|the|it)\b(?: one\b)?|wrong\b))?"
    r"|wait (?:no\b|not\b|a (?:second|minute|moment)\b|(?=that\b)|actually\b)|hang on\b|hold on\b"
    r"|actually\b|scratch that\b|never mind\b|nevermind\b|forget that\b|correction\b|on second thoughts?\b"
    r"|(?:oops?|wh?oops?|sorry)\b|i mean\b|i meant\b|not (?:that|this) one\b"
    r"|(?:that is |that's |that was )?(?:the )?wrong(?: one| button)?\b"
    r") )+"
)
_NEVER_A_CORRECTION = re.compile(
    _FILLERS + r"(?:no (?:results?|problem|idea|need|one|luck|more|errors?)|sorry my|sorry to)\b"
)
_CORRECTS_AT_END = re.compile(r"\b(?:instead|not that one|the other one|rather)$")
_TASK_NAMED = re.compile(
    _FILLERS
    + r"(?:now )?(?:(?:the|my|a) )?(?:first|second|third|next|new|another|last) task(?: now)?(?: is)?(?: to)?\b"
)
BARE = re.compile(
    _FILLERS.replace(")*", ")+") + r"?|" + _FILLERS + r"(?:no+|wait|actually|oops?|wh?oops?|sorry|hang on|hold on|hm+)"
    r"(?: (?:no+|wait|sorry))*"
)

_ANNOUNCES = re.compile(
    r"\b(?:i'll|i will|let me|let us|let's|going to|gonna|i need|we need|i have to|we have to|i want|i should|i must"
    r"|i think i|next|first|now i|i would like|looking for|look for|i am \w+ing|i'm \w+ing|we are \w+ing|better"
    r"|should be|has to|must be|then i|time to|i can)\b"
    r"|^(?:so |okay |now |and |then )*"
    r"(?:\w+ing\b|click|open|press|select|choose|type|enter|scroll|drag|copy|paste|save|go to)"
)
_PRAISE = r"good|great|nice|perfect|excellent|cool|fine|wonderful|lovely"
_COMMENTS = re.compile(
    rf"^{_FILLERS}(?:{_PRAISE})\b|\b(?:very|really|looks?|all) (?:{_PRAISE}|right)\b"
    r"|\b(?:worked|opened|there we go|there (?:it|they) (?:is|are)|here (?:it|they) (?:is|are)|here we go|done"
    r"|has been|is saved|was saved|saved|went|did the trick|brought up|it shows|now it"
    r"|that's open|that is open|appeared|is there|that was|came up|finished|this is the|i see|as expected|strange"
    r"|loaded|it is there)\b"
    r"|^(?:yes|alright|all right|yep)\b"
    r"|^(?:\w+ed|sent|gone|found)$"
)
# What is there, or has become of something, by its grammar: "it is all copied", "that makes three", "they have moved".
_STATES = re.compile(
    rf"^{_FILLERS}(?:it|that|this|they|these|those)(?:'s| is| are| was| were| has| have| did| looks?| seems?| makes?"
    r"| shows?| gives?| worked| went)\b|^" + _FILLERS + r"seems?\b"
)

_TASK = _words(
    """
    click clicking press pressing button open opening select selecting choose choosing type typing write writing
    enter entering field box menu scroll scrolling drag dragging drop move moving copy copying paste pasting cut
    save saving store storing close closing search searching tab window page link file folder icon dialog list table
    cell row column clipboard selection document result results loading load loaded wait screen text value option
    options cursor mouse key keyboard shortcut undo redo download upload export import submit confirm cancel delete
    rename insert format settings double context changes find finding name called putting filling fill highlight
    checkbox email password website browser url login account bar panel toolbar row sheet formula slide image hit
    choose below
    """
)
_LIGHT = _words(
    """
    need want next first here this put go use try look looking add change set make show shows it that now there then
    should further down up one right worked opened good
    """
)
_OTHER = _words(
    """
    dinner lunch breakfast coffee tea beer hungry eat eating eaten cook cooking dog cat kid kids child children baby
    mom mum dad mother father wife husband honey darling sister brother friend boyfriend girlfriend ringing weather
    rain raining snow snowing sunny cold hot warm tired sleep slept sleepy headache hurt hurts sick ill doctor
    dentist weekend yesterday tonight tomorrow morning evening night football soccer basketball tennis movie film
    music song concert birthday party holiday vacation door traffic bus train car bike walk school teacher shopping
    grocery groceries neighbor neighbour boss salary outside street house home garden hello hi hey bye goodbye
    thanks thank anna john
    aunt uncle grandma grandpa daughter son friends guests visitor postman mailman nurse kitchen bathroom bedroom
    upstairs downstairs stairs garage balcony roof bell doorbell laundry dishes fridge oven bakery supermarket
    restaurant pizza bread cheese soup meat fruit wine milk cake hungry thirsty parked drive driving bicycle subway
    tooth stomach cough fever medicine hospital pharmacy television guitar piano cinema wedding funeral christmas
    easter summer winter storm wind umbrella pet bird horse
    """
)
_TO_SOMEBODY = re.compile(
    r"\b(?:can|could|did|do|are|have|will|would|were) you\b"
    r"|\b(?:please|with you|see you|call you|tell you|your|you're)\b"
)
_MYSELF = re.compile(
    r"\b(?:i am so|i'm so|my (?:back|head|phone|eyes|neck|boss|car|kids|wife|husband|mother|father))\b"
)


def normal(text: str) -> str:
    """The text in lower case, words apart by one space, without punctuation but apostrophes in words."""
    return " ".join(re.findall(r"[a-z0-9]+(?:'[a-z]+)?", text.lower().replace("\u2019", "'")))


def correction_in(text: str) -> int:
    """The number of words at the beginning of normal text that say that it corrects what was said before; 0: none."""
    if _NEVER_A_CORRECTION.match(text):
        return 0
    if (found := _CORRECTION.match(f"{text} ")) and found[0].strip():
        return len(found[0].split())
    return 0


def task_named_in(text: str) -> int:
    """The number of words at the beginning of normal text that say that another task follows; 0: none."""
    found = _TASK_NAMED.match(text)
    return len(found[0].split()) if found and len(found[0].split()) < len(text.split()) else 0


def corrects(text: str) -> bool:
    return bool(correction_in(text) or _CORRECTS_AT_END.search(text))


def is_bare(text: str) -> bool:
    """A sentence that only begins one: no, wait, okay."""
    return bool(BARE.fullmatch(text)) or correction_in(text) == len(text.split())


def tone(text: str) -> float:
    """Above 0: it announces; below: it comments on what has happened."""
    announces, comments = bool(_ANNOUNCES.search(text)), bool(_COMMENTS.search(text))
    if not announces and not comments and _STATES.search(text):
        return -0.75
    return float(announces) - float(comments)


def is_apart(text: str, known: Collection[str], *, done: bool = False) -> bool:
    """Whether normal text is talk of other things.

    Args:
      known: words of the screen, the task and what was typed.
      done: hands do something right then, which speaks for the work.
    """
    words = text.split()
    other = 1.5 * sum(word in _OTHER and word not in known for word in words)
    other += 1.5 * len(_TO_SOMEBODY.findall(text)) + 1.0 * len(_MYSELF.findall(text))
    task = sum(2.0 if word in known else 1.0 if word in _TASK else 0.25 if word in _LIGHT else 0.0 for word in words)
    return other > task + 1.5 * done


def is_of_the_task(text: str, known: Collection[str]) -> bool:
    """Whether something in normal text speaks of the work, and not only nothing against it."""
    return names_the_task(text, known) or tone(text) != 0


def names_the_task(text: str, known: Collection[str]) -> bool:
    """Whether something in normal text is called as things of the work are."""
    return any(word in known or word in _TASK for word in text.split())
