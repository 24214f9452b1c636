"""A tiny data set to try rewards on: of two digits the first or the last is asked for, in 200 ways."""

from __future__ import annotations

from collections.abc import Iterator


def records() -> Iterator[dict[str, str]]:
    """{"prompt": "3 8 last", "answer": "8"} and the like."""
    for digits in range(100):
        first, last = divmod(digits, 10)
        yield {"prompt": f"{first} {last} first", "answer": str(first)}
        yield {"prompt": f"{first} {last} last", "answer": str(last)}


def exact(completion: str, answer: str) -> bool:
    """The answer and nothing else. A verdict, as it is True or False."""
    return completion.strip() == answer


def named(prompt: str, completion: str) -> float:
    """One of the two digits: half the way, which is found sooner."""
    return float(completion.strip() in prompt.split()[:2])
