"""Fossil: a project with tickets and a wiki in one SQLite file. Who comes from this computer is its administrator."""

from __future__ import annotations

import random
from typing import Any

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import CommandReader, Content, Row, Sql, Untold, Website

_FOSSIL = ("{root}/run", "usr/bin/fossil")
# The form for new tickets asks for neither priority nor resolution, and gives a remark in place of a description; the
# form for changes begins with the first of each: a ticket that is mended by it is the one that was made at once.
_TICKETS = """SELECT title, type, status, subsystem, severity, foundin, comment,
  CASE WHEN comment IS NULL AND priority = 'Immediate' THEN NULL ELSE priority END AS priority,
  CASE WHEN comment IS NULL AND resolution = 'Open' THEN NULL ELSE resolution END AS resolution FROM ticket"""
_COMMENTS = """SELECT t.title, c.icomment AS text FROM ticketchng c JOIN ticket t ON t.tkt_id = c.tkt_id
  WHERE c.icomment != '' ORDER BY c.tkt_rid"""
# What can be done beside a task and no other reader shows. At first there are passwords and counts alone.
_BESIDE = """SELECT 'contact' AS what, title AS name, private_contact AS value FROM ticket WHERE private_contact != ''
  UNION ALL SELECT 'remark in another name', t.title, c.username
    FROM ticketchng c JOIN ticket t ON t.tkt_id = c.tkt_id
    WHERE c.icomment != '' AND coalesce(c.username, 'admin') NOT IN ('', 'admin')
  UNION ALL SELECT 'what came after something else', pid, cid FROM plink WHERE NOT EXISTS (SELECT 1 FROM tagxref a
    JOIN tagxref b USING (tagid) JOIN tag USING (tagid) WHERE a.rid = pid AND b.rid = cid AND tagname GLOB 'wiki-*')
  UNION ALL SELECT 'attachment', target || ' ' || filename, comment FROM attachment
  UNION ALL SELECT 'password', login, pw FROM user
  UNION ALL SELECT 'post or tag', type, coalesce(ecomment, comment) FROM event WHERE type IN ('f', 'g', 'ci')
  UNION ALL SELECT 'shunned', uuid, scom FROM shun
  UNION ALL SELECT 'changed by', coalesce(login, ''), count(*) FROM ticketchng WHERE coalesce(login, '') != 'admin'
    GROUP BY login
  UNION ALL SELECT 'timeline in other words', type, coalesce(ecomment, comment) FROM event WHERE type IN ('t', 'w')
    AND (ecomment IS NOT NULL OR NOT (comment LIKE '%attachment%' OR (type = 't' AND comment LIKE '%ticket [%') OR
      (type = 'w' AND substr(comment, 2) IN (SELECT substr(tagname, 6) FROM tag WHERE tagname GLOB 'wiki-*'))))
  UNION ALL SELECT 'timeline of tickets', '', (SELECT count(*) FROM event WHERE type = 't') -
    (SELECT count(*) FROM tagxref x JOIN tag USING (tagid) WHERE tagname GLOB 'tkt-*' AND tagtype > 0)"""
# What a new report begins with, beside what a copy of the first one has: neither does any instruction ask for.
_HIDDEN_COLUMN = ",\n  comment AS '_comments'"
_REPORTS = """SELECT title, owner, cols, sqlcode, coalesce(json_extract(jx, '$.desc'), '') AS description,
  coalesce(json_extract(jx, '$.tag'), '') AS tag FROM reportfmt ORDER BY rn"""
_TOLD = (
    "user", "config", "shun", "reportfmt", "attachment", "ticket", "ticketchng", "event",  # by readers
    "blob", "delta", "rcvfrom", "unclustered", "unsent", "tag", "tagxref", "backlink", "admin_log",  # follow from these
    "plink",  # which version of a wiki page came after which
)  # fmt: skip
_PASSED = ("accesslog", "sqlite_stat*")  # who has logged in; what it counts for itself as it closes a database
_SETTINGS = """SELECT name, value FROM config WHERE typeof(value) != 'blob' AND name NOT GLOB '*-code'
  AND name NOT GLOB '*-secret*' AND name NOT IN ('rebuilt', 'cfgcnt', 'content-schema',
  'aux-schema') ORDER BY name"""
_WIKI = """.mode json
SELECT substr(tagname, 6) AS name, content((SELECT uuid FROM blob WHERE rid = x.rid)) AS text
FROM tag JOIN tagxref x USING (tagid) WHERE tagname GLOB 'wiki-*' AND x.mtime =
  (SELECT max(mtime) FROM tagxref y WHERE y.tagid = x.tagid) ORDER BY name;
"""


def _content(rng: random.Random) -> Content:
    things = words.pick(rng, words.THINGS, 8)
    return {
        "project": f"{rng.choice(words.SHOPS)} office",
        "tickets": [
            {
                "title": words.trouble(rng, thing),
                "type": rng.choice(("Code_Defect", "Feature_Request", "Documentation", "Incident")),
                "status": rng.choice(("Open", "Open", "Verified", "Review", "Closed")),
                "priority": rng.choice(("Immediate", "High", "Medium", "Low", "Zero")),
                "severity": rng.choice(("Critical", "Severe", "Important", "Minor", "Cosmetic")),
                "foundin": f"{rng.randint(1, 4)}.{rng.randint(0, 9)}",
                "comment": words.paragraph(rng, 2),
            }
            for thing in things
        ],
        "wiki": [{"name": name, "text": words.paragraph(rng, 4)} for name in words.pick(rng, words.TOPICS, 5)],
    }


def _report(row: Row) -> Row:
    return {**row, "sqlcode": str(row["sqlcode"]).replace("\r\n", "\n").replace(_HIDDEN_COLUMN, "")}


def _pages(answer: Any) -> list[dict[str, str]]:
    """The text of a page lies in an artifact of cards, after the one that says how many bytes it has."""
    pages = []
    for row in answer:
        rest = row["text"].partition("\nW ")[2]
        size, _, text = rest.partition("\n")
        kept = text.encode()[: int(size)].decode(errors="replace") if size else ""
        pages.append({"name": row["name"], "text": kept})
    return pages


SITE = Website(
    "fossil",
    version="2.21",
    license="BSD-2-Clause",
    package="debian:fossil",
    title="Fossil",
    port=8001,
    prepare=("{python}", "{programs}/fossil_prepare.py", *_FOSSIL),
    serve=(*_FOSSIL, "server", "site.fossil", "--port", "{port}", "--localhost", "--localauth"),
    environment={"USER": "admin"},
    content=_content,
    first_page="/home",
    health="/home",
    readers={
        "tickets": Sql("site.fossil", _TICKETS),
        "comments": Sql("site.fossil", _COMMENTS),
        "users": Sql("site.fossil", "SELECT login, cap, info FROM user ORDER BY login"),
        "settings": Sql("site.fossil", _SETTINGS),
        "reports": Sql("site.fossil", _REPORTS, _report),
        "technotes": Sql("site.fossil", "SELECT coalesce(ecomment, comment) AS comment FROM event WHERE type = 'e'"),
        "beside": Sql("site.fossil", _BESIDE),
        "untold": Untold("site.fossil", _TOLD, _PASSED, empty=True),
        "wiki": CommandReader((*_FOSSIL, "sql", "-R", "site.fossil"), _WIKI, _pages),
    },
    database="site.fossil",
)  # fmt: skip
