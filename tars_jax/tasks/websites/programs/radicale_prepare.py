"""Writes calendars, address books and settings for Radicale (content on stdin)."""

import json
import os
import pathlib
import sys
from typing import Any

content = json.load(sys.stdin)
pathlib.Path("config").write_text(
    "[auth]\ntype = remote_user\n[rights]\ntype = owner_only\n[logging]\nlevel = error\n"
    f"[storage]\nfilesystem_folder = {os.getcwd()}/collections\n"
)
home = pathlib.Path("collections/collection-root/anna")
home.mkdir(parents=True)
(home / ".Radicale.props").write_text("{}")


def collection(title: str, properties: dict[str, Any], entries: dict[str, list[str]]) -> None:
    folder = home / title.lower().replace(" ", "-")
    folder.mkdir()
    (folder / ".Radicale.props").write_text(json.dumps({"D:displayname": title, **properties}))
    for name, lines in entries.items():
        (folder / name).write_bytes("\r\n".join([*lines, ""]).encode())


for calendar in content["calendars"]:
    events = {}
    for number, event in enumerate(calendar["events"], 1):
        at = f"{event['day']}T{event['hour']:02}"
        uid = f"{calendar['title'].lower().replace(' ', '-')}-{number}"
        events[f"{uid}.ics"] = [
            "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tars_jax//EN", "BEGIN:VEVENT", f"UID:{uid}",
            "DTSTAMP:20250101T000000Z", f"DTSTART:{at}0000Z", f"DTEND:{at}3000Z", f"SUMMARY:{event['summary']}",
            f"LOCATION:{event['location']}", "END:VEVENT", "END:VCALENDAR",
        ]  # fmt: skip
    properties = {
        "tag": "VCALENDAR",
        "C:calendar-description": calendar["description"],
        "ICAL:calendar-color": calendar["color"] + "ff",
        "C:supported-calendar-component-set": "VEVENT,VJOURNAL,VTODO",
    }
    collection(calendar["title"], properties, events)
for book in content["books"]:
    contacts = {}
    for number, name in enumerate(book["contacts"], 1):
        uid = f"{book['title'].lower().replace(' ', '-')}-{number}"
        first, _, last = name.partition(" ")
        contacts[f"{uid}.vcf"] = [
            "BEGIN:VCARD", "VERSION:3.0", f"UID:{uid}", f"FN:{name}", f"N:{last};{first};;;",
            f"EMAIL:{first.lower()}@example.org", "END:VCARD",
        ]  # fmt: skip
    properties = {
        "tag": "VADDRESSBOOK",
        "CR:addressbook-description": book["description"],
        "{http://inf-it.com/ns/ab/}addressbook-color": book["color"] + "ff",
    }
    collection(book["title"], properties, contacts)
