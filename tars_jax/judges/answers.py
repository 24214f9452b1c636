"""Whether an answer says what the reference says, and nothing against it.

An answer is read as it is spoken: in clauses. One of them must commit to the reference, by its type: a number with its
unit (`quantities.py`), a day or a span (`dates.py`), yes or no, a list, or a name (`names.py`), in words of the question
and such as answers are put in ("I think it is ..."). Another clause that commits to something else of the same kind, an
"or", a "not" are against it; what only explains, or speaks to the judge, is neither. What comes after "no, wait" or "final
answer:" takes the place of what came before it.

Alternatives of a reference stand between ` || `. A reference that ends with ` ||` is closed: these are all the names
that the thing has. Another name than that of an open reference may be an alias: whoever has no encyclopedia cannot say.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence

import pint

from tars_jax.judges import names
from tars_jax.judges.dates import compare_dates, compare_times, dates_in, read_date, read_time, times_in, weekdays
from tars_jax.judges.judge import CannotSay
from tars_jax.judges.quantities import Quantity, Same, compare, quantities_in, read_quantity, unit_of
from tars_jax.judges.speech import (
    ASKS_WHEN,
    BARRED,
    BOUNDS,
    CONTRAST,
    COPULAS,
    CORRECTIONS,
    DESCRIBES,
    FRAMES,
    JOINS,
    KINDS,
    MARKERS,
    NEGATIONS,
    OPEN,
    PREPOSITIONS,
    REFUSALS,
    RELATIONS,
    STARTS,
    TITLES,
    TO_THE_JUDGE,
    VAGUE,
    WRONG,
)  # fmt: skip
from tars_jax.judges.words import Word, folded, plain, roman_as_figures, spoken, tokens

ALTERNATIVES = " || "
LONGEST = 4000  # characters of an answer; more is none
_RIGHT, _RIVAL, _UNSURE = "\ue001", "\ue002", "\ue003"  # stand for numbers and days of the reference's kind
_SIGNS = {Same.YES: _RIGHT, Same.UNSURE: _UNSURE, Same.NO: _RIVAL, Same.OTHER: _RIVAL}


def says_the_same(answer: str, reference: str, question: str = "") -> bool:
    """Raises CannotSay where that needs knowledge, or a reader that understands more than clauses."""
    if len(answer) > LONGEST or not answer.strip():
        return False
    wanted = [plain(each) for each in alternatives(reference)]
    is_closed = reference.rstrip().endswith(ALTERNATIVES.rstrip())
    if not wanted:
        return False
    asked = plain(question)
    said = spoken(answer)
    if question and said.casefold().startswith(asked.casefold()):
        said = said[len(asked) :].strip()
    judge = _Judge(wanted, asked, is_closed)
    said = BARRED.sub(" not ", re.sub(r"\b(?:none|no one) other than\b", " ", said, flags=re.IGNORECASE))
    parts = _committed(said, judge)
    if any(part != said for part in parts) and judge.has_reference(said) and not all(map(judge.has_reference, parts)):
        return False  # it was taken back
    verdicts = [judge.verdict(part) for part in parts]
    if False in verdicts:
        return False
    unsure = [each for each in verdicts if isinstance(each, str)]
    if unsure:
        raise CannotSay(unsure[0])
    return True


def alternatives(reference: str) -> list[str]:
    """The ways to say a reference."""
    return [each.strip() for each in reference.split(ALTERNATIVES.strip()) if each.strip()]


def _committed(said: str, judge: _Judge) -> list[str]:
    """What an answer ends with: after "final answer:", where several must all be right; after the last correction."""
    marked = [match for match in MARKERS.finditer(said)]
    if marked:
        ends = [*(match.start() for match in marked[1:]), len(said)]
        parts = [said[match.end() : end] for match, end in zip(marked, ends, strict=True)]
        filled = [part for part in parts if re.search(r"\w", part)]
        if filled:
            numbered = [part for part in filled]
            return [_corrected(part, judge) for part in numbered]
    return [_corrected(said, judge)]


def _corrected(said: str, judge: _Judge) -> str:
    cues = [
        match
        for match in CORRECTIONS.finditer(said)
        if not (judge.is_yes_or_no and "no" in match[0].casefold().split())
    ]
    for cue in reversed(cues):
        after = said[cue.end() :]
        if judge.commits(after):
            return after
    return said


@dataclasses.dataclass
class _Clause:
    words: list[Word]
    before: str  # the mark or the word that joins it to the one before
    label: tuple[Word, ...] = ()  # what stands before the colon before it
    after: str = ""
    right: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # places of the reference

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]

    @property
    def is_negated(self) -> bool:
        found = self.texts
        for place, text in enumerate(found):
            if text in NEGATIONS and not (
                text == "not" and found[place + 1 : place + 2] in (["sure"], ["certain"], ["only"])
            ):
                if not (text == "not" and set(found[place + 1 : place + 3]) & {"sure", "certain"}):
                    return True
        return False


class _Judge:
    def __init__(self, references: Sequence[str], question: str, is_closed: bool) -> None:
        self._references, self._question = references, question
        asked = [each for each in tokens(question) if isinstance(each, Word)]
        self._is_choice = bool(re.search(r"\bor\b|\bwhich (?:one )?of\b|\bbetween\b", question, re.IGNORECASE))
        own = (
            {word.text for each in references for word in names.words_of(each)}
            if any("," in each for each in references)
            else set()
        )
        self._asked = ({word.text for word in asked} | own) - names.SMALL
        self._offered = (
            {word.text for number, word in enumerate(asked) if word.capital and number} if self._is_choice else set()
        )
        if self._is_choice:
            self._offered |= _lower_choices(question)
        self._shouts = False
        self._is_described = bool(DESCRIBES.search(question))
        self._has_days = any(read_date(each) is not None for each in references)
        self._kinds = [_kind(each, question) for each in references]
        self.is_closed = is_closed or any(names.is_code(each) for each in references) or bool(self._offered)
        self.is_yes_or_no = any(kind == "yes or no" for kind in self._kinds)
        self._is_lower = all(not word.capital for each in references for word in names.words_of(each))
        self._has_letters = all(re.search(r"[^\W\d_]", each) for each in references)
        self._letters = any(len(each) == 1 and each.isalpha() for each in references)
        self._has_figures = all(re.search(r"\d", each) for each in references)

    # ---- the reference's types

    def verdict(self, said: str) -> bool | str:
        """True, False, or why nobody can say."""
        self._shouts = said.isupper()
        found: list[bool | str] = []
        named = [each for each, kind in zip(self._references, self._kinds, strict=True) if kind == "name"]
        for each, kind in zip(self._references, self._kinds, strict=True):
            if kind == "yes or no":
                found.append(self._polarity(said, each))
            elif isinstance(kind, tuple):
                found.append(self._list(said, kind))
            elif callable(kind):
                found.append(self._typed(said, each, kind))
        if named:
            found.append(self._named(said, named))
        if True in found:
            return True
        return next((each for each in found if isinstance(each, str)), False)

    def has_reference(self, said: str) -> bool:
        targets = [
            names.words_of(each) for each, kind in zip(self._references, self._kinds, strict=True) if kind == "name"
        ]
        marks = [kind for kind in self._kinds if callable(kind)]
        named = any(clause.right for clause in _clauses(said, targets)) if targets else False
        return named or any(_RIGHT in mark(said) for mark in marks) or not (targets or marks)

    def commits(self, said: str) -> bool:
        """Whether there is anything of the reference's kind in a text."""
        if self.is_yes_or_no:
            return bool(re.search(r"\b(?:yes|no)\b", said, re.IGNORECASE))
        for kind in self._kinds:
            if callable(kind) and re.search(f"[{_RIGHT}{_RIVAL}{_UNSURE}]", kind(said)):
                return True
        if all(callable(kind) for kind in self._kinds):
            return False
        return any(self._content(clause) for clause in _clauses(said, []))

    def _typed(self, said: str, reference: str, mark: Callable[[str], str]) -> bool | str:
        clauses = _clauses(mark(said), [], marks=True)
        for clause in clauses:
            clause.right = [(n, n + 1) for n, word in enumerate(clause.words) if word.raw == _RIGHT]
        if not any(clause.right for clause in clauses):
            if any(word.raw == _UNSURE for clause in clauses for word in clause.words):
                return f"{reference!r:.80} may be meant, by another custom or more exactly"
            if names.is_of_other_script(said, reference) and not re.search(r"\d", said):
                return f"{said!r:.60} is in another script than {reference!r:.60}"
            return False
        return self._weigh(clauses, self._is_typed_rival)

    def _is_typed_rival(self, clause: _Clause, clauses: Sequence[_Clause]) -> bool | str:
        if not any(word.raw in (_RIVAL, _UNSURE) for word in clause.words) or clause.is_negated:
            return False
        if self._content(clause) and clause.before not in ("or", "/"):
            return False
        return "a number beside it is another" if all(word.raw != _RIVAL for word in clause.words) else True

    def _named(self, said: str, references: Sequence[str]) -> bool | str:
        targets = [names.words_of(each) for each in references]
        targets += [shorter for each in references if (shorter := _without_country(each))]
        clauses = _clauses(said, [each for each in targets if each])
        if any(clause.right for clause in clauses):
            return self._weigh(clauses, self._is_named_rival)
        known = self._known(clauses, references)
        if known is not None:
            return known
        return self._absent(said, clauses, references)

    def _known(self, clauses: Sequence[_Clause], references: Sequence[str]) -> bool | None:
        """What CLDR says of the one name in an answer."""
        candidates = [clause for clause in clauses if self._content(clause) and not clause.is_negated]
        if len(candidates) != 1:
            return None
        content = [word.raw for word in candidates[0].words if not self._is_free(word)]
        every = " ".join(word.raw for word in candidates[0].words)
        for text in (every, " ".join(content)):
            found = [names.knows_better(text, each) for each in references]
            if True in found:
                return True
            if found and all(each is False for each in found):
                return False
        return None

    def _absent(self, said: str, clauses: Sequence[_Clause], references: Sequence[str]) -> bool | str:
        """The reference is not there: another answer, none at all, or an alias, which nobody here can know."""
        content = [clause for clause in clauses if self._content(clause) and not self._speaks_to_the_judge(clause)]
        if not content:
            return False
        if names.is_of_other_script(said, " ".join(references)):
            return f"{said!r:.60} is in another script than {references[0]!r:.60}"
        if self.is_closed or REFUSALS.search(said) or VAGUE.search(said):
            return False
        if len(content) > 1 and any(clause.before in ("or", "/") for clause in content[1:]):
            return False
        if sum(clause.before in (",", "and", "\n") for clause in content[1:]) > 1:
            return False
        if not self._is_lower and not any(self._name_in(clause) for clause in content):
            return False
        return f"whether {said!r:.60} is another name of {references[0]!r:.60} has to be known"

    def _speaks_to_the_judge(self, clause: _Clause) -> bool:
        return bool({word.text for word in (*clause.label, *clause.words)} & (TO_THE_JUDGE - self._asked))

    def _name_in(self, clause: _Clause) -> bool:
        words = [word for word in clause.words if not self._is_free(word)]
        return any(word.capital for word in words) and not (
            len(clause.words) > 2 and words == [clause.words[0]] and len(words) == 1
        )

    # ---- clauses

    def _weigh(
        self, clauses: Sequence[_Clause], is_rival: Callable[[_Clause, Sequence[_Clause]], bool | str]
    ) -> bool | str:
        own = [clause for clause in clauses if clause.right]
        first = clauses.index(own[0])
        is_open = any(OPEN.search(" ".join(clause.texts)) for clause in clauses[: first + 1])
        reasons: list[str] = ["it may be one of several"] if is_open else []
        is_clean = False
        last = 0
        for clause in own:
            found = self._is_clean(clause)
            if found is True:
                is_clean, last = True, clauses.index(clause)
            elif isinstance(found, str):
                reasons.append(found)
        if not is_clean and not reasons:
            return False
        for number, clause in enumerate(clauses):
            if clause in own:
                if (
                    clause.before == "or"
                    and number
                    and not clauses[number - 1].right
                    and self._content(clauses[number - 1])
                ):
                    return False
                continue
            rival = is_rival(clause, clauses)
            if rival is True:
                return False
            if isinstance(rival, str):
                reasons.append(rival)
                is_clean = False
            content = self._content(clause)
            if clause.before == "or" and content:
                reasons.append("it leaves a choice")
                is_clean = False
            if number > last and set(clause.texts) & WRONG and not content - WRONG:
                return False
            if number > last and clause.is_negated and not content and clause.before != "(":
                reasons.append("it takes something back")
                is_clean = False
        return True if is_clean and not is_open else (reasons[0] if reasons else False)

    def _is_clean(self, clause: _Clause) -> bool | str:
        """Whether a clause with the reference commits to it; why it is unclear."""
        covered = {place for start, end in clause.right for place in range(start, end)}
        rest = [(place, word) for place, word in enumerate(clause.words) if place not in covered]
        texts = clause.texts
        if clause.is_negated:
            return False
        start, end = clause.right[0]
        follower = clause.words[end] if end < len(clause.words) else None
        leader = clause.words[start - 1] if start else None
        if any(clause.words[stop - 1].is_possessive for _, stop in clause.right) and follower is not None:
            return "something of it is meant"
        if (
            follower is not None
            and len(follower.text) == 1
            and end + 1 == len(clause.words)
            and not self._is_marked(clause)
        ):
            return False  # vitamin A is not vitamin
        if follower is not None and follower.capital and not self._is_marked(clause) and not self._is_asked(follower):
            if follower.text not in FRAMES or follower.text in KINDS:
                return False  # Mexico City is not Mexico
        is_titled = leader is not None and self._is_title(leader, start == 1)
        if (
            leader is not None
            and leader.capital
            and not self._is_free(leader)
            and not self._is_marked(clause)
            and not is_titled
        ):
            return f"whether {leader.raw!r:.40} makes it another has to be known"
        if any(word.raw in (_RIVAL, _UNSURE) for _, word in rest):
            return "another number stands beside it"
        compared = (
            self._offered | {"than", "over", "versus", "vs"}
            if self._offered & {word.text for _, word in rest}
            else set()
        )
        if compared and not self._is_compared(clause, start):
            return False
        if self._is_marked(clause) and leader is not None and leader.text in BOUNDS:
            return False
        if set(texts) & RELATIONS:
            return "what it says of it has to be understood"
        if self._is_turned_round(clause, start, end):
            return False
        free_until = end
        verbs = 1 if self._is_marked(clause) else 0  # an amount is one whatever is done with it
        for place, word in [*rest, *((0, word) for word in clause.label)]:
            if self._is_free(word) or (is_titled and place == start - 1) or word.text in compared:
                continue
            if self._is_marked(clause) and word.text == "between":
                continue
            if self._is_described and word.capital and place < start and set(texts[place + 1 : start]) & COPULAS:
                continue  # the question describes what the answer names
            if verbs and place < start and word.raw.islower() and place and unit_of(word.raw) is None:
                verbs -= 1
                continue
            if (
                place > end
                and self._has_verb(texts[:start])
                and set(texts[end:place]) & PREPOSITIONS
                and "of" not in texts[end:place]
            ):
                free_until = place
                continue
            if leader is not None and leader.text == "of" and word.text in KINDS:
                continue
            return f"what {word.raw!r:.40} says of it has to be understood"
        if self._is_part_of_subject(texts[:start]):
            return "another thing is said to be it"
        return True

    def _is_marked(self, clause: _Clause) -> bool:
        return any(word.raw in (_RIGHT, _RIVAL, _UNSURE) for word in clause.words)

    def _is_title(self, word: Word, is_first: bool) -> bool:
        return (
            word.text in TITLES
            or any(names.akin(word.text, each) for each in self._asked)
            or (is_first and word.text in KINDS)
        )

    def _is_part_of_subject(self, before: Sequence[str]) -> bool:
        """Of "the protagonist's best friend" the answer speaks of the protagonist."""
        for owner, owned in re.findall(r"(\w+)'s (\w+(?: \w+)?)", folded(self._question)):
            if owner in before and not any(names.akin(each, part) for part in owned.split() for each in before):
                return True
        return False

    def _is_compared(self, clause: _Clause, start: int) -> bool:
        """As in "Paris is larger than Lyon", where the question asks which is larger."""
        texts = clause.texts
        other = min(
            place
            for place, text in enumerate(texts)
            if text in self._offered and not any(a <= place < b for a, b in clause.right)
        )
        return other > start and bool(set(texts[start:other]) & {"than", "over", "not", "versus", "vs"})

    def _has_verb(self, before: Sequence[str]) -> bool:
        return len(before) > 1 or bool(set(before) & {"is", "was", "are", "were", "in", "by"})

    def _is_turned_round(self, clause: _Clause, start: int, end: int) -> bool:
        """As "the capital of Paris is France", where the capital of France was asked for."""
        before = [text for text in clause.texts[:start] if text not in names.ARTICLES]
        after = clause.texts[end:]
        if (
            before
            and before[-1] in ("of", "in", "than")
            and (before[-1] == "than" or (after and after[0] in ("is", "was", "are", "were") and len(after) > 1))
        ):
            return True
        return False

    def _is_free(self, word: Word) -> bool:
        text = word.text
        if word.raw.isupper() and len(text) > 1 and text in FRAMES and not self._shouts:
            return False
        if text in self._offered or (self._letters and len(text) == 1 and word.capital):
            return False
        return (
            text in FRAMES
            or (self._has_days and text in weekdays())
            or any(names.akin(text, each) for each in self._asked)
            or text in ("\ue001",)
        )

    def _is_asked(self, word: Word) -> bool:
        return word.text not in self._offered and any(names.akin(word.text, each) for each in self._asked)

    def _content(self, clause: _Clause) -> set[str]:
        return {
            word.text
            for word in (*clause.label, *clause.words)
            if not self._is_free(word) and word.raw not in (_RIGHT, _RIVAL, _UNSURE)
        }

    def _is_named_rival(self, clause: _Clause, clauses: Sequence[_Clause]) -> bool | str:
        """Whether a clause without the reference is an answer, too."""
        content = [word for word in clause.words if not self._is_free(word)]
        if not content or clause.is_negated or len(content) > 5 or not self._is_one_run(clause, content):
            return False
        first = clause.words.index(content[0])
        if {"a", "an"} & set(clause.texts[:first]) and content[0].capital:
            return False  # it is described
        if any(not self._is_free(word) for word in clause.label) or self._is_explained(clause, clauses):
            return False
        if clause.after == ":" and clause.texts[0] not in ("either", "possibly"):
            return False
        if any(self._is_shortened(word, clauses) for word in content):
            return False
        listed = (
            clause.before in JOINS
            or (clause.before == "\n" and not self._is_lower)
            or (clause.before == "" and clause.after in (",", "/", "\n", "?"))
        )
        is_offered = all(word.text in self._offered for word in content)
        if is_offered:
            return True
        if self._has_figures and not any(re.search(r"\d", word.raw) for word in content):
            return "it leaves a choice" if clause.before in ("or", "/") else False
        if self._has_letters and not any(word.raw[0].isalpha() for word in content):
            return False
        if self._is_lower:
            return (
                listed
                and len(content) <= max(self._length, 2)
                and clause.before != "\n"
                and len(clause.words) <= len(content) + 4
            )
        if not all(word.capital or word.raw[0].isdigit() for word in content):
            return clause.before in ("or", "/")
        if not listed and all(word.raw.isupper() and len(word.raw) > 1 for word in content):
            return False
        text = " ".join(word.raw for word in content)
        own = any(
            names.is_territory(" ".join(word.raw for word in each.words[a:b]))
            for each in clauses
            for a, b in each.right
        )
        if clause.before in (",", "(") and names.is_territory(text) and not own:
            return f"whether it lies in {text!r:.40} has to be known"
        if not listed and len(clause.words) == 1 and clause.before not in ("", ";", "?"):
            return f"whether {text!r:.40} is meant has to be understood"
        return True

    @property
    def _length(self) -> int:
        return max(len(names.words_of(each)) for each in self._references)

    def _is_shortened(self, word: Word, clauses: Sequence[_Clause]) -> bool:
        """Goethestr. beside Goethestraße."""
        targets = {each.text for clause in clauses for a, b in clause.right for each in clause.words[a:b]}
        return (
            len(word.text) > 3
            and word.text.isalpha()
            and any(target.startswith(word.text) and target != word.text for target in targets)
        )

    def _is_one_run(self, clause: _Clause, content: Sequence[Word]) -> bool:
        """A name is one run of words; a sentence about it has more."""
        places = [place for place, word in enumerate(clause.words) if word in content]
        between = clause.words[places[0] : places[-1] + 1]
        return all(word in content or word.text in names.SMALL - {"in"} for word in between)

    def _is_explained(self, clause: _Clause, clauses: Sequence[_Clause]) -> bool:
        """ "H2, that is, hydrogen"."""
        later = [each for each in clauses[clauses.index(clause) + 1 :]][:1]
        return any(each.texts[:2] == ["that", "is"] or each.texts[0] in ("ie", "namely") for each in later)

    # ---- yes or no, lists

    def _polarity(self, said: str, reference: str) -> bool | str:
        wanted = _as_yes_or_no(reference)
        clauses = _clauses(said, [])
        told = []
        for number, clause in enumerate(clauses):
            texts = [_as_yes_or_no(text) or text for text in clause.texts]
            spoken_out = [
                text
                for place, text in enumerate(texts)
                if text in ("yes", "no")
                and (place == 0 or texts[place - 1] in FRAMES | CONTRAST)
                and (text == "yes" or place == len(texts) - 1 or (place == 0 and (number == 0 or clause.before == "or")))
            ]
            told += spoken_out
            if (
                not spoken_out
                and told
                and number
                and not self._content(clause) - {"not"}
                and clause.before in (",", "but", ";", "")
            ):
                if told[0] == "yes" and clause.is_negated:
                    return "it takes something back"
        if not told:
            return self._echoed(clauses, wanted)
        if len(set(told)) > 1:
            return False
        if REFUSALS.search(said) and len(clauses) == 1 and "?" in said:
            return False
        return told[0] == wanted

    def _echoed(self, clauses: Sequence[_Clause], wanted: str) -> bool | str:
        if len(clauses) == 1:
            clause = clauses[0]
            share = sum(any(names.akin(text, each) for text in clause.texts) for each in self._asked - FRAMES)
            if not self._content(clause) - NEGATIONS and share and share * 2 >= len(self._asked - FRAMES):
                return ("no" if clause.is_negated else "yes") == wanted
        if not any(self._content(clause) for clause in clauses) or any(
            REFUSALS.search(" ".join(clause.texts)) for clause in clauses
        ):
            return False
        return "it says neither yes nor no"

    def _list(self, said: str, parts: tuple[str, ...]) -> bool | str:
        marked, typed = said, []
        targets: list[tuple[Word, ...]] = []
        for part in parts:
            kind = _kind(part, "")
            if callable(kind):
                typed.append((part, kind))
            else:
                targets.append(names.words_of(part))
        clauses = _clauses(marked, targets)
        found = {
            target
            for clause in clauses
            for a, b in clause.right
            for target in targets
            if _is_target(clause.words[a:b], target)
        }
        missing = [target for target in targets if target not in found]
        for part, kind in typed:
            if _RIGHT not in kind(said):
                return False
        if typed and not targets and re.search(r"\border\b", self._question, re.IGNORECASE):
            places = [kind(said).index(_RIGHT) for _, kind in typed]
            if places != sorted(places):
                return False
        if typed and not targets:
            figures = len(re.findall(rf"[{_RIGHT}{_RIVAL}{_UNSURE}]", typed[0][1](said)))
            if figures != len(typed):
                return False
            return True
        rivals = [clause for clause in clauses if not clause.right and self._is_named_rival(clause, clauses) is True]
        content = {text for clause in clauses if clause.right for text in self._uncovered(clause)}
        if any(clause.is_negated and clause.right for clause in clauses) or any(
            clause.before == "or" for clause in clauses
        ):
            return False
        if VAGUE.search(said) or re.search(r"\b(?:etc|others|more|among others)\b", said, re.IGNORECASE):
            return False
        if missing:
            return (
                "whether another name is one of the list has to be known"
                if len(rivals) >= len(missing) and not self.is_closed
                else False
            )
        if rivals:
            return False
        if content:
            return f"what {sorted(content)[0]!r:.40} says of it has to be understood"
        if re.search(r"\bin (?:\w+ )?order\b|\bchronological", self._question, re.IGNORECASE):
            places = [
                next(
                    n
                    for n, clause in enumerate(clauses)
                    if any(_is_target(clause.words[a:b], target) for a, b in clause.right)
                )
                for target in targets
            ]
            return places == sorted(places)
        return True

    def _uncovered(self, clause: _Clause) -> set[str]:
        covered = {place for start, end in clause.right for place in range(start, end)}
        return {
            word.text for place, word in enumerate(clause.words) if place not in covered and not self._is_free(word)
        }


