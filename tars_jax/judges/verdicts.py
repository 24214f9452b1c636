"""Closed forms of a model's answers. Anything else is unreadable: "unsuccessful" never reads as success.

Each form is the last line of the answer, or the last sentence on it, so that reasoning comes before it and cannot be
mistaken for it. Around it may stand what models put there: headings, emphasis, quotation marks, a new line after the
colon, no blank behind it, a bullet, "final" or "my" before it. A score may also come first, as it decides nothing.

A verdict stands on its own: the line before it is a finished sentence, a point of a list, a row of a table, another
form or a heading like "Conclusion:". Behind a line that goes on ("Example of the last line:", "I do not say") it is
what that line says of it, and unreadable.

An answer that gives another verdict, too, says neither, whatever stands between, and in whatever words that other one
is: what follows a form's name is the same again, or there are two. So it is with every other form of a verdict
(`contradictions.py`). "Fact", "answer" and "score" are words of the reasoning, too ("the agent's answer: Paris", "the
game's score: 120"): behind these a verdict is a word that judges, a number below ten, or whatever follows the name in
capitals.

What reasoning tells in sentences is not weighed: "The task failed." before a closing success is read as success, as
people tell of what failed at first. Only forms speak against a verdict.

A thought before the answer (`<think>...</think>`, or all before a first `</think>`) is not the answer: it may quote the
forms and weigh both. It ends at its first end, what follows counts whole, and one without an end, in whatever brackets,
leaves no answer. Nor does a block of code, or a tag at the beginning of a line, that has no end.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from tars_jax.judges.answers.words import vocabulary
from tars_jax.judges.contradictions import readings, verdicts_said
from tars_jax.judges.judge import UnreadableVerdict


class _Form(NamedTuple):
    name: str
    value: str  # as a pattern
    wanted: str
    judges: str = r"\S"  # behind the name and a colon, what is a verdict in other words
    told: str = ""  # the same behind "is", a dash or the like
    like: str = ""  # words that look like the name, and a verdict of theirs behind a colon

    @property
    def whole(self) -> re.Pattern[str]:
        return re.compile(rf"(?:[-+] )?(?:(?:my|the|final|overall) ){{0,2}}{self.name} ?: ?{self.value}", re.IGNORECASE)


_JUDGES = (
    r"(?:(?:un|in)?success|fail|pass|(?:in|not |partially |partly |mostly |almost )*(?:correct|accurate|complete)"
    r"|right\b|wrong|accept|reject|true\b|false\b|partial|unclear|unknown|undecided|inconclusive|mixed)"
)
_SAYS = rf"(?:{_JUDGES}|(?:yes|no|not|none|maybe|perhaps|n/a|un\w+|met|shown|holds?|does|is)\b)"
_GRADES = r"(?:\d(?:\.\d+)?(?!\d)|(?:one|two|three|four|five|zero|none)\b)"
VERDICT_FORM = "VERDICT: SUCCESS or VERDICT: FAILURE"
SCORE_FORM = "SCORE: 1 to SCORE: 5"
FACT_FORM = "FACT: YES n, with the number n of the observation that shows it, or FACT: NO"
ANSWER_FORM = "ANSWER: CORRECT or ANSWER: INCORRECT"
# More words behind the name ("verdict of the first run: "), or letters that look like its own.
_LIKE_VERDICT = r"\b(?:verd\w*[^\n.!?:=]{0,99}|[v\u0475\u03bd][^\s:=]{5}[t\u0442\u03c47])\s*[:=]\s*(?=success|fail)"
_VERDICT = _Form("verdict", "(success|succeeded|failure|failed)", VERDICT_FORM, told=_JUDGES, like=_LIKE_VERDICT)
_SCORE = _Form("score", "([1-5])(?: ?/ ?5)?", SCORE_FORM, _GRADES, _GRADES)
_FACT = _Form("fact", r"(?:(no)|yes,? ?\(?(?:observation )?(\d{1,4})\)?)", FACT_FORM, _SAYS)
_ANSWER = _Form("answer", "(correct|incorrect)", ANSWER_FORM, _JUDGES)

_SEPARATED = r"(?:\s*[:=]+\s*|>\s*)"
_TOLD = r"\s*(?:\||[-–—→]+>?|\b(?:is|was|remains|becomes)\b:?)\s*(?:\w+\s+){0,3}?"
_MORE = r"(?![\w-]|[.,]\d|\s*(?:/|\bor\b))"  # a value ends here, and no choice of values goes on
_NAMES = "verdict|score|fact|answer"
_BROKEN = re.compile(rf"^(?:[^\S\n]|#)*({_NAMES}):?\s*\n(?!\W*(?:{_NAMES})\b)\s*", re.IGNORECASE | re.MULTILINE)
_MARKS = re.compile(
    r"[*_`\"“”‘«»\u200b-\u200d\u2060\ufeff\ufe0f✅✔✓☑]|(?<!\w)['’]|['’](?!\w)|^[^\S\n]*#+", re.MULTILINE
)
_END = re.compile(r"\s*(?:<\|(?:im_end|endoftext|eot_id|end)\|>|</s>)\s*\Z")  # of a message, as chat templates write it
_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})(?:\s*```)?\s*", re.DOTALL)
# Of lines before a verdict: those that are whole, and words of those that only announce it.
_ENDED = r".*[^:,;–—-]"
_POINT_OF = r"(?:key )?(?:requirement|criterion|point|condition|step|observation) ?#?\d+"
_REASON = r"(?:reason(?:ing|s)?|explanation|justification|rationale|evidence|summary)"
_WHOLE = re.compile(
    r"(?!.*(?:\.\.|\b(?:e\.g|i\.e|cf|viz))\.$).*[.!?。！？][)\]]*"  # a sentence
    rf"|(?:-|\d{{1,3}}[.)])\s{_ENDED}|\|.*\||[-=_~]{{3,}}"  # of a list, of a table, a rule
    rf"|.*</\w+>|\W*\{{.*\}}|\W*(?:{_NAMES})\s*[:=]\s*\w+(?:\s?/\s?\d+)?\W*"  # of markup, of JSON, a form
    rf"|(?:{_POINT_OF}|{_REASON})\s*:\s*\S{_ENDED}",
    re.IGNORECASE,
)
_ANNOUNCES = vocabulary(
    "a above all analysis and answer as assessment based conclude conclusion decision evaluation final follows hence i "
    "in is judgement judgment my of on overall rating reasoning result so summary the therefore this thus verdict"
)
_BULLETS = re.compile(r"^([^\S\n]*)[*•+✅✔✓☑]\ufe0f?(?=\s)", re.MULTILINE)
_DENIED = re.compile(r"\b(?:failure|failed|incorrect|no)\b", re.IGNORECASE)
_CROSS = re.compile(r"^[❌✗✘👎\s]+|[❌✗✘👎\s]+$")  # around a failure; `contradictions.py` refuses a success with one
_THOUGHT = re.compile(r"(?:\s*<think(?:ing)?>.*?|(?:(?!<think).)*?)</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
_THINKS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_TAGS = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratch_?pad|draft|reflect(?:ion)?|monologue)"
_OPENED = re.compile(rf"^[^\S\n]*(?:<\|?|\[|◁|【)\s*{_TAGS}\s*(?:\|?>|\]|▷|】)", re.IGNORECASE | re.MULTILINE)
_CLOSED = re.compile(rf"(?:<\|?|\[|◁|【)\s*/\s*{_TAGS}\s*(?:\|?>|\]|▷|】)", re.IGNORECASE)
_TAG = re.compile(r"^[^\S\n]*<(?!br|hr|p>|li>)([a-z]\w*)>(?!.*?</\1>)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_CHANNEL = re.compile(r"\s*<\|channel\|>.*?(?:<\|channel\|>)?final<\|message\|>", re.DOTALL)
_POINT = re.compile(r"\s*\d{1,3}[.)]\s+(\S.*)")
_BULLET = re.compile(r"\s*[-*•]\s+(\S.*)")


def read_verdict(text: str) -> bool:
    """Raises UnreadableVerdict for another form, and where the opposite is said, too."""
    return _agreed(text, "verdict", _last_line(text, _VERDICT)[1].casefold().startswith("succe"))


def read_answer(text: str) -> bool:
    """Whether an answer is right. Raises UnreadableVerdict as `read_verdict` does."""
    return _agreed(text, "answer", _last_line(text, _ANSWER)[1].casefold() == "correct")


def read_score(text: str) -> int:
    """Reads a score of 1 to 5: the last line, or the only one of this form. Raises UnreadableVerdict for another form,
    and for two scores."""
    plain = _plain(text)
    found = [match for line in plain.splitlines() if (match := _final(_SCORE, line))]
    return int((_one_of(plain, _SCORE, found[0]) if len(found) == 1 else _last_line(text, _SCORE))[1])


def read_fact(text: str, observations: int) -> int | None:
    """The number of the observation that shows the fact; None where it does not hold.

    Raises UnreadableVerdict for another form, where something else is said, too, and for an observation that there is
    not.
    """
    found = _last_line(text, _FACT)
    if not _agreed(text, "fact", not found[1]):
        return None
    number = int(found[2])
    if not 1 <= number <= observations:
        raise UnreadableVerdict(f"a fact must be shown by observation 1 to {observations}; got {number}")
    return number


def read_points(text: str) -> list[str]:
    """Numbered lines, or bullets where no line is numbered. Raises UnreadableVerdict where there is neither."""
    for form in (_POINT, _BULLET):
        if points := [match[1].strip() for line in text.splitlines() if (match := form.fullmatch(line))]:
            return points
    raise UnreadableVerdict(f"key points must be numbered lines; got {text!r:.200}")


def _agreed(text: str, name: str, verdict: bool) -> bool:
    """The verdict, where no other form in the answer says another one. Raises UnreadableVerdict."""
    for said, truth in verdicts_said(_answer(text), name):
        if truth is not verdict:
            raise UnreadableVerdict(f"a judge must give one verdict; got {name} {verdict} and {said!r:.100}")
    return verdict


def _last_line(text: str, form: _Form) -> re.Match[str]:
    lines = _lines(text)
    last = lines[-1].removesuffix(".") if lines else ""
    found = _final(form, last)
    if found is None:
        raise UnreadableVerdict(f"a judge's last line must be {form.wanted}; got {last!r:.100}")
    is_alone = not re.search(r"\w", last[: last.rfind(found[0])])
    if is_alone and len(lines) > 1 and not _is_finished(lines[-2], form):
        raise UnreadableVerdict(f"a judge's verdict must follow a finished sentence; got {lines[-2]!r:.100} before it")
    return _one_of(_plain(text), form, found)


def _is_finished(line: str, form: _Form) -> bool:
    """Whether what follows the line stands on its own."""
    if {word.casefold() for word in re.findall(r"\w+", line)} <= _ANNOUNCES:
        return True
    if line.endswith((":", ",", ";")):
        return False
    is_form = any(_given(line, form)) or any(verdicts_said(line, form.name))
    return is_form or bool(_WHOLE.fullmatch(line) or re.fullmatch(rf"\W*{form.value}\W*", line, re.IGNORECASE))


def _one_of(plain: str, form: _Form, found: re.Match[str]) -> re.Match[str]:
    """`found`, where the text gives no other verdict of that form."""
    own = _same(re.split(r"\s*:\s*", found[0], maxsplit=1)[1])
    given = (_same(each) for reading in (plain, *readings(plain)) for each in _given(reading, form))
    if others := [each for each in given if each != own]:
        said = " and ".join(f"{form.name}: {each:.30}" for each in sorted({own, *others}))
        raise UnreadableVerdict(f"a judge must give one verdict; got {said} in {plain!r:.200}")
    return found


def _same(value: str) -> str:
    """One spelling for values that say the same."""
    folded = re.sub(r"\bobservation |[,()]", "", value.casefold())
    return {"failed": "failure", "succeeded": "success"}.get(folded, folded)


def _given(plain: str, form: _Form) -> Iterator[str]:
    """The verdicts that a text gives: values of the form, or the words that stand in their place."""
    value = re.compile(f"{form.value}{_MORE}", re.IGNORECASE)
    judges = re.compile(form.judges, re.IGNORECASE)
    for label in re.finditer(rf"(?<![^\W_/]){form.name}{_SEPARATED}(?!{form.name})", plain, re.IGNORECASE):
        rest = plain[label.end() :]
        if rest and (label[0].startswith(form.name.upper()) or judges.match(rest)):
            yield _value_or_line(value, rest)
    for label in re.finditer(rf"\b{form.name}{_TOLD}(?={form.told})", plain, re.IGNORECASE) if form.told else ():
        yield _value_or_line(value, plain[label.end() :])
    for label in re.finditer(form.like, plain, re.IGNORECASE) if form.like else ():
        yield _value_or_line(value, plain[label.end() :])
    yield from (line for line in plain.splitlines() if re.fullmatch(form.value, line, re.IGNORECASE))


def _value_or_line(value: re.Pattern[str], rest: str) -> str:
    found = value.match(rest)
    return found[0] if found else rest.partition("\n")[0]


def _final(form: _Form, line: str) -> re.Match[str] | None:
    """The form as the whole line, or as its last sentence."""
    if _DENIED.search(line):
        line = _CROSS.sub("", line)
    return form.whole.fullmatch(line) or form.whole.fullmatch(re.split(r"[.!?] ", line)[-1])


def _of_json(text: str) -> str:
    """An object that names each field once, as lines of fields; its reasoning comes first."""
    match = _OBJECT.fullmatch(text)
    try:
        pairs = json.loads(match[1], object_pairs_hook=list) if match else None
    except (ValueError, RecursionError):
        return text
    if not isinstance(pairs, list) or len({str(each[0]).casefold() for each in pairs}) != len(pairs):
        return text
    if not all(isinstance(value, str | int) for _, value in pairs):
        return text
    ordered = sorted(pairs, key=lambda each: str(each[0]).casefold() in _NAMES.split("|"))
    return "\n".join(f"{key}: {value}." for key, value in ordered)  # fields stand on their own


def _plain(text: str) -> str:
    """The answer's lines without final stops."""
    return "\n".join(line.removesuffix(".") for line in _lines(text))


