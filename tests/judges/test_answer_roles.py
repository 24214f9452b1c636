"""What a question asks of an answer besides its words: who did it to whom, in which place it stands, a name that only
reads as a day or a verdict, the capitals of a symbol, the order of a list. By kinds that an attacker who had not seen
the rules passed with them, with their right neighbors."""

from __future__ import annotations

import pytest

from tests.judges.saying import verdict

SNAKE = ("Which bird does the snake eat?", "the wren")
LIONS = ("Which plants can lions eat?", "ferns")
ARMY = ("Which army has Hannibal defeated?", "the Roman army")
BUYS = ("Which company will Siemens buy?", "Altair")
SUED = ("What is the name of the actress whom Chaplin sued?", "Ann Lee")
DEPOSED = ("Which king was deposed?", "Charles")
DIRECTED = ("Who was the director of the film?", "Ann Lee")
TAUGHT = ("Who did Ann teach?", "Bo")
BANK = ("Which bank did Barclays rescue?", "Lehman")
PUPIL = ("Who was Plato a pupil of?", "Socrates")
MOTHER = ("Who is Ann Lee the mother of?", "Bo Lee")
OSLO = ("Of which country is Oslo the capital?", "Norway")
LIMA = ("What is the capital of Peru?", "Lima")
EAST = ("What is east of Lake Tana?", "Debre")
LEADS = ("Who will lead the team?", "Ann Lee")
NAMED = ("After whom was the ship named?", "Ann Lee")
BORN = ("Where was she born?", "Paris")
BAND = ("Which band recorded Fragile?", "Yes")
CODE = ("What is the two-letter code of Norway?", "NO")
MOONS = ("How many moons does Venus have?", "0")
APRIL = ("What is the singer's first name?", "April")
MARS = ("Which planet has the moon Phobos?", "Mars")
FRIDAY = ("Who helped Robinson Crusoe?", "Friday")
MARCH = ("In which month did it open?", "March")
COBALT = ("What is the symbol of cobalt?", "Co")
MEGA = ("Which prefix stands for 10^-3?", "m")
DOSE = ("What dose was given?", "80 mg")
WORD = ("Which word is it in Spanish?", "año")
LETTER = ("Which letter is it?", "Ö")
ENDS = ("Which cities are the start and the end of the race?", "Nice, Paris")
ROLES = ("Who played Holmes and who played Watson?", "Jeremy Brett, David Burke")
FLAG = ("What are the colors of the flag, from top to bottom?", "black, red, gold")
OLDEST = ("Name the oldest and the youngest of the sisters.", "Charlotte, Anne")
KINGS = ("List the kings by year of accession.", "Carl, Erik, Olav")
RACE = ("Who came first, second and third in the race?", "Ann Lee, Bo Chen, Cy Dahl")
RADIUM = ("Who discovered radium, and in which year?", "Marie Curie, 1898")
SIZE = ("What are the width and the height of the painting, in cm?", "60, 80")
OUTPUT = ("How did output change?", "-10%")
FOREST = ("What share of the island is forest?", "three quarters")
START = ("When does it start?", "14:00 UTC")
KING = ("Which king died at the battle?", "Richard III")

