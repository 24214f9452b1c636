"""Words of the question around an answer: what they do there says whether the answer is one. By kinds that somebody
who had not seen the rules passed with them, with their right neighbors."""

from __future__ import annotations

import pytest

from tests.judges.saying import verdict

LAKE = ("What is the nearest city to the lake?", "Geneva")
OLDER = ("Who is older than Anna?", "Bob")
HOUSES = ("How many houses did the fire take in half an hour?", "120")
KEYS = ("How many keys does a standard piano have?", "88")
HALL = ("What is the largest number of people that the hall can hold?", "5,200")
MILES = ("What is 5 km in miles?", "3.1 miles")
SIEGE = ("How long did the siege last?", "900 days")
ERUPTION = ("In which year did the Krakatoa eruption take place?", "1883")
COLORS = ("What are the three primary colors of light?", "red, green, blue")
UNION = ("Which country never joined the union?", "Norway")
LOST = ("Which team lost the final to Spain?", "Netherlands")
BEAT = ("Which team did Spain beat in the final?", "Netherlands")
KENYA = ("Which country is north of Kenya?", "Ethiopia")
HUSBAND = ("Who was Anna's first husband?", "Karl Berg")
TOWER = ("Who was the architect of the tower?", "Fazlur Khan")
TALLER = ("Is Anna taller than Bob?", "yes")
WON = ("Did the team win the final?", "no")
TRAIN = ("At what time does the train leave?", "14:05")
HEIGHT = ("Quelle est la hauteur de la tour, en mètres ?", "1 234,5 m")

KING = ("Which actor played the king in the film?", "Ian Holm")
LUND = ("What is the population of Lund?", "91,940")