def _is_target(words: Sequence[Word], target: Sequence[Word]) -> bool:
    return names.match(words, 0, target) == len(words)


def _kind(reference: str, question: str) -> str | tuple[str, ...] | Callable[[str], str]:
    """yes or no, name, the parts of a list, or what marks numbers or days of that kind in a text."""
    if _as_yes_or_no(reference):
        return "yes or no"
    if (time := read_time(reference)) is not None:

        def mark_times(said: str) -> str:
            return _marked(said, ((a, b, _SIGNS[compare_times(found, time)]) for a, b, found in times_in(said)))

        return mark_times
    figures = roman_as_figures(reference)
    day = read_date(reference)
    if day is not None and (not day.is_bare or day.to or not question or ASKS_WHEN.search(question)):

        def mark_days(said: str) -> str:
            said = re.sub(r"\b[MDCLXVI]{2,}\b", lambda found: roman_as_figures(found[0]), said)
            return _marked(said, ((a, b, _SIGNS[compare_dates(found, day)]) for a, b, found in dates_in(said)))

        return mark_days
    if figures == reference and (wanted := read_quantity(reference, question)) is not None:
        shares = bool(re.search(r"\b(?:share|fraction|proportion|ratio|part)\b", question, re.IGNORECASE))
        asks_zero = wanted.value == 0

        def mark_numbers(said: str) -> str:
            if asks_zero:
                said = re.sub(r"\b(?:none|no|zero)\b", "0", said, flags=re.IGNORECASE)
            return _marked(said, _signs(said, wanted, shares, question))

        return mark_numbers
    parts = _parts(reference, question)
    return parts if len(parts) > 1 else "name"


