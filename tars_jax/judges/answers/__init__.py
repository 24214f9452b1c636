"""Whether an answer says what the reference says, and nothing besides.

Right is an answer only where the whole of it is accounted for: it is the reference's own text; or a value that is the
same by its kind, read to its last sign (a number with its unit, `quantities.py`; a day or an hour, `dates.py`,
`times.py`; a list, `kinds.py`; a name, `names.py`; yes or no, `yes_no.py`); or such a value in one of the forms of
speech that answers are given in (`forms.py`), or in a sentence of the question's own words (`carriers.py`) that gives
it the place that is asked for (`roles.py`). What a question asks for besides, such as an order, says
`question_forms.py`. A word, a sign or a value that is left over is never passed over.

Wrong is what states another value of the reference's kind and not the reference, a choice, or that there is no answer;
of a closed reference, whatever does not have it. Of all else the rules cannot say.

Alternatives of a reference stand between ` || `. A reference that ends with ` ||` is closed: these are all the names
that the thing has. Another name than that of an open reference may be an alias: who has no encyclopedia cannot say.
"""

from tars_jax.judges.answers.verdict import alternatives, says_the_same

__all__ = ["alternatives", "says_the_same"]
