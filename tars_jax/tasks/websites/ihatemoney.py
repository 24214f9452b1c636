"""I Hate Money: who has paid what for whom, in SQLite. The project `trip` is open."""

from __future__ import annotations

import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Login, Sql, Untold, Website

_DATABASE = "ihatemoney.db"
_BILLS = """SELECT b.what, b.amount, b.date, p.name AS payer, lower(b.bill_type) AS bill_type,
  (SELECT group_concat(o.name, ', ') FROM (SELECT q.name FROM billowers w JOIN person q ON q.id = w.person_id
   WHERE w.bill_id = b.id ORDER BY q.name) o) AS owers FROM bill b JOIN person p ON p.id = b.payer_id ORDER BY b.id"""

_FIRST = 7  # bills that there are at first
# By readers, and the program's history of these.
_TOLD = ("bill", "billowers", "person", "project", "*_version", "transaction")


def _content(rng: random.Random) -> Content:
    people = [words.login_of(person).capitalize() for person in words.pick(rng, words.PEOPLE, 4)]
    return {
        "members": people,
        "bills": [
            {
                "what": f"{rng.choice(('Dinner', 'Tickets', 'Snacks', 'Taxi', 'Books', 'Gifts'))} at {shop}",
                "date": f"2025-0{rng.randint(1, 9)}-{rng.randint(1, 28):02}",
                "amount": rng.randint(300, 19900) / 100,
                "payer": rng.choice(people),
                "owers": sorted(rng.sample(people, rng.randint(1, 4))),
            }
            for shop in words.pick(rng, words.SHOPS, _FIRST)
        ],
    }


SITE = Website(
    "ihatemoney",
    version="7.2.1",
    license="BSD-3-Clause",
    package="pypi:ihatemoney",
    title="I Hate Money",
    port=8006,
    prepare=("{python}", "-W", "ignore", "{programs}/ihatemoney_prepare.py"),
    serve=("{python}", "-W", "ignore", "{programs}/wsgi_serve.py", "{port}", "{programs}/ihatemoney_application.py"),
    content=_content,
    environment={"IHATEMONEY_SETTINGS_FILE_PATH": "{state}/settings.cfg"},
    first_page="/trip/",
    health="/authenticate?project_id=trip",
    login=Login("/authenticate?project_id=trip", {"id": "trip", "password": "trip"}),
    api_headers={"Authorization": "Basic dHJpcDp0cmlw"},  # trip:trip
    readers={
        "bills": Sql(_DATABASE, _BILLS),
        # A bill that is deleted and made anew is another one.
        "first_bills": Sql(_DATABASE, f"SELECT id AS bill FROM bill WHERE id <= {_FIRST} ORDER BY id"),
        "members": Sql(_DATABASE, "SELECT name, weight, activated FROM person ORDER BY name"),
        "bill_details": Sql(
            _DATABASE, "SELECT what, external_link AS link, original_currency AS currency FROM bill ORDER BY id"
        ),
        "projects": Sql(
            _DATABASE,
            "SELECT id, name, contact_email, password, logging_preference AS logging, default_currency AS currency "
            "FROM project ORDER BY id",
        ),
        "history": Sql(_DATABASE, "SELECT count(*) AS erased FROM bill WHERE id NOT IN (SELECT id FROM bill_version)"),
        "untold": Untold(_DATABASE, _TOLD),
    },
    database=_DATABASE,
)
