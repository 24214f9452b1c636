"""What somebody does with the editor, the files, the calculator and a terminal, and what they say to it.

Written from how people work, by another hand than the rules that read it (tars_jax/annotation/in_situ). Places are
those of the programs of Debian 12 at their first start, from the corner of their windows.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.at_work.hands import Place
from tests.benchmarks.at_work.person import Person

At = Callable[[str, int, int], Place]  # of the window with a title like that; below 0: from the right, from below

FILE, EDIT, SEARCH, VIEW, DOCUMENT = (19, 13), (59, 13), (109, 13), (163, 13), (229, 13)  # the editor's menus
KEYS = {"7": (35, 199), "8": (100, 199), "9": (165, 199), "/": (230, 199), "4": (35, 239), "5": (100, 239),
        "6": (165, 239), "*": (230, 239), "1": (35, 279), "2": (100, 279), "3": (165, 279), "-": (230, 279),
        "0": (35, 319), ".": (100, 319), "+": (230, 319), "=": (295, 299), "C": (185, 113)}  # fmt: skip
FIRST_ITEM, SECOND_ITEM, THIRD_ITEM = (207, 98), (300, 98), (393, 98)  # of a folder


def letter(one: Person, at: At) -> None:
    """A note is written, mended, and saved by a dialog."""
    editor = "Mousepad"
    one.announces("Okay so first I click into the editor to start writing.")
    one.clicks(at(editor, 300, 200))
    one.announces("I begin with the greeting, dear neighbors.")
    one.types("Dear neighbors,\n\n")
    one.rests(1.5, 2.5)  # what comes next has to be thought of
    one.types("the water is off on monday from nine to eleven.\n", "The water is off on Monday, from nine to eleven.")
    one.rests(1.0, 2.0)
    one.types("Please fill some bottles before.\n")
    one.comments("Good, that is the main part.")
    one.announces("Now I select everything with control A.")
    one.presses("Control_L", "a")
    one.presses("Control_L", "c")
    one.comments("It is all copied.")
    one.takes_back("I will make a new window from the file menu.", "No, actually a new tab is enough, control N.")
    one.presses("Control_L", "n")
    one.rests(0.5, 1.0)
    one.announces("And paste the text here.")
    one.presses("Control_L", "v")
    one.talks("Was that the postman? I think somebody rang the bell downstairs.")
    one.announces("The text must be saved, so I open the file menu.")
    one.clicks(at(editor, *FILE))
    one.rests(0.5, 1.2)
    one.announces("Save as, this one.")
    one.clicks(at(editor, FILE[0] + 45, 190))
    one.rests(1.2, 2.0)
    one.announces("The file should be called water dot text.")
    one.types("water.txt")
    one.announces("And the save button in the corner.")
    one.clicks(at("Save As", -50, -28))
    one.comments("Great, the title shows the new name.")


def trip(one: Person, at: At) -> None:
    """A folder is made and filled, and the costs are added."""
    files, sums = "home", "galculator"
    one.announces("Let me go to the file manager first.")
    one.clicks(at(files, 480, 330))
    one.announces("I need a new folder for the trip, there is a shortcut for that.")
    one.presses("Control_L", "Shift_L", "n")
    one.rests(0.8, 1.5)
    one.announces("I name it Norway.")
    one.types("Norway\n")
    one.rests(0.8, 1.2)
    one.announces("The map goes into the folder, so I drag it over there.")
    one.drags(at(files, *SECOND_ITEM), at(files, *FIRST_ITEM))
    one.rests(1.0, 1.6)
    one.comments("It has moved.")
    one.announces("Let me have a look inside of the folder.")
    one.clicks(at(files, *FIRST_ITEM), times=2)
    one.rests(0.8, 1.5)
    one.announces("And back again.", over=False)
    one.presses("Alt_L", "Left")
    one.talks("Mom, I am in the study. Yes, I will come down for lunch.")
    one.announces("Now the costs. I clear the calculator.")
    one.clicks(at(sums, *KEYS["C"]))
    one.announces("Seven")
    one.clicks(at(sums, *KEYS["7"]))
    one.clicks(at(sums, *KEYS["5"]))
    one.announces("times four nights", over=True)
    one.clicks(at(sums, *KEYS["*"]))
    one.clicks(at(sums, *KEYS["6"]))
    one.regrets("Oh no, I hit the six, I have to clear this and begin again.")
    one.clicks(at(sums, *KEYS["C"]))
    one.announces("I will just type it, seventy five times four.")
    one.types("75*4\n")
    one.comments("Three hundred, as I thought.")


def minutes(one: Person, at: At) -> None:
    """Notes of a meeting are opened, searched, and changed."""
    editor = "notes.txt"
    one.announces("I have the notes open here, so I click at the end of the text.")
    one.clicks(at(editor, 400, 300))
    one.presses("Control_L", "End")
    one.announces("There is one more point, the budget for next year.")
    one.types("\nbudget for next year\n")
    one.rests(1.5, 2.5)
    one.types("ask Peter about the room", "And somebody has to ask Peter about the room.")
    one.comments("So that makes four points.")
    one.announces("I want to see it with line numbers, that should be somewhere under view.")
    one.clicks(at(editor, *VIEW))
    one.rests(0.8, 1.4)
    one.announces("Hmm, the second entry looks like it.")
    one.clicks(at(editor, VIEW[0] + 60, 63))
    one.rests(0.6, 1.2)
    one.talks("Sorry, what? No, I have not seen your keys.")
    one.announces("Now find the word printer.", over=True)
    one.presses("Control_L", "f")
    one.rests(0.5, 1.0)
    one.types("printer")
    one.presses("Escape")
    one.takes_back("I delete the line with the mouse.", "Wait, rather I only mark the word with a double click.")
    one.clicks(at(editor, 60, 80), times=2)
    one.rests(0.3, 0.8)
    one.announces("And write scanner in its place.")
    one.types("scanner")
    one.announces("Undo, I liked the old one better.")
    one.presses("Control_L", "z")
    one.announces("All right, save the whole thing.")
    one.presses("Control_L", "s")
    one.comments("The star in the title is gone, so it is on the disk.")
    one.announces("Maybe count the lines in the terminal.")
    one.clicks(at("shell", 300, 100))
    one.types("wc -l notes.txt\n", "W C, minus L, notes.")
    one.comments("Seems right to me.")


def tidying(one: Person, at: At) -> None:
    """A file is renamed by its menu, looked at, and a sum is made of what stands in it."""
    files, sums = "home", "galculator"
    one.announces("Which files do we have. I bring the folder to the front.")
    one.clicks(at(files, 480, 330))
    one.announces("This map needs a better name, so the menu with the right button.")
    one.clicks(at(files, *SECOND_ITEM), "right")
    one.rests(0.6, 1.2)
    one.announces("Rename, near the bottom.")
    place = at(files, *SECOND_ITEM)
    one.clicks((place[0] + 70, place[1] + 263))
    one.rests(0.8, 1.4)
    one.types("city map.txt\n", "City map, that is clearer.")
    one.rests(0.5, 1.0)
    one.talks("It is getting dark already, and we still have to walk the dog.")
    one.announces("What does the terminal say about it?")
    one.clicks(at("shell", 300, 100))
    one.announces("List the directory.", over=False)
    one.types("ls -l\n")
    one.comments("Yes, there is the city map.")
    one.types("cat notes.txt\n", "What was in the notes again?")
    one.rests(1.0, 2.0)
    one.announces("I go up a little in the output.")
    one.scrolls(at("shell", 300, 120), "up", 5)
    one.announces("Nineteen plus twenty three, that goes into the calculator.")
    one.clicks(at(sums, *KEYS["1"]))
    one.clicks(at(sums, *KEYS["9"]))
    one.announces("plus", over=True)
    one.clicks(at(sums, *KEYS["+"]))
    one.clicks(at(sums, *KEYS["2"]))
    one.rests(0.8, 1.2)
    one.clicks(at(sums, *KEYS["2"]))
    one.regrets("That was a two too many, so away with it.")
    one.presses("BackSpace")
    one.clicks(at(sums, *KEYS["3"]))
    one.announces("Equals.")
    one.clicks(at(sums, *KEYS["="]))
    one.comments("Forty two, of course.")
