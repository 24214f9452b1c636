"""Words of closed forms, and how a row of them fits a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tars_jax.judges.statements import NUMBER_WORDS, is_price
from tars_jax.judges.verbs import ARTICLES, BETWEEN, NAMED


@dataclasses.dataclass(frozen=True)
class FormWord:
    """A word of a form: one of these, in this case if it is a name's."""

    options: frozenset[str]
    exact: bool = False

    def fits(self, token: str) -> bool:
        return (token if self.exact else NUMBER_WORDS.get(token.casefold(), token.casefold())) in self.options


Piece = tuple[FormWord, ...]


def folded(piece: Piece) -> frozenset[str]:
    return frozenset(option.casefold() for word in piece for option in word.options)


def is_piece(piece: Piece, tokens: Sequence[str]) -> bool:
    return len(piece) == len(tokens) and all(word.fits(token) for word, token in zip(piece, tokens, strict=True))


def fits(form: Sequence[Piece], tokens: Sequence[str], *, begun: bool = False) -> bool:
    """Whether the pieces stand there in their order, with nothing else but small words between them, of which no
    name may be a part."""
    if not form:
        return all(token.casefold() in BETWEEN for token in tokens)
    piece, skipped = form[0], BETWEEN | {","} if begun else ARTICLES
    if piece[:1] and piece[0].exact:
        skipped = NAMED
    for place in range(len(tokens) - len(piece) + 1):
        if is_piece(piece, tokens[place : place + len(piece)]) and fits(
            form[1:], tokens[place + len(piece) :], begun=True
        ):
            return True
        if tokens[place].casefold() not in skipped:
            return False
    return False


def without_price(tokens: Sequence[str]) -> Sequence[str]:
    if len(tokens) > 2 and is_price(tokens[-1]) and tokens[-2] in (",", "—", "-"):
        return tokens[:-2]
    return tokens


def is_number(word: FormWord) -> bool:
    return all(option.lstrip("#").isdecimal() for option in word.options)
