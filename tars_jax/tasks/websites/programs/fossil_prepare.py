"""Fills a Fossil repository: fossil_prepare.py FOSSIL...  (content on stdin)

Tickets and pages are written as the artifacts that Fossil keeps them as, so that ids, dates and orders are the same
whenever the site is set up; `fossil ticket add` would draw an id by chance.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile


def fossil(*arguments: str, stdin: str = "") -> None:
    subprocess.run([*sys.argv[1:], *arguments], input=stdin.encode(), check=True, stdout=subprocess.DEVNULL)


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\n", "\\n")


def artifact(number: int, *cards: str) -> bytes:
    """Cards with the date that their number gives, and their checksum."""
    date = f"2025-06-{number // 24 + 1:02}T{number % 24:02}:00:00.000"
    body = "".join(f"{card}\n" for card in (f"D {date}", *cards)).encode()
    return body + f"Z {hashlib.md5(body).hexdigest()}\n".encode()


content = json.load(sys.stdin)
artifacts: list[bytes] = []
for page in content["wiki"]:
    size = len(page["text"].encode())
    cards = (f"L {quoted(page['name'])}", "N text/x-markdown", "U admin", f"W {size}\n{page['text']}")
    artifacts.append(artifact(len(artifacts), *cards))
for number, ticket in enumerate(content["tickets"]):
    fields = [f"J {name} {quoted(value)}" for name, value in sorted(ticket.items())]
    name = hashlib.sha1(f"{number} {ticket['title']}".encode()).hexdigest()
    artifacts.append(artifact(len(artifacts), *fields, f"K {name}", "U admin"))
with tempfile.TemporaryDirectory() as folder:
    for number, data in enumerate(artifacts):
        pathlib.Path(folder, f"{number:04}").write_bytes(data)
    fossil("reconstruct", "site.fossil", folder)
fossil(
    "sql",
    "-R",
    "site.fossil",
    stdin="".join(
        f"REPLACE INTO config (name, value, mtime) VALUES ({name}, {value}, now());"
        for name, value in (
            ("'project-name'", "'" + content["project"].replace("'", "''") + "'"),
            ("'index-page'", "'/timeline?y=a'"),
            # A process that follows each page, up to a minute later, and writes that it is there: after a reset, too.
            ("'backoffice-disable'", "'1'"),
        )
    ),
)