def _signs(said: str, wanted: Quantity, shares: bool, question: str) -> Iterator[tuple[int, int, str]]:
    found = list(quantities_in(said))
    exact = any(compare(each, wanted, shares=shares) is Same.YES for _, _, each in found)
    for start, end, each in found:
        same = compare(each, wanted, shares=shares)
        if (
            same is Same.YES
            and each.unit is None
            and isinstance(wanted.unit, pint.Unit)
            and _counts(said[end:], question)
        ):
            same = Same.UNSURE
        if same is Same.OTHER or (same is Same.NO and _is_in_question(said[start:end], question)):
            continue
        if same is Same.UNSURE and exact:
            continue  # more exact beside it
        year = re.fullmatch(r"[12]\d{3}", said[start:end]) and re.search(
            r"\b(?:in|since|of|by|until|from|for|census|\() ?$", said[:start], re.IGNORECASE
        )
        if same is Same.NO and year:
            continue
        yield start, end, _SIGNS[same]


def _counts(after: str, question: str) -> bool:
    """Whether a number without a unit counts what the question names: 37 respondents are no 37 %."""
    noun = re.match(r" ([^\W\d_]{3,})", after)
    return bool(noun and noun[1].casefold() not in FRAMES and re.search(rf"\b{noun[1]}\b", question, re.IGNORECASE))


