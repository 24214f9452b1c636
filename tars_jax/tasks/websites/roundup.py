"""Roundup: an issue tracker over SQLite. Its user anna is logged in by its form."""

from __future__ import annotations

import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, FilesReader, Login, Sql, Untold, Website

_DATABASE = "tracker/db/db"
_ISSUES = """SELECT i.id, i._title AS title, s._name AS status, p._name AS priority, u._username AS assignedto,
  (SELECT group_concat(k._name, ' ') FROM issue_keyword ik JOIN _keyword k ON k.id = ik.linkid WHERE ik.nodeid = i.id)
  AS keywords FROM _issue i LEFT JOIN _status s ON s.id = i._status LEFT JOIN _priority p ON p.id = i._priority
  LEFT JOIN _user u ON u.id = i._assignedto WHERE i.__retired__ = 0 ORDER BY i.id"""
_MESSAGES = """SELECT im.nodeid AS issue, u._username AS author, m._summary AS summary FROM issue_messages im
  JOIN _msg m ON m.id = im.linkid LEFT JOIN _user u ON u.id = m._author WHERE m.__retired__ = 0 ORDER BY m.id"""
# Of all messages, linked to an issue or not.
_MESSAGE_DETAILS = """SELECT m.id, m._date AS date, m.__retired__ AS retired, m._inreplyto AS reply_to, m._type AS type,
  (SELECT group_concat(r._username, ' ') FROM (SELECT u._username FROM msg_recipients x JOIN _user u ON u.id = x.linkid
   WHERE x.nodeid = m.id ORDER BY u._username) r) AS recipients FROM _msg m ORDER BY m.id"""

_USER_DETAILS = """SELECT _username AS username, _address AS address, _alternate_addresses AS others,
  _organisation AS organisation, _timezone AS timezone, _roles AS roles, _password AS password
  FROM _user WHERE __retired__ = 0 ORDER BY id"""
_WATCHERS = """SELECT n.nodeid AS issue, u._username AS username FROM issue_nosy n JOIN _user u ON u.id = n.linkid
  ORDER BY n.nodeid, u._username"""
_CHOICES = """SELECT 'priority' AS kind, _name AS name, _order AS place FROM _priority WHERE __retired__ = 0
  UNION ALL SELECT 'status', _name, _order FROM _status WHERE __retired__ = 0"""
_LINKS = """SELECT 'file' AS kind, nodeid AS issue, linkid AS other FROM issue_files
  UNION ALL SELECT 'superseder', nodeid, linkid FROM issue_superseder"""

# By readers, with the history and the index of words that follow from these.
_TOLD = ("_*", "*__journal", "ids", "user_queries", "msg_*", "issue_*")
_PASSED = ("otks", "sessions")  # of who is logged in
_FILES = ("tracker/db/files/msg/*", "tracker/mail.log", "*.pyc")  # texts of messages, mails, compiled programs


def _content(rng: random.Random) -> Content:
    people = [person for person in words.PEOPLE if words.login_of(person) != "anna"]
    users = rng.sample(people, 4)
    keywords = words.pick(rng, ("network", "printing", "night shift", "warranty", "customer", "safety"), 3)
    return {
        "users": [{"username": words.login_of(person), "realname": person} for person in users],
        "keywords": keywords,
        "issues": [
            {
                "title": words.trouble(rng, thing),
                "priority": rng.choice(("critical", "urgent", "bug", "feature", "wish")),
                "status": rng.choice(("unread", "deferred", "chatting", "in-progress", "testing", "resolved")),
                "assignedto": words.login_of(rng.choice(users)),
                "keyword": rng.choice(keywords),
                "message": words.paragraph(rng, 2),
            }
            for thing in words.pick(rng, words.THINGS, 9)
        ],
    }


SITE = Website(
    "roundup",
    version="2.6.0",
    license="MIT and ZPL-2.0",
    package="pypi:roundup",
    title="Roundup",
    port=8003,
    prepare=("{python}", "{programs}/roundup_prepare.py", "{root}"),
    serve=("{python}", "{programs}/wsgi_serve.py", "{port}", "{programs}/roundup_application.py"),
    content=_content,
    first_page="/issue?@template=index&@sort=-activity&@columns=title,id,status,priority,assignedto",
    health="/",
    login=Login("/", {"__login_name": "anna", "__login_password": "anna"}),
    readers={
        "issues": Sql(_DATABASE, _ISSUES),
        "messages": Sql(_DATABASE, _MESSAGES),
        "message_details": Sql(_DATABASE, _MESSAGE_DETAILS),
        # Of which the table has the first sentence alone.
        "message_texts": FilesReader("tracker/db/files/msg/*/*", lambda path, text: [{"text": text}]),
        "users": Sql(
            _DATABASE,
            "SELECT _username AS username, _realname AS realname, _phone AS phone FROM _user WHERE __retired__ = 0",
        ),
        "keywords": Sql(_DATABASE, "SELECT _name AS name FROM _keyword WHERE __retired__ = 0 ORDER BY _name"),
        "user_details": Sql(_DATABASE, _USER_DETAILS),
        "watchers": Sql(_DATABASE, _WATCHERS),
        "queries": Sql(
            _DATABASE, "SELECT _name AS name, _url AS query FROM _query WHERE __retired__ = 0 ORDER BY _name"
        ),
        "choices": Sql(_DATABASE, _CHOICES),
        "files": Sql(_DATABASE, "SELECT _name AS name, _type AS type FROM _file WHERE __retired__ = 0 ORDER BY id"),
        "links": Sql(_DATABASE, _LINKS),
        "untold": Untold(_DATABASE, _TOLD, _PASSED, _FILES),
    },
    transient=("tracker/db/otks*", "tracker/db/sessions*", "*.lock", "*/lock"),
    database=_DATABASE,
)