WRONG = {
    "a word beside a name belongs to it": [
        (LAKE, "Lake Geneva"),
        (LAKE, "nearest Geneva"),
        (KENYA, "North Ethiopia"),
        (KENYA, "north country Ethiopia"),
        (TOWER, "the tower Fazlur Khan"),
        (HUSBAND, "Anna Karl Berg"),
        (OLDER, "older Bob"),
        (COLORS, "light red, green, blue"),
    ],
    "half a question is no answer to it": [
        (("Was the ship built before the bridge?", "yes"), "The ship was built"),
        (("Was she born in Peru?", "yes"), "She was born."),
        (("Is the lake below sea level?", "yes"), "The lake is below"),
        (("Did Anna marry Karl?", "yes"), "did Anna marry Karl"),
    ],
    "another part": [
        (KING, "Ian Holm the king"),
        (KING, "Ian Holm played the film"),
        (KING, "actor of Ian Holm"),
        (("Who is the mother of Anna Berg?", "Lisa Holt"), "Lisa Holt is Anna Berg"),
        (("Which two colors are on the flag?", "white, red"), "two white, red"),
        (("When did the museum open?", "1911"), "open 1911"),
        (("What language is spoken in Brazil?", "Portuguese"), "Spoken Portuguese"),
    ],
    "one thing is said to be another": [
        (LAKE, "Geneva is the lake"),
        (LAKE, "the lake is the nearest city to Geneva"),
        (OLDER, "Bob is Anna"),
        (TALLER, "Anna is Bob"),
        (TALLER, "Anna is tallest"),
        (LOST, "Netherlands is Spain"),
    ],
    "a word stands behind another than in the question": [
        (LAKE, "to Geneva"),
        (LAKE, "the city nearest to Geneva"),
        (LOST, "Netherlands of Spain"),
        (TOWER, "Fazlur Khan of the tower"),
        (HOUSES, "120 houses in an hour"),
        (HOUSES, "120 in an hour"),
        (MILES, "5 km in 3.1 miles"),
        (MILES, "3.1 miles in 5 km"),
        (ERUPTION, "1883 in place"),
        (("Who was almost elected in 1960?", "Bob Hill"), "Bob Hill was elected in 1960"),
    ],
    "a noun behind a number is what is counted": [
        (KEYS, "88 pianos"),
        (KEYS, "88 standards"),
        (KEYS, "88 in"),
        (KEYS, "88 does"),
        (KEYS, "88 key pianos"),
        (HALL, "5,200 halls"),
        (HOUSES, "120 fires"),
        (ERUPTION, "1883 years"),
        (("How many bridges cross the river?", "14"), "14 rivers"),
    ],
    "a comparison or a bound changes the number": [
        (HALL, "larger 5,200"),
        (("How many keys more than 80 does it have, at least?", "8"), "at least 8"),
        (SIEGE, "longest 900 days"),
        (SIEGE, "the last 900 days"),
        (ERUPTION, "c. 1883"),
        (ERUPTION, "around 1883"),
    ],
    "a negation counts wherever it stands": [
        (UNION, "Norway never"),
        (WON, "no, not"),
        (UNION, "Norway joined the union"),
    ],
    "other figures before a number, other hours, a cut number": [
        (SIEGE, "0 900 days"),
        (TRAIN, "14:05 a.m."),
        (HEIGHT, "1 234 m"),
    ],
    "a label is what is asked for": [
        (SIEGE, "last: 900 days"),
        (HOUSES, "an hour: 120"),
        (KEYS, "many: 88"),
        (("In which year before 1900 was it?", "1883"), "1900: 1883"),
    ],
    "beside a comma stands another name, or a list goes on": [
        (LAKE, "Geneva, the lake"),
        (HUSBAND, "Karl Berg, Anna"),
        (UNION, "Norway, ..."),
        (("Who defeated Kasparov in 1997?", "Deep Blue"), "Deep Blue, Kasparov in 1997"),
        (("Which countries border Liechtenstein?", "Austria, Switzerland"), "Austria, Switzerland, border countries"),
    ],
    "who did it to whom": [
        (BEAT, "Netherlands did beat Spain"),
        (BEAT, "Netherlands did"),
        (("Did Anna marry Karl?", "yes"), "Anna Karl"),
        (("Who succeeded Pitt as minister?", "Addington"), "Addington was Pitt"),
        (("Did Anna marry Karl?", "yes"), "Anna did marry"),
    ],
}
RIGHT = [
    (KING, "Ian Holm played the king in the film."),
    (LUND, "Lund has 91,940 inhabitants."),
    (LUND, "There are 91,940 people in Lund."),
    (("What is the area of the lake?", "580 km2"), "The lake covers 580 km2."),
    (("Who is the mother of Anna Berg?", "Lisa Holt"), "Lisa Holt is Anna Berg's mother."),
    (("Who succeeded Pitt as minister?", "Addington"), "Pitt was succeeded as minister by Addington."),
    (("Was she born in Peru?", "yes"), "Yes, she was born in Peru."),
    (("What is the capital of Peru?", "Lima"), "Lima, Peru"),
    (LAKE, "The nearest city to the lake is Geneva."),
    (LAKE, "Geneva is the nearest city to the lake"),
    (OLDER, "Bob is older than Anna."),
    (HOUSES, "120 houses"),
    (HOUSES, "The fire took 120 houses in half an hour."),
    (KEYS, "A standard piano has 88 keys."),
    (KEYS, "88 keys"),
    (HALL, "5,200 people"),
    (HALL, "The largest number of people is 5,200."),
    (MILES, "5 km is 3.1 miles"),
    (SIEGE, "The siege lasted 900 days."),
    (SIEGE, "900 days long"),
    (ERUPTION, "The Krakatoa eruption took place in 1883."),
    (ERUPTION, "The year was 1883."),
    (COLORS, "The three primary colors of light are red, green and blue."),
    (UNION, "Norway never joined the union."),
    (LOST, "The Netherlands lost the final to Spain."),
    (BEAT, "Spain beat the Netherlands in the final."),
    (KENYA, "Ethiopia is north of Kenya."),
    (HUSBAND, "Anna's first husband was Karl Berg."),
    (TOWER, "The tower's architect was Fazlur Khan."),
    (TALLER, "Anna is taller."),
    (TALLER, "Yes, she is taller than Bob."),
    (WON, "The team did not win."),
    (TRAIN, "It leaves at 14:05."),
    (HEIGHT, "1 235 m"),
    (("What is the price of the lamp?", "€49.90"), "The lamp costs €49.90."),
    (("When was the bridge opened?", "12 June 1964"), "Opened: 12 June 1964"),
    (("How fast can it run?", "65 km/h"), "It can run at 65 km/h."),
    (("How large is the installer of the desktop version?", "1.5 GB"), "The desktop installer is 1.5 GB."),
    (("What does the factory make today?", "glass bottles"), "Today the factory makes glass bottles."),
]


@pytest.mark.parametrize("kind", WRONG)
def test_words_of_the_question_that_say_another_thing(kind: str) -> None:
    taken = [(said, asked) for asked, said in WRONG[kind] if verdict(said, asked[1], asked[0]) is True]
    assert taken == []


@pytest.mark.parametrize(("asked", "said"), RIGHT)
def test_words_of_the_question_that_carry_an_answer(asked: tuple[str, str], said: str) -> None:
    assert verdict(said, asked[1], asked[0]) is True