WRONG = {
    "the passive turns who does it": [
        (SNAKE, "The snake is eaten by the wren."),
        (SNAKE, "It is eaten by the wren."),
        (LIONS, "Lions can be eaten by ferns."),
        (ARMY, "Hannibal has been defeated by the Roman army."),
        (BUYS, "Siemens will be bought by Altair."),
        (SUED, "Chaplin was sued by Ann Lee."),
        (DEPOSED, "The king was deposed by Charles."),
        (DIRECTED, "The director was directed by Ann Lee."),
        (("Who did Ali knock out?", "Liston"), "Ali was knocked out by Liston."),
        (("Which language does Swahili borrow most from?", "Arabic"), "Swahili is borrowed most from by Arabic"),
    ],
    "who has or will do it": [
        (ARMY, "The Roman army has defeated Hannibal."),
        (ARMY, "the Roman army has"),
        (BUYS, "Altair will buy Siemens."),
        (LEADS, "The team will lead Ann Lee."),
        (NAMED, "Ann Lee named the ship"),
    ],
    "a noun of the verb turns who does it": [
        (TAUGHT, "Ann's teacher was Bo."),
        (TAUGHT, "Bo was the teacher"),
        (BANK, "The rescuer of Barclays was Lehman."),
        (BANK, "The rescuer was Lehman"),
    ],
    "what is asked for stands behind a preposition": [
        (PUPIL, "Socrates was a pupil of Plato."),
        (PUPIL, "The pupil of Plato was Socrates."),
        (PUPIL, "Plato's pupil was Socrates"),
        (MOTHER, "Bo Lee is the mother of Ann Lee."),
        (MOTHER, "Bo Lee is the mother"),
        (OSLO, "Norway is the capital of Oslo."),
        (OSLO, "The capital of Oslo is Norway"),
        (LIMA, "Peru is the capital of Lima"),
        (EAST, "Lake Tana is east of Debre"),
    ],
    "a place is not denied by what it lies in": [
        (BORN, "Paris, not France"),
        (("Which country is it in?", "Peru"), "Peru, not Lima"),
    ],
    "a name is no verdict": [
        (BAND, "True"),
        (BAND, "Yes, they did"),
        (BAND, "yep"),
        (CODE, "nope"),
        (CODE, "it has not"),
        (MOONS, "no"),
    ],
    "a name is no month, day or country": [
        (APRIL, "Avril"),
        (MARS, "March"),
        (FRIDAY, "vendredi"),
        (("Which language is it?", "Estonian"), "Estonia"),
        (("Which country is it?", "Brazil"), "Brasília"),
    ],
    "capitals of a symbol, accents of a word": [
        (COBALT, "CO"),
        (COBALT, "The symbol is CO"),
        (MEGA, "M"),
        (CODE, "no"),
        (DOSE, "80 Mg"),
        (DOSE, "80 MG"),
        (WORD, "ano"),
        (LETTER, "O"),
        (LETTER, "Ø"),
    ],
    "another order": [
        (ENDS, "Paris, Nice"),
        (ROLES, "David Burke and Jeremy Brett"),
        (FLAG, "gold, red, black"),
        (OLDEST, "Anne, Charlotte"),
        (KINGS, "Olav, Erik, Carl"),
        (RACE, "Bo Chen, Ann Lee, Cy Dahl"),
        (SIZE, "80 and 60"),
    ],
    "signs told twice, parts of a thousand, other hours, a numeral taken apart": [
        (OUTPUT, "fell 10% less"),
        (OUTPUT, "Output fell by 10% less."),
        (FOREST, "75‰"),
        (START, "14:00 EST"),
        (START, "14:00"),
        (KING, "Richard I II"),
        (("Which black activist led it?", "Malcolm X"), "Malcolm 10"),
    ],
}
RIGHT = [
    (SNAKE, "The snake eats the wren."),
    (LIONS, "Lions can eat ferns."),
    (ARMY, "Hannibal has defeated the Roman army."),
    (ARMY, "Hannibal defeated the Roman army."),
    (BUYS, "Siemens will buy Altair."),
    (DEPOSED, "Charles was deposed."),
    (DIRECTED, "The film was directed by Ann Lee."),
    (("Who deposed the king?", "Charles"), "He was deposed by Charles."),
    (("Who has won the cup?", "Ajax"), "The cup has been won by Ajax."),
    (("Who wrote the play?", "Ann Lee"), "It is a play by Ann Lee."),
    (("By whom was Anna taught?", "Karl"), "Anna was taught by Karl."),
    (TAUGHT, "Ann taught Bo."),
    (("Who taught Ann?", "Bo"), "Ann's teacher was Bo."),
    (("What will the museum show in May?", "vases"), "The museum will show vases in May."),
    (LEADS, "Ann Lee will lead the team."),
    (LEADS, "The team will be led by Ann Lee."),
    (PUPIL, "Plato was a pupil of Socrates."),
    (OSLO, "Oslo is the capital of Norway."),
    (EAST, "Debre is east of Lake Tana."),
    (BORN, "Paris, France"),
    (BAND, "The band is Yes."),
    (CODE, "The code is NO."),
    (("In 1999, was the bridge open?", "yes"), "Yes, it was."),
    (("Did the team know who won?", "no"), "nope"),
    (MOONS, "no moons"),
    (MARCH, "März"),
    (("Which country is it?", "Brazil"), "Brasil"),
    (COBALT, "The symbol of cobalt is Co."),
    (("What is the code of the airport?", "LHR"), "lhr"),
    (DOSE, "80 milligrams"),
    (LETTER, "ö"),
    (ENDS, "Nice and Paris"),
    (("Who are the king and queen?", "Karl, Anna"), "Karl and Anna"),
    (("Which three countries border it?", "Poland, Austria, Italy"), "Italy, Poland and Austria"),
    (RADIUM, "Marie Curie and 1898"),
    (SIZE, "60 cm and 80 cm"),
    (("In which years did he win?", "1903, 1950"), "1950 and 1903"),
    (OUTPUT, "It fell by 10%."),
    (OUTPUT, "10% less"),
    (("What is the salinity?", "35‰"), "3.5%"),
    (START, "2 pm GMT"),
]
NOT_REFUSED = [
    (("What is the bridge's length?", "150 m (490 ft)"), "150 metres"),
    (("When did she die?", "3 May 1850 (aged 61)"), "May 3, 1850"),
    (("How large is the room?", "4 m × 5 m"), "4 by 5 metres"),
    (RADIUM, "Marie Curie in 1898"),
    (("How did the price change?", "rose by 3%"), "up 3%"),
    (("How far is it?", "100 km"), "62 miles"),
    (START, "1400 UTC"),
    (START, "16:00 CEST"),
]


@pytest.mark.parametrize("kind", WRONG)
def test_what_answers_another_question(kind: str) -> None:
    taken = [(said, asked) for asked, said in WRONG[kind] if verdict(said, asked[1], asked[0]) is True]
    assert taken == []


@pytest.mark.parametrize(("asked", "said"), RIGHT)
def test_what_answers_it(asked: tuple[str, str], said: str) -> None:
    assert verdict(said, asked[1], asked[0]) is True


@pytest.mark.parametrize(("asked", "said"), NOT_REFUSED)
def test_what_may_be_right_is_not_refused(asked: tuple[str, str], said: str) -> None:
    assert verdict(said, asked[1], asked[0]) is not False
