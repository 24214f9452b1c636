"""Acts that made a page say that a demand is met: the act before it has to be one that the demand's verb allows, and no
act after it could have made it again or unmade it. Where this cannot be told, nobody says that it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tars_jax.judges.demands import Demand
from tars_jax.judges.own_words import Deed
from tars_jax.judges.statements import PageSentence, states_of
from tars_jax.judges.verbs import leads_on, tells_a_change, tells_a_deed

Act = tuple[int, Deed]  # with the number of the page that it was done on


class EpisodeActs:
    """Acts of one episode: `deeds[n]` were done on `pages[n]`, of which `last` is the one that is judged."""

    def __init__(self, pages: Sequence[Sequence[PageSentence]], deeds: Sequence[Sequence[Deed]], last: int) -> None:
        self._pages, self._deeds, self._last = pages, deeds, last

    def doubt(self, demand: Demand, known: Sequence[Demand]) -> str:
        """The reason why what the last page says of the demand may have been there before; empty: an act made it so.
        `known`: all demands, this one among them."""
        showing = self._showing(demand)
        acts = list(self._between(0, showing[0]))
        others = [each for each in known if each is not demand and each.is_understood]
        saying = self._saying(demand)
        if len({each.plain for each in saying}) < len(saying):
            return "the page says it twice"
        later = known[max(place for place, each in enumerate(known) if each.thing == demand.thing) + 1 :]
        return self._undoing(demand, showing[0], others, later) or self._making(demand, acts, known)

    def _making(self, demand: Demand, acts: Sequence[Act], known: Sequence[Demand]) -> str:
        """Checks the acts before the demand was first shown as met: the last has to be of the demand, and its object to
        be given to it, or in sight."""
        place, last = acts[-1] if acts else (0, Deed("wait", ()))
        is_call = demand.is_done_by_call(last.verbs, last.given)
        if not (last.submits or is_call or (last.moves and demand.may_be_dragged)):
            return "it was found, not made: no action that changes something came before it"
        given = is_call or self._is_given(demand, acts)
        if not given and self._is_sent_elsewhere(demand, acts):
            return "what was typed was sent from where nothing shows a form for it"
        if last.submits and not last.clicks and not (given and self._is_in_its_field(acts)):
            return "a key was pressed where nothing shows what it is for"
        if last.clicks and not self._is_pressed(demand, acts, given=given):
            return "the last action before it pressed something else"
        if any(self._is_of_none(act, known) for act in acts[:-1]) or self._is_changed_beside(place, known):
            return "something else was done, too"
        if last.submits and self._is_filled_beside(demand, place, acts):
            return "the form that was sent holds something else, too"
        if demand.is_made and any(
            demand.is_entry(each.control or each.tokens) for each in self._before_given(demand, acts)
        ):
            return "its name stood there before it was given"
        if not demand.is_renamed_by(text for _, deed in acts for text in deed.given):
            return "it was found, not made: nobody gave the new name"
        if self._presses(demand, acts, given=given) > 1:
            return "it may have been done more than once"
        begin = acts[-2][0] if len(acts) > 1 and last.clicks and not last.labels else 0  # a click on what is in sight
        seen = [each for page in self._pages[begin : place + 1] for each in page]
        was = any(demand.is_place_of(each.tokens) for each in seen)
        tells = any(tells_a_change(each.tokens) for each in self._saying(demand))
        if not (given and tells) and (demand.is_made or not was):
            return "it was found, not made: nothing of it was given or in sight before"
        return ""

    def _is_pressed(self, demand: Demand, acts: Sequence[Act], *, given: bool) -> bool:
        """Whether the last act, a click, is one of the demand: on a control that the page shows, where it shows any, of
        its verb; or of one that sends a form or confirms, where there is something to send or to confirm."""
        place, last = acts[-1]
        if not last.labels:
            return True
        in_sight = [label for label in last.labels if last.chooses or self._is_in_sight(label, place)]
        begun = any(self._may_press(demand, act) for act in acts[:-1])
        if not begun and any(demand.is_told_better_by(each.control, last.labels[0]) for each in self._pages[place]):
            return False
        if any(demand.is_spelled_by(each.control, last.labels[0]) for each in self._pages[place]):
            return False
        if any(map(demand.is_named_by_control, in_sight)):
            return True
        sends = any(map(demand.is_pressed_by, in_sight)) and not any(map(demand.only_leaves, in_sight))
        return (given or begun) and sends

    def _is_in_sight(self, label: Sequence[str], place: int) -> bool:
        """Whether the page shows a control of that name, or text; one that shows no controls may have any."""
        page = self._pages[place]
        text = [f" {' '.join(each.tokens)} " for each in page if not each.control]
        has_controls = len(text) < len(page)
        return not has_controls or any(each.control == label for each in page) or _holds(text, label)

    def _may_press(self, demand: Demand, act: Act) -> bool:
        """Whether it is on the demand's control, or on none that is known while the object is in sight."""
        place, deed = act
        if deed.labels:
            return any(map(demand.is_named_by_control, deed.labels))
        in_sight = any(demand.is_place_of(each.tokens) or demand.says(each.tokens) for each in self._pages[place])
        return deed.submits and in_sight

    def _before_given(self, demand: Demand, acts: Sequence[Act]) -> Iterator[PageSentence]:
        """Sentences of the pages before the agent gave the name."""
        places = [place for place, deed in acts if any(map(demand.is_given_by, deed.given))]
        for page in self._pages[: min(places, default=-1) + 1]:
            yield from page

    def _presses(self, demand: Demand, acts: Sequence[Act], *, given: bool) -> int:
        """Number of acts that may have met the demand since a page last denied it: by its name, by sending what was
        given and, of a switch, all that may be on it."""
        count, is_sent, named = 0, False, set[tuple[str, ...]]()
        for number, (place, deed) in enumerate(acts):
            if any(demand.denies(each.tokens) for each in self._pages[place]):
                count, named = 0, set()
            is_sent = is_sent or (given and deed.types and any(map(demand.is_given_by, deed.given)))
            names = set(filter(demand.is_named_by_control, deed.labels))
            by_name = bool(names) and (not named or not names.isdisjoint(named))  # another one confirms
            named |= names
            sends = any(map(demand.is_pressed_by, deed.labels)) if deed.labels else deed.submits
            is_focus = any(each.types for _, each in acts[number + 1 : number + 2])
            on_switch = demand.is_switch and (self._may_press(demand, (place, deed)) or (count > 0 and not deed.labels))
            count += by_name or (on_switch and deed.submits) or (is_sent and sends and not is_focus)
        return count

    def _is_of_none(self, act: Act, known: Sequence[Demand]) -> bool:
        """Whether it is on a control that changes something which none of the demands asks for, or may do so: on a
        button that is not known to lead elsewhere and after which no other page came."""
        place, deed = act
        others = [label for label in deed.labels if not any(each.is_pressed_by(label) for each in known)]
        page, following = self._pages[place], self._pages[place + 1]
        misspelled = any(
            each.is_spelled_by(line.control, label) for each in known for line in page for label in deed.labels
        )
        stays = deed is not self._deeds[place][-1] or page[:1] == following[:1]
        buttons = [each.control if each.is_button else each.switch for each in page]
        return misspelled or any(
            tells_a_deed(each) or (stays and each in buttons and not leads_on(each)) for each in others
        )

    def _is_changed_beside(self, until: int, known: Sequence[Demand]) -> bool:
        """Whether a field or a switch of the pages before got another value that was not typed and none of the
        demands asks for, unless it came with what shows one of them."""
        for place in range(until):
            page, following = self._pages[place], self._pages[place + 1]
            if any(each.says(line.tokens) for each in known for line in following if line not in page):
                continue
            before, typed = states_of(page), [text for deed in self._deeds[place] for text in deed.given if deed.types]
            for name, (value, line) in states_of(following).items():
                is_other = name in before and before[name][0] != value
                is_typed = not value or any(value[-len(text) :] == text for text in typed)
                is_asked = any(each.says(line) or (each.is_value and each.is_place_of(line)) for each in known)
                if is_other and not is_typed and not is_asked:
                    return True
        return False

    def _is_filled_beside(self, demand: Demand, place: int, acts: Sequence[Act]) -> bool:
        """Whether the page from which it is sent has a field with a value that is none of the demand's. What is saved
        with a value or a switch was saved before."""
        given = any(demand.is_given_by(text) for _, deed in acts if deed.types for text in deed.given)
        if demand.is_value or demand.is_switch or not given:
            return False
        fields = states_of([each for each in self._pages[place] if not each.is_harmless]).values()
        return any(value and not demand.has(value) for value, _ in fields)

    def _undoing(self, demand: Demand, shown: int, others: Sequence[Demand], later: Sequence[Demand]) -> str:
        """Checks the acts since the demand was shown as met: each has to be one of another demand, or to change
        nothing. `later`: demands that are named after it, whose own controls may take something away."""
        after = list(self._between(shown, self._last))
        if any(deed.may_undo and not _is_named_of(deed, demand, later) for _, deed in after):
            return "it may have been taken back"
        firsts = {first for each in others if self._saying(each) and (first := self._showing(each)[0]) > shown}
        until = max(firsts, default=shown)
        makers = {sum(place < first for place, _ in after) - 1 for first in firsts}
        for number, (place, deed) in enumerate(after):
            if deed.is_idle or demand.is_unmoved_by(deed.labels):
                continue
            following = after[number + 1 : number + 2]
            if deed.labels:
                is_of_another = any(other.is_pressed_by(label) for other in others for label in deed.labels)
            else:
                is_of_another = deed.types or number in makers or any(each.types for _, each in following)
            if place >= until or not is_of_another:
                return "something was done after it that may have made it again, or unmade it"
        return ""

    def _saying(self, demand: Demand) -> list[PageSentence]:
        return [each for each in self._pages[self._last] if demand.says(each.tokens)]

    def _showing(self, demand: Demand) -> list[int]:
        """The pages that show it, in their order, the last one for want of any."""
        return [
            place
            for place, page in enumerate(self._pages[: self._last + 1])
            if any(demand.says(each.tokens) for each in page) and not self._is_filled_in(demand, place)
        ] or [self._last]

    def _between(self, first: int, last: int) -> Iterator[Act]:
        """The acts on these pages, but for the last one."""
        for place in range(first, min(last, len(self._deeds))):
            yield from ((place, deed) for deed in self._deeds[place] if not deed.is_pause)

    def _is_filled_in(self, demand: Demand, place: int) -> bool:
        """Whether the page may show the value in the field where the agent typed it, before it is sent."""
        typed = [text for _, deed in self._between(0, place) if deed.types for text in deed.given]
        confirmed = any(tells_a_change(each.tokens) and each not in self._pages[0] for each in self._pages[place])
        return demand.is_value and not confirmed and any(map(demand.is_given_by, typed))

    def _is_given(self, demand: Demand, acts: Sequence[Act]) -> bool:
        """Whether a form that the last act sends was given just the object's name, or the value."""
        sent, _ = acts[-1]
        return any(
            any(map(demand.is_given_by, deed.given)) and self._is_form(demand, sent, filled=step < sent)
            for step, deed in acts
            if deed.types and not any(each.is_search for each in self._pages[step])  # who searches for it makes nothing
        )

    def _is_in_its_field(self, acts: Sequence[Act]) -> bool:
        """Whether the last act, a key, goes where something was typed just before."""
        (_, last), before = acts[-1], acts[-2][1] if len(acts) > 1 else None
        return bool(last.types and last.given) or (before is not None and before.types and bool(before.given))

    def _is_sent_elsewhere(self, demand: Demand, acts: Sequence[Act]) -> bool:
        """Whether the last act may send what the agent typed into a box of something else: by a key, or by a click
        on no button of the demand's, while the page has a line that ends with it and does not name the object before.
        """
        sent, last = acts[-1]
        typed = [(step, text) for step, deed in acts if deed.types for text in deed.given]
        if not last.clicks or not typed:
            return bool(typed)
        boxes = [
            (each, text)
            for step, text in typed
            for each in self._pages[sent]
            if each.tokens[-len(text) :] == text and not each.control and each not in self._pages[step]
            if (name := each.tokens[: -len(text)]) and not demand.is_place_of(name)
        ]
        is_only = len(states_of(self._pages[sent])) == 1
        is_name = any(demand.is_given_by(text) for _, text in boxes)  # of which a form may have a field of its own
        is_done = any(demand.is_done_by(words) for words in last.given)
        return bool(boxes) and not (is_done and (is_only or not is_name))

    def _is_form(self, demand: Demand, number: int, *, filled: bool) -> bool:
        """Whether the page is one to give the object's name, or the value, to. Not `filled`: it is given and sent at
        once, so that no page shows in which of its fields."""
        page = [each.tokens for each in self._pages[number]]
        if filled:
            return any(demand.is_field_with_it(each, page) for each in page)
        fields = [demand.is_field(each, page) for each in page]
        others = [each for each, is_field in zip(self._pages[number], fields, strict=True) if not is_field]
        return any(fields) and all(each.is_harmless and not each.is_empty_box for each in others)


def _is_named_of(deed: Deed, demand: Demand, others: Sequence[Demand]) -> bool:
    """Whether it is on controls that name the object of another demand, and not this one's."""
    return bool(deed.labels) and all(
        not demand.speaks_of(label)
        and any(each.is_named_by_control(label) and each.is_place_of(label) for each in others)
        for label in deed.labels
    )


def _holds(lines: Sequence[str], words: Sequence[str]) -> bool:
    return any(f" {' '.join(words)} " in line for line in lines)