def _is_in_question(text: str, question: str) -> bool:
    return bool(re.search(rf"(?<![\w.,]){re.escape(text)}(?![\w]|[.,]\d)", question))


def _marked(text: str, found: Iterator[tuple[int, int, str]]) -> str:
    pieces, done = [], 0
    for start, end, sign in found:
        pieces += [text[done:start], f" {sign} "]
        done = end
    return "".join((*pieces, text[done:]))


def _parts(reference: str, question: str) -> tuple[str, ...]:
    """Of a list; a reference of two that a comma parts is one place, or a list where the question asks for several."""
    many = re.search(r"\b(?:which|what|list|name|who)\b.*\b(?:\w+s|two|both|all|people)\b", question, re.IGNORECASE)
    if ";" in reference:
        found = reference.split(";")
    else:
        found = re.split(r"\s*,\s+and\s+|\s*,\s+|\s+and\s+", reference)
        if len(found) == 2 and "," in reference and not many:
            return ()
        if len(found) == 2 and names.kinds_of(reference):
            return ()
    return tuple(each.strip() for each in found if each.strip())


def _without_country(reference: str) -> tuple[Word, ...]:
    place, _, country = reference.rpartition(",")
    return names.words_of(place) if place and names.is_territory(country) else ()


def _as_yes_or_no(text: str) -> str:
    return {"yes": "yes", "true": "yes", "no": "no", "false": "no"}.get(text.strip().strip(".!").casefold(), "")


