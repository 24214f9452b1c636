"""Notes: a list, and an editor with a title and a text."""

from __future__ import annotations

import dataclasses
import random

from tars_jax.sandbox.phone.stand_in.apps.app import App, Row
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import TextField, Touch

SAMPLES = (
    ("Groceries", "milk\nbread\napples"),
    ("Ideas", "paint the fence"),
    ("Reading list", "Middlemarch\nDubliners"),
    ("Train", "platform 4, 17:42"),
    ("Garden", "water the tomatoes"),
    ("Birthday", "ask for the recipe"),
)


@dataclasses.dataclass
class Note:
    id: int
    title: str
    text: str
    modified: int  # milliseconds by the phone's clock


class Notes(App):
    package = "com.tarsjax.notes"
    name = "Notes"
    sign, color = "✎", "#c98a12"
    tables = ("notes/notes",)

    def fill(self, random: random.Random) -> None:
        chosen = random.sample(SAMPLES, 3)
        self._notes = [Note(index + 1, *sample, self.system.now()) for index, sample in enumerate(chosen)]
        self._next = len(self._notes) + 1
        self._edited: Note | None = None
        self._title, self._text = TextField(), TextField(lines=True)

    def build(self, layout: Layout) -> None:
        if self.page == "main":
            layout.header("Notes", None, ("new_note", "New", lambda: self._edit(None)))
            for note in self._notes:
                layout.row(f"note_{note.id}", note.title or "Untitled", note.text.split("\n")[0], tap=self._edits(note),
                           hold=lambda note=note: self._notes.remove(note))  # fmt: skip
            if not self._notes:
                layout.label("empty", "   No notes", 60)
            return
        actions = [("save", "Save", self._save)]
        if self._edited is not None:
            actions.insert(0, ("delete", "Delete", self._delete))
        layout.header("Note", self.back, *actions)
        layout.field("title_field", "Title", self._title, self.focus is self._title, self.focuses(self._title))
        high = max(60.0, layout.body_height - 76)
        layout.field("text_field", "Text", self._text, self.focus is self._text, self.focuses(self._text), height=high)

    def rows(self, table: str) -> list[Row]:
        return [
            {"_id": note.id, "title": note.title, "body": note.text, "modified": note.modified} for note in self._notes
        ]

    def enter(self) -> None:
        self.focus = self._text if self.focus is self._title else None

    def _edits(self, note: Note) -> Touch:
        return lambda: self._edit(note)

    def _edit(self, note: Note | None) -> None:
        self._edited = note
        self._title = TextField(note.title if note else "")
        self._text = TextField(note.text if note else "", lines=True)
        self.open_page("edit")
        self.focus = None if note else self._title

    def _save(self) -> None:
        if self._edited is None:
            if self._title.text or self._text.text:
                self._notes.insert(0, Note(self._next, self._title.text, self._text.text, self.system.now()))
                self._next += 1
        else:
            self._edited.title, self._edited.text = self._title.text, self._text.text
            self._edited.modified = self.system.now()
        self.back()

    def _delete(self) -> None:
        if self._edited in self._notes:
            self._notes.remove(self._edited)
        self.back()
