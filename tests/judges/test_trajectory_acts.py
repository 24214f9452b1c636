"""The act that made a showing: one that the demand's verb allows, and nothing after it that may have unmade it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tars_jax.environment import CannotSay
from tars_jax.judges.rubric import RubricJudge
from tars_jax.judges.webjudge import WebJudge
from tests.judges.episodes import episode, task

JUDGES: dict[str, WebJudge | RubricJudge] = {"webjudge": WebJudge(), "rubric": RubricJudge()}
CLICK, ENTER = "click(point='<point>5 5</point>')", "hotkey(key='enter')"
EVENT = ("Create an event called 'Dentist'", "The event Dentist was created.")
DARK = ("Turn on dark mode", "Dark mode is on.")
GERMAN = ("Set the language to 'German'", "The language is German.")
TICKET = ("Close ticket 19", "Ticket 19 is closed.")
TEA = ("Put 'green tea' into the cart", "green tea is put into the cart")
MAIL = ("Send the text 'See you' to Anna", "See you was sent to Anna.")
RENAMED = ("Rename the file a.txt to b.txt", "The file a.txt was renamed to b.txt.")
FORM, FILLED, MADE = (
    "Title: \n[button] Save\n[button] Cancel",
    "Title: Dentist\n[button] Save\n[button] Cancel",
    EVENT[1],
)
OFF, TURNED = "Dark mode: off\n[button] Dark mode", "Dark mode was turned on."
OPEN, CLOSED = "Ticket 19: open\n[button] Close ticket 19\n[button] Close", "Ticket 19 was closed."
SHOP, IN_CART = "green tea\n[button] Add green tea\n[button] Add black tea", "green tea added to the cart."
DRAFT = "Text: \n[button] Send to Anna\n[button] Save"
WRITTEN, SENT = DRAFT.replace("Text: ", "Text: See you"), "See you was sent to Anna."
LANGUAGES = "Language: English\n[button] German\n[button] French"

PDF = ("Delete the file 'cv.pdf'", "The file cv.pdf is deleted.")
FILES, GONE = "Files\n[button] Delete cv.pdf\n[button] Delete plan.odt", "cv.pdf was deleted."


def push(name: str) -> str:
    return f"push(button='{name}')"


def typed(text: str) -> str:
    return f"type(content='{text}')"


def verdict(judge: str, asked: tuple[str, str], shown: Sequence[str]) -> bool | None:
    """`shown`: pages and actions in turn. None: the judge cannot say."""
    steps = list(zip(shown[:-1:2], shown[1::2], strict=True))
    try:
        return asyncio.run(
            JUDGES[judge](episode(steps, shown[-1], instruction=asked[0]), task(asked[0], asked[1]))
        ).success
    except CannotSay:
        return None


WRONG = {
    "Enter alone": [
        (asked, [page, key, done])
        for asked, page, done in ((TICKET, OPEN, CLOSED), (DARK, OFF, TURNED), (TEA, SHOP, IN_CART))
        for key in (ENTER, "press('Return')", typed("\\n"), "hotkey(key='space')")
    ]
    + [
        (TICKET, [OPEN, CLICK, OPEN, ENTER, CLOSED]),
        (EVENT, [FORM, typed("Dentist"), FILLED, "hotkey(key='tab')", FILLED, ENTER, MADE]),
    ],
    "a switch that was undone": [
        (DARK, [OFF, push("Dark mode"), TURNED, act, f"{TURNED}\n[button] Other"])
        for act in (
            push("Dark mode"),
            CLICK,
            ENTER,
            "hotkey(key='space')",
            "hotkey(key='left')",
            push("Reset"),
            push("Use defaults"),
        )
    ]
    + [
        (DARK, [OFF, push("Dark mode"), "Loading", push("Dark mode"), "Loading", "wait()", TURNED]),
        (DARK, [OFF, CLICK, "Loading", CLICK, TURNED]),
        (DARK, [OFF, push("Dark mode"), TURNED, push("Dark mode"), OFF, push("Home"), TURNED]),
        (GERMAN, [LANGUAGES, push("German"), "Language: German", push("French"), "Language: German\n[button] Other"]),
    ],
    "a control of something else": [
        (TICKET, [OPEN, push(name), CLOSED])
        for name in ("Close", "Cancel", "Dismiss", "OK", "Yes", "Done", "Send", "Close ticket 20")
    ]
    + [
        (
            ("Cancel the order 1042", "Order 1042 was canceled."),
            ["Order 1042\n[button] Cancel", push("Cancel"), "Order 1042 was canceled."],
        ),
        (
            TICKET,
            [OPEN.replace("[button] Close ticket 19\n", ""), push("Close ticket 19"), CLOSED],
        ),  # it shows no such one
        (DARK, [f"{OFF}\n[button] Turn off dark mode", push("Turn off dark mode"), TURNED]),
        (EVENT, [FORM, typed("Dentist"), FILLED, push("Cancel"), MADE]),
        (MAIL, [DRAFT, typed("See you"), WRITTEN, push("Save"), SENT]),
        (TEA, [f"{SHOP}\n[link] green tea", push("green tea"), IN_CART]),
        (TEA, [SHOP, push("Add black tea"), "Shop", CLICK, IN_CART]),
        (GERMAN, ["Language: English", push("OK"), "Language: German"]),
    ],
    "twice, or something after it": [
        (TEA, [SHOP, push("Add green tea"), "Shop", push("Add green tea"), IN_CART]),
        (
            MAIL,
            [
                DRAFT,
                typed("See you"),
                f"{WRITTEN}\n[button] Send to Bo",
                push("Send to Bo"),
                f"{WRITTEN}\n[button] Send to Bo",
                push("Send to Anna"),
                SENT,
            ],
        ),
        (EVENT, [FORM, typed("Dentist"), FILLED, CLICK, "Loading", CLICK, MADE]),
    ]
    + [
        (EVENT, [FORM, typed("Dentist"), FILLED, push("Save"), MADE, act, f"{MADE}\n[button] Other"])
        for act in (
            CLICK,
            push("Rename"),
            push("Put back"),
            "hotkey(key='backspace')",
            typed("x"),
            "drag(start_point='<point>1 1</point>', end_point='<point>9 9</point>')",
        )
    ],
    "a name that is the page's own word": [
        (
            (f"Create a page called '{name}'", f"{name} was created."),
            [
                "Title: \n[button] Save page",
                typed(name),
                f"Title: {name}\n[button] Save page",
                push("Save page"),
                f"{name} was created.",
            ],
        )
        for name in ("draft", "Done", "saved", "New page", "A draft", "Backup", "Message", "Untitled")
    ]
    + [
        (
            (f"Archive the message '{name}'", f"{name} was archived."),
            [f"{name}\n[button] Archive {name}", push(f"Archive {name}"), f"{name} was archived."],
        )
        for name in ("draft", "all", "It")
    ]
    + [(EVENT, [f"Dentist: Monday\n{FORM}", typed("Dentist"), f"Dentist: Monday\n{FILLED}", push("Save"), MADE])],
    "a control of another object, whose name has a sign in it": [
        (
            (f"Delete the file '{name}'", f"The file {name} is deleted."),
            [f"Files\n[button] Delete {name}\n[button] Delete {other}", act, f"{name} was deleted."],
        )
        for name, other in (("cv.pdf", "plan.odt"), ("a-1", "a-2"), ("me@x.org", "you@x.org"), ("src/a", "src/b"))
        for act in (
            push(f"Delete {other}"),
            f"{push(f'Delete {other}')}\n{push(f'Delete {name}')}",
            f"{push(f'Delete {name}')}\n{push(f'Delete {other}')}",
        )
    ],
    "a control of more, of a part, or of another spelling": [
        (PDF, [f"Files\n[button] Delete cv.pdf\n[button] {label}", push(label), GONE])
        for label in ("Delete", "Delete all", "Delete cv.pdf.bak", "Delete cv.pdf and plan.odt", "Delete cv.PDF")
    ]
    + [
        (TEA, [f"{SHOP}\n[button] Add tea", push("Add tea"), IN_CART]),
        (
            MAIL,
            [
                f"{DRAFT}\n[button] Send to anna",
                typed("See you"),
                f"{WRITTEN}\n[button] Send to anna",
                push("Send to anna"),
                SENT,
            ],
        ),
    ],
    "something else before it, of which no page need tell": [
        (PDF, [FILES, push("Delete plan.odt"), page, push("Delete cv.pdf"), GONE])
        for page in (FILES, FILES.replace("\n[button] Delete plan.odt", ""))
    ]
    + [
        (PDF, [f"{FILES}\n{old}", act, f"{FILES}\n{new}", push("Delete cv.pdf"), GONE])
        for old, new, name in (
            ("[ ] Tell all", "[x] Tell all", "Tell all"),
            ("Owner: Bo", "Owner: Anna", "Owner"),
            ("[button] Make public", "[button] Make public", "Make public"),
            ("Dark: on", "Dark: on", "Switch to Bo"),
        )
        for act in ((push(name), CLICK) if old != new else (push(name),))
    ]
    + [
        (DARK, [OFF, push("Beacon"), "Beacon was turned on.\n[button] Dark mode", push("Dark mode"), TURNED]),
        (PDF, [FILES, push("Log out"), "Log in", CLICK, FILES, push("Delete cv.pdf"), GONE]),
    ],
    "an address that does something": [
        (PDF, [FILES, push("Delete cv.pdf"), GONE, f"navigate(url='http://x/{path}')", GONE])
        for path in ("undo/1", "items/1/restore", "logout", "cart/clear", "settings/reset")
    ],
    "another field, or a form with something else": [
        (
            ("Add a contact called 'Lars'", "The contact Lars was added."),
            [
                f"Contact: {old}\n{name}: \n[button] Add contact",
                typed("Lars"),
                f"Contact: {old}\n{name}: Lars\n[button] Add contact",
                push("Add contact"),
                "The contact Lars was added.",
            ],
        )
        for name in ("Search", "Notes", "Owner")
        for old in ("", "Guest")
    ]
    + [
        (MAIL, [f"To: {to}\n{DRAFT}", typed("See you"), f"To: {to}\n{WRITTEN}", push("Send to Anna"), SENT])
        for to in ("Bo", "Anna, Bo", "anna")
    ],
    "a new name that nobody gave": [
        (RENAMED, ["a.txt\nNew name: \n[button] Rename", push("Rename"), "a.txt was renamed to b.txt."]),
    ],
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("asked", "shown"),
    [pytest.param(*each, id=f"{kind} {number}") for kind, cases in WRONG.items() for number, each in enumerate(cases)],
)
def test_nobody_says_that_it_was_made(judge: str, asked: tuple[str, str], shown: list[str]) -> None:
    assert verdict(judge, asked, shown) is None


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (EVENT, [FORM, typed("Dentist"), FILLED, push("Save"), MADE, push("OK"), MADE]),
        (EVENT, [FORM, CLICK, FORM, typed("Dentist"), FILLED, ENTER, MADE]),
        (
            EVENT,
            [
                FORM,
                typed("Dentist"),
                FILLED,
                push("Save"),
                f"Dentist could not be saved.\n{FILLED}",
                push("Save"),
                MADE,
            ],
        ),
        (EVENT, [FORM, typed("Dentist"), FILLED, push("Save"), f"{MADE}\n[button] Undo"]),
        (TICKET, [OPEN, push("Close ticket 19"), "Ticket 19\n[button] Yes\n[button] No", push("Yes"), CLOSED]),
        (TICKET, [OPEN, push("Close ticket 19"), f"{OPEN}\n[button] Close ticket", push("Close ticket"), CLOSED]),
        (DARK, [OFF, CLICK, "Dark mode: on"]),
        (PDF, [FILES, push("Delete cv.pdf"), GONE]),
        (
            MAIL,
            [
                "Text: \n[button] SEND TO ANNA",
                typed("See you"),
                "Text: See you\n[button] SEND TO ANNA",
                push("SEND TO ANNA"),
                SENT,
            ],
        ),
        (
            PDF,
            [
                "Menu\n[button] Help\n[button] Items",
                push("Help"),
                "Help",
                push("Home"),
                FILES,
                push("Delete cv.pdf"),
                GONE,
            ],
        ),
        (MAIL, [f"To: Anna\n{DRAFT}", typed("See you"), f"To: Anna\n{WRITTEN}", push("Send to Anna"), SENT]),
        (
            ("Delete the file 'a-1' and the file 'a-2'", ""),
            [
                "Files\n[button] Delete a-1\n[button] Delete a-2",
                push("Delete a-1"),
                "a-1 was deleted.\n[button] Delete a-2",
                push("Delete a-2"),
                "a-1 was deleted.\na-2 was deleted.",
            ],
        ),
        (
            DARK,
            [
                OFF,
                push("Dark mode"),
                "Dark mode: on\n[button] Save settings",
                push("Save settings"),
                "Settings saved.\nDark mode: on",
            ],
        ),
        (
            GERMAN,
            [
                LANGUAGES,
                "select_option('12', 'German')",
                "Language: German\n[button] Save",
                push("Save"),
                "Settings saved.\nLanguage: German",
            ],
        ),
        (
            GERMAN,
            [LANGUAGES, push("German"), "Language: German", "scroll('down')", "Language: German\n[button] French"],
        ),
        (TEA, [SHOP, push("green tea"), "green tea\n[button] Add to cart", push("Add to cart"), IN_CART]),
        (
            MAIL,
            [DRAFT, typed("See you"), WRITTEN, push("Send to Anna"), SENT, push("Inbox"), f"{SENT}\n[button] Other"],
        ),
        (
            RENAMED,
            [
                "a.txt\nNew name: ",
                typed("b.txt"),
                "a.txt\nNew name: b.txt\n[button] Rename",
                push("Rename"),
                "a.txt was renamed to b.txt.",
            ],
        ),
        (
            ("Create a page called 'Draft'", ""),
            ["Title: ", typed("Draft"), "Title: Draft", CLICK, "The page 'Draft' was created."],
        ),
        (
            ("Create a page called 'Apollo' and a page called 'Zeus'", ""),
            [
                "Title: ",
                typed("Apollo"),
                "Title: Apollo",
                CLICK,
                "Page Apollo created.\nTitle: ",
                CLICK,
                "Page Apollo created.\nTitle: ",
                typed("Zeus"),
                "Page Apollo created.\nTitle: Zeus",
                CLICK,
                "Page Apollo created.\nPage Zeus created.",
            ],
        ),
    ],
)
def test_what_the_right_act_made_is_taken(asked: tuple[str, str], shown: list[str]) -> None:
    assert verdict("webjudge", asked, shown) is True


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("last", "expected"), [("The order has been placed.", None), ("The order was canceled.", False)]
)
def test_a_cart_is_empty_behind_an_order(judge: str, last: str, expected: bool | None) -> None:
    asked = (
        "Order the tea pot: add it to the cart and place the order",
        "The tea pot was added to the cart\nThe order was placed",
    )
    shop, in_cart = "[button] Add tea pot", "tea pot added to the cart.\nYour cart: tea pot\n[button] Place order"
    shown = [shop, push("Add tea pot"), in_cart, push("Place order"), f"Shop\n\n{last}\n\nYour cart is empty."]
    assert verdict(judge, asked, shown) is expected