def _lines(text: str) -> list[str]:
    """The answer's lines that are not empty, without Markdown's signs, quotation marks and double spaces."""
    answer = _answer(text)
    if any(unicodedata.category(each) == "No" for each in answer):  # a small figure is no figure of a form
        answer = "".join(f"[{each}]" if unicodedata.category(each) == "No" else each for each in answer)
    answer = unicodedata.normalize("NFKC", _of_json(_END.sub("", answer)))
    joined = _BROKEN.sub(r"\1: ", _MARKS.sub("", _BULLETS.sub(r"\1-", answer)))
    return [" ".join(line.split()) for line in joined.splitlines() if line.strip()]


def _answer(text: str) -> str:
    """Without the thought before it; nothing where that has no end."""
    thought = _THOUGHT.match(text)
    if thought is None and _THINKS.match(text):
        return ""
    answer = text[thought.end() if thought else 0 :]
    if channel := _CHANNEL.match(answer):
        answer = answer[channel.end() :]
    opened = max((found.end() for found in _OPENED.finditer(answer)), default=-1)
    is_open = opened >= 0 and not _CLOSED.search(answer, opened)
    is_code = sum(line.lstrip().startswith("```") for line in answer.splitlines()) % 2 == 1
    return "" if is_open or is_code or "<|channel|>" in answer or _TAG.search(answer) else answer
