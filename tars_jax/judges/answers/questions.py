"""What a question gives to its answers: words that may be said again, and what kind of thing it asks for."""

from __future__ import annotations

import functools
import re

from tars_jax.judges.answers.words import folded, plain, words
from tars_jax.judges.statements import vocabulary

COPULAS = frozenset(["is", "are", "was", "were", "be", "been", "has", "have", "had"])
_AUXILIARIES = COPULAS | frozenset(["do", "does", "did", "can", "could", "will", "would", "may"])
NEGATIONS = frozenset(["not", "no", "never", "none", "neither", "nor", "without", "except"])
# Said again only where it stands between the same things: each turns what stands beside it.
TURNS = NEGATIONS | vocabulary(
    "before after until till since than or and but if more less over under from half double twice triple almost nearly"
)
FREE = vocabulary(
    "a an the it this that these those they he she its his her their there is are was were be been has have had do "
    "does did answer correct right final result both"
)
_ENDINGS = r"(?:|s|es|ed|d|ing|e|n|en|er|or|r|ion|ation|ment|y|ies|ied|th|t|st|ity)"
# Verbs that change their vowels, as no ending tells their forms.
_STRONG = {
    form: forms
    for forms in (
        "bear bore born borne", "beat beaten", "become became", "begin began begun", "bind bound", "bite bit bitten",
        "blow blew blown", "break broke broken", "bring brought", "build built", "buy bought", "catch caught",
        "choose chose chosen", "come came", "draw drew drawn", "drink drank drunk", "drive drove driven",
        "eat ate eaten", "fall fell fallen", "feed fed", "feel felt", "fight fought", "find found", "flee fled",
        "fly flew flown", "forget forgot forgotten", "freeze froze frozen", "get got gotten", "give gave given",
        "go goes went gone", "grow grew grown", "hang hung", "hear heard", "hide hid hidden", "hold held",
        "keep kept", "know knew known", "lay laid", "lead led", "leave left", "lend lent", "lie lay lain",
        "lose lost", "make made", "mean meant", "meet met", "pay paid", "ride rode ridden", "ring rang rung",
        "rise rose risen", "run ran", "say said", "see saw seen", "sell sold", "send sent", "shake shook shaken",
        "shine shone", "shoot shot", "sing sang sung", "sink sank sunk", "sit sat", "sleep slept",
        "speak spoke spoken", "spend spent", "stand stood", "steal stole stolen", "strike struck", "swear swore sworn",
        "swim swam swum", "take took taken", "teach taught", "tell told", "think thought", "throw threw thrown",
        "wake woke woken", "wear wore worn", "win won", "wind wound", "write wrote written",
    )
    for form in (*forms.split(), f"{forms.split()[0]}s", f"{forms.split()[0].removesuffix('e')}ing",
                 f"{forms.split()[0]}{forms.split()[0][-1]}ing", f"{forms.split()[0].removesuffix('e')}er")
}  # fmt: skip
_MEASURES = {
    "long": "length measures", "high": "height elevation tall", "tall": "height high stands", "wide": "width",
    "deep": "depth", "heavy": "weight mass weighs", "large": "area size covers", "big": "area size", "old": "age aged",
    "fast": "speed", "people": "population inhabitants", "population": "inhabitants people", "inhabitants": "people",
    "price": "costs cost", "cost": "price", "who": "person", "many": "number total", "called": "name",
    "when": "date day year", "where": "place",
}  # fmt: skip
_PERSONS = re.compile(
    r"\bwho(?:m|se)?\b|\b(?:actor|actress|artist|author|composer|director|founder|inventor|man|painter|people|person"
    r"|physicist|player|president|scientist|singer|winner|woman|writer)s?\b",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(
    r"\b(?:the|an?) (?:[a-z]+ ){1,4}(?:with|that|which|whose|where|who)\b|\b[a-z]+ [A-Z]\b|\bthat [a-z]+\b"
)
_ASKING = r"(?:who|whom|whose|what|which|when|where|why|how)"


@functools.lru_cache(maxsize=256)
def question_of(text: str) -> Question:
    return Question(text)


class Question:
    """`asks_object`: what is asked for stands after the verb when the question is said as a statement."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)
        asking = [each for each in re.split(r"(?<=[.?!])\s+", self.text) if each.endswith("?")]
        self.describes = len(asking) > 0 and bool(_DESCRIBES.search(self.text))
        asked_in = asking[-1] if asking else self.text
        raw = [asked_in[start:end] for start, end in words(asked_in)]
        self.order = [folded(each).removesuffix("'s") for each in raw if each[0].isalnum()]
        self.names = {folded(each) for each in raw[1:] if each[:1].isupper() or each[:1].isdigit()}
        self._own = frozenset(self.order) | {more for each in self.order for more in _MEASURES.get(each, "").split()}
        self.negations = sum(each in NEGATIONS for each in self.order)
        self.asks_person = bool(_PERSONS.search(self.text))
        self.offers = bool({"or", "and", "than"} & self._own)
        self.offered = _offered(asked_in)
        self.is_ordered = bool(re.search(r"\b(?:order(?:ed)?|rank)\b", self.text, re.IGNORECASE))
        after = re.search(rf"\b{_ASKING}\b(?P<what>[^,.?]*?)\s(?P<verb>{'|'.join(_AUXILIARIES)})\b", self.text, re.I)
        self.asks_object = bool(after) or bool(re.match(rf"(?:in|on|at|from|to|by|for) {_ASKING}\b", self.text, re.I))
        self.is_done_to = bool(after and after["verb"].casefold() in ("do", "does", "did"))
        self.asks_count = bool(re.search(r"\bhow (?:many|often)\b", self.text, re.IGNORECASE))
        counted = re.search(r"\bhow many ([^\W\d_]+)", self.text, re.IGNORECASE)
        self.counted = folded(counted[1]) if counted else ""
        self.things = set() if self.asks_count else _things(asked_in)
        self.head = _head(asked_in)

    def has(self, word: str) -> bool:
        """Whether it is the question's own, in another form of it."""
        small = folded(word)
        if small in self._own:
            return True
        if (word[:1].isupper() and small in self.names) or len(small) < 3:
            return False
        return any(_are_akin(small, each) for each in self._own - self.names - TURNS)

    def is_form(self, word: str, own: str) -> bool:
        """Whether a word is another form of one of its own that is no name."""
        return own not in self.names and len(word) > 2 and _are_akin(folded(word), own)

    def is_thing(self, word: str) -> bool:
        """Whether a word is the question's for what it asks for: "which rooms": room."""
        return any(folded(word) == each or _are_akin(folded(word), each) for each in self.things)

    def is_counted(self, word: str) -> bool:
        """Chapter 12 is no count of chapters."""
        return bool(self.counted) and (word == self.counted or _are_akin(word, self.counted))

    def ends_with(self, word: str) -> bool:
        return self.order[-1:] == [word]

    def gives(self, word: str) -> bool:
        """Whether a word may stand beside an answer: the question's own, or one that says nothing."""
        small = folded(word)
        return small in FREE or (small not in TURNS and self.has(word.removesuffix("'s")))

    def counts(self, text: str) -> bool:
        """Whether words after a number say what the question counts: 12 airports."""
        said = text.split()
        return (
            0 < len(said) < 4
            and all(each.isalpha() and each.islower() and self.has(each) and each not in TURNS for each in said)
            and bool(re.search(r"\b(?:how|number|population|total|average|what|which)\b", self.text, re.IGNORECASE))
        )


def _head(question: str) -> str:
    """Friend of "who is her best friend": what the answer is; a sentence about the question's other words is none."""
    match = re.search(
        rf"\b{_ASKING} (?:is|was|are|were)((?: [^\s?,]+)+?)(?: (?:of|in|on|at|for|to|from)\b|[?,]|$)", question, re.I
    )
    is_of = match is not None and (match[0].endswith(" of") or "'s " in match[1])
    return folded(match[1].split()[-1]) if match is not None and is_of else ""


def _things(question: str) -> set[str]:
    """The words of "which football club has", "in which of the rooms": all before the verb, or only the first where no
    rule knows the verb."""
    match = re.search(r"\b(?i:which|what)\b(?: of)?(?: (?:the|these|those))?((?: [^\W\d_A-Z]+\b){1,5})", question)
    found = folded(match[1]).split() if match else []
    ends = next((place for place, word in enumerate(found) if word in _AUXILIARIES), None)
    if ends == 0:  # "what is the capital of": the capital
        rest = [each for each in found[1:] if each not in ("the", "a", "an")]
        return set(rest[: next((n for n, each in enumerate(rest) if each in ("of", "in", "on", "at")), 1)])
    return set(found[:ends] if ends else found[:1])


def _offered(question: str) -> frozenset[str]:
    """Words of what a question offers to choose from: "the Rhine or the Elbe", "which of 2, 4 and 7"."""
    many = r"\b(?i:which)\b[^?]*?\bof\b(?P<of>[^?]+)"
    if (match := re.search(many, question)) and re.search(r",|\b(?:and|or)\b", match["of"]):
        parts = re.split(r",|\b(?:and|or)\b", match["of"])
    elif " or " in question:
        before, _, after = question.partition(" or ")
        *listed, last = before.split(",")
        parts = [*listed[1:], " ".join(last.split()[-1:]), after.split(",")[0]]
    else:
        return frozenset()
    said = [folded(part[start:end]) for part in parts for start, end in words(part)]
    return frozenset(each for each in said if each.isalnum()) - FREE - COPULAS


@functools.lru_cache(maxsize=8192)
def _are_akin(one: str, other: str) -> bool:
    """Forms of one word: complete and completed, play and player; of strong verbs, wrote and written."""
    if not (one.isalpha() and other.isalpha()):
        return False
    if one in _STRONG and _STRONG[one] == _STRONG.get(other):
        return True
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared > 2 and all(re.fullmatch(_ENDINGS, each[shared:]) for each in (one, other))
