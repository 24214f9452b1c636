"""Whether an answer says what the reference says, and nothing against it.

An answer is read as it is spoken: in clauses. One of them must commit to the reference, by its type: a number with its
unit (`quantities.py`, `retold.py`), a day, an hour or a span (`dates.py`, `times.py`), yes or no (`polarity.py`), a
list (`listing.py`) or a name (`names.py`), in words of the question and such as answers are put in ("I think it is").
Another clause that commits to something else of the same kind, an "or", a "not" are against it; what only explains, or
speaks to the judge, is neither. What comes after "no, wait" or "final answer:" takes the place of what came before it,
and so does a conclusion of its working (`committed.py`).

Wrong is what commits to another value of the reference's kind, denies it, declines, leaves a choice or gives two. An
answer that is none of these and is not understood cannot be judged.

Alternatives of a reference stand between ` || `. A reference that ends with ` ||` is closed: these are all the names
that the thing has. Another name than that of an open reference may be an alias: who has no encyclopedia cannot say.
"""

from tars_jax.judges.answers.verdict import alternatives, says_the_same

__all__ = ["alternatives", "says_the_same"]
