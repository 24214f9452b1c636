"""Fills a Fossil repository: fossil_prepare.py FOSSIL...  (content on stdin)"""

import json
import subprocess
import sys


def fossil(*arguments: str, stdin: str = "") -> None:
    subprocess.run([*sys.argv[1:], *arguments], input=stdin.encode(), check=True, stdout=subprocess.DEVNULL)


content = json.load(sys.stdin)
fossil("new", "site.fossil", "--admin-user", "admin")
fossil(
    "sql",
    "-R",
    "site.fossil",
    stdin="".join(
        f"REPLACE INTO config (name, value, mtime) VALUES ({name}, {value}, now());"
        for name, value in (
            ("'project-name'", "'" + content["project"].replace("'", "''") + "'"),
            ("'index-page'", "'/timeline?y=a'"),
        )
    ),
)
for ticket in content["tickets"]:
    fields = [part for name, value in ticket.items() for part in (name, value)]
    fossil("ticket", "add", *fields, "-R", "site.fossil")
for page in content["wiki"]:
    fossil("wiki", "create", page["name"], "--mimetype", "text/x-markdown", "-R", "site.fossil", stdin=page["text"])
