"""What a question makes of the words of an answer: which are free, which name something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIGHT, RIVAL, UNSURE, Clause
from tars_jax.judges.answers.dates import read_date, weekdays
from tars_jax.judges.answers.kinds import kind_of, lower_choices, without_country
from tars_jax.judges.answers.speech import (
    BEGINS,
    CALENDAR,
    DESCRIBES,
    FRAMES,
    LANDFORMS,
    MEASURES,
    NEGATIONS,
    PERSONS,
    PRESENT,
    SIZES,
    TO_THE_JUDGE,
)
from tars_jax.judges.answers.words import Word, tokens


class Reading:
    """A question and its references, whose kinds are known."""

    def __init__(self, references: Sequence[str], question: str, is_closed: bool) -> None:
        self._references, self._question = references, question
        asked = [each for each in tokens(question) if isinstance(each, Word)]
        measures = {noun for word in asked for noun in MEASURES.get(word.text, "").split()}
        self._is_choice = bool(re.search(r"\bor\b|\bwhich (?:one )?of\b|\bbetween\b", question, re.IGNORECASE))
        self._kinds = [kind_of(each, question) for each in references]
        own = {
            word.text
            for each, kind in zip(references, self._kinds, strict=True)
            if "," in each and kind != "yes or no"
            for word in names.words_of(each)
        }
        self._asked = {word.text for word in asked} - names.SMALL | measures
        self._asked_sizes = {noun for word in asked if word.text in SIZES for noun in MEASURES[word.text].split()}
        self._own = own - names.SMALL
        self._asked_names = {word.text for number, word in enumerate(asked) if word.capital and number}
        self._offered = self._asked_names if self._is_choice else set()
        if self._is_choice:
            self._offered |= lower_choices(question)
        self._shouts = False
        self._asks_of_now = bool(asked) and asked[0].text in PRESENT
        self._asks_who = bool(PERSONS.search(question))
        self._asks_not = any(word.text in NEGATIONS for word in asked)
        self._is_described = bool(DESCRIBES.search(question))
        self._has_days = any(read_date(each) is not None for each in references)
        self._has_spans = any(day is not None and day.to is not None for day in map(read_date, references))
        self._has_all_names = is_closed
        self.is_closed = is_closed or any(names.is_code(each) for each in references) or bool(self._offered)
        self.is_yes_or_no = any(kind == "yes or no" for kind in self._kinds)
        self._is_lower = self._has_lower_names = all(
            not word.capital for each in references for word in names.words_of(each)
        )
        self._has_letters = all(re.search(r"[^\W\d_]", each) for each in references)
        self._letters = any(len(each) == 1 and each.isalpha() for each in references)
        self._has_figures = all(re.search(r"\d", each) for each in references)

    def _is_free(self, word: Word) -> bool:
        text = word.text
        if word.raw.isupper() and len(text) > 1 and text in FRAMES and not self._shouts:
            return False
        if self._asked_sizes and text in SIZES and not self._asked_sizes & set(MEASURES[text].split()):
            return False  # wide, where how long was asked
        if text in self._offered or (self._letters and len(text) == 1 and word.capital):
            return False
        return (
            text in FRAMES
            or text in self._own
            or (self._has_days and (text in weekdays() or text in CALENDAR))
            or (self._has_spans and text in BEGINS)
            or any(names.akin(text, each) for each in self._asked)
            or text in ("\ue001",)
        )

    def _is_asked(self, word: Word) -> bool:
        return word.text not in self._offered and self._is_in_question(word)

    def _is_in_question(self, word: Word) -> bool:
        return word.text in self._own or any(names.akin(word.text, each) for each in self._asked)

    def _content(self, clause: Clause) -> set[str]:
        return {
            word.text
            for word in (*clause.label, *clause.words)
            if not self._is_free(word) and word.raw not in (RIGHT, RIVAL, UNSURE)
        }

    def _is_marked(self, clause: Clause) -> bool:
        return any(word.raw in (RIGHT, RIVAL, UNSURE) for word in clause.words)

    def _speaks_to_the_judge(self, clause: Clause) -> bool:
        return bool({word.text for word in (*clause.label, *clause.words)} & (TO_THE_JUDGE - self._asked))

    def _targets(self, references: Sequence[str]) -> list[tuple[Word, ...]]:
        """How the names may be written: as they are, without their country, and shorter."""
        whole = [names.words_of(each) for each in references]
        whole += [shorter for each in references if (shorter := without_country(each))]
        return [each for target in whole for each in (target, *self._shorter(target)) if each]

    def _shorter(self, target: tuple[Word, ...]) -> list[tuple[Word, ...]]:
        """A person's surname, or other given names before it; a mountain or a river without that word."""
        if len(target) < 2 or not all(word.capital and word.raw.isalpha() for word in target):
            return []
        if self._asks_who and len(target) < 5:
            surname = [target[-1:]] if len(target[-1].raw) > 2 and not target[-1].raw.isupper() else []
            first_and_last = [names.Person((target[0], target[-1]))] if len(target) > 2 else []
            return [names.Person(target), *first_and_last, *surname]
        return [
            (target[1 - place],)
            for place in (0, 1)
            if len(target) == 2 and target[place].text in LANDFORMS and self._is_in_question(target[place])
        ]

    @property
    def _length(self) -> int:
        return max(len(names.words_of(each)) for each in self._references)
