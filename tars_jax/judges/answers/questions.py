"""Parsed questions: words that answers may repeat, and the kind of thing that is asked for."""

from __future__ import annotations

import functools
import itertools
import re

from tars_jax.judges.answers.question_forms import asked_part
from tars_jax.judges.answers.words import folded, plain, vocabulary, words

BE = frozenset(["is", "are", "was", "were", "be", "been"])
_HAVE = frozenset(["has", "have", "had"])
_DO = frozenset(["do", "does", "did"])
COPULAS = BE | _HAVE
_MODALS = frozenset(["can", "could", "will", "would", "may", "must", "should", "might", "shall"])
AUXILIARIES = COPULAS | _MODALS | _DO
NEGATIONS = frozenset(["not", "no", "never", "none", "neither", "nor", "without", "except"])
# Said again only where it stands between the same things: each turns what stands beside it.
TURNS = NEGATIONS | vocabulary(
    "before after until till since than or and but if more less over under from half double twice triple almost nearly"
)
PREPOSITIONS = vocabulary(
    "of in on at to from with by for than into onto through against during between per below above near behind beside "
    "inside outside within across along around about as"
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
    "area": "covers size", "when": "date day year", "where": "place",
}  # fmt: skip
_MEASURE_WORDS = vocabulary(" ".join(_MEASURES.values())) | _MEASURES.keys() - vocabulary("many who called when where")
_PEOPLE = frozenset(["people", "inhabitants", "population"])
_MEASURING = frozenset(["measures", "weighs", "stands", "covers", "costs", "cost"])
_UNBENT = vocabulary("beat bet burst cast cut hit hurt let put quit read rid set shed shut split spread")  # in the past
_DETERMINERS = vocabulary(
    "the a an this that these those his her its their each every all most he she it they we you i"
)
_PERSONS = re.compile(
    r"\bwho(?:m|se)?\b|\b(?:actor|actress|artist|author|composer|director|founder|inventor|man|painter|people|person"
    r"|physicist|player|president|scientist|singer|winner|woman|writer)s?\b",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(
    r"\b(?:the|an?) (?:[a-z]+ ){1,4}(?:with|that|which|whose|where|who)\b|\b[a-z]+ [A-Z]\b|\bthat [a-z]+\b"
)
_SHORT_IS = re.compile(r"\b(what|who|where|when|how)'s\b", re.IGNORECASE)
_NAME_OF = re.compile(r"\b(?:title|name) of ", re.IGNORECASE)
_ASKING = r"(?:who|whom|whose|what|which|when|where|why|how)"


@functools.lru_cache(maxsize=256)
def question_of(text: str) -> ParsedQuestion:
    return ParsedQuestion(text)


class ParsedQuestion:
    """`asks_object`: what is asked for stands after the verb when the question is said as a statement."""

    def __init__(self, text: str) -> None:
        self.text = _SHORT_IS.sub(r"\1 is", plain(text))
        asking = [each for each in re.split(r"(?<=[.?!])\s+", self.text) if each.endswith("?")]
        self.describes = len(asking) > 0 and bool(_DESCRIBES.search(self.text))
        asked_in = asking[-1] if asking else self.text
        raw = [asked_in[start:end] for start, end in words(asked_in)]
        self.order = [folded(each).removesuffix("'s") for each in raw if each[0].isalnum()]
        self.names = {folded(each).removesuffix("'s") for each in raw[1:] if each[:1].isupper() or each[:1].isdigit()}
        self._own = frozenset(self.order) | {more for each in self.order for more in _MEASURES.get(each, "").split()}
        self.negations = sum(each in NEGATIONS for each in self.order)
        self.asks_person = bool(_PERSONS.search(self.text))
        self.offers = bool({"or", "and", "than"} & self._own)
        self.offered = _offered(asked_in)
        after = re.search(rf"\b{_ASKING}\b(?P<what>[^,.?]*?)\s(?P<verb>{'|'.join(AUXILIARIES)})\b", self.text, re.I)
        self.asks_object = bool(after) or bool(re.match(rf"(?:in|on|at|from|to|by|for) {_ASKING}\b", self.text, re.I))
        self.auxiliary = folded(after["verb"]) if after else ""
        if after and _has_verb_next(self.auxiliary, self.text[after.end() :]):
            self.asks_object = False  # who will lead the team
        self.is_done_to = bool(after) and _is_done_to(self.auxiliary, self.text[after.end() :] if after else "")
        asked_by = re.match(rf"({'|'.join(PREPOSITIONS)}) {_ASKING}\b", asked_in, re.I)
        self.asks_by = {folded(asked_by[1])} if asked_by else PREPOSITIONS & set(self.order[-1:])
        ends = PREPOSITIONS & set(self.order[-1:] if not asked_by else ["of"] if asked_by[1] in "Of of" else [])
        self.strands = next(iter(ends), "")  # the preposition whose object is asked for
        self.asks_count = bool(re.search(r"\bhow (?:many|often)\b", self.text, re.IGNORECASE))
        self._counted = _counted(self.order) or _counted(folded(asked_part(self.text)).replace(".", "").split())
        unnamed = _NAME_OF.sub("", asked_in)  # the title of the album: the album
        parts = [folded(unnamed[start:end]).removesuffix("'s") for start, end in words(unnamed)]
        self._said = [each for each in parts if each[0].isalnum() and each not in FREE | AUXILIARIES]
        self.things = set() if self.asks_count else _things(asked_in)
        self.head = _head(asked_in)
        nouns = [each for each in self.order if each in self.things]
        self._noun = nouns[-1:]

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

    def is_title(self, words: list[str]) -> bool:
        """Whether words end with the noun that is asked for, and all are of it: capital city, of "the capital city"."""
        return bool(words) and (
            words[-1] == self.head or any(words[-1] == n or _are_akin(words[-1], n) for n in self._noun)
        )

    def is_asked_for(self, word: str) -> bool:
        """Whether a word is the question's for what the answer is."""
        return bool(word) and (word == self.head or self.is_thing(word))

    def is_predicate(self, word: str) -> bool:
        """The oldest, of "which is the oldest"."""
        told = [each for each in self.order if each not in ("the", "a", "an")]
        return any(one in COPULAS and other == word for one, other in itertools.pairwise(told))

    def is_counted(self, word: str) -> bool:
        """Chapter 12 is no count of chapters."""
        first = self._counted[0] if self._counted and self.asks_count else ""
        return bool(first) and (word == first or _are_akin(word, first))

    def is_same(self, word: str, own: str) -> bool:
        """Whether a word is one of the question's, in another form of it, or says its measure."""
        is_form = own not in self.names and len(word) > 2 and _are_akin(word, own)
        return word == own or is_form or word in _MEASURES.get(own, "").split()

    def measures(self, word: str) -> bool:
        """Whether a word names the number that is asked for: length, population, or what is counted."""
        return self.is_counted(word) or (word in self._own and word in _MEASURE_WORDS)

    def before(self, word: str) -> set[str]:
        """Words of the question before such a word, wherever it has it; "" at its beginning. None before one that only
        says its measure."""
        pairs = itertools.pairwise(["", *self._said])
        return {previous for previous, own in pairs if word == own or self.is_form(word, own)}

    def after(self, word: str) -> set[str]:
        return {following for own, following in itertools.pairwise(self._said) if self.is_same(word, own)}

    def joins(self, noun: str, word: str) -> bool:
        """The desktop installer, of "the installer of the desktop"."""
        three = zip(self._said, self._said[1:], self._said[2:], strict=False)
        return any(own == noun and by in ("of", "for", "in") and last == word for own, by, last in three)

    def turns_alike(self, words: list[str], place: int) -> bool:
        """Whether a word that turns another stands between the same ones: in half an hour."""
        said = [each for each in words[place + 1 :] if each not in FREE | AUXILIARIES]
        three = [*words[place - 1 : place + 1], *said[:1]]
        return (
            place > 0 and len(said) > 0 and any(self._said[n : n + len(three)] == three for n in range(len(self._said)))
        )

    def is_verb(self, words: list[str]) -> bool:
        """Whether words end with what the asked thing is the object of, and begin with its subject: the siege lasted,
        of "how long did the siege last"."""
        if len(words) < 2:
            return False
        *subject, last = words
        if last in self.names | TURNS | PREPOSITIONS or not self.has(last) or self.is_counted(last):
            return False
        if self.is_done_to:
            is_bent = last not in self.order or self.auxiliary in {"do", *_HAVE, *subject}
            is_bent = is_bent or last in _MEASURING | _UNBENT
            return is_bent and last not in self.things
        return self.auxiliary not in BE or last in _MEASURING

    def ends_with(self, word: str) -> bool:
        return self.order[-1:] == [word]

    def gives(self, word: str) -> bool:
        """Whether a word may stand beside an answer: the question's own, or one that says nothing."""
        small = folded(word)
        return small in FREE or (small not in TURNS and self.has(word.removesuffix("'s")))

    def counts(self, text: str) -> bool:
        """Whether words after a number say what the question counts, and nothing else: 12 airports."""
        said = text.split()
        if not said or not all(each.isalpha() and each.islower() for each in said):
            return False
        if "per" in self.order and said == self.order[-len(said) :]:
            return True
        if len(said) == 1 and any(said[0] in _PEOPLE and each in _PEOPLE for each in (*self._counted[:1], *self.order)):
            return True
        ends = next((n for n, each in enumerate(self._counted) if each in AUXILIARIES), None)
        runs = [self._counted[n : n + len(said)] for n in range(len(self._counted) if ends is None else ends)]
        is_whole = ends is None or said[-1:] == self._counted[ends - 1 : ends]
        return said in runs and is_whole and not {said[0], said[-1]} & (TURNS | PREPOSITIONS)


def _is_done_to(auxiliary: str, rest: str) -> bool:
    """Whether something else than what is asked for does it: did the king build, will Siemens buy, has Anna written."""
    if auxiliary in _DO:
        return True
    found = [rest[start:end] for start, end in words(rest)]
    is_subject = bool(found) and (found[0].casefold() in _DETERMINERS or found[0][0].isupper())
    if auxiliary in _MODALS:
        return is_subject
    return auxiliary in _HAVE and any(
        is_participle(one) and (not other.isalpha() or other in PREPOSITIONS - {"by", "of"})
        for one, other in zip(found[1:], [*found[2:], "."], strict=False)
    )


def _has_verb_next(auxiliary: str, rest: str) -> bool:
    """Whether the verb stands at once behind "has" or "will", so that what is asked for is its subject."""
    found = [rest[start:end] for start, end in words(rest)]
    if auxiliary in _HAVE:
        return bool(found) and is_participle(found[0])
    is_bare = auxiliary in _MODALS and bool(found) and found[0].islower() and found[0] not in _DETERMINERS
    return is_bare and (not found[1].islower() or found[1] in _DETERMINERS | PREPOSITIONS if found[1:] else True)


def is_participle(word: str) -> bool:
    is_strong = word in _STRONG and word != _STRONG[word].split()[0] and word.endswith(("n", "t", "d", "g", "k", "m"))
    return word.endswith("ed") or word in _UNBENT or is_strong


def _counted(order: list[str]) -> list[str]:
    """From what is counted on: "keys does a piano have", of "how many keys does a piano have"."""
    for n, pair in enumerate(itertools.pairwise(order)):
        if pair in (("how", "many"), ("number", "of"), ("amount", "of"), ("total", "of")):
            rest = order[n + 2 :]
            while rest and (rest[0] in ("of", "the", "these", "those", "all", "different") or rest[0].isdigit()):
                rest = rest[1:]
            return rest
    return []


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
    ends = next((place for place, word in enumerate(found) if word in AUXILIARIES), None)
    if ends == 0:  # "what is the capital of": the capital
        rest = [each for each in found[1:] if each not in ("the", "a", "an")]
        rest = rest[: next((n for n, each in enumerate(rest) if each in PREPOSITIONS), len(rest))]
        return set(rest if found[0] in BE else rest[:1]) - {"called"}  # what will the museum show
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
    if {one[-2:], other[-2:]} == {"er", "st"}:  # larger is not largest
        return False
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared > 2 and all(re.fullmatch(_ENDINGS, each[shared:]) for each in (one, other))
