"""Alignment of sentences with steps: each belongs to the step that it announces or comments on.

Sentences stand in the order of the steps that they belong to, so the best way through both is found at once (dynamic
programming), by times, by the words that a step is called by and that were typed in it, and by cues (cues.py). No model
is asked: the same words and steps give the same thoughts.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from tars_jax.agent.actions import Action, Click, Drag, Hotkey, LeftDouble, RightSingle, Scroll, Type, Wait
from tars_jax.annotation.in_situ import cues
from tars_jax.annotation.in_situ.speech import SpokenWord
from tars_jax.annotation.in_situ.steps import RecordedStep

Role = Literal["announces", "comments", "corrected", "apart", "task"]  # task: it names the next one (tasks.py)
PAUSE_S = 0.4  # between words: a sentence ends
DONE_S = 0.7  # from a sentence to a press that it most likely speaks of
BREATH_S, TALK_S = 0.6, 1.0  # between two sentences of one talk, surely and perhaps
BARE_S = 1.5  # "no ... wait": what follows belongs to it
ANNOUNCED_S, COMMENTED_S = 4.0, 1.5  # in which time a sentence loses a point
SKIPPED = 1.5  # points for each step between
OVERTAKEN = 1.0  # for one that begins while the sentence is said, in the second half of it; less in the first
TOGETHER_S, TOGETHER = 1.0, 0.75  # two sentences without a press between belong together
CORRECTS_S = 12.0  # the longest from the end of what is corrected
LONELY_WORDS, LONELY_S = 5, 3.0  # of a sentence; seconds without a step behind it, half of them before it
_REACH = 5  # steps before and behind the next one that a sentence may belong to
_SENTENCE_END = re.compile(r"[.?!\u3002\uff1f\uff01]$")
_CALLED: dict[type, str] = {
    Click: r"click|press|hit|button|select|choose|open|tap|go to|going to|want|need",
    LeftDouble: r"double|open|opening|folder|file",
    RightSingle: r"right|context|menu|options",
    Drag: r"drag|dragging|move|moving|over to|onto|into|drop|over there",
    Type: r"type|typing|write|writing|enter|put|putting|called|call|name|value|fill|field|box|should be",
    Scroll: r"scroll|scrolling|further|below|down|above|up",
    Wait: r"wait|waiting|load|loading|moment|takes",
}
_TELLING = {  # words that nothing else is called by
    "left_double": r"double", "right_single": r"right click|right clicking|context", "drag": r"drag|dragging",
    "type": r"type|typing|write|writing|enter|putting", "scroll": r"scroll|scrolling", "wait": r"loading|wait",
    "ctrl s": r"save|saving", "ctrl c": r"copy|copying", "ctrl v": r"paste|pasting", "ctrl z": r"undo",
}  # fmt: skip
_HOTKEYS = {
    "ctrl s": r"save|saving|store|storing", "ctrl c": r"copy|copying|clipboard", "ctrl v": r"paste|pasting",
    "ctrl x": r"cut|cutting", "ctrl z": r"undo|back", "ctrl a": r"select all|everything", "ctrl f": r"find|search",
    "enter": r"enter|confirm|submit|return", "escape": r"escape|close|cancel|leave", "tab": r"tab|next field",
    "alt tab": r"switch|window|other", "backspace": r"delete|remove", "delete": r"delete|remove",
}  # fmt: skip


class SpokenSentence(msgspec.Struct, frozen=True):
    """A sentence that was said in one go."""

    words: tuple[SpokenWord, ...]
    role: Role
    step: int | None  # of announces and comments
    text: str  # for the data: a correction without the words that take something back

    @property
    def begins(self) -> float:
        return self.words[0].begins

    @property
    def ends(self) -> float:
        return self.words[-1].ends

    @property
    def said(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclasses.dataclass(frozen=True)
class _Part:
    words: tuple[SpokenWord, ...]
    normal: str

    @property
    def begins(self) -> float:
        return self.words[0].begins

    @property
    def ends(self) -> float:
        return self.words[-1].ends


def align(
    words: Sequence[SpokenWord], steps: Sequence[RecordedStep], known: Collection[str] = ()
) -> list[SpokenSentence]:
    """The sentences of a recording in their order, each with its step.

    Args:
      words: in the order of their times.
      steps: in the order of their times.
      known: words of the task and of the screen, in lower case, which talk of other things does not have.
    """
    parts = sentences(words, [step.time for step in steps])
    vocabulary = {word for each in known for word in cues.normal(each).split() if len(word) > 3}
    vocabulary |= {word for step in steps for word in _typed(step).split() if len(word) > 3}
    names = [cues.task_named_in(part.normal) > 0 for part in parts]
    apart = [other or name for other, name in zip(_apart(parts, vocabulary, steps), names, strict=True)]
    chosen = iter(_best_way([part for part, other in zip(parts, apart, strict=True) if not other], steps))
    found = [
        _sentence(part, "task" if name else "apart", None) if other else _of_step(part, next(chosen), steps)
        for part, other, name in zip(parts, apart, names, strict=True)
    ]
    return _corrected(found)


def sentences(words: Sequence[SpokenWord], presses: Sequence[float] = ()) -> list[_Part]:
    """Words by pauses, by full stops, and where a correction begins; what only begins a sentence joins the next."""
    groups: list[list[SpokenWord]] = []
    for number, word in enumerate(words):
        before = words[number - 1] if number else None
        ends = before is None or word.begins - before.ends >= PAUSE_S or bool(_SENTENCE_END.search(before.text))
        if not ends and before is not None and before.text[-1:] in ",;\u2014-":
            following = cues.normal(" ".join(each.text for each in words[number : number + 4]))
            ends = cues.correction_in(following) > 0 and not cues.is_bare(_normal(groups[-1]))
        if ends:
            groups.append([])
        groups[-1].append(word)
    joined: list[list[SpokenWord]] = []
    for group in groups:
        last = joined[-1] if joined else None
        near = last is not None and group[0].begins - last[-1].ends <= BARE_S
        if last is not None and near and cues.is_bare(_normal(last)) and not _between(presses, last, group):
            last.extend(group)
        else:
            joined.append(list(group))
    return [_Part(tuple(group), normal) for group in joined if (normal := _normal(group))]


def _between(presses: Sequence[float], last: Sequence[SpokenWord], group: Sequence[SpokenWord]) -> bool:
    return any(last[-1].ends < press < group[0].begins for press in presses)


def _normal(group: Sequence[SpokenWord]) -> str:
    return cues.normal(" ".join(word.text for word in group))


def _apart(parts: Sequence[_Part], known: Collection[str], steps: Sequence[RecordedStep]) -> list[bool]:
    """Marks talk of other things: a part beside such talk that says nothing of the work belongs to it."""
    done = [any(part.begins < step.time < part.ends + DONE_S for step in steps) for part in parts]
    sure = [
        cues.is_apart(part.normal, known, done=acts) or _is_lonely(part, known, steps)
        for part, acts in zip(parts, done, strict=True)
    ]
    found = list(sure)
    for number, part in enumerate(parts):
        beside = [other for other in (number - 1, number + 1) if 0 <= other < len(parts) and sure[other]]
        gaps = [_gap(part, parts[other]) for other in beside]
        says_nothing = not cues.is_of_the_task(part.normal, known)
        names_nothing = not cues.names_the_task(part.normal, known)
        nearest = min(gaps, default=math.inf)
        found[number] |= not done[number] and (
            (nearest < TALK_S and says_nothing) or (nearest < BREATH_S and names_nothing)
        )
    return found


def _gap(one: _Part, other: _Part) -> float:
    """Seconds between two sentences."""
    return max(one.begins - other.ends, other.begins - one.ends)


def _is_lonely(part: _Part, known: Collection[str], steps: Sequence[RecordedStep]) -> bool:
    """A whole sentence that says nothing of the work while no hand is at it."""
    if len(part.normal.split()) < LONELY_WORDS or cues.is_of_the_task(part.normal, known):
        return False
    return not any(step.begins < part.ends + LONELY_S and step.ends > part.begins - LONELY_S / 2 for step in steps)


def _best_way(parts: Sequence[_Part], steps: Sequence[RecordedStep]) -> list[int]:
    """The step of each, none before that of the one before; the most points in all."""
    if not steps:
        return [-1] * len(parts)
    best: dict[int, float] = {0: 0.0}  # by the last step that has a sentence
    ways: list[dict[int, int]] = []
    following = 0
    for previous, part in zip([None, *parts[:-1]][: len(parts)], parts, strict=True):
        while following < len(steps) and steps[following].time < part.begins:
            following += 1
        reach = range(max(0, following - _REACH), min(len(steps), following + _REACH + 1))
        new: dict[int, float] = {}
        way: dict[int, int] = {}
        for step in reach:
            together = TOGETHER if previous is not None and _go_together(previous, part, steps) else 0.0
            before = [(points + together * (last == step), last) for last, points in best.items() if last <= step]
            if before:
                points, last = max(before, key=lambda each: (each[0], -each[1]))
                new[step] = points + _points(part, step, steps)
                way[step] = last
        if not new:  # all that are in reach lie before the last one
            last = max(best, key=lambda each: best[each])
            new, way = {last: best[last]}, {last: last}
        best = new
        ways.append(way)
    if not parts:
        return []
    step = max(best, key=lambda each: (best[each], -each))
    found = []
    for way in reversed(ways):
        found.append(step)
        step = way[step]
    return found[::-1]


def _go_together(one: _Part, other: _Part, steps: Sequence[RecordedStep]) -> bool:
    """Whether two sentences, one after the other, are likely said of the same step."""
    pressed = any(one.begins < step.time < other.ends for step in steps)
    turns = cues.tone(one.normal) <= 0 < cues.tone(other.normal)  # from what is so to what is next
    return not pressed and not turns and other.begins - one.ends < TOGETHER_S


def _points(part: _Part, number: int, steps: Sequence[RecordedStep]) -> float:
    step = steps[number]
    tone = cues.tone(part.normal)
    correction = cues.corrects(part.normal)
    if part.begins <= step.time:
        between = sum(part.ends < each.time for each in steps[max(0, number - _REACH) : number])
        overtaken = sum(_overtaken(part, each.time) for each in steps[max(0, number - _REACH) : number])
        points = -max(0.0, step.time - part.ends) / ANNOUNCED_S - SKIPPED * between - OVERTAKEN * overtaken
        points += 1.5 * min(tone, 0.5)
        points += 0.5 * correction
    else:
        between = sum(each.time < part.begins for each in steps[number + 1 : number + 1 + _REACH])
        late = max(0.0, part.begins - step.ends)
        points = -0.5 - late / COMMENTED_S - SKIPPED * between - 2.0 * max(tone, -0.75) - 1.5 * correction
        if late == 0.0:
            points += 1.0  # while it is being done
    return points + _called(part, step, tone)


def _overtaken(part: _Part, time: float) -> float:
    """Evidence, 0 to 1, against a later step than that of a press at `time`, while the sentence is said."""
    if not part.begins < time <= part.ends:
        return 0.0
    return min(1.0, 2 * (time - part.begins) / (part.ends - part.begins))


def _called(part: _Part, step: RecordedStep, tone: float) -> float:
    """Points for words that say what the step does, and against those that say another thing."""
    points = 0.0
    kinds = {" ".join(each.keys) if isinstance(each, Hotkey) else each.name for each in step.actions}
    typed = set(_typed(step).split())
    if typed:
        said = part.normal.split()
        whole = "".join(_typed(step).split()) in "".join(said)  # "spring 24" of spring24
        points += 3.0 if whole else 3.0 * len(typed & set(said)) / len(typed)
    named = False
    for action in step.actions[:1]:
        pattern = _pattern(action)
        named = bool(pattern and re.search(rf"\b(?:{pattern})\b", part.normal))
        points += 0.75 * named - 1.0 * _goes_against(part, action)
    if tone >= 0 and not named:
        for kind, words in _TELLING.items():
            if kind not in kinds and re.search(rf"\b(?:{words})\b", part.normal):
                points -= 1.25
    return points


def _goes_against(part: _Part, action: Action) -> bool:
    """Whether another direction is named than that of a scroll."""
    other = {"up": "down", "down": "up"}.get(action.direction, "") if isinstance(action, Scroll) else ""
    words = part.normal.split()
    return other in words and isinstance(action, Scroll) and action.direction not in words


def _pattern(action: Action) -> str:
    if isinstance(action, Hotkey):
        return _HOTKEYS.get(" ".join(action.keys), re.escape(action.keys[-1]))
    return _CALLED.get(type(action), "")


def _typed(step: RecordedStep) -> str:
    return cues.normal(" ".join(action.content for action in step.actions if isinstance(action, Type)))


def _of_step(part: _Part, number: int, steps: Sequence[RecordedStep]) -> SpokenSentence:
    if number < 0:
        return _sentence(part, "apart", None)
    during = part.begins <= steps[number].ends
    return _sentence(part, "announces" if during else "comments", number)


def _sentence(part: _Part, role: Role, step: int | None) -> SpokenSentence:
    return SpokenSentence(part.words, role, step, " ".join(word.text for word in part.words))


def _corrected(found: list[SpokenSentence]) -> list[SpokenSentence]:
    """A correction takes the place of what was announced for the same step before it."""
    kept = list(found)
    for number, sentence in enumerate(found):
        normal = cues.normal(sentence.said)
        if sentence.role != "announces" or not cues.corrects(normal):
            continue
        taken_back = []
        for earlier in range(number - 1, -1, -1):
            other = kept[earlier]
            if other.role in ("apart", "task"):
                continue
            if other.role != "announces" or other.step != sentence.step or sentence.begins - other.ends > CORRECTS_S:
                break
            taken_back.append(earlier)
        for earlier in taken_back:
            kept[earlier] = msgspec.structs.replace(kept[earlier], role="corrected", step=None)
        count = cues.correction_in(normal)
        if taken_back and 0 < count < len(sentence.words):
            rest = " ".join(word.text for word in sentence.words[count:])
            kept[number] = msgspec.structs.replace(sentence, text=rest[:1].upper() + rest[1:])
    return kept
