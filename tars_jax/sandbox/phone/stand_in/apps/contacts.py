"""Contacts: a list that scrolls, a page each, and a form for a new one."""

from __future__ import annotations

import dataclasses
import random

from tars_jax.sandbox.phone.stand_in.apps.app import App, Row
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import TextField

FIRST = (
    "Ada", "Amir", "Björn", "Chloé", "Dora", "Emil", "Fatima", "Goran", "Hanna", "Igor", "Jana", "Kofi", "Lena",
    "Milan", "Nora", "Oskar", "Priya", "Quinn", "Rosa", "Sven", "Tomás", "Uma", "Viktor", "Wanda", "Yusuf", "Zoë",
)  # fmt: skip
LAST = ("Abel", "Brandt", "Castro", "Dahl", "Eriksen", "Fischer", "Gruber", "Haas", "Ivanov", "Jung", "Keller", "Lang",
        "Müller", "Novak", "Okafor", "Peters", "Ruiz", "Sato", "Thorn", "Ulrich", "Vogel", "Weiß")  # fmt: skip
COUNT = 18


@dataclasses.dataclass
class Contact:
    id: int
    name: str
    number: str


class Contacts(App):
    package = "com.android.contacts"
    activity = ".PeopleActivity"
    name = "Contacts"
    sign, color = "☺", "#1d7fb8"
    tables = ("com.android.contacts/data/phones", "contacts/phones", "com.android.contacts/contacts")

    def fill(self, random: random.Random) -> None:
        names = [f"{first} {random.choice(LAST)}" for first in random.sample(FIRST, COUNT)]
        self._contacts = [
            Contact(index + 1, name, f"+44 20 7946 0{random.randrange(1000):03d}")
            for index, name in enumerate(sorted(names))
        ]
        self._next = COUNT + 1
        self._shown: Contact | None = None
        self._name, self._number = TextField(), TextField()

    def build(self, layout: Layout) -> None:
        shown = self._shown
        if self.page == "main":
            layout.header("Contacts", None, ("new_contact", "New", self._new))
            for contact in sorted(self._contacts, key=lambda contact: contact.name.casefold()):
                layout.row(f"contact_{contact.id}", contact.name, tap=lambda contact=contact: self._show(contact))
        elif self.page == "new":
            layout.header("New contact", self.back, ("save", "Save", self._save))
            layout.field("name_field", "Name", self._name, self.focus is self._name, self.focuses(self._name))
            layout.field("number_field", "Number", self._number, self.focus is self._number, self.focuses(self._number))
        elif shown is not None:
            layout.header(shown.name, self.back, ("delete", "Delete", self._delete))
            layout.row("number", shown.number, "mobile")
            layout.button("call", "Call", lambda: self._call(shown.number))

    def rows(self, table: str) -> list[Row]:
        return [
            {"_id": contact.id, "display_name": contact.name, "data1": contact.number} for contact in self._contacts
        ]

    def enter(self) -> None:
        self.focus = self._number if self.focus is self._name else None

    def _show(self, contact: Contact) -> None:
        self._shown = contact
        self.open_page("contact")

    def _new(self) -> None:
        self._name, self._number = TextField(), TextField()
        self.open_page("new")
        self.focus = self._name

    def _save(self) -> None:
        if self._name.text.strip():
            self._contacts.append(Contact(self._next, self._name.text.strip(), self._number.text.strip()))
            self._next += 1
        self.back()

    def _delete(self) -> None:
        if self._shown in self._contacts:
            self._contacts.remove(self._shown)
        self.back()

    def _call(self, number: str) -> None:
        for app in self.system.apps():
            if isinstance(app, CallsNumbers):
                self.system.open(app.package)
                app.call(number)


class CallsNumbers(App):
    """An app that can call a number."""

    def call(self, number: str) -> None:
        raise NotImplementedError

    def dial(self, number: str) -> None:
        """Shows the number, and calls nobody."""
        raise NotImplementedError
