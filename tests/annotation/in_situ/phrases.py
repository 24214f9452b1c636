"""What scripted annotators say: one set to develop with, another that is only measured on."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Phrases:
    """Templates by what is done; `{name}` and `{other}` are things on the screen, `{text}` what is typed."""

    announce: dict[str, tuple[str, ...]]
    comment: tuple[str, ...]
    correction: tuple[str, ...]  # behind an announcement of another thing
    slip: tuple[str, ...]  # after a wrong action: belongs to the next one
    apart: tuple[str, ...]


DEVELOPED = Phrases(
    announce={
        "click": (
            "I will click the {name} button.", "Let me press {name}.", "Now I need to open {name}.",
            "Okay, the {name} button is over there.", "First I want to select {name}.",
        ),
        "double": ("I'll double click the {name} file.", "Let me open the {name} folder with a double click."),
        "right": ("I'm going to right click on {name}.", "I need the context menu of {name}."),
        "type": (
            "Now I type {text}.", "In this field I have to enter {text}.", "The name should be {text}.",
            "Let me write {text} here.",
        ),
        "save": ("Let me save that.", "I'll save the document now."),
        "copy": ("I copy this text.", "Let me copy that to the clipboard."),
        "scroll": ("I have to scroll down to find the rest.", "Let me scroll a bit further down."),
        "drag": ("I will drag {name} over to {other}.", "Now I move {name} into {other}."),
        "wait": ("It is still loading, I have to wait.",),
    },
    comment=(
        "Okay, that opened.", "Good, that worked.", "There we go.", "Now it shows the list.", "Great, it is saved.",
        "That looks right.",
    ),
    correction=(
        "No, wait, {name} instead.", "Actually, I should use {name}.", "Oh sorry, I mean {name}.",
        "No, not that one, the {name} button.",
    ),
    slip=("Oops, that was the wrong one, I need {name}.", "No, that is not it, let me try {name}."),
    apart=(
        "What are we going to have for dinner tonight?", "Did you feed the dog this morning?",
        "Sorry, my phone is ringing. Hello mom.", "I am so tired today, I slept badly.",
        "The weather is really nice for a walk.", "Can you close the door please, it is cold.",
    ),
)  # fmt: skip
HELD_OUT = Phrases(
    announce={
        "click": (
            "Next up is {name}.", "I think I should hit {name}.", "So the thing to choose here is {name}.",
            "Going to {name} now.", "We are looking for {name}, there it is.",
        ),
        "double": ("Opening {name} by double clicking.", "A double click on {name} should do it."),
        "right": ("A right click on {name} gives me more options.", "Right clicking {name}."),
        "type": (
            "Typing {text} into the box.", "I am putting in {text}.", "So the value is {text}.",
            "This one gets called {text}.",
        ),
        "save": ("Saving my changes.", "Better store this before going on."),
        "copy": ("Copying the selection.", "I need this in the clipboard."),
        "scroll": ("It must be further below.", "Scrolling down the page."),
        "drag": ("Dragging {name} onto {other}.", "{name} has to go over there, to {other}."),
        "wait": ("The page takes a moment to load.",),
    },
    comment=(
        "Nice, that went through.", "Alright, it is there now.", "Perfect.", "So that brought up a new window.",
        "Yes, this is the right page.", "It has been added.",
    ),
    correction=(
        "Hang on, it should be {name}.", "Hmm no, {name} is the one.", "Scratch that, I want {name}.",
        "Wait, that is wrong, {name}.",
    ),
    slip=("Hmm, wrong button, {name} is what I want.", "Whoops, I did not mean that, I meant {name}."),
    apart=(
        "It is raining so hard outside again.", "I have to pick up the kids at four.",
        "My back hurts from sitting here all day.", "Could you bring me a cup of coffee please?",
        "Did you watch the football game last night?", "Hi Anna, I will be with you in five minutes.",
    ),
)  # fmt: skip
DEVELOPED_NAMES = (
    "settings", "export", "documents", "preview", "account", "insert", "photos", "calendar", "options", "download",
    "invoice", "reports",
)  # fmt: skip
HELD_OUT_NAMES = (
    "network", "history", "library", "messages", "format", "security", "bookmarks", "contacts", "projects", "upload",
    "budget", "templates",
)  # fmt: skip
DEVELOPED_TEXTS = ("hello world", "quarterly report", "green apples", "meeting notes", "blue car")
HELD_OUT_TEXTS = ("summer holiday", "annual budget", "fresh bread", "travel plans", "red house")
