"""Trac: tickets, milestones and a wiki in SQLite. Its user anna is logged in by the program that serves it."""

from __future__ import annotations

import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Sql, Untold, Website

_DATABASE = "env/db/trac.db"
_TICKETS = """SELECT id, summary, type, status, resolution, priority, component, milestone, owner, reporter, keywords,
  description FROM ticket ORDER BY id"""
_COMMENTS = """SELECT ticket, author, newvalue AS text FROM ticket_change WHERE field = 'comment' AND newvalue != ''
  ORDER BY ticket, time"""
_WIKI = """SELECT name, text FROM wiki w WHERE version = (SELECT max(version) FROM wiki v WHERE v.name = w.name)
  AND author != 'trac' ORDER BY name"""
# Not what a page that was looked at last leaves there, nor words for the next one (chrome.*).
_PREFERENCES = """SELECT sid, name, value FROM session_attribute WHERE name NOT GLOB 'query_*'
  AND name NOT GLOB 'timeline.*' AND name NOT GLOB 'chrome.*' ORDER BY sid, name"""
# What can be done beside a task and no other reader shows. There are no such rows at first.
_BESIDE = """SELECT 'read-only' AS what, name, '' AS value FROM wiki w WHERE readonly = 1
    AND version = (SELECT max(version) FROM wiki v WHERE v.name = w.name)
  UNION ALL SELECT 'subscription', sid, class || ' ' || distributor FROM notify_subscription
  UNION ALL SELECT 'watch', sid, realm || ' ' || target FROM notify_watch
  UNION ALL SELECT 'custom', ticket, name || ' ' || value FROM ticket_custom"""
_TOLD = (
    "ticket", "ticket_change", "ticket_custom", "wiki", "milestone", "component", "version", "enum", "permission",
    "session_attribute", "attachment", "repository", "report", "notify_*",  # by readers
    "cache",  # how often what is read into memory has changed
)  # fmt: skip
_PASSED = ("session", "auth_cookie")  # when somebody was here last
_MANUAL = """SELECT name, length(text) AS size FROM wiki w WHERE version =
  (SELECT max(version) FROM wiki v WHERE v.name = w.name) AND author = 'trac' ORDER BY name"""
_MILESTONES = "SELECT name, description, due, completed > 0 AS completed FROM milestone ORDER BY name"


def _content(rng: random.Random) -> Content:
    people = [words.login_of(person) for person in words.PEOPLE]
    components = words.pick(rng, ("frontend", "backend", "network", "printing", "database", "mobile"), 3)
    milestones = [f"Sprint {number}" for number in sorted(rng.sample(range(10, 60), 3))]
    return {
        "project": f"{rng.choice(words.SHOPS)} desk",
        "components": components,
        "milestones": milestones,
        "tickets": [
            {
                "summary": words.trouble(rng, thing),
                "type": rng.choice(("defect", "enhancement", "task")),
                "priority": rng.choice(("blocker", "critical", "major", "minor", "trivial")),
                "component": rng.choice(components),
                "milestone": rng.choice(milestones),
                "owner": rng.choice(people),
                "reporter": rng.choice(people),
                "keywords": rng.choice(("", "urgent", "later", "customer")),
                "description": words.paragraph(rng, 2),
                "closed": rng.random() < 0.25,
            }
            for thing in words.pick(rng, words.THINGS, 9)
        ],
        "wiki": [
            {"name": name.replace(" ", ""), "text": f"= {name} =\n\n{words.paragraph(rng, 4)}"}
            for name in words.pick(rng, words.TOPICS, 5)
        ],
    }


SITE = Website(
    "trac",
    version="1.6",
    license="BSD-3-Clause",
    package="pypi:Trac",
    title="Trac",
    port=8002,
    prepare=("{python}", "-W", "ignore", "{programs}/trac_prepare.py"),
    serve=("{python}", "-W", "ignore", "{programs}/wsgi_serve.py", "{port}", "{programs}/trac_application.py"),
    content=_content,
    first_page="/wiki",
    health="/about",
    readers={
        "tickets": Sql(_DATABASE, _TICKETS),
        "comments": Sql(_DATABASE, _COMMENTS),
        "wiki": Sql(_DATABASE, _WIKI),
        "beside": Sql(_DATABASE, _BESIDE),
        "untold": Untold(_DATABASE, _TOLD, _PASSED),
        "manual": Sql(_DATABASE, _MANUAL),
        "milestones": Sql(_DATABASE, _MILESTONES),
        "components": Sql(_DATABASE, "SELECT name, owner, description FROM component ORDER BY name"),
        "ticket_details": Sql(_DATABASE, "SELECT id, cc, version, severity FROM ticket ORDER BY id"),
        "versions": Sql(_DATABASE, "SELECT name, description FROM version ORDER BY name"),
        "choices": Sql(_DATABASE, "SELECT type, name, value, description FROM enum ORDER BY type, name"),
        "permissions": Sql(_DATABASE, "SELECT username, action FROM permission ORDER BY username, action"),
        "preferences": Sql(_DATABASE, _PREFERENCES),
        "attachments": Sql(_DATABASE, "SELECT type, id AS parent, filename, description FROM attachment"),
        "repositories": Sql(_DATABASE, "SELECT id, name, value FROM repository WHERE name NOT GLOB 'youngest*'"),
        "reports": Sql(_DATABASE, "SELECT title, description, query FROM report ORDER BY id"),
    },
    transient=("env/log/*",),
    database=_DATABASE,
)