def _lower_choices(question: str) -> set[str]:
    """ "a fruit or a vegetable"."""
    return {folded(each) for pair in re.findall(r"(\w+) or (?:an? |the )?(\w+)", question) for each in pair}


def _clauses(text: str, targets: Sequence[Sequence[Word]], *, marks: bool = False) -> list[_Clause]:
    """Cut at marks and at words that begin a clause, but not within a target."""
    items = list(tokens(text))
    words = [item for item in items if isinstance(item, Word)]
    gaps: list[list[str]] = [[]]
    for item in items:
        if isinstance(item, Word):
            gaps.append([])
        else:
            gaps[-1].append(item)
    spans: list[tuple[int, int]] = []
    place = 0
    ordered = sorted(targets, key=len, reverse=True)
    while place < len(words):
        length = next(
            (
                found
                for target in ordered
                if (found := names.match(words, place, target)) and not _is_cut(gaps[place + 1 : place + found])
            ),
            0,
        )
        if length:
            spans.append((place, place + length))
        place += length or 1
    inside = {number for start, end in spans for number in range(start + 1, end)}
    covered = {number for start, end in spans for number in range(start, end)}
    found: list[_Clause] = []
    current = _Clause([], "")
    origin: list[int] = []
    for number, word in enumerate(words):
        mark = (
            next((each for each in gaps[number] if each in STARTS or set(each) == {"."}), "")
            if number not in inside
            else ""
        )
        starts = word.text in JOINS | CONTRAST and number not in covered
        if (mark or starts) and (current.words or mark):
            if current.words:
                current.after = mark or word.text
                found.append(_placed(current, origin, spans))
                label = tuple(current.words) if mark == ":" else ()
                current, origin = _Clause([], mark[:1] or word.text, label), []
            elif not found:
                current.before = ""
        if starts:
            current.before = word.text if word.text in ("or", "and") or not mark else mark[:1]
            if word.text in JOINS:
                if word.text == "or":
                    current.before = "or"
                continue
            continue
        current.words.append(word)
        origin.append(number)
    current.after = next(iter(gaps[-1]), "")
    if current.words:
        found.append(_placed(current, origin, spans))
    return found


def _placed(clause: _Clause, origin: Sequence[int], spans: Sequence[tuple[int, int]]) -> _Clause:
    where = {number: place for place, number in enumerate(origin)}
    clause.right = [(where[start], where[end - 1] + 1) for start, end in spans if start in where and end - 1 in where]
    return clause


def _is_cut(gaps: Sequence[Sequence[str]]) -> bool:
    return any(each in ("\n", ";", "?", "!", "(", ")") or set(each) == {"."} for gap in gaps for each in gap)
