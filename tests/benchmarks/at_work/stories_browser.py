"""What somebody does on web pages in a real browser, and what they say to it. The pages are those of pages.py.

Written as stories_desktop.py is: by another hand than the rules that read it.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.at_work.hands import Place
from tests.benchmarks.at_work.person import Person

On = Callable[..., Place]  # (selector, x=0.5, y=0.5): on the screen, where in the element


def shop(one: Person, on: On) -> None:
    """Shoes are looked for and put into a basket."""
    one.announces("I need new running shoes, so I click into the search field.")
    one.clicks(on("#search"))
    one.types("running shoes\n", "Running shoes.")
    one.comments("A lot of results.")
    one.announces("I scroll through them a bit.")
    one.scrolls(on("#results"), "down", 7)
    one.announces("And up again, the blue one was nice.")
    one.scrolls(on("#results"), "up", 5)
    one.announces("The blue pair, let me see the details.")
    one.clicks(on("#item-2 a"))
    one.rests(0.6, 1.4)
    one.announces("Size forty three.", over=False)
    one.clicks(on("#size-43"))
    one.talks("Honey, did you lock the car? I parked it in front of the bakery.")
    one.announces("And I want two pairs, so I mark the number in the field.")
    one.clicks(on("#count"), times=2)
    one.types("2", "Two.")
    one.takes_back("Then straight to the basket.", "Hmm no, first I choose the express delivery.")
    one.clicks(on("#express"))
    one.announces("Now add them to the basket.")
    one.clicks(on("#add"))
    one.comments("There they are.")
    one.announces("I have a coupon code from the newsletter.")
    one.clicks(on("#coupon"))
    one.types("SPRING24", "Spring twenty four.")
    one.announces("Apply.")
    one.clicks(on("#apply"))
    one.comments("Ten percent off, very nice.")


def article(one: Person, on: On) -> None:
    """An article is read, and something copied out of it."""
    one.announces("I want to know how old the lighthouse is. I read further down.")
    one.scrolls(on("#text"), "down", 9)
    one.announces("This is long. Maybe find the word built on the page.")
    one.presses("Control_L", "f")
    one.rests(0.4, 0.9)
    one.types("built in\n")
    one.rests(0.4, 0.9)
    one.presses("Escape")
    one.comments("Eighteen ninety one, there it is.")
    one.announces("I mark the sentence with the mouse.")
    one.drags(on("#fact", 0.02), on("#fact", 0.6))
    one.announces("Copy.")
    one.presses("Control_L", "c")
    one.talks("Yes, come in. The printer is over there, it has been out of paper since Tuesday.")
    one.announces("Up to the top of the page.")
    one.presses("Control_L", "Home")
    one.announces("Where is the box for notes, here on the right.")
    one.clicks(on("#notes"))
    one.presses("Control_L", "v")
    one.comments("Pasted.")
    one.types(" so more than a century\n", "So that is more than a century.")
    one.announces("Is there an article about the keeper? I follow this link.")
    one.clicks(on("#keeper"))
    one.rests(0.8, 1.4)
    one.regrets("No, this is a different person, back to the article.")
    one.presses("Alt_L", "Left")
    one.rests(0.6, 1.2)
    one.announces("Then the other link, history.")
    one.clicks(on("#history"))
    one.comments("This page is better.")


def timetable(one: Person, on: On) -> None:
    """A train is looked up with a form."""
    one.announces("We start in Hamburg.", over=False)
    one.clicks(on("#from"))
    one.types("Hamburg")
    one.presses("Tab")
    one.types("Vienna", "And the destination is Vienna.")
    one.announces("By night train only, there is a check box.")
    one.clicks(on("#night"))
    one.announces("The time is set with this slider, later in the evening.")
    one.drags(on("#time", 0.5), on("#time", 0.85))
    one.comments("Twenty hours or so.")
    one.takes_back("First class would be comfortable.", "No, far too expensive, second class it is.")
    one.clicks(on("#second"))
    one.talks("Can you turn down the radio? I cannot hear myself think.")
    one.announces("Show me the connections.")
    one.clicks(on("#show"))
    one.rests(1.0, 2.0)
    one.comments("Three of them.")
    one.announces("Are there more at the end of the list?")
    one.scrolls(on("#trains"), "down", 6)
    one.announces("I take the one with the fewest changes.")
    one.clicks(on("#train-3 button"))
    one.rests(0.5, 1.2)
    one.regrets("Hm, that one leaves at midnight, too late. The other then.")
    one.clicks(on("#train-2 button"))
    one.announces("A word for the conductor, window seat please.", over=True)
    one.clicks(on("#wish"))
    one.types("window seat please")
    one.announces("Reserve it.")
    one.clicks(on("#reserve"))
    one.comments("We have got a number, wonderful.")


def mail(one: Person, on: On) -> None:
    """Messages are put in order, and one is answered."""
    one.announces("Eleven unread. I tick the advertisements first.")
    one.clicks(on("#tick-2"))
    one.clicks(on("#tick-4"))
    one.announces("And get rid of them.")
    one.clicks(on("#trash"))
    one.comments("That looks much tidier.")
    one.announces("The invoice belongs into the folder taxes, I pull it there.")
    one.drags(on("#mail-3 .subject"), on("#taxes"))
    one.rests(0.5, 1.0)
    one.announces("What does Clara write?", over=False)
    one.clicks(on("#mail-1 .subject"))
    one.rests(1.2, 2.4)
    one.talks("I wonder whether the plumber comes today or not at all.")
    one.announces("She wants an answer, so reply.")
    one.clicks(on("#reply"))
    one.types("Hello Clara,\nthursday at ten suits me well.", "Hello Clara, Thursday at ten suits me well.")
    one.announces("Hm, rather eleven. I mark the ten by double click.")
    one.clicks(on("#answer", 0.3, 0.5), times=2)
    one.presses("Control_L", "End")
    one.types("\nSee you there")
    one.takes_back("Let me attach the plan.", "Never mind the plan, she has it already, I just send it.")
    one.clicks(on("#send"))
    one.comments("Sent.")
    one.announces("Now a look into the archive.")
    one.clicks(on("#archive"))
    one.rests(0.5, 1.0)
    one.scrolls(on("#list"), "down", 4)
    one.announces("Nothing there that is urgent. Back to the inbox.")
    one.clicks(on("#inbox"))
