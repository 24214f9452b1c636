"""Other names for the entities of an encyclopedia, the same everywhere, drawn by a seed.

A policy may know by heart what the capital of France is; it cannot know that of Belonia. Names are replaced in titles,
facts, prose and links; so are the adjectives made of a country's name ("French" is "Belonian"), and names of people,
rivers and parties that would tell which country it is (`leaks.py`). Figures are `figures.py`'s.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterable, Mapping

from tars_jax.tasks.browsing.article import LINK, Article, Fact
from tars_jax.tasks.browsing.leaks import WORD, rare_names, texts_of

_STARTS = tuple("b c d f g h j k l m n p r s t v z br cr dr gr kr tr pl st sh th".split())  # noqa: SIM905
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
_ENDS = {
    "country": ["ia", "land", "istan", "a", "or"],
    "city": ["ton", "burg", "a", "ville", "os", "in"],
    "element": ["ium"],
}
RENAMED = tuple(_ENDS)  # kinds


def new_names(articles: Iterable[Article], seed: int) -> dict[str, str]:
    """Old title -> new title. No new name is one that the source has, in whatever case."""
    rng = random.Random(f"names {seed}")
    listed = list(articles)
    taken = {title.casefold() for each in listed for title in (each.title, *each.aliases)}
    names = {}
    for article in listed:
        if article.kind not in RENAMED:
            continue
        name = _name(rng, article.kind)
        while name.casefold() in taken:
            name = _name(rng, article.kind)
        taken.add(name.casefold())
        names[article.title] = name
    return names


def renamed(articles: Iterable[Article], seed: int, words: Mapping[str, str] | None = None) -> list[Article]:
    """`words`: further whole words to be replaced, such as adjectives, by the title that they are made of."""
    listed = list(articles)
    names = new_names(listed, seed)
    further = {word: f"{names[title]}n" for word, title in (words or {}).items() if title in names}
    kinds = {article.title: article.kind for article in listed}
    # Names of elements are common words as well ("iron", "lead"), in prose of others they stay.
    prose = {**further, **{old: new for old, new in names.items() if kinds[old] != "element" or len(old) > 8}}
    prose |= {
        old.partition(" (")[0]: new for old, new in prose.items() if " (" in old and old.partition(" (")[0] not in prose
    }
    prose |= {old: new for old, new in _other_names(listed, seed).items() if old not in prose}
    starts: dict[str, list[str]] = {}
    for old in sorted(prose, key=len, reverse=True):
        starts.setdefault(re.match(r"\w*", old)[0], []).append(old)  # type: ignore[index]

    def in_prose(text: str) -> str:
        """By the first word of each name: one pattern of all of them would be tried at every letter."""
        pieces, done = [], 0
        for match in re.finditer(r"\w+", text):
            if match.start() < done:
                continue
            for old in starts.get(match[0], ()):
                end = match.start() + len(old)
                if text.startswith(old, match.start()) and not re.match(r"\w", text[end : end + 1]):
                    pieces += [text[done : match.start()], prose[old]]
                    done = end
                    break
        return "".join((*pieces, text[done:]))

    def text_of(article: Article, line: str) -> str:
        own = article.title
        kept = LINK.split(line)  # text, target, label, text, ...
        pieces = []
        for number in range(0, len(kept), 3):
            piece = in_prose(kept[number])
            if article.kind == "element":  # in the middle of a sentence without a capital
                piece = re.sub(rf"\b{re.escape(own)}\b", names[own], piece, flags=re.IGNORECASE)
            pieces.append(piece)
            if number + 1 < len(kept):
                target, label = kept[number + 1], kept[number + 2]
                new = names.get(target, target)
                pieces.append(f"[[{new}]]" if label is None or target in names else f"[[{new}|{label}]]")
        return "".join(pieces)

    def fact_of(fact: Fact) -> Fact:
        if fact.kind == "entity":
            return dataclasses.replace(fact, value=names.get(str(fact.value), fact.value))
        if fact.kind == "class":
            return dataclasses.replace(fact, value=in_prose(str(fact.value)))
        return fact

    return [
        dataclasses.replace(
            each,
            title=names.get(each.title, each.title),
            text=tuple(text_of(each, line) for line in each.text),
            facts=tuple(map(fact_of, each.facts)),
            aliases=() if each.title in names else each.aliases,
        )
        for each in listed
    ]


def _other_names(articles: list[Article], seed: int) -> dict[str, str]:
    """New words for rare names, in each way in which they are written: Ashoka, ASHOKA."""
    rng = random.Random(f"other names {seed}")
    new = {name: _word(rng) for name in sorted(rare_names(articles))}
    written = {word for each in articles for text, _ in texts_of(each) for word in WORD.findall(text)}
    return {
        word: new[word.casefold()].upper() if word.isupper() and len(word) > 1 else new[word.casefold()]
        for word in sorted(written)
        if word.casefold() in new
    }


def _word(rng: random.Random) -> str:
    syllables = [rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(rng.choice((1, 2, 2)))]
    return ("".join(syllables) + rng.choice("lmnrstkd")).title()


def _name(rng: random.Random, kind: str) -> str:
    syllables = [rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(rng.choice((2, 2, 3)))]
    return ("".join(syllables) + rng.choice("lmnrst") + rng.choice(_ENDS[kind])).title()
