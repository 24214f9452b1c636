"""Canonical spelling: where a pattern leaves only one text, its tokens are the tokenizer's own.

An automaton over tokens admits every way to cut a text: "act(" as `a`, `c`, `t`, `(`, or as `act`, `(`. A policy with
random weights would draw each of these in turn, and learn from chance which cut went with which reward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Row = dict[int, int]  # from one state: each token that is allowed, and the state behind it
Encode = Callable[[str], Sequence[int]]

_LONGEST = 512  # bytes of a text that is looked at
_MOST_AFTER = 1024  # tokens that may follow it; where there are more, all ways stay open


def spelled_one_way(
    rows: Sequence[Row], start: int, tokens: Mapping[int, bytes], stop: int, encode: Encode
) -> list[Row]:
    """The rows without other ways to write what must be written, as far as what may follow does not change them.

    Args:
      rows: of the states 0, 1, 2, ...
      start: the state that an answer begins in.
      tokens: the bytes that each token stands for.
      stop: the token that ends an answer.
      encode: the tokenizer's tokens of a text.
    """
    single = {written[0]: token for token, written in tokens.items() if len(written) == 1}
    found, seen, entries = list(rows), set[int](), [start]
    while entries:
        state = entries.pop()
        if state in seen:
            continue
        seen.add(state)
        for token in _settled(rows, state, single, tokens, stop, encode):
            target = rows[state][token]
            found[state] = {token: target}
            seen.add(state := target)
        entries += found[state].values()
    return found


def _settled(
    rows: Sequence[Row], state: int, single: Mapping[int, int], tokens: Mapping[int, bytes], stop: int, encode: Encode
) -> list[int]:
    """The tokens from a state on, as far as these and no others must be written; empty where there is a choice."""
    forced, end = bytearray(), state
    while len(forced) < _LONGEST and (byte := _only_byte(rows[end], tokens, stop)) is not None and byte in single:
        forced.append(byte)
        end = rows[end][single[byte]]
    following = [tokens[token] for token in rows[end] if token != stop]
    if not forced or len(following) > _MOST_AFTER:
        return []
    try:
        texts = [bytes(forced).decode(), *((bytes(forced) + written).decode(errors="ignore") for written in following)]
    except UnicodeDecodeError:  # it ends within a character
        return []
    spelled = [encode(text) for text in texts]
    settled: list[int] = []
    for columns in zip(*spelled, strict=False):
        token, written = columns[0], b"".join(tokens.get(each, b"") for each in (*settled, columns[0]))
        if len({*columns}) > 1 or not bytes(forced).startswith(written) or token not in rows[state]:
            break
        settled.append(token)
        state = rows[state][token]
    return settled


def _only_byte(row: Row, tokens: Mapping[int, bytes], stop: int) -> int | None:
    """The byte that all that may come begins with; None where there are several, or an end."""
    first = {tokens[token][0] for token in row if token != stop}
    return first.pop() if len(first) == 1 and stop not in row else None
